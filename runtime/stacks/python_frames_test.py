"""Frames are read as the interpreter itself tells them, by every CPython on this machine whose frames can be read.

usage: python_frames_test.py PROBE [unittest options]      PROBE: the library of testing/python_frames_probe.cpp
"""

import ctypes
import glob
import os
import shutil
import subprocess
import sys
import threading
import unittest

PROBE = os.path.abspath(sys.argv.pop(1))


def interpreters():
    """One of each version that can be read, with a global lock and without: on PATH, or of pyenv."""
    probe = ctypes.CDLL(PROBE)
    probe.devsan_probe_readable.restype = ctypes.c_char_p
    first, last = (int(version.split(".")[1]) for version in probe.devsan_probe_readable().decode().split(" to "))
    pyenv = os.environ.get("PYENV_ROOT", os.path.expanduser("~/.pyenv"))
    found = {}
    for name in [f"3.{minor}" for minor in range(first, last + 1)] + ["3.13t"]:
        paths = [shutil.which(f"python{name}")] + glob.glob(f"{pyenv}/versions/{name.rstrip('t')}.*/bin/python{name}") + [sys.executable]
        for path in filter(None, paths):
            done = subprocess.run([path, "-c", "import sys; print('3.%d%s' % (sys.version_info[1], getattr(sys, 'abiflags', '')))"],
                                  capture_output=True, text=True)
            if done.returncode == 0 and done.stdout.strip() == name:
                found.setdefault(name, path)
    return found


class Frames(unittest.TestCase):
    def test_each_interpreter(self):
        found = interpreters()
        self.assertTrue(found)
        for version, path in found.items():
            with self.subTest(version):
                done = subprocess.run([path, __file__, PROBE, "--inside"], capture_output=True, text=True, timeout=120)
                self.assertEqual(done.returncode, 0, done.stdout + done.stderr)
        print("read:", ", ".join(f"{version} at {path}" for version, path in found.items()))


class Offsets(unittest.TestCase):
    """What an interpreter tells of itself is looked at before it is followed."""

    # Where the sizes of the thread's, the frame's, the code's, bytes' and str's structs are, in words, and which members are read.
    STRUCTS = {13: {19: (4,), 28: (1, 2, 3, 5), 34: (1, 3, 4, 5, 9), 64: (1,), 67: (1, 2, 3)},
               14: {22: (4,), 31: (1, 2, 3, 5), 39: (1, 3, 4, 5, 9), 74: (1,), 77: (1, 2, 3)},
               15: {22: (4,), 39: (1, 2, 3, 5), 47: (1, 3, 4, 5, 9), 86: (1,), 89: (1, 2, 3)}}

    def words(self, minor):
        words = (ctypes.c_uint64 * 128)(*[0] * 128)
        ctypes.memmove(words, b"xdebugpy", 8)
        words[1] = 3 << 24 | minor << 16 | 1 << 8 | 0xf0
        for size, members in self.STRUCTS[minor].items():
            words[size] = 256
            for member in members:
                words[size + member] = 64
        return words

    def reads(self, words, minor):
        probe = ctypes.CDLL(PROBE)
        probe.devsan_probe_reads_offsets.restype = ctypes.c_bool
        return probe.devsan_probe_reads_offsets(words, minor)

    def test_what_is_followed(self):
        for minor, structs in self.STRUCTS.items():
            self.assertTrue(self.reads(self.words(minor), minor))
            self.assertFalse(self.reads(self.words(minor), 13 + (minor - 12) % 3))
            # Before the release.
            for level in (0xa0, 0xb1, 0xc2, 0):
                words = self.words(minor)
                words[1] = words[1] & ~0xff | level
                self.assertFalse(self.reads(words, minor), hex(level))
            # Without a global lock.
            words = self.words(minor)
            words[2] = 1
            self.assertEqual(self.reads(words, minor), minor == 13)
            # Outside of a struct, across its end, or of no use.
            for size, members in structs.items():
                for place, value in [(size, 1 << 20), *((size + member, value) for member in members for value in (1 << 40, 1 << 63, 257))]:
                    words = self.words(minor)
                    words[place] = value
                    self.assertFalse(self.reads(words, minor), (minor, place, value))
            code = list(structs)[2]
            words = self.words(minor)
            words[code + 9] = 16
            self.assertFalse(self.reads(words, minor))


class Inside:
    def __init__(self):
        self.probe = ctypes.CDLL(PROBE)
        self.probe.devsan_probe_identity.restype = ctypes.c_uint64
        self.buffer = ctypes.create_string_buffer(1 << 16)

    def runs(self):
        size = self.probe.devsan_probe_frames(self.buffer, len(self.buffer))
        assert size >= 0, "this interpreter cannot be read"
        return [run.splitlines() for run in self.buffer.raw[:size].decode().split("\n\n")[:-1]]

    def check(self):
        """Frames by the probe and by the interpreter, innermost first."""
        runs = self.runs()
        frame, expected = sys._getframe(), []
        while frame:
            code = frame.f_code
            expected.append((code.co_filename, getattr(code, "co_qualname", code.co_name)))
            frame = frame.f_back
        lines = [line.rsplit(" ", 2) for run in runs for line in run]
        seen = [(place.rsplit(":", 1)[0], name) for place, name, _ in lines]
        # The innermost two are the probe's callers.
        assert seen[1:] == expected, (seen, expected)
        frame = sys._getframe(1)
        for place, _, _ in lines[2:]:
            assert int(place.rsplit(":", 1)[1]) == frame.f_lineno, (place, frame.f_lineno)
            frame = frame.f_back
        return runs

    def run(self):
        self.whole = sys.version_info < (3, 11)  # each frame has a native one of its own
        self.base = len(self.check())
        # A C function calls Python: a native frame of its own.
        self.count(next(map(lambda _: self.check(), [0])), self.base + 1)
        assert len(sorted([1], key=lambda _: self.check() and 0)) == 1

        def généré_数():
            yield self.check()

        next(généré_数())

        class Made:
            def __init__(made):
                made.runs = self.check()

        for _ in range(40):  # specialized calls
            Made()
        for _ in range(2):
            self.count(self.check(), self.base)
        self.one_line()

    def count(self, runs, expected):
        assert len(runs) == (sum(map(len, runs)) if self.whole else expected), runs

    def one_line(self):
        first, second = self.identity(), self.identity()
        assert first != second
        places = {self.identity() for _ in range(5)}
        assert len(places) == 1, places

    def identity(self):
        return self.probe.devsan_probe_identity()


if __name__ == "__main__":
    if "--inside" in sys.argv:
        Inside().run()
        # Each thread has frames of its own.
        failures = []
        threading.excepthook = failures.append
        for _ in range(2):
            thread = threading.Thread(target=Inside().run)
            thread.start()
            thread.join()
        assert not failures, failures
    else:
        unittest.main()
