"""Extensions that people use, from the package index, built for CUDA by their own setup.py and run on the simulated devices of a
CPU build: what they make lies on the device of their input, and launches on another device than their tensors' are found.

usage: projects_test.py DEVSAN FOLDER [unittest's arguments]
  FOLDER   keeps sources and builds for the next run"""

import json
import os
import subprocess
import sys
import unittest
from pathlib import Path

ROOT = Path(__file__).resolve().parents[3]
sys.path.insert(0, str(ROOT / "bench"))
from projects import PROJECTS, obtain

DEVSAN, FOLDER = os.path.abspath(sys.argv[1]), Path(sys.argv[2]).resolve()


def built(name):
    """The folder of the project's sources, with its extensions beside its Python files."""
    try:
        project = obtain(name, PROJECTS[name][0], FOLDER)
    except OSError as error:
        raise unittest.SkipTest(f"{name} cannot be obtained: {error}") from error
    # For CUDA alone where the project has a choice; the CPU's functions are not looked at.
    environment = os.environ | {"FORCE_ONLY_CUDA": "1", "FORCE_CUDA": "1", "TORCH_CUDA_ARCH_LIST": "8.0", "CC": "gcc", "CXX": "g++"}
    log = FOLDER / f"{name}.log"
    with log.open("w") as out:
        ended = subprocess.run([DEVSAN, "run", "--sim=2", "--quiet", "--", sys.executable, "setup.py", "build_ext", "--inplace",
                                f"--parallel={os.cpu_count()}"], cwd=project, env=environment, stdout=out, stderr=out, check=False)
    if ended.returncode:
        raise AssertionError(f"{name} does not build: {log}\n" + log.read_text()[-3000:])
    return project


class Projects(unittest.TestCase):
    def findings(self, project, program):
        """What `devsan run` finds in the program, by rule, and what the program printed."""
        report = FOLDER / f"{project.name}.report.json"
        report.unlink(missing_ok=True)
        ended = subprocess.run([DEVSAN, "run", "--sim=2", f"--report={report}", "--", sys.executable, "-c", program], cwd=FOLDER,
                               env=os.environ | {"PYTHONPATH": str(project)}, capture_output=True, text=True, check=False)
        self.assertTrue(report.exists(), ended.stdout + ended.stderr)
        rules = {}
        for finding in json.loads(report.read_text())["findings"]:
            rules.setdefault(finding["rule"], []).append(finding)
        return rules, ended.stdout

    def test_torch_scatter(self):
        rules, printed = self.findings(built("torch_scatter"), """
import torch, torch_scatter
source = torch.rand(8, 4, device="cuda:1")
index = torch.arange(8, device="cuda:1") // 2
total = torch_scatter.scatter_max(source, index, dim=0)[0]
rows = torch_scatter.segment_csr(source, torch.tensor([0, 4, 8], device="cuda:1"))
print(total.device, tuple(total.shape), rows.device, tuple(rows.shape))
""")
        self.assertIn("cuda:1 (4, 4) cuda:1 (2, 4)", printed)
        self.assertNotIn("device-missing-guard", rules)

    def test_torch_cluster(self):
        rules, printed = self.findings(built("torch_cluster"), """
import torch, torch_cluster
points = torch.rand(16, 3, device="cuda:1")
nearest = torch_cluster.nearest(points, points[:4])
cells = torch_cluster.grid_cluster(points, torch.full((3,), 0.5, device="cuda:1"))
print(nearest.device, cells.device)
""")
        self.assertIn("cuda:1 cuda:1", printed)
        self.assertNotIn("device-missing-guard", rules)

    def test_flash_deformable_attention(self):
        rules, printed = self.findings(built("DCNv4"), """
import torch
from DCNv4 import FlashDeformAttnFunction
device = "cuda:1"
values = torch.rand(1, 64, 2, 16, device=device)           # batch, 8 x 8 places, heads, channels
sampled = torch.rand(1, 4, 2, 8 * 3, device=device)        # batch, queries, heads, points with their weights
shapes, starts = torch.tensor([[8, 8]], device=device), torch.tensor([0], device=device)
print(FlashDeformAttnFunction.apply(values, shapes, starts, sampled, 64, 8).device)
""")
        self.assertIn("cuda:1", printed)
        finding, = rules["device-missing-guard"]
        self.assertRegex(finding["message"], r"^kernel forward_kernel\w* was launched on cuda:0, the current device, with memory of cuda:1")


if __name__ == "__main__":
    FOLDER.mkdir(parents=True, exist_ok=True)
    unittest.main(argv=[sys.argv[0], *sys.argv[3:]], verbosity=2)
