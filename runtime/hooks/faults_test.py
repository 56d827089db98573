"""Whatever happens to a program under `devsan run`, it behaves as it does alone, and what was recorded before is reported.

usage: faults_test.py DEVSAN [unittest options]
"""

import json
import os
import re
import resource
import signal
import subprocess
import sys
import tempfile
import textwrap
import time
import unittest

DEVSAN = os.path.abspath(sys.argv.pop(1))
LIMIT = 240

# A finding that every report of these programs must hold: the loop reads a value on each pass.
SYNC = """
import os, signal, sys, torch
x = torch.ones(4, device="cuda:1")
def read(times=3):
    for _ in range(times):
        x.sum().item()
read()
"""


class Faults(unittest.TestCase):
    def setUp(self):
        directory = tempfile.TemporaryDirectory(ignore_cleanup_errors=True)
        self.addCleanup(directory.cleanup)
        self.directory = directory.name

    def write(self, program):
        path = os.path.join(self.directory, "program.py")
        with open(path, "w", encoding="utf-8") as file:
            file.write(textwrap.dedent(program))
        return path

    def execute(self, command, **options):
        return subprocess.run(command, capture_output=True, timeout=LIMIT, cwd=self.directory,
                              **{"env": {**os.environ, "OMP_NUM_THREADS": "1"}, **options})

    def observed(self, *command):
        return [DEVSAN, "run", "--fail-on=none", "--", *command]

    def check_same(self, *command, normalise=lambda text: text, **options):
        """Status, output and errors, but for the report, which comes after all errors."""
        alone = self.execute(command, **options)
        observed = self.execute(self.observed(*command), **options)
        self.assertEqual(observed.returncode, alone.returncode, observed.stderr)
        self.assertEqual(observed.stdout, alone.stdout)
        errors, expected = normalise(observed.stderr), normalise(alone.stderr)
        self.assertTrue(errors.startswith(expected), (errors, expected))
        for line in errors[len(expected):].decode().splitlines():
            self.assertRegex(line, "^devsan")
        return observed

    def findings(self, program, *, status, command=None, **options):
        """Runs a program on simulated devices; how often it breaks which rule."""
        report = os.path.join(self.directory, "report.json")
        run = [DEVSAN, "run", "--sim=2", "--fail-on=none", f"--report={report}", "--",
               *(command or [sys.executable, self.write(program)])]
        done = self.execute(run, **options)
        self.assertEqual(done.returncode, status, done.stdout + done.stderr)
        with open(report, encoding="utf-8") as file:
            counts = {}
            for finding in json.load(file)["findings"]:
                counts[finding["rule"]] = counts.get(finding["rule"], 0) + finding["count"]
            return counts, done

    def test_deaths_lose_nothing(self):
        # Children of one process, which has imported torch for them; runtime/analysis/exit_status.test.py has the run's own end.
        deaths = (("os.kill(os.getpid(), signal.SIGKILL)", -signal.SIGKILL), ("os.abort()", -signal.SIGABRT),
                  ("os._exit(6)", 6), ("os.kill(os.getpid(), signal.SIGSEGV)", -signal.SIGSEGV),
                  ("raise SystemExit(7)", 7), ("os.chdir('/'); read(4); sys.exit(8)", 8))
        found, done = self.findings(f"""
            import os, torch
            for how, _ in {deaths}:
                if (pid := os.fork()) == 0:
                    exec({SYNC!r} + how)
                print(os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1]), flush=True)
            """, status=0)
        self.assertEqual(done.stdout.decode().split(), [str(status) for _, status in deaths], done.stderr)
        self.assertEqual(found["device-host-sync"], 3 * len(deaths) + 4)

    def test_exceptions_and_statuses(self):
        self.check_same(sys.executable, "-c", "import sys; print('out'); print('err', file=sys.stderr); sys.exit(9)")
        self.check_same("/bin/sh", "-c", "echo out; echo err >&2; kill -TERM $$")
        self.check_same("/bin/cat", input=b"what goes in comes out\0\xff\n")

    def test_signal_handlers(self):
        def without_addresses(text):
            return re.sub(rb"0x[0-9a-f]+|<no Python frame>", b"", text)
        self.check_same(sys.executable, "-c", "import torch, faulthandler, ctypes; faulthandler.enable(); ctypes.string_at(0)",
                        normalise=without_addresses)
        self.check_same(sys.executable, self.write("""
            import os, signal, torch
            signal.signal(signal.SIGTERM, lambda *_: print("terminated", flush=True))
            signal.signal(signal.SIGALRM, lambda *_: print("alarm", flush=True))
            os.kill(os.getpid(), signal.SIGTERM)
            signal.setitimer(signal.ITIMER_REAL, 0.01)
            signal.pause()
            print(torch.ones(2).sum().item(), sorted(signal.pthread_sigmask(signal.SIG_BLOCK, [])))
            os.chdir("/")
            print(os.getcwd(), torch.ones(2))
            torch.ones(2) @ torch.ones(3)
            """))

    def test_closed_pipe(self):
        program = "import signal; signal.signal(signal.SIGPIPE, signal.SIG_DFL)\nwhile True: print('line')"
        statuses = []
        for command in ([sys.executable, "-c", program], self.observed(sys.executable, "-c", program)):
            with subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL) as process:
                process.stdout.readline()
                process.stdout.close()
                statuses.append(process.wait(LIMIT))
        self.assertEqual(statuses, [-signal.SIGPIPE] * 2)

    def test_interrupt_of_the_group(self):
        program = self.write("""
            import time, torch
            try:
                print("ready", flush=True)
                time.sleep(200)
            except KeyboardInterrupt:
                print("interrupted", flush=True)
                raise
            """)
        with subprocess.Popen(self.observed(sys.executable, program), stdout=subprocess.PIPE, stderr=subprocess.DEVNULL,
                              start_new_session=True, text=True) as process:
            process.stdout.readline()
            os.killpg(process.pid, signal.SIGINT)
            output = process.communicate(timeout=LIMIT)[0]
        self.assertEqual((output, process.returncode), ("interrupted\n", -signal.SIGINT))

    def test_signals_come_once(self):
        """Whether one process is meant, each of DevSan's name, or the group, by the program itself, too."""
        program = self.write("""
            import os, signal, time
            counted = []
            for kind in (signal.SIGTERM, signal.SIGUSR1, signal.SIGHUP):
                signal.signal(kind, lambda kind, _: counted.append(signal.Signals(kind).name))
            print("ready", flush=True)
            while "SIGHUP" not in counted:
                time.sleep(0.01)
            os.kill(0, signal.SIGUSR1)
            time.sleep(0.3)
            print(sorted(counted), flush=True)
            """)
        with subprocess.Popen(self.observed(sys.executable, program), stdout=subprocess.PIPE, stderr=subprocess.DEVNULL,
                              start_new_session=True, text=True) as process:
            process.stdout.readline()
            os.killpg(process.pid, signal.SIGTERM)
            time.sleep(0.3)
            process.send_signal(signal.SIGTERM)
            time.sleep(0.3)
            for ours in subprocess.check_output(["pgrep", "-f", "devsan run"], text=True).split():
                if os.path.exists(f"/proc/{ours}") and os.getpgid(int(ours)) == process.pid:
                    os.kill(int(ours), signal.SIGUSR1)
            time.sleep(0.3)
            os.killpg(process.pid, signal.SIGHUP)
            output = process.communicate(timeout=LIMIT)[0]
        self.assertEqual(output, str(["SIGHUP", "SIGTERM", "SIGTERM", "SIGUSR1", "SIGUSR1"]) + "\n")

    def test_another_program(self):
        done = self.execute(self.observed(sys.executable, "-c", "import os, torch; os.execv('/bin/echo', ['echo', 'replaced'])"))
        self.assertEqual((done.returncode, done.stdout), (0, b"replaced\n"), done.stderr)

    def test_closed_descriptors(self):
        """What the program opens under a number that was ours is the program's."""
        program = SYNC + """
os.closerange(3, 4096)
files = [open(f"file{i}", "w+b") for i in range(8)]
read(2000)
def deep(n, i):
    return x.sum().item() if n == 0 else deep(n - 1, i)
for i in range(60):
    exec(compile("\\n" * i + "x.sum().item()", f"generated{i}.py", "exec"))
for i, file in enumerate(files):
    file.write(b"mine"); file.flush(); file.seek(0)
    assert file.read() == b"mine" and os.path.getsize(f"file{i}") == 4
print("good")
"""
        found, done = self.findings(program, status=0)
        self.assertEqual(done.stdout, b"good\n")
        self.assertGreaterEqual(found["device-host-sync"], 3)

    def test_daemon(self):
        """A process that outlives the run goes on."""
        program = self.write("""
            import os, sys, time, torch
            if os.fork() == 0:
                os.setsid()
                if os.fork() == 0:
                    for fd in (0, 1, 2):
                        os.close(fd)
                    time.sleep(3)
                    torch.ones(4, device="cuda:1").sum().item()
                    with open("daemon.partial", "w") as file: file.write("done")
                    os.rename("daemon.partial", "daemon")
                    os._exit(0)
                os._exit(0)
            os.wait()
            print("parent")
            """)
        done = self.execute([DEVSAN, "run", "--sim=2", "--fail-on=none", "--", sys.executable, program])
        self.assertEqual((done.returncode, done.stdout), (0, b"parent\n"), done.stderr)
        end = time.monotonic() + 60
        while not os.path.exists(os.path.join(self.directory, "daemon")):
            self.assertLess(time.monotonic(), end, "the daemon did not live to its end")
            time.sleep(0.05)

    def test_small_files_only(self):
        """Where no file may grow, the program runs on, and is told that little is recorded."""
        limit = lambda: resource.setrlimit(resource.RLIMIT_FSIZE, (4096, 4096))
        code = "import torch; x = torch.ones(4)\nfor _ in range(100): x.sum().item()\nprint('good')"
        alone = self.execute([sys.executable, "-B", "-c", code], preexec_fn=limit)
        self.assertEqual((alone.returncode, alone.stdout), (0, b"good\n"), alone.stderr)
        observed = self.execute(self.observed(sys.executable, "-B", "-c", code), preexec_fn=limit)
        self.assertIn(b"devsan", observed.stderr)
        # Refused at the start with a reason, or run to its end.
        if observed.returncode != 2:
            self.assertEqual((observed.returncode, observed.stdout), (0, b"good\n"), observed.stderr)

    def test_full_disk(self):
        """A log on a disk that fills up: the program runs on, and the report says that it is cut short."""
        mount = os.path.join(self.directory, "small")
        os.mkdir(mount)
        if subprocess.run(["unshare", "-m", "true"], capture_output=True).returncode != 0:
            self.skipTest("needs the right to mount: run it as root")
        program = self.write(SYNC + textwrap.dedent("""
            with open(os.environ["TMPDIR"] + "/ballast", "wb") as file:
                try:
                    while True: file.write(b"x" * 65536); file.flush()
                except OSError:
                    pass
            for i in range(3000):
                exec(compile("\\n" * i + "x.sum().item()", f"generated{i}.py", "exec"))
            os.remove(os.environ["TMPDIR"] + "/ballast")
            print("good")
            """))
        script = (f"mount -t tmpfs -o size=6m tmpfs {mount} && TMPDIR={mount} exec {DEVSAN} run --sim=2 --fail-on=none "
                  f"-- {sys.executable} {program}")
        done = self.execute(["unshare", "-m", "/bin/sh", "-c", script])
        self.assertEqual((done.returncode, done.stdout), (0, b"good\n"), done.stderr)
        self.assertIn(b"devsan", done.stderr)
        self.assertRegex(done.stderr, rb"(?i)disk|space|room|full|lost|cut")

    def test_little_memory(self):
        """An address space that suffices for the program suffices for both, or the program hears of its own lack."""
        limit = lambda: resource.setrlimit(resource.RLIMIT_AS, (3 << 30, 3 << 30))
        self.check_same(sys.executable, "-c", textwrap.dedent("""
            import torch
            try:
                torch.empty(1 << 40)
            except RuntimeError as error:
                print("refused")
            print(torch.ones(1 << 20).sum().item())
            """), preexec_fn=limit)

    def test_missing_temporary_folder(self):
        environment = {**os.environ, "TMPDIR": os.path.join(self.directory, "nowhere")}
        done = self.execute(self.observed("/bin/echo", "good"), env=environment)
        self.assertTrue((done.returncode, done.stdout) == (0, b"good\n") or
                        (done.returncode == 2 and b"nowhere" in done.stderr), done.stderr)


if __name__ == "__main__":
    unittest.main()
