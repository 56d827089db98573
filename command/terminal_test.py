"""What people see of `devsan report`, `run` and `check` on a terminal, and what pipes get. Usage: terminal_test.py DEVSAN [unittest options]"""

import fcntl
import json
import os
import pty
import re
import struct
import subprocess
import sys
import tempfile
import termios
import unittest

DEVSAN = os.path.abspath(sys.argv.pop(1))
ROOT = os.path.abspath(os.path.join(os.path.dirname(__file__), ".."))
MOCK = os.path.join(ROOT, "analyzer/testing/mock")
COLOR = re.compile("\x1b\\[[0-9;]*m")
MESSAGE = "the host waited for cuda:1 in aten::item, three thousand times and more"


class Terminal(unittest.TestCase):
    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.folder = folder.name
        self.write("a.json", MESSAGE)
        with open(os.path.join(self.folder, "a.py"), "w", encoding="utf-8") as file:
            file.write("x = " + "a + " * 50 + "loss.item()" + " + b" * 50 + "\n")

    def write(self, name, message, function="step"):
        place = {"file": "a.py", "line": 1, "column": 205, "function": function}
        finding = {"rule": "device-host-sync", "severity": "warning", "origin": "runtime", "message": message,
                   "fingerprint": name, "count": 3000, "locations": [place],
                   "stack": [{"file": "main.py", "line": 2, "function": function, "user": True}]}
        with open(os.path.join(self.folder, name), "w", encoding="utf-8") as file:
            json.dump({"schema": "devsan/1", "findings": [finding], "summary": {"tool": "devsan run", "subject": message}}, file)

    def environment(self, settings):
        kept = {name: value for name, value in os.environ.items()
                if name not in ("NO_COLOR", "CLICOLOR_FORCE", "COLUMNS", "TERM", "GITHUB_STEP_SUMMARY")}
        return {**kept, "TERM": "xterm", "XDG_CACHE_HOME": os.path.join(self.folder, "cache"), **settings}

    def on_terminal(self, *arguments, columns=60, **settings):
        """What it writes to a terminal with so many columns."""
        master, terminal = pty.openpty()
        fcntl.ioctl(terminal, termios.TIOCSWINSZ, struct.pack("HHHH", 24, columns, 0, 0))
        process = subprocess.Popen([DEVSAN, *arguments], cwd=self.folder, env=self.environment(settings), stdin=subprocess.DEVNULL,
                                   stdout=terminal, stderr=terminal)
        os.close(terminal)
        data = b""
        while True:
            try:
                part = os.read(master, 65536)
            except OSError:  # what Linux says when the other end is closed
                break
            if not part:
                break
            data += part
        os.close(master)
        self.assertIn(process.wait(60), (0, 1, 3), data)
        return data.decode().replace("\r\n", "\n")

    def piped(self, *arguments, **settings):
        result = subprocess.run([DEVSAN, *arguments], cwd=self.folder, env=self.environment(settings), text=True,
                                capture_output=True, timeout=60)
        return result.stdout + result.stderr

    def test_a_terminal_has_colours_and_lines_that_fit(self):
        text = self.on_terminal("report", "a.json")
        self.assertIn("\x1b[1ma.py:1:205:\x1b[0m", text)
        lines = COLOR.sub("", text).splitlines()
        # The first line stays whole: editors read places and rules from terminals.
        self.assertEqual(lines[0], f"a.py:1:205: warning: {MESSAGE} [device-host-sync]")
        with open(os.path.join(ROOT, "ci/vscode-tasks.json"), encoding="utf-8") as file:
            tasks = json.load(file)["tasks"]
        for task in tasks:
            self.assertRegex(lines[0], task["problemMatcher"]["pattern"]["regexp"])
        self.assertLessEqual(max(map(len, lines[1:])), 60, text)
        source, caret = [line for line in lines if line[5:8] == " | "]
        self.assertEqual(source[caret.index("^"):][:11], "loss.item()", text)
        self.assertTrue(source[8] == source[-1] == "…", text)
        self.assertIn("read it once\n      after the loop", text)
        wide = COLOR.sub("", self.on_terminal("report", "a.json", COLUMNS="200"))
        self.assertIn("read it once after the loop\n", wide)

    def test_a_pipe_has_neither(self):
        text = self.piped("report", "a.json", COLUMNS="40")
        self.assertNotIn("\x1b", text)
        self.assertIn(f"a.py:1:205: warning: {MESSAGE} [device-host-sync]\n", text)
        self.assertIn("loss.item()" + " + b" * 50 + "\n", text)

    def test_who_decides_about_colours(self):
        for settings, options, wanted in (({}, [], True), ({"NO_COLOR": "1"}, [], False), ({"NO_COLOR": ""}, [], True),
                                          ({"TERM": "dumb"}, [], False), ({}, ["--color=never"], False),
                                          ({"NO_COLOR": "1"}, ["--color=always"], True),
                                          ({"NO_COLOR": "1", "CLICOLOR_FORCE": "1"}, [], False),
                                          ({"TERM": "dumb", "CLICOLOR_FORCE": "1"}, ["--color=auto"], True)):
            with self.subTest(settings=settings, options=options):
                self.assertEqual("\x1b[" in self.on_terminal("report", "a.json", *options, **settings), wanted)
        for settings, options, wanted in (({}, [], False), ({"CLICOLOR_FORCE": "1"}, [], True), ({"CLICOLOR_FORCE": "0"}, [], False),
                                          ({}, ["--color=always"], True), ({"CLICOLOR_FORCE": "1"}, ["--color=never"], False)):
            with self.subTest(settings=settings, options=options):
                self.assertEqual("\x1b[" in self.piped("report", "a.json", *options, **settings), wanted)
        self.piped("report", "a.json", "--color=always", "-o", "file.txt")
        with open(os.path.join(self.folder, "file.txt"), encoding="utf-8") as file:
            self.assertNotIn("\x1b", file.read())

    def test_nothing_of_the_program_controls_the_terminal(self):
        self.write("a.json", "\x1b]0;title\x07 \u009b31m \u202e \r\n\x08 \x7f", function="\x1b[2J")
        self.write("b.json", "gone \x1b[5m")
        for arguments in (("report", "a.json"), ("report", "--compare", "a.json", "b.json"), ("report", "--merge", "a.json", "b.json")):
            with self.subTest(arguments=arguments):
                text = COLOR.sub("", self.on_terminal(*arguments, columns=500))
                self.assertEqual([c for c in text if c != "\n" and not c.isprintable()], [], repr(text))
                self.assertIn("\\x1b]0;title\\x07 \\x9b31m \\u202e \\x0d\\x0a\\x08 \\x7f", text)
        with open(os.path.join(self.folder, "a.json"), encoding="utf-8") as file:
            report = json.load(file)
        report["findings"][0]["rule"] = "a\n::error::b"
        report["tool"] = {"name": "dev\x1b[2Jsan"} if isinstance(report.get("tool"), dict) else "dev\x1b[2Jsan"
        report["summary"]["tool"] = "dev\x1b[2Jsan"
        with open(os.path.join(self.folder, "c.json"), "w", encoding="utf-8") as file:
            json.dump(report, file)
        for form in ("text", "github"):
            text = self.piped("report", f"--format={form}", "c.json")
            self.assertNotIn("\x1b", text)
            self.assertNotIn("\n::error::b", text)
        text = self.piped("report", "no\x1b[5m.json")
        self.assertIn("no\\x1b[5m.json", text)
        self.assertNotIn("\x1b", text)

    def test_compare(self):
        self.write("b.json", MESSAGE + " now")
        text = self.on_terminal("report", "--compare", "b.json", "a.json")
        self.assertIn("\x1b[1ma.py:1:205:\x1b[0m", text)

    def test_run(self):
        text = self.on_terminal("run", "--", "true", columns=40)
        self.assertLessEqual(max(map(len, text.splitlines())), 40, text)
        self.assertIn("LibTorch was never\n      loaded by true", text)

    def test_check(self):
        if not os.path.exists(os.path.join(os.path.dirname(DEVSAN), "../libexec/devsan-check")):
            self.skipTest("this build has no analyzer")
        with open(os.path.join(self.folder, "a.cpp"), "w", encoding="utf-8") as file:
            file.write("#include <torch/torch.h>\n"
                       "torch::Tensor scale(torch::Tensor x, const torch::Tensor &w) { return x.cuda() * w; }\n")
        arguments = ("check", "--no-cache", "--torch=none", "a.cpp")
        flags = ("--", "-isystem", MOCK)
        text = self.on_terminal(*arguments, *flags)
        self.assertIn("\x1b[1ma.cpp:2:", text)
        self.assertLessEqual(max(map(len, COLOR.sub("", text).splitlines()[2:])), 60, text)
        self.assertNotIn("\x1b", self.on_terminal(*arguments, "--color=never", *flags))
        self.assertIn("\x1b", self.piped(*arguments, "--color=always", *flags))
        self.assertNotIn("\x1b", self.piped(*arguments, *flags))

    def test_a_wrong_mode_is_named(self):
        for command in (("report", "a.json"), ("run",), ("check", "a.cpp")):
            rest = ("--", "true") if command == ("run",) else ()
            self.assertIn("--color=yes is unknown; valid: auto, always, never", self.piped(*command, "--color=yes", *rest))


if __name__ == "__main__":
    unittest.main()
