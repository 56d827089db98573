"""What script/abroad and script/abroad-cpp share: one run of another's program, alone or on simulated devices."""

import os
import re
import signal
import subprocess
import threading
import time


class Run:
    """A command, with what it printed. Its session is its own, and ends with it or at LIMIT seconds."""

    ERROR = re.compile(r"\berror\b|what\(\)|Error:")

    def __init__(self, command, folder, limit, environment, output):
        start = time.perf_counter()
        with open(output, "w+", encoding="utf-8", errors="replace") as printed:
            process = subprocess.Popen(command, cwd=folder, env={**os.environ, "OMP_NUM_THREADS": "1", **environment}, stdout=printed,
                                       stderr=printed, stdin=subprocess.DEVNULL, start_new_session=True)
            timer = threading.Timer(limit, os.killpg, (process.pid, signal.SIGKILL))
            timer.start()
            _, status, usage = os.wait4(process.pid, 0)
            self.seconds = time.perf_counter() - start
            self.status = os.waitstatus_to_exitcode(status) if self.seconds < limit else f"more than {limit} s"
            timer.cancel()
            process.returncode = status
            printed.seek(0)
            self.output = printed.read()
        self.processor = usage.ru_utime + usage.ru_stime  # seconds of it and of the processes that it waited for
        self.megabytes = usage.ru_maxrss // 1024  # of the largest process

    def error(self):
        """The last line that says what went wrong, as ERROR knows it, or else the last."""
        lines = [line for line in self.output.splitlines() if line.strip() and not line.startswith("devsan run: note")]
        return ([line for line in lines if self.ERROR.search(line)] or lines or ["no output"])[-1].strip()[:160]


def simulated(build, report):
    """What stands before a command that runs on simulated devices."""
    return [str(build / "bin/devsan"), "run", "--sim=2", "--fail-on=none", "--quiet", f"--report={report}", "--"]
