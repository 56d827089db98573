"""What `devsan run --sim=2` says about distributed programs: the bug is reported, correct programs have no finding.

Usage: report_test.py DEVSAN [unittest options]
"""

import json
import os
import subprocess
import sys
import tempfile
import textwrap
import unittest

DEVSAN = sys.argv.pop(1)

# The loss takes all ranks' scores; {gathered} is what the program makes of them. Batches differ in length, so scores are
# padded to the longest first.
GATHER = """\
import os, sys, tempfile
import torch
import torch.distributed as dist
import torch.multiprocessing as mp

def gather(scores):
    length = torch.tensor([scores.numel()], device=scores.device)
    lengths = [torch.empty_like(length) for _ in range(2)]
    dist.all_gather(lengths, length)
    lengths = torch.cat(lengths).tolist()
    padded = torch.nn.functional.pad(scores, (0, max(lengths) - scores.numel()))
    parts = [torch.empty_like(padded) for _ in range(2)]
    dist.all_gather(parts, padded)
    parts = [part[:length] for part, length in zip(parts, lengths)]
    {gathered}
    return torch.cat(parts)

def train(rank, store):
    torch.cuda.set_device(rank)
    dist.init_process_group("nccl", init_method=f"file://{{store}}", rank=rank, world_size=2)
    torch.manual_seed(rank)
    weight = torch.ones(4, device="cuda", requires_grad=True)
    batch = torch.rand(3 + rank, 4, device="cuda")
    loss = gather((batch * weight).sum(dim=1)).mean()
    assert loss.device.index == rank
    dist.destroy_process_group()

if __name__ == "__main__":
    with tempfile.TemporaryDirectory() as folder:
        mp.spawn(train, args=(os.path.join(folder, "store"),), nprocs=2)
"""

TRAINING = """\
import os, sys, tempfile
import torch
import torch.distributed as dist
import torch.multiprocessing as mp

def train(rank, store):
    torch.cuda.set_device(rank)
    dist.init_process_group("nccl", init_method=f"file://{store}", rank=rank, world_size=2)
    torch.manual_seed(0)
    model = torch.nn.Sequential(torch.nn.Linear(4, 8), torch.nn.BatchNorm1d(8), torch.nn.Linear(8, 1)).cuda(rank)
    parallel = torch.nn.parallel.DistributedDataParallel(model, device_ids=[rank])
    optimizer = torch.optim.Adam(parallel.parameters())
    for _ in range(3):
        optimizer.zero_grad()
        parallel(torch.randn(4, 4, device=f"cuda:{rank}")).square().mean().backward()
        optimizer.step()
    work = dist.all_reduce(torch.ones(2, device=f"cuda:{rank}"), async_op=True)
    work.wait()
    dist.barrier(device_ids=[rank])
    dist.destroy_process_group()

if __name__ == "__main__":
    with tempfile.TemporaryDirectory() as folder:
        mp.spawn(train, args=(os.path.join(folder, "store"),), nprocs=2)
"""

DATA_PARALLEL = """\
import torch

model = torch.nn.DataParallel(torch.nn.Linear(4, 4).to("cuda:0"))
optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
for _ in range(2):
    optimizer.zero_grad()
    model(torch.randn(4, 4, device="cuda:0")).sum().backward()
    optimizer.step()
"""


class Reports(unittest.TestCase):
    def findings(self, source):
        with tempfile.TemporaryDirectory() as folder:
            script, report = os.path.join(folder, "program.py"), os.path.join(folder, "report.json")
            with open(script, "w", encoding="utf-8") as file:
                file.write(textwrap.dedent(source))
            result = subprocess.run(
                [DEVSAN, "run", "--sim=2", "--fail-on=none", f"--report={report}", "--", sys.executable, script],
                capture_output=True, text=True, timeout=200)
            self.assertEqual(result.returncode, 0, result.stdout + result.stderr)
            with open(report, encoding="utf-8") as file:
                return json.load(file)["findings"]

    def rules(self, findings, least="warning"):
        severities = ["note", "warning", "error"]
        return sorted({
            finding["rule"] for finding in findings
            if severities.index(finding["severity"]) >= severities.index(least)})

    def test_a_gather_that_loses_the_graph(self):
        found = self.findings(GATHER.format(gathered="pass"))
        lost = [finding for finding in found if finding["rule"] == "device-collective-drops-grad"]
        self.assertTrue(lost, found)
        self.assertIn(16, [frame["line"] for frame in lost[0]["stack"]], lost[0])

    def test_a_gather_that_keeps_the_graph(self):
        source = GATHER.format(gathered="parts[dist.get_rank()] = scores")
        self.assertEqual(self.rules(self.findings(source), "error"), [])

    def test_training_waits_at_the_barrier_only(self):
        found = self.findings(TRAINING)
        self.assertEqual(self.rules(found), [])
        (barrier,) = found
        self.assertIn(barrier["message"], {
            f"the host waited for cuda:{rank} in cudaStreamSynchronize, once; after the last step" for rank in range(2)})
        self.assertEqual([(share["rank"], share["worker"], share["count"]) for share in barrier["ranks"]],
                         [(0, False, 1), (1, False, 1)])

    def test_data_parallel_has_no_finding(self):
        self.assertEqual(self.rules(self.findings(DATA_PARALLEL)), [])


if __name__ == "__main__":
    unittest.main()
