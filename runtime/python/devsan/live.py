"""Asks `devsan session`, a process beside this one, what was found since it was last asked. For test frameworks."""

import json
import os
import subprocess
import tempfile

# The session must neither be observed itself nor look like a run inside the run.
_OURS = ("LD_PRELOAD", "DEVSAN_LIBS", "DEVSAN_OPTIONS")


class SessionError(Exception):
    """What went wrong, in words for the user."""


def is_observed():
    """True where `devsan run` started this process, and its shim has come into it."""
    if not os.environ.get("DEVSAN_LOG_DIR"):
        return False
    try:
        with open("/proc/self/maps", encoding="utf-8", errors="replace") as maps:
            return any("libdevsan_preload" in line for line in maps)
    except OSError:
        return "libdevsan_preload" in os.environ.get("LD_PRELOAD", "")


class Session:
    def __init__(self, whole_run):
        """Of this process and those that it starts; with `whole_run`, of all processes of the run."""
        program = os.environ.get("DEVSAN_BUILDER", "")
        command = [program, "session", os.environ["DEVSAN_LOG_DIR"], "0" if whole_run else str(os.getpid())]
        environment = {name: value for name, value in os.environ.items() if name not in _OURS}
        self._errors = tempfile.TemporaryFile()  # stderr may be captured
        try:
            self._process = subprocess.Popen(
                command, env=environment, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=self._errors, text=True,
                encoding="utf-8", errors="replace")
        except OSError as error:
            raise SessionError(f"cannot start `{program} session`: {error.strerror}") from None
        self.rules = {rule["id"]: rule["live"] for rule in self._answer()["rules"]}

    def enter(self, what):
        """What happens from now on belongs to `what`."""
        self._ask(f"enter {what}")

    def judge(self, what, *, fail_on=None, limits=None, allow=()):
        """The findings of `what`, which are forgotten then."""
        words = ["judge", what]
        if fail_on is not None:
            words.append(f"fail-on={fail_on}")
        words += [f"max={rule}={count}" for rule, count in (limits or {}).items()]
        words += [f"allow={rule}" for rule in allow]
        return self._ask(" ".join(words))

    def close(self):
        try:
            self._process.stdin.close()
        except OSError:
            pass
        self._process.stdout.close()
        self._process.wait()
        self._errors.close()

    def _ask(self, line):
        try:
            self._process.stdin.write(line + "\n")
            self._process.stdin.flush()
        except (OSError, ValueError):
            raise SessionError(self._ended()) from None
        return self._answer()

    def _answer(self):
        line = self._process.stdout.readline()
        if not line:
            raise SessionError(self._ended())
        answer = json.loads(line)
        if "error" in answer:
            raise SessionError(answer["error"])
        return answer

    def _ended(self):
        self._errors.seek(0)
        said = self._errors.read().decode("utf-8", "replace").strip()
        return said.removeprefix("devsan: error: ") or "`devsan session` ended early"
