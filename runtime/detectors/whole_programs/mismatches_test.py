"""What ATen refuses, by operator: each finding names the odd operand, where it comes from, and what to do.

usage: mismatches_test.py DEVSAN [unittest options]

Every statement runs in a function of its own, in one process for all; findings are told apart by the function.
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
import torch
import torch.nn.functional as F
from torch import nn
D = torch.device("cuda:1")
x = torch.ones(4, 4, device=D)
labels = torch.zeros(4, dtype=torch.long, device=D)
def host(*shape, **options):
    return torch.ones(*shape, **options)
def moved(*shape):
    return torch.ones(*shape).to("cuda:0")
def moved_for_inference(*shape):
    with torch.inference_mode():
        return torch.ones(*shape).to("cuda:0")
def ids():
    return torch.zeros(4, dtype=torch.long)
embedding = nn.Embedding(4, 4).to(D)
class WithList(nn.Module):
    def __init__(self):
        super().__init__()
        self.first = nn.Linear(4, 4)
        self.rest = [nn.Linear(4, 4) for _ in range(2)]
    def forward(self, x):
        x = self.first(x)
        for layer in self.rest:
            x = layer(x)
        return x
with_list = WithList().to(D)
class Decoder(nn.Module):
    def __init__(self):
        super().__init__()
        self.layer = nn.Linear(4, 4)
    def forward(self, x):
        return self.layer(x)
decoder = Decoder()
class Late(nn.Module):
    def __init__(self):
        super().__init__()
        self.body = nn.Linear(4, 4)
    def forward(self, x):
        return self.head(self.body(x))
late = Late().to(D)
late.head = nn.Linear(4, 2)
plain = nn.Linear(4, 4)
trained = nn.Linear(4, 4).to(D)
trained(x).sum().backward()
optimizer = torch.optim.Adam(trained.parameters())
optimizer.step()
for state in optimizer.state.values():
    state["exp_avg"] = torch.zeros(state["exp_avg"].shape)
"""

MISMATCH, STATE, REPLACED, INDEX = (
    "device-mismatch", "device-unregistered-state", "device-module-replaced-after-to", "device-index-lost")

# Statement, rule, a part of the message, and the related note ("made" or "moved"), with the function where it points.
CASES = [
    ("x + host(4)", MISMATCH, "other: float32 [4] on cpu", ("made", "host")),
    ("x + moved(4)", MISMATCH, "other: float32 [4] on cuda:0", ("moved", "moved")),
    ("x + moved_for_inference(4)", MISMATCH, "other: float32 [4] on cuda:0", ("moved", "moved_for_inference")),
    ("torch.cat([x, host(4, 4), x])", MISMATCH, "float32 [4, 4] on cpu", ("made", "host")),
    ("torch.stack([x, host(4, 4)])", MISMATCH, "float32 [4, 4] on cpu", ("made", "host")),
    ("torch.add(x, x, out=host(4, 4))", MISMATCH, "out: float32 [4, 4] on cpu", ("made", "host")),
    ("torch.matmul(x, host(4, 4))", MISMATCH, "mat2: float32 [4, 4] on cpu", ("made", "host")),
    ("torch.bmm(x[None], host(1, 4, 4))", MISMATCH, "mat2: float32 [1, 4, 4] on cpu", ("made", "host")),
    ("torch.addmm(input=host(4), mat1=x, mat2=x)", MISMATCH, "self: float32 [4] on cpu", ("made", "host")),
    ("torch.einsum('ij,jk->ik', x, host(4, 4))", MISMATCH, "float32", ("made", "host")),
    ("torch.where(x > 0, x, host(4, 4))", MISMATCH, "other: float32 [4, 4] on cpu", ("made", "host")),
    ("torch.where(host(4, 4) > 0, x, x)", MISMATCH, "condition: bool [4, 4] on cpu", None),
    ("x.index_select(0, ids())", MISMATCH, "index: int64 [4] on cpu", ("made", "ids")),
    ("x.gather(1, ids()[:, None])", MISMATCH, "index: int64 [4, 1] on cpu", ("made", "ids")),
    ("x.scatter_(1, labels[:, None], host(4, 1))", MISMATCH, "src: float32 [4, 1] on cpu", ("made", "host")),
    ("x.masked_fill(host(4, 4) > 0, 0.0)", MISMATCH, "mask: bool [4, 4] on cpu", None),
    ("x.index_add_(0, labels, host(4, 4))", MISMATCH, "source: float32 [4, 4] on cpu", ("made", "host")),
    ("embedding(ids())", MISMATCH, "index: int64 [4] on cpu", ("made", "ids")),
    ("F.embedding(labels, host(4, 4))", MISMATCH, "float32 [4, 4] on cpu", ("made", "host")),
    ("F.cross_entropy(x, labels, weight=host(4))", MISMATCH, "weight: float32 [4] on cpu", ("made", "host")),
    ("F.cross_entropy(x, ids())", MISMATCH, "target: int64 [4] on cpu", ("made", "ids")),
    ("F.mse_loss(x, host(4, 4))", MISMATCH, "float32 [4, 4] on cpu", ("made", "host")),
    ("F.linear(x, host(4, 4))", MISMATCH, "float32 [4, 4] on cpu", ("made", "host")),
    ("F.conv2d(x[None, None], host(1, 1, 2, 2))", MISMATCH, "weight: float32 [1, 1, 2, 2] on cpu", ("made", "host")),
    ("F.layer_norm(x, (4,), weight=host(4))", MISMATCH, "weight: float32 [4] on cpu", ("made", "host")),
    ("F.batch_norm(x, host(4), host(4))", MISMATCH, "running_mean: float32 [4]", ("made", "host")),
    ("torch._foreach_add([x, x], [x, host(4, 4)])", MISMATCH, "float32 [4, 4] on cpu", ("made", "host")),
    ("plain(x)", REPLACED, "float32 [4", None),
    ("decoder(x)", MISMATCH, "float32 [4", ("made", "Decoder.__init__")),
    ("with_list(x)", STATE, "parameters that no module has registered", ("made", "WithList.__init__")),
    ("late(x)", REPLACED, "stayed on cpu", ("made", "<module>")),
    ("optimizer.step()", MISMATCH, "on cpu", ("made", "<module>")),
    ("x + torch.ones(4, device='cuda')", INDEX, "was made on the current device, cuda:0", ("made", "case_")),
    ("x @ nn.Linear(4, 4, device='cuda').weight", INDEX, "was made on the current device, cuda:0", ("made", "case_")),
]


def program():
    text = SETUP
    for number, (statement, *_) in enumerate(CASES):
        text += f"def case_{number}():\n{textwrap.indent(statement, '    ')}\n"
        text += f"try: case_{number}()\nexcept RuntimeError: pass\nelse: print('not refused:', {statement!r})\n"
    return text


class Mismatches(unittest.TestCase):
    def test_findings(self):
        found = {}
        with tempfile.TemporaryDirectory() as folder:
            path, report = os.path.join(folder, "program.py"), os.path.join(folder, "report.json")
            with open(path, "w", encoding="utf-8") as file:
                file.write(program())
            command = [DEVSAN, "run", "--sim=2", "--fail-on=none", f"--report={report}", "--", sys.executable, path]
            done = subprocess.run(command, capture_output=True, text=True, timeout=280, cwd=folder,
                                  env={**os.environ, "OMP_NUM_THREADS": "1"})
            self.assertEqual((done.returncode, done.stdout), (0, ""), done.stderr)
            with open(report, encoding="utf-8") as file:
                findings = json.load(file)["findings"]
        for finding in findings:
            if finding["severity"] != "error":
                continue
            for place in [finding["locations"][0], *finding["stack"]]:
                if place["function"].startswith("case_"):
                    found.setdefault(int(place["function"].removeprefix("case_")), []).append(finding)
                    break
        for number, (statement, rule, message, origin) in enumerate(CASES):
            with self.subTest(statement):
                self.assertEqual([finding["rule"] for finding in found.get(number, [])], [rule])
                finding = found[number][0]
                self.assertIn(message, finding["message"])
                if origin is not None:
                    verb, function = origin
                    related = [(note["message"].split()[0], note["function"]) for note in finding["related"]]
                    self.assertTrue(any(name == verb and place.startswith(function) for name, place in related), related)


if __name__ == "__main__":
    unittest.main()
