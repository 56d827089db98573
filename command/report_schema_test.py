"""The schemas in core/schema/ describe what DevSan writes: whole reports of check, run, merge and compare, every field of them.

usage: report_schema_test.py DEVSAN [unittest options]
"""

import copy
import json
import os
import subprocess
import sys
import tempfile
import unittest
from pathlib import Path

try:
    import jsonschema
except ImportError:
    print("skipped: no jsonschema in this Python; script/bootstrap installs it")
    sys.exit(77)

DEVSAN = Path(sys.argv.pop(1)).resolve()
ROOT = Path(__file__).resolve().parents[1]
PROGRAM = """\
import torch
import devsan
x = torch.ones(4, device="cuda:1")
for _ in range(3):
    x.sum().item()
    x.cpu().to("cuda:1")
    devsan.step()
try:
    x + torch.ones(4, device="cuda:0")
except RuntimeError:
    pass
"""
SOURCE = """\
#include <torch/torch.h>
torch::Tensor scale(torch::Tensor x, const torch::Tensor &weight) { return x.cuda() * weight; }
"""


def strict(schema):
    """The same, where what it does not describe is wrong."""
    if isinstance(schema, dict):
        schema = {key: strict(value) for key, value in schema.items()}
        if "properties" in schema:
            schema["additionalProperties"] = False
    return [strict(value) for value in schema] if isinstance(schema, list) else schema


class ReportSchema(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        folder = tempfile.TemporaryDirectory()
        cls.addClassCleanup(folder.cleanup)
        cls.folder = Path(folder.name)
        cls.schemas = {}
        for name in ("devsan-1", "devsan-compare-1"):
            schema = json.loads((ROOT / f"core/schema/{name}.schema.json").read_text())
            jsonschema.Draft202012Validator.check_schema(schema)
            cls.schemas[name] = schema
        (cls.folder / "program.py").write_text(PROGRAM)
        (cls.folder / "a.cpp").write_text(SOURCE)
        if (DEVSAN.parent / "../lib/libdevsan_sim.so").exists():
            cls.devsan("run", "--sim=2", "--fail-on=none", "--report=run.json", "--", sys.executable, "program.py")
        if (DEVSAN.parent / "../libexec/devsan-check").exists():
            cls.devsan("check", "--torch=none", "--format=json", "-o", "check.json", "a.cpp", "--", "-isystem", ROOT / "analyzer/testing/mock")

    @classmethod
    def devsan(cls, *arguments):
        result = subprocess.run([str(word) for word in (DEVSAN, *arguments)], cwd=cls.folder, capture_output=True, text=True, timeout=120,
                                env={**os.environ, "XDG_CACHE_HOME": str(cls.folder / "cache")})
        if result.returncode not in (0, 1, 3):
            raise AssertionError(result.stdout + result.stderr)
        return result.stdout

    def report(self, name):
        path = self.folder / name
        if not path.exists():
            self.skipTest(f"this build writes no {name}: it lacks the runtime or the analyzer")
        return json.loads(path.read_text())

    def judge(self, report, name="devsan-1"):
        jsonschema.Draft202012Validator(strict(self.schemas[name])).validate(report)

    def test_run(self):
        report = self.report("run.json")
        self.judge(report)
        self.assertGreaterEqual({finding["rule"] for finding in report["findings"]}, {"device-host-sync", "device-mismatch"})
        # Else these would not be judged.
        for field in ("stack", "ranks", "loads", "related", "locations"):
            self.assertTrue(any(finding[field] for finding in report["findings"]), field)
        self.assertTrue(any(finding["cost"] for finding in report["findings"]))
        self.assertEqual([times["steps"] for times in report["summary"]["step_times"]], [3])

    def test_check(self):
        report = self.report("check.json")
        self.judge(report)
        self.assertTrue(report["findings"][0]["fix"])

    def test_merged(self):
        self.report("run.json"), self.report("check.json")
        report = json.loads(self.devsan("report", "--merge", "--format=json", "run.json", "check.json"))
        self.judge(report)
        self.assertEqual({finding["origin"] for finding in report["findings"]}, {"static", "runtime"})

    def test_compared(self):
        report = self.report("run.json")
        other = copy.deepcopy(report)
        other["findings"][0]["count"] += 5
        gone = other["findings"].pop()
        gone["fingerprint"] = "other"
        other["findings"].append(gone)
        (self.folder / "other.json").write_text(json.dumps(other))
        compared = json.loads(self.devsan("report", "--compare", "--format=json", "run.json", "other.json"))
        self.judge(compared, "devsan-compare-1")
        for field in ("new", "gone", "changed"):
            self.assertTrue(compared[field], field)

    def test_what_is_wrong_is_seen(self):
        finding = {"schema": "devsan/1", "findings": [{}], "summary": {}}
        self.assertFalse(jsonschema.Draft202012Validator(self.schemas["devsan-1"]).is_valid(finding))
        report = self.report("check.json")
        report["findings"][0]["more"] = 1  # of a later version
        self.assertTrue(jsonschema.Draft202012Validator(self.schemas["devsan-1"]).is_valid(report))
        with self.assertRaises(jsonschema.ValidationError):
            self.judge(report)


if __name__ == "__main__":
    unittest.main()
