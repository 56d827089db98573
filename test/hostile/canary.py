"""A place to run DevSan on hostile input, and what must hold there whatever the input was.

A test of this folder is a class derived from Canary. Each of its cases makes a sandbox with self.sandbox(), fills its
folders, runs commands with sandbox.run(), which checks the guarantees of docs/security.md, and then says which verdict is right.
"""

import hashlib
import os
import re
import resource
import shutil
import signal
import stat
import subprocess
import sys
import tempfile
import threading
import time
import unittest

DEVSAN = os.path.abspath(sys.argv.pop(1)) if len(sys.argv) > 1 and not sys.argv[1].startswith("-") else "devsan"
HEADERS = os.path.join(os.path.dirname(os.path.abspath(__file__)), "headers")  # LibTorch, for those that analyse
SECONDS = 60
MEMORY = 2 << 30  # bytes, of the largest process

# What systems of CI obey where it stands in a log, and what we write for GitHub.
_COMMAND = re.compile(r"^\s*::|##\[|##vso\[|##teamcity\[")
_ANNOTATION = re.compile(r"::(error|warning|notice) (file=[^:,]*,)?(line=\d+,)?(col=\d+,)?title=[^:,]*::[^\r\n]*$")
_DIRECTIONS = "\u061c\u200e\u200f\u202a\u202b\u202c\u202d\u202e\u2066\u2067\u2068\u2069\u2028\u2029"

_runs = 0
_traps = 0


def is_root():
    return os.geteuid() == 0


class Done:
    """A command that has ended: status (negative: a signal), out and err as text, seconds, peak (bytes of the largest process)."""

    def __init__(self, command, status, out, err, seconds, peak):
        self.command, self.status, self.seconds, self.peak = command, status, seconds, peak
        self.raw_out, self.raw_err = out, err
        self.out, self.err = out.decode(errors="replace"), err.decode(errors="replace")

    def __str__(self):
        return f"$ {' '.join(self.command)}\n{self.out[-4000:]}{self.err[-4000:]}[status {self.status}, {self.seconds:.1f} s]"


class Sandbox:
    """Folders of one case: repo (what is checked), outside (nothing may change in it), home, tmp, and canaries."""

    def __init__(self, test):
        self.test = test
        self.root = tempfile.mkdtemp(prefix="devsan-hostile-")
        test.addCleanup(self._remove)
        for name in ("repo", "outside", "home", "tmp", "canaries"):
            os.mkdir(self.path(name))
            setattr(self, name, self.path(name))
        self.cache_home = self.path("home", ".cache")
        self.write("outside/kept.txt", "outside\n")
        self._before = None

    def path(self, *names):
        return os.path.join(self.root, *names)

    def write(self, name, content="", mode=None):
        """A file below the sandbox's root; its folders are made."""
        path = self.path(name)
        os.makedirs(os.path.dirname(path), exist_ok=True)
        with open(path, "wb") as file:
            file.write(content if isinstance(content, bytes) else content.encode())
        if mode is not None:
            os.chmod(path, mode)
        return path

    def read(self, name):
        with open(self.path(name), "rb") as file:
            return file.read()

    def trap(self, name, then=""):
        """An executable that leaves a canary where anybody starts it."""
        global _traps
        _traps += 1
        return self.write(name, f"#!/bin/sh\ntouch '{self.canary(name)}'\n{then}\n", 0o755)

    def snare(self, name, text):
        """A file that leaves a canary where anybody runs it as what it is; {canary} stands for the canary's path."""
        global _traps
        _traps += 1
        return self.write(name, text.replace("{canary}", self.canary(name)))

    def canary(self, name):
        """A path; that it exists means that something of the repository was executed."""
        return self.path("canaries", name.replace("/", "_"))

    def fifo(self, name):
        path = self.path(name)
        os.makedirs(os.path.dirname(path), exist_ok=True)
        os.mkfifo(path)
        return path

    def link(self, name, target):
        path = self.path(name)
        os.makedirs(os.path.dirname(path), exist_ok=True)
        os.symlink(target, path)
        return path

    def huge(self, name, size=8 << 30, head=b""):
        """A sparse file."""
        path = self.write(name, head)
        os.truncate(path, size)
        return path

    def git(self, *arguments):
        subprocess.run(["git", "-c", "user.name=a", "-c", "user.email=a@b", "-c", "init.defaultBranch=main",
                        "-c", "core.hooksPath=/dev/null", *arguments],
                       cwd=self.repo, env={"HOME": self.home, "PATH": os.environ["PATH"], "GIT_CONFIG_NOSYSTEM": "1"},
                       check=True, capture_output=True)

    def environment(self, **changes):
        kept = {name: os.environ[name] for name in ("PATH", "LANG", "LLVM_PROFILE_FILE") if name in os.environ}
        kept.update(HOME=self.home, TMPDIR=self.tmp, XDG_CACHE_HOME=self.cache_home, OMP_NUM_THREADS="1")
        kept.update(changes)
        return {name: value for name, value in kept.items() if value is not None}

    def run(self, *arguments, command=None, cwd=None, env=None, stdin=b"", seconds=SECONDS, memory=MEMORY, writes=(),
            may_be_killed=False, annotations=False, limits=None):
        """Runs `devsan ARGUMENTS` (or another command) and checks what holds for all. `writes`: paths below the sandbox
        that it was told to write. `annotations`: GitHub's are expected. `limits`: called in the child before it starts."""
        global _runs
        _runs += 1
        command = list(command or [DEVSAN]) + list(arguments)
        before = self._snapshot(writes)

        def prepare():
            resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
            if limits:
                limits()

        start = time.monotonic()
        with _input(stdin) as given:
            process = subprocess.Popen(command, cwd=cwd or self.repo, env=self.environment(**(env or {})), stdin=given,
                                       stdout=subprocess.PIPE, stderr=subprocess.PIPE, start_new_session=True,
                                       preexec_fn=prepare)
        readers = [_Reader(process.stdout), _Reader(process.stderr)]
        ended, pause = 0, 0.001
        while not ended:
            # With what it waited for: the largest process of all.
            ended, status, usage = os.wait4(process.pid, os.WNOHANG)
            if not ended and time.monotonic() - start > seconds:
                os.killpg(process.pid, signal.SIGKILL)
                ended, status, usage = os.wait4(process.pid, 0)
            elif not ended:
                time.sleep(pause)
                pause = min(2 * pause, 0.02)
        process.returncode = os.waitstatus_to_exitcode(status)
        texts = [reader.text(start + seconds) for reader in readers]
        done = Done(command, process.returncode, *texts, time.monotonic() - start, usage.ru_maxrss << 10)
        self.test.assertLess(done.seconds, seconds, f"no end after {seconds} s: {done}")
        self._check(done, before, writes, memory, may_be_killed, annotations)
        return done

    def _check(self, done, before, writes, memory, may_be_killed, annotations):
        test = self.test
        test.assertEqual(os.listdir(self.canaries), [], f"something of the repository was executed: {done}")
        if not may_be_killed:
            test.assertGreaterEqual(done.status, 0, f"ended by a signal: {done}")
            test.assertLess(done.status, 126, f"ended by a signal: {done}")
        test.assertLess(done.peak, memory, f"took {done.peak >> 20} MiB: {done}")
        after = self._snapshot(writes)
        changed = sorted(path for path in {*before, *after} if before.get(path) != after.get(path))
        test.assertEqual(changed, [], f"written without being told to: {done}")
        left = [name for name in os.listdir(self.tmp)]
        test.assertEqual(left, [], f"left in the temporary folder: {done}")
        for text, name in ((done.raw_out, "stdout"), (done.raw_err, "stderr")):
            controls = sorted({byte for byte in text if (byte < 32 and byte not in (9, 10)) or byte == 127})
            controls += sorted({hex(ord(c)) for c in text.decode(errors="replace") if c in _DIRECTIONS or 0x80 <= ord(c) < 0xa0})
            test.assertEqual(controls, [], f"control characters on {name}: {done}")
            commands = [line for line in text.decode(errors="replace").splitlines()
                        if _COMMAND.search(line) and not (annotations and _ANNOTATION.match(line))]
            test.assertEqual(commands, [], f"commands to a CI system on {name}: {done}")

    def _snapshot(self, writes):
        """Of each path in repo and outside that is not in `writes`: kind, mode, and a hash of what it holds."""
        told = {self.path(name) for name in writes}
        found = {}
        for top in (self.repo, self.outside):
            for folder, folders, files in os.walk(top):
                if os.path.basename(folder) == ".git":
                    folders[:] = []  # git keeps its index as it likes
                    continue
                for name in (*folders, *files):
                    path = os.path.join(folder, name)
                    if path in told or any(path.startswith(one + os.sep) for one in told):
                        continue
                    try:
                        found[path] = _identity(path)
                    except OSError as error:
                        found[path] = error.errno  # a name that is too long
        return found

    def _remove(self):
        for folder, folders, _ in os.walk(self.root):
            for name in folders:
                path = os.path.join(folder, name)
                try:
                    if not os.path.islink(path):
                        os.chmod(path, 0o700)
                except OSError:
                    pass  # a name that is too long: rmtree() goes by descriptors
        shutil.rmtree(self.root, ignore_errors=True)


class _Reader(threading.Thread):
    """Reads a pipe until nobody has it open for writing any more."""

    def __init__(self, pipe):
        super().__init__(daemon=True)
        self._pipe, self._parts = pipe, []
        self.start()

    def run(self):
        with self._pipe:
            while part := self._pipe.read1():
                self._parts.append(part)

    def text(self, end):
        self.join(max(0, end - time.monotonic()))
        return b"".join(self._parts)


def _input(text):
    """What a shell would give: a pipe, or a file where a pipe would not hold all."""
    if len(text) > 60_000:
        file = tempfile.TemporaryFile()
        file.write(text)
        file.seek(0)
        return file
    reader, writer = os.pipe()
    os.write(writer, text)
    os.close(writer)
    return open(reader, "rb")


def _identity(path):
    status = os.lstat(path)
    if stat.S_ISLNK(status.st_mode):
        return "link", os.readlink(path)
    if not stat.S_ISREG(status.st_mode):
        return "other", status.st_mode
    if status.st_size > 64 << 20:
        return "large", status.st_mode, status.st_size, status.st_mtime_ns
    try:
        with open(path, "rb") as file:
            return "file", status.st_mode, hashlib.sha256(file.read()).hexdigest()
    except PermissionError:
        return "closed", status.st_mode, status.st_size, status.st_mtime_ns


class Canary(unittest.TestCase):
    maxDiff = None

    def sandbox(self):
        """A new one; cases that cannot hide each other share one."""
        return Sandbox(self)

    def assertSays(self, done, status, *texts):
        """`status` is one status or several; each text stands in stdout or stderr."""
        statuses = status if isinstance(status, tuple) else (status,)
        self.assertIn(done.status, statuses, str(done))
        for text in texts:
            self.assertIn(text, done.out + done.err, str(done))


def main():
    program = unittest.main(exit=False, verbosity=1)
    print(f"{_runs} runs, {_traps} traps")
    sys.exit(not program.result.wasSuccessful())
