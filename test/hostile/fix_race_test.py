"""`devsan check --fix` while others write the same files: each file is what its user wrote, or that with whole fixes.

    fix_race_test.py DEVSAN [--edited=N] [--together=N]      runs against an editor, and of two fixes at once
"""

import os
import random
import subprocess
import sys
import tempfile
import threading
import time
import unittest
from pathlib import Path

HEADERS = Path(__file__).with_name("headers")
DEVSAN = os.path.abspath(sys.argv.pop(1))
COUNTS = {"edited": 25, "together": 10}
for argument in [argument for argument in sys.argv[1:] if "=" in argument]:
    sys.argv.remove(argument)
    name, _, count = argument.removeprefix("--").partition("=")
    COUNTS[name] = int(count)

VERSION = "// version %08d\n"
# What comes first decides nothing; what the fix changes is in each function.
FUNCTION = "inline at::Tensor {name}{i}(const at::Tensor &x) {{ return x + torch::arange({i}).cuda(); }}\n"
BROKEN, FIXED = ".cuda();", ".to(x.device());"


def text_of(name, version, appended=""):
    functions = "".join(FUNCTION.format(name=name, i=i) for i in range(2, 12))
    include = '#include "common.h"\n' if name != "common" else "#pragma once\n#include <torch/torch.h>\n"
    # More than four pages, which clang would map.
    return VERSION % version + include + functions + "// filling\n" * 2000 + appended


class Editor(threading.Thread):
    """Writes files in all the ways that editors do, and knows what they have to hold."""

    def __init__(self, files, seed, pause):
        super().__init__()
        self.files, self.random, self.pause = files, random.Random(seed), pause
        self.versions = dict.fromkeys(files, 0)
        self.appended = dict.fromkeys(files, "")
        self.ends = threading.Event()
        self.edits = 0

    def text(self, path):
        return text_of(path.stem, self.versions[path], self.appended[path])

    def run(self):
        while not self.ends.wait(self.random.random() * self.pause):
            path = self.random.choice(self.files)
            self.random.choice((self.in_place, self.rename, self.append, self.truncate, self.backup))(path)
            self.edits += 1

    def linger(self):
        time.sleep(self.random.choice((0, 0, 0.0003, 0.002)))

    def in_place(self, path):
        with open(path, "r+b", buffering=0) as file:
            self.linger()
            self.versions[path] += 1
            os.pwrite(file.fileno(), (VERSION % self.versions[path]).encode(), 0)

    def rename(self, path):
        self.versions[path] += 1
        new = path.with_suffix(".new")
        new.write_text(self.text(path))
        os.replace(new, path)

    def append(self, path):
        line = f"// line {self.random.random()}\n"
        with open(path, "ab", buffering=0) as file:
            self.linger()
            file.write(line.encode())
        self.appended[path] += line

    def truncate(self, path):
        self.versions[path] += 1
        text = self.text(path)
        with open(path, "w") as file:
            self.linger()
            file.write(text[:3000])
            file.flush()
            self.linger()
            file.write(text[3000:])

    def backup(self, path):
        self.versions[path] += 1
        old = path.with_suffix(".old")
        os.rename(path, old)
        self.linger()
        path.write_text(self.text(path))
        os.unlink(old)


class Races(unittest.TestCase):
    def setUp(self):
        folder = tempfile.TemporaryDirectory(prefix="devsan-race-")
        self.addCleanup(folder.cleanup)
        self.folder = Path(folder.name)
        self.project = self.folder / "project"
        self.project.mkdir()
        self.files = [self.project / name for name in ("a.cpp", "b.cpp", "common.h")]

    def write(self):
        for path in self.files:
            path.write_text(text_of(path.stem, 0))

    def start(self, *options):
        return subprocess.Popen([DEVSAN, "check", "--torch=none", "--fix", *options, self.project, "--", f"-isystem{HEADERS}"],
                                cwd=self.project, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.STDOUT,
                                text=True, env={"PATH": os.environ["PATH"], "XDG_CACHE_HOME": str(self.folder / "cache"),
                                                "TMPDIR": str(self.folder)})

    def finish(self, process):
        output = process.communicate(timeout=120)[0]
        self.assertIn(process.returncode, (0, 1, 2), output)  # 2: half a file may hold no function
        self.assertNotIn("signal", output)
        return output

    def look(self, output, text=lambda path: text_of(path.stem, 0)):
        """How many files have fixes."""
        self.assertEqual(sorted(self.project.iterdir()), sorted(self.files), output)
        count = 0
        for path in self.files:
            held = path.read_text()
            count += FIXED in held
            self.assertEqual(held.replace(FIXED, BROKEN), text(path), f"{path}\n{output}")
        return count

    def test_edited(self):
        fixed = edits = skipped = 0
        for seed in range(COUNTS["edited"]):
            self.write()
            editor = Editor(self.files, seed, pause=random.Random(seed).choice((0.005, 0.05, 0.3, 1)))
            editor.start()
            try:
                output = self.finish(self.start(*(["--no-cache"] if seed % 2 else [])))
            finally:
                editor.ends.set()
                editor.join()
            with self.subTest(seed=seed):
                fixed += self.look(output, editor.text)
            edits += editor.edits
            skipped += output.count("not fixed, ")
        print(f"{COUNTS['edited']} runs, {edits} edits: {fixed} files fixed, {skipped} skipped and named")

    def test_together(self):
        both = 0
        for _ in range(COUNTS["together"]):
            self.write()
            outputs = [self.finish(process) for process in (self.start(), self.start())]
            self.assertEqual(self.look("\n".join(outputs)), len(self.files))
            both += all("fixed in the sources" in output for output in outputs)
        print(f"{COUNTS['together']} times two at once: {both} times both fixed files")


if __name__ == "__main__":
    unittest.main()
