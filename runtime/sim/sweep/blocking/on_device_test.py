"""The comparison of a GPU's waits with a simulated device's: that a recording on the latter says what waits, and that a
difference is found.

usage: on_device_test.py DEVSAN [unittest's arguments]"""

import json
import os
import subprocess
import sys
import tempfile
import unittest
from pathlib import Path

import on_device

DEVSAN = os.path.abspath(sys.argv[1])
PROGRAM = Path(on_device.__file__)


class OnDevice(unittest.TestCase):
    def setUp(self):
        self.folder = Path(self.enterContext(tempfile.TemporaryDirectory()))

    def compare(self, gpu, simulated):
        for name, operators in (("gpu", gpu), ("simulated", simulated)):
            (self.folder / name).write_text(json.dumps({"torch": "2.13.0", "device": name, "operators": operators}))
        return subprocess.run([sys.executable, "-B", PROGRAM, "compare", self.folder / "gpu", self.folder / "simulated"],
                              capture_output=True, text=True)

    def test_a_recording_says_what_waits(self):
        out = self.folder / "simulated.json"
        subprocess.run([DEVSAN, "run", "--sim=2", "--quiet", "--fail-on=none", "--", sys.executable, "-B", PROGRAM, "record", out,
                        "nonzero", "mul", "--device=cuda:1"], check=True, capture_output=True)
        _, device, operators = on_device.read(out)
        self.assertIn("simulated", device)
        for op, waits in (("aten.nonzero.default", True), ("aten.mul.Tensor", False)):
            quiet, waiting = map(sum, zip(*operators[op].values()))
            self.assertEqual((quiet == 0, waiting > 0), (waits, waits), op)
        self.assertEqual(on_device.differences(operators, operators)[0], [])

    def test_a_difference_is_told_from_each_side(self):
        result = self.compare({"a": {"1": [0, 2], "2": [1, 0]}, "b": {"1": [3, 0]}, "c": {"1": [1, 1]}},
                              {"a": {"1": [2, 0], "2": [1, 0]}, "b": {"1": [0, 3]}, "c": {"1": [2, 0]}})
        self.assertEqual(result.returncode, 1, result.stderr)
        self.assertEqual(result.stdout.splitlines(), [
            "a: waits on the GPU alone, in 1 of 2 kinds of calls", "b: waits on the simulated device alone, in 1 of 1 kinds of calls",
            "gpu with PyTorch 2.13.0, simulated with 2.13.0: 3 kinds of calls compared, 2 operators differ"])

    def test_recordings_without_a_common_call_are_an_error(self):
        result = self.compare({"a": {"1": [1, 0]}}, {"b": {"1": [1, 0]}})
        self.assertEqual(result.returncode, 1)
        self.assertIn("no operator was called with the same arguments on both", result.stderr)

    def test_another_file_is_named(self):
        (self.folder / "other").write_text("{}")
        result = subprocess.run([sys.executable, "-B", PROGRAM, "compare", self.folder / "other", self.folder / "none"],
                                capture_output=True, text=True)
        self.assertIn(f"{self.folder / 'other'} is no recording", result.stderr)


if __name__ == "__main__":
    unittest.main(argv=[sys.argv[0], *sys.argv[2:]])
