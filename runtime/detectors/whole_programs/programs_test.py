"""Programs as people write them, under `devsan run --sim=2`: each with all findings that it deserves, and no others.

usage: programs_test.py DEVSAN [unittest options]

A comment `# expect: rule …` ends each line that has findings.
"""

import json
import os
import subprocess
import sys
import tempfile
import unittest
from pathlib import Path

DEVSAN = os.path.abspath(sys.argv.pop(1))
PROGRAMS = Path(__file__).resolve().parent / "programs"
MARK = "# expect:"


class Programs(unittest.TestCase):
    def check(self, name):
        path = PROGRAMS / name
        with tempfile.TemporaryDirectory() as folder:
            report = os.path.join(folder, "report.json")
            command = [DEVSAN, "run", "--sim=2", "--fail-on=none", f"--report={report}", "--", sys.executable, str(path)]
            done = subprocess.run(command, capture_output=True, text=True, timeout=280, cwd=folder,
                                  env={**os.environ, "OMP_NUM_THREADS": "1"})
            self.assertEqual(done.returncode, 0, done.stdout + done.stderr)
            with open(report, encoding="utf-8") as file:
                findings = [finding for finding in json.load(file)["findings"] if finding["severity"] != "note"]
        found = {}
        for finding in findings:
            place = finding["locations"][0]
            self.assertTrue(place["file"].endswith(name), finding)
            found.setdefault(place["line"], set()).add(finding["rule"])
        expected = {}
        for number, line in enumerate(path.read_text(encoding="utf-8").splitlines(), 1):
            if MARK in line:
                expected[number] = set(line.split(MARK)[1].split())
        self.assertEqual(found, expected)


for program in sorted(PROGRAMS.glob("*.py")):
    setattr(Programs, f"test_{program.stem}", lambda self, name=program.name: self.check(name))

if __name__ == "__main__":
    unittest.main()
