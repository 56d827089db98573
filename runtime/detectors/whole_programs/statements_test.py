"""What `devsan run --sim=2` says about single statements: those that neither block nor copy have no finding, those that do have theirs.

usage: statements_test.py DEVSAN [unittest options]

Every statement runs three times in a function of its own, in one process for all; findings are told apart by the function.
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
torch.manual_seed(0)
D = torch.device("cuda:1")
x = torch.randn(8, 4, device=D)
y = torch.randn(8, 4, device=D)
other = torch.empty(8, 4, device="cuda:0")
mask = x > 0
index = torch.arange(4, device=D)
labels = torch.arange(8, device=D) % 4
scalar = torch.tensor(2.0, device=D)
host_scalar = torch.tensor(2.0)
host = torch.randn(8, 4)
large_host = torch.randn(1 << 15)
pinned = torch.randn(8, 4).pin_memory()
pinned_result = torch.empty(8, 4, pin_memory=True)
repeats = torch.tensor([1, 2, 3, 2], device=D)
linear = nn.Linear(4, 4).to(D)
attention = nn.MultiheadAttention(4, 2, batch_first=True).to(D)
encoder = nn.TransformerEncoderLayer(4, 2, 8, batch_first=True).to(D)
norm = nn.BatchNorm1d(4).to(D)
embedding = nn.Embedding(16, 4).to(D)
table = nn.EmbeddingBag(16, 4).to(D)
lstm = nn.LSTM(4, 4, batch_first=True).to(D)
sequence = torch.randn(2, 8, 4, device=D)
conv = nn.Conv2d(3, 4, 3).to(D)
image = torch.randn(2, 3, 8, 8, device=D)
generator = torch.Generator(device=D)
stream = torch.cuda.Stream(D)
weights = torch.ones(4, device=D)
matrix = torch.eye(4, device=D)
for parameter in linear.parameters():
    parameter.grad = torch.ones_like(parameter)
fused = torch.optim.Adam(linear.parameters(), fused=True)
capturable = torch.optim.AdamW(linear.parameters(), capturable=True, foreach=True)
sgd = torch.optim.SGD(linear.parameters(), lr=0.1, momentum=0.9)
scheduler = torch.optim.lr_scheduler.StepLR(sgd, 1)
"""

# Neither blocks the host nor copies between host and device.
SILENT = """\
x[mask] = 1.0
x[mask] = 0
x.masked_fill_(mask, 2.0)
torch.where(mask, x, y)
torch.where(mask, x, 0.0)
torch.where(mask, 1.0, y)
x[index]
x[:, index]
x[index, index]
x[index] = y[index]
x[1:3, ::2] += 1
x[..., 0] = scalar
x[0, 1]
x[:, None, :]
x.index_select(1, index)
x.index_copy_(1, index, y)
x.index_add_(1, index, y)
x.gather(1, labels[:, None])
x.scatter_(1, labels[:, None], 1.0)
x.scatter_add_(1, labels[:, None].expand(8, 4), y)
x.take_along_dim(labels[:, None], 1)
torch.scatter_reduce(x, 1, labels[:, None], y, reduce="mean")
mask.any()
mask.all()
x.isnan().any()
x.max(dim=1)
x.argmax(dim=1)
x.topk(2)
x.sort()
x.cumsum(0)
x.median()
x.quantile(0.5)
x.kthvalue(2)
x.std()
x.norm()
torch.linalg.vector_norm(x)
torch.linalg.matrix_norm(x)
torch.logsumexp(x, 1)
torch.nonzero_static(mask, size=16)
torch.searchsorted(weights.cumsum(0), weights)
torch.bucketize(x, weights.cumsum(0))
torch.repeat_interleave(x[:4], repeats, dim=0, output_size=8)
torch.repeat_interleave(x, 2, dim=0)
x.repeat(2, 1)
x.tile(2)
F.one_hot(labels, num_classes=4)
torch.full((4,), 2.0, device=D)
torch.full_like(x, 2.0)
torch.arange(4, device=D)
torch.linspace(0, 1, 5, device=D)
torch.zeros(4, device=D)
torch.eye(4, device=D)
torch.randn(4, device=D)
torch.randn(4, device=D, generator=generator)
torch.rand_like(x)
torch.randint(0, 4, (3,), device=D)
torch.randperm(8, device=D)
torch.empty(4, device=D).uniform_()
torch.bernoulli(x.sigmoid())
torch.multinomial(x.softmax(1), 2, replacement=True)
x.new_zeros(3)
x.new_full((3,), 1.0)
x.clone()
x.detach()
x.contiguous()
x.half().float()
x.to(torch.float64)
x.to(D)
x.cuda(1)
x.to(other.device)
other.copy_(x)
other.copy_(x, non_blocking=True)
x.to("cuda:0", non_blocking=True)
pinned.to(D, non_blocking=True)
x.copy_(pinned, non_blocking=True)
pinned_result.copy_(x, non_blocking=True)
x.to("cpu", non_blocking=True)
x + 1
x + host_scalar
x * 2.5
x.pow(2)
x @ matrix
x.clamp(0, 1)
x.clamp(min=scalar)
x.addcmul_(x, y, value=0.5)
x.lerp_(y, 0.5)
x.lerp_(y, scalar)
x.fill_(0.5)
x.fill_(scalar)
x.zero_()
x.add_(scalar)
torch.stack([x, y])
torch.cat([x, y])
torch.split(x, 2)
torch.chunk(x, 2)
torch.unbind(x)
torch.einsum("ij,ij->i", x, y)
torch.cdist(x, y)
torch.tril(matrix)
torch.triu(torch.ones(4, 4, device=D), diagonal=1).bool()
torch.meshgrid(weights, weights, indexing="ij")
torch.cartesian_prod(weights, weights)
torch.histc(x, 4, 0.0, 1.0)
torch.linalg.qr(matrix)
F.dropout(x, 0.5)
F.dropout(x, 0.5, training=False)
F.embedding(labels, embedding.weight)
embedding(labels)
table(labels.view(2, 4))
F.cross_entropy(x, labels)
F.cross_entropy(x, labels, weight=weights, ignore_index=-100)
F.cross_entropy(x, labels, label_smoothing=0.1)
F.nll_loss(x.log_softmax(1), labels)
F.binary_cross_entropy_with_logits(x, mask.float(), pos_weight=weights)
F.mse_loss(x, y)
F.smooth_l1_loss(x, y)
F.kl_div(x.log_softmax(1), y.softmax(1), reduction="batchmean")
F.cosine_similarity(x, y)
F.triplet_margin_loss(x, y, y)
F.cosine_embedding_loss(x, y, torch.ones(8, device=D))
F.normalize(x)
F.layer_norm(x, (4,))
F.gelu(x)
F.softmax(x, 1)
F.gumbel_softmax(x)
F.pad(x, (1, 1))
F.interpolate(image, scale_factor=2)
F.adaptive_avg_pool2d(image, 1)
F.max_pool2d(image, 2)
F.unfold(image, 2)
F.grid_sample(image, torch.zeros(2, 8, 8, 2, device=D), align_corners=False)
F.scaled_dot_product_attention(sequence, sequence, sequence, is_causal=True)
F.scaled_dot_product_attention(sequence, sequence, sequence, attn_mask=torch.ones(8, 8, device=D).tril().bool())
attention(sequence, sequence, sequence)
attention(sequence, sequence, sequence, key_padding_mask=torch.zeros(2, 8, device=D, dtype=torch.bool))
encoder(sequence)
lstm(sequence)
conv(image)
norm(x)
linear(x)
linear(x).sum().backward()
F.cross_entropy(linear(x), labels).backward()
torch.autograd.grad(linear(x).sum(), list(linear.parameters()))
torch.utils.checkpoint.checkpoint(linear, x, use_reentrant=False).sum().backward()
fused.step()
capturable.step()
sgd.step()
sgd.zero_grad(set_to_none=False)
scheduler.step()
nn.utils.clip_grad_norm_(linear.parameters(), 1.0)
nn.utils.clip_grad_value_(linear.parameters(), 1.0)
nn.utils.parameters_to_vector(linear.parameters())
torch._foreach_add_([x, y], 1.0)
torch._foreach_norm([x, y])
with torch.autocast("cuda"): linear(x)
with torch.no_grad(): linear(x)
with torch.inference_mode(): linear(x)
with torch.cuda.stream(stream): torch.zeros(3, device=D)
stream.wait_stream(torch.cuda.current_stream(D))
torch.cuda.Event().record(stream)
torch.cuda.memory_allocated(D)
x.shape, x.dtype, x.numel(), x.device, x.is_cuda, len(x), x.requires_grad
x is y, x.size(0) == y.size(0)
x.data_ptr()
x.record_stream(stream)
torch.is_tensor(x)
torch.broadcast_tensors(x, scalar)
torch.vmap(torch.sum)(x)
torch.func.grad(lambda w: (w * x).sum())(y)
scaler.scale(linear(x).sum()).backward(); scaler.step(sgd); scaler.update()
"""

# Statement and the rules that its findings have, if repeated.
FLAGGED = [
    ("x.sum().item()", "device-host-sync"),
    ("float(x.sum())", "device-host-sync"),
    ("bool(mask.any())", "device-host-sync"),
    ("if x.sum() > 0: pass", "device-host-sync"),
    ("x.tolist()", "device-host-sync"),
    ("torch.empty(1 << 22, device=D); torch.cuda.empty_cache()", "device-host-sync"),
    ("x.cpu()", "device-host-sync"),
    ("x[mask]", "device-host-sync"),
    ("x[mask] = y[mask]", "device-host-sync"),
    ("mask.nonzero()", "device-host-sync"),
    ("torch.where(mask)", "device-host-sync"),
    ("x.masked_select(mask)", "device-host-sync"),
    ("labels.unique()", "device-host-sync"),
    ("torch.bincount(labels)", "device-host-sync"),
    ("torch.equal(x, y)", "device-host-sync"),
    ("torch.allclose(x, y)", "device-host-sync"),
    ("F.one_hot(labels)", "device-host-sync"),
    ("torch.repeat_interleave(x[:4], repeats, dim=0)", "device-host-sync"),
    ("torch.repeat_interleave(repeats)", "device-host-sync"),
    ("nn.utils.clip_grad_norm_(linear.parameters(), 1e9, error_if_nonfinite=True)", "device-host-sync"),
    ("torch.cuda.synchronize(D)", "device-host-sync"),
    ("stream.synchronize()", "device-host-sync"),
    ("host.to(D)", "device-host-sync"),
    ("x.copy_(host)", "device-host-sync"),
    ("large_host.to(D, non_blocking=True)", "device-pageable-async-copy"),
    ("x.masked_fill(mask, scalar)", "device-host-sync"),
    ("F.cross_entropy(x, labels, weight=weights, label_smoothing=0.1)", "device-host-sync"),
    ("x[index] = 3.0", "device-implicit-transfer"),
    ("x.cpu().to(D)", "device-cpu-round-trip"),
    ("x[torch.arange(4)]", "device-implicit-transfer"),
    ("x[[0, 1]]", "device-implicit-transfer"),
    ("torch.tensor([1.0, 2.0], device=D)", "device-implicit-transfer"),
    ("torch.where(mask, x, host_scalar)", "device-implicit-transfer"),
    ("x + host", "device-mismatch"),
]


def statements():
    for line in SILENT.splitlines():
        yield line, set()
    for line, rule in FLAGGED:
        yield line, {rule}


def program(cases):
    text = SETUP + "scaler = torch.amp.GradScaler('cuda')\n"
    for number, (statement, rules) in enumerate(cases):
        text += f"def case_{number}():\n{textwrap.indent(statement, '    ')}\n"
        call = f"for _ in range(3): case_{number}()"
        text += f"{call}\n" if rules != {"device-mismatch"} else f"try: case_{number}()\nexcept RuntimeError: pass\n"
    return text


class Statements(unittest.TestCase):
    def test_findings(self):
        cases = list(statements())
        found = [set() for _ in cases]
        elsewhere = []
        with tempfile.TemporaryDirectory() as folder:
            path, report = os.path.join(folder, "program.py"), os.path.join(folder, "report.json")
            with open(path, "w", encoding="utf-8") as file:
                file.write(program(cases))
            command = [DEVSAN, "run", "--sim=2", "--fail-on=none", f"--report={report}", "--", sys.executable, path]
            done = subprocess.run(command, capture_output=True, text=True, timeout=600, cwd=folder,
                                  env={**os.environ, "OMP_NUM_THREADS": "1"})
            self.assertEqual(done.returncode, 0, done.stdout + done.stderr)
            with open(report, encoding="utf-8") as file:
                findings = json.load(file)["findings"]
        for finding in findings:
            function = finding["locations"][0]["function"]
            if function.startswith("case_"):
                found[int(function.removeprefix("case_"))].add(finding["rule"])
            else:
                elsewhere.append(f"{finding['rule']} in {function}: {finding['message']}")
        for (statement, expected), rules in zip(cases, found):
            with self.subTest(statement):
                self.assertEqual(rules, expected)
        # The set-up moves modules and makes tensors: once, that is no finding but a note.
        self.assertEqual([text for text in elsewhere if "<module>" not in text], [])


if __name__ == "__main__":
    unittest.main()
