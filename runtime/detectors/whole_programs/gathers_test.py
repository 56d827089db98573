"""Which ways of using gathered tensors lose the gradient: those, and no others, are `device-collective-drops-grad`.

usage: gathers_test.py DEVSAN [unittest options]

Every way is a function that two ranks call; findings are told apart by the function.
"""

import json
import os
import subprocess
import sys
import tempfile
import textwrap
import unittest

DEVSAN = os.path.abspath(sys.argv.pop(1))

SETUP = """\
import os, sys, tempfile
import torch
import torch.distributed as dist
import torch.distributed.nn.functional
import torch.distributed._functional_collectives as functional
import torch.multiprocessing as mp
import torch.nn.functional as F

def gather(own):
    parts = [torch.empty_like(own) for _ in range(2)]
    dist.all_gather(parts, own)
    return parts

def gather_whole(own):
    whole = torch.empty(2 * own.size(0), *own.shape[1:], device=own.device)
    dist.all_gather_into_tensor(whole, own)
    return whole

def gather_all_tensors(own):        # as TorchMetrics does it
    with torch.no_grad():
        parts = gather(own)
    parts[dist.get_rank()] = own
    return parts

def other_model(x):
    for _ in range(500):
        x = x + 1
    return x
"""

LOSES = {
    "stack": "torch.stack(gather(own)).sum()",
    "cat": "torch.cat(gather(own))",
    "cat_of_slices": "torch.cat([part[:2] for part in gather(own)]).mean()",
    "cat_of_normalised": "torch.cat([F.normalize(part) for part in gather(own)])",
    "python_sum": "sum(gather(own))",
    "mean_of_sum": "sum(part.mean() for part in gather(own)) / 2",
    "loop": "total = torch.zeros((), device=own.device)\nfor part in gather(own):\n    total = total + (part * 2).sum()",
    "loop_in_place": "total = torch.zeros_like(own)\nfor part in gather(own):\n    total += part",
    "into_a_buffer": "buffer = own.new_empty(2, 4, 3)\nfor i, part in enumerate(gather(own)):\n    buffer[i] = part",
    "after_another_model": "parts = gather(own)\nother_model(torch.ones(2, device=own.device))\ntorch.cat(parts)",
    "whole_mean": "gather_whole(own).mean()",
    "whole_view": "gather_whole(own).view(2, 4, 3).mean(0)",
    "whole_loss": "F.mse_loss(gather_whole(own) * 2, torch.zeros(8, 3, device=own.device))",
    "gather_to_one": (
        "parts = [torch.empty_like(own) for _ in range(2)] if dist.get_rank() == 0 else None\n"
        "dist.gather(own, parts)\nif parts: torch.cat(parts).mean()"
    ),
    "asynchronous": (
        "parts = [torch.empty_like(own) for _ in range(2)]\n"
        "dist.all_gather(parts, own, async_op=True).wait()\ntorch.cat(parts)"
    ),
}

KEEPS = {
    "clip": "parts = gather(own)\nparts[dist.get_rank()] = own\ntorch.cat(parts).mean().backward()",
    "clip_in_slices": "parts = [part[:2] for part in gather(own)]\nparts[dist.get_rank()] = own[:2]\ntorch.stack(parts).sum()",
    "clip_after_scaling": "parts = [part * 2 for part in gather(own)]\nparts[dist.get_rank()] = own * 2\nsum(parts).sum()",
    "own_first": "parts = gather(own)\ntorch.cat([own] + [p for i, p in enumerate(parts) if i != dist.get_rank()])",
    "negatives": "parts = gather(own)\nothers = torch.cat([p for i, p in enumerate(parts) if i != dist.get_rank()])\n(own @ others.T).logsumexp(1).mean()",
    "whole_with_own": "whole = gather_whole(own)\nrank = dist.get_rank()\nwhole[4 * rank:4 * rank + 4] = own\nwhole.mean().backward()",
    "whole_other_half": "whole = gather_whole(own)\nother = 1 - dist.get_rank()\nwhole[4 * other:4 * other + 4].sum()",
    "differentiable": "torch.cat(torch.distributed.nn.functional.all_gather(own)).mean().backward()",
    "functional_autograd": "functional.all_gather_tensor_autograd(own, 0, dist.group.WORLD).mean()",
    "torchmetrics": "torch.cat(gather_all_tensors(own)).mean()",
    "no_grad": "with torch.no_grad():\n    torch.cat(gather(own)).mean()",
    "inference_mode": "with torch.inference_mode():\n    torch.cat(gather(own * 1)).mean()",
    "combined_without_grad": "parts = gather(own)\nwith torch.no_grad():\n    mean = torch.cat(parts).mean()\nmean * 2",
    "detached": "torch.cat(gather(own.detach())).mean()",
    "numbers": "torch.stack(gather(torch.tensor([4], device=own.device))).sum()",
    "predictions": "parts = gather(own)\ntorch.cat([part.argmax(1) for part in parts])",
    "one_by_one": "for part in gather(own):\n    part.sum()",
    "buffers_reused": "parts = gather(own)\nwith torch.no_grad():\n    dist.all_gather(parts, own.detach())\ntorch.cat(parts).mean()",
    "buffers_cleared": "parts = gather(own)\nfor part in parts:\n    part.zero_()\ntorch.cat(parts)",
    "reduced": "loss = own.sum()\ndist.all_reduce(loss.detach())\nloss.backward()",
    "objects": "parts = [None, None]\ndist.all_gather_object(parts, {'loss': 1.0})",
}

MAIN = """
def train(rank, store, backend):
    if backend == "nccl":
        torch.cuda.set_device(rank)
    dist.init_process_group(backend, init_method=f"file://{store}", rank=rank, world_size=2)
    device = torch.device("cuda", rank) if backend == "nccl" else torch.device("cpu")
    weight = torch.ones(4, 3, device=device, requires_grad=True)
    for function in WAYS:
        # Gloo makes views of the whole tensor that autograd does not let anybody change.
        if backend == "nccl" or "whole" not in function.__name__:
            function(weight * 2)
    dist.destroy_process_group()

if __name__ == "__main__":
    with tempfile.TemporaryDirectory() as folder:
        mp.spawn(train, args=(os.path.join(folder, "store"), sys.argv[1]), nprocs=2)
"""


def program(ways):
    text = SETUP
    for name, body in ways.items():
        text += f"def way_{name}(own):\n{textwrap.indent(body, '    ')}\n"
    return text + "WAYS = [" + ", ".join(f"way_{name}" for name in ways) + "]\n" + MAIN


class Gathers(unittest.TestCase):
    def findings(self, backend):
        with tempfile.TemporaryDirectory() as folder:
            path, report = os.path.join(folder, "program.py"), os.path.join(folder, "report.json")
            with open(path, "w", encoding="utf-8") as file:
                file.write(program(LOSES | KEEPS))
            command = [DEVSAN, "run", "--sim=2", "--fail-on=none", f"--report={report}", "--", sys.executable, path, backend]
            done = subprocess.run(command, capture_output=True, text=True, timeout=280, cwd=folder,
                                  env={**os.environ, "OMP_NUM_THREADS": "1"})
            self.assertEqual(done.returncode, 0, done.stdout + done.stderr)
            with open(report, encoding="utf-8") as file:
                return [f for f in json.load(file)["findings"] if f["rule"] == "device-collective-drops-grad"]

    def check(self, backend):
        counts = {}
        for finding in self.findings(backend):
            for location in [finding["locations"][0], *finding["stack"]]:
                function = location["function"].split(".")[0]
                if function.startswith("way_"):
                    name = function.removeprefix("way_")
                    counts[name] = counts.get(name, 0) + finding["count"]
                    break
            else:
                self.fail(f"a finding elsewhere: {finding}")
        for name in LOSES | KEEPS:
            with self.subTest(name):
                # Once on each rank; a gather to one rank on that one.
                expected = 0 if name in KEEPS else 1 if name == "gather_to_one" else 2
                if backend == "gloo" and name.startswith("whole"):
                    expected = 0
                self.assertEqual(counts.get(name, 0), expected)

    def test_on_devices(self):
        self.check("nccl")

    def test_on_the_host(self):
        self.check("gloo")


if __name__ == "__main__":
    unittest.main()
