# Levels and counts in a test's words; errors raised at the place.
# RUN: %status 0 %sim --fail-on=none -- %python %s
import sys

import torch

import devsan


def raised(function):
    try:
        function()
    except RuntimeError as error:
        return str(error)
    return None


x = torch.ones(4).to("cuda:1")
rows = torch.tensor([1])

with devsan.sync_guard("disallow", raises=True):
    x.sum().item()  # the program spells it out
    x.cpu()
    assert "aten::nonzero is about to wait for cuda:1" in raised(x.nonzero)
    assert raised(lambda: bool(x.any()))
    with devsan.sync_guard("allow"):
        x.nonzero()
    with devsan.sync_guard("disallow", raises=False):
        x.nonzero()
with devsan.expect_no_sync(raises=True):
    assert "is about to wait for cuda:1" in raised(x.sum().item)
with devsan.transfer_guard("disallow", raises=True):
    x.cpu()
    assert "aten::index is about to copy from cpu to cuda:1" in raised(lambda: x[rows])
with devsan.transfer_guard(device_to_host="disallow_explicit", raises=True):
    assert "from cuda:1 to cpu" in raised(x.cpu)
    x[rows]


@devsan.expect_no_sync(raises=True)
def strict(tensor):
    return tensor.sum().item()


for _ in range(2):
    assert raised(lambda: strict(x))
x.sum().item()

with devsan.count_syncs() as outer:
    with devsan.count_syncs() as inner, devsan.allow_sync():
        x.cpu()
    torch.prod(x.clone().requires_grad_()).backward()
assert (inner.syncs, inner.device_to_host, outer.syncs) == (1, 1, 2), (inner, outer)
assert "syncs=2" in repr(outer)

for wrong in (lambda: devsan.sync_guard("never"), lambda: devsan.transfer_guard(host_to_device="deny")):
    try:
        wrong()
        sys.exit("took an unknown level")
    except ValueError as error:
        assert "'disallow_explicit'" in str(error)
try:
    @devsan.allow_sync()
    def generates():
        yield 1

    sys.exit("decorated a generator")
except TypeError as error:
    assert "generates" in str(error)

model = torch.nn.Sequential()
model.add_module("head", torch.nn.Linear(4, 2))
devsan.expect_same_device(model, torch.ones(4), [torch.ones(2)])
message = raised(lambda: devsan.expect_same_device(model, x))
assert message == "parameter 'head.weight' is on cpu, the batch on cuda:1: call head.to(device)", message
message = raised(lambda: devsan.expect_same_device(x, {"y": torch.ones(2)}))
assert message == 'tensor 2 of the batch is on cpu, the batch on cuda:1: call .to("cuda:1") on it', message
