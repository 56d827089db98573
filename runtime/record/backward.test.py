# A wait in a backward is found at the line that started it, and names the node; the user's own code in a node comes first.
# RUN: %status 0 %sim --report=%t.txt -- %python %s
# RUN: %file_check < %t.txt
import torch
from torch.utils.checkpoint import checkpoint

device = torch.device("cuda:1")
x = torch.ones(4).to(device).requires_grad_()


class Reads(torch.autograd.Function):
    @staticmethod
    def forward(ctx, x):
        return x.clone()

    @staticmethod
    def backward(ctx, gradient):
        # CHECK-DAG: backward.test.py:[[#@LINE+1]]: note: the host waited for cuda:1 in aten::item, once [device-host-sync]
        gradient.sum().item()
        return gradient


def start(loss):
    # CHECK-DAG: backward.test.py:[[#@LINE+1]]: warning: the host waited for cuda:1 in aten::nonzero (backward: ProdBackward0), once [device-host-sync]
    loss.backward()


start(torch.prod(x))
# CHECK-DAG: backward.test.py:[[#@LINE+1]]: warning: the host waited for cuda:1 in aten::nonzero (backward: ProdBackward0), once [device-host-sync]
torch.autograd.grad(torch.prod(x * 2), x)
# CHECK-DAG: backward.test.py:[[#@LINE+1]]: note: the backward was started here
Reads.apply(x).sum().backward()

# What is computed again belongs to the line of the model, and its backward to the outermost start.
again = checkpoint(lambda part: torch.prod(part * 3), x, use_reentrant=True)
# CHECK-DAG: backward.test.py:[[#@LINE+1]]: warning: the host waited for cuda:1 in aten::nonzero (backward: ProdBackward0), once [device-host-sync]
again.backward()

# Twice: the gradient of a gradient.
(first,) = torch.autograd.grad(torch.prod(x * x), x, create_graph=True) # CHECK-DAG: backward.test.py:[[#@LINE]]: warning: the host waited for cuda:1 in aten::nonzero (backward: ProdBackward0), once [device-host-sync]
first.sum().backward()

with torch.autograd.detect_anomaly(check_nan=False):
    # CHECK-DAG: backward.test.py:[[#@LINE+1]]: note: the forward call of ProdBackward0 is here
    loss = torch.prod(x * 4)
    # CHECK-DAG: backward.test.py:[[#@LINE+1]]: warning: the host waited for cuda:1 in aten::nonzero (backward: ProdBackward0), once [device-host-sync]
    loss.backward()

# What waits for the same reason in the forward is named there.
mask = x > 0
# CHECK-DAG: backward.test.py:[[#@LINE+1]]: note: the forward call of IndexBackward0 is here
chosen = x[mask].sum()
# CHECK-DAG: backward.test.py:[[#@LINE+1]]: warning: the host waited for cuda:1 in aten::_index_put_impl_ (backward: IndexBackward0), once [device-host-sync]
chosen.backward()
