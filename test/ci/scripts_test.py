"""The command lines of script/: help and wrong options need no build, no environment and no time.

usage: scripts_test.py SOURCE [unittest options]
"""

import os
import subprocess
import sys
import unittest
from pathlib import Path

SCRIPTS = Path(sys.argv.pop(1)).resolve() / "script"
BENCHMARKS = sorted(path.stem for path in SCRIPTS.parent.glob("bench/*.py"))
COMMANDS = [
    *([path.name] for path in sorted(SCRIPTS.iterdir()) if path.is_file() and os.access(path, os.X_OK) and path.name != "bench"),
    *(["bench", name] for name in BENCHMARKS),
]


def run(command, *options):
    return subprocess.run([SCRIPTS / command[0], *command[1:], *options], capture_output=True, text=True, timeout=30)


class Scripts(unittest.TestCase):
    def test_all_are_there(self):
        self.assertIn(["test"], COMMANDS)
        self.assertIn(["bench", "metrics"], COMMANDS)

    def test_help(self):
        for command in COMMANDS:
            with self.subTest(command=command):
                result = run(command, "--help")
                self.assertEqual(result.returncode, 0, result.stderr)
                self.assertRegex(result.stdout, "[Uu]sage: ")

    def test_wrong_options(self):
        for command in COMMANDS:
            with self.subTest(command=command):
                result = run(command, "--wrong")
                self.assertIn(result.returncode, (1, 2), result.stdout)
                self.assertRegex(result.stderr, r"error: .*(--wrong|required: )")
                self.assertNotRegex(result.stderr, r"(?m)^[a-z-]+: .* \.\.\.$", "work was begun")

    def test_try_systems(self):
        for options, error in (
            (["--torch="], "--torch: names nothing"),
            (["--systems="], "--systems: names nothing"),
            (["--parts=,"], "--parts: names nothing"),
            (["--systems=,sid,"], "--systems: unknown sid"),
            (["--work=a:b"], "--work: ':' in "),
            (["--work=a,b"], "--work: ',' in "),
            (["--python=/"], "--python: / would hide"),
            (["--python=/usr/lib/.."], "--python: /usr would hide"),
            (["--python=wrong"], f"--python: {os.getcwd()}/wrong has no bin/python3"),
            (["--torch=2.11.0,"], "no wheels"),
        ):
            with self.subTest(options=options):
                result = run(["try-systems"], *options)
                self.assertEqual(result.returncode, 2, result.stderr)
                self.assertIn("error: ", result.stderr)
                self.assertIn(error, result.stderr)


if __name__ == "__main__":
    unittest.main()
