"""Kernels of compile_test.py: Triton reads their source from a file."""

import torch
import triton
import triton.language as tl


@triton.jit
def add(x, y, out, count, BLOCK: tl.constexpr):
    at = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    mask = at < count
    tl.store(out + at, tl.load(x + at, mask=mask) + tl.load(y + at, mask=mask), mask=mask)


@triton.autotune([triton.Config({"BLOCK": 16}), triton.Config({"BLOCK": 32})], key=["count"])
@triton.heuristics({"EVEN": lambda args: args["count"] % args["BLOCK"] == 0})
@triton.jit
def double(x, count, BLOCK: tl.constexpr, EVEN: tl.constexpr):
    at = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    if EVEN:
        tl.store(x + at, tl.load(x + at) * 2)
    else:
        tl.store(x + at, tl.load(x + at, mask=at < count) * 2, mask=at < count)


def added(x, y):
    out = torch.empty_like(x)
    add[(triton.cdiv(x.numel(), 16),)](x, y, out, x.numel(), BLOCK=16)
    return out


def check(device):
    x, y = torch.randn(50, device=device), torch.randn(50, device=device)
    torch.testing.assert_close(added(x, y), x + y)
    torch.testing.assert_close(added(x[1:], y[:-1]), x[1:] + y[:-1])
    expected = x * 2
    double[lambda meta: (triton.cdiv(50, meta["BLOCK"]),)](x, 50)  # tuning does not run it more than once
    torch.testing.assert_close(x, expected)
    compiled = torch.compile(lambda x, y: added(x.sin(), y) + 1, fullgraph=True)
    torch.testing.assert_close(compiled(x, y), x.sin() + y + 1)
    # From 2.13 on PyTorch has kernels in Triton for this.
    a, b = torch.randn(3, 5, 1, device=device), torch.randn(3, 1, 4, device=device)
    torch.testing.assert_close(torch.bmm(a, b).cpu(), torch.bmm(a.cpu(), b.cpu()))
