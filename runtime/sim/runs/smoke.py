"""The least that a release of PyTorch has to do on simulated devices, one entry a process: smoke.py ENTRY"""

import sys

import torch
from torch import nn


def model():
    torch.manual_seed(0)
    # No bias before the norm: its gradient would be rounding alone, which AdamW makes a step of.
    return nn.Sequential(nn.Conv2d(3, 4, 3, bias=False), nn.BatchNorm2d(4), nn.ReLU(), nn.Flatten(), nn.Linear(4 * 36, 5))


def batch():
    torch.manual_seed(1)
    return torch.randn(2, 3, 8, 8), torch.tensor([1, 3])


def trained(device, prepare=lambda module: module):
    net = model().to(device)
    optimizer = torch.optim.AdamW(net.parameters(), lr=0.1)
    inputs, targets = (tensor.to(device) for tensor in batch())
    nn.functional.cross_entropy(prepare(net)(inputs), targets).backward()
    optimizer.step()
    return [parameter.detach().cpu() for parameter in net.parameters()]


def train():
    torch.testing.assert_close(trained("cuda"), trained("cpu"))


def compile():
    torch.testing.assert_close(trained("cuda", torch.compile), trained("cpu"))


def graph():
    net, inputs = model().cuda().eval(), batch()[0].cuda()
    with torch.no_grad():
        net(inputs)  # cuDNN allocates when it is first used, which a capture forbids
        captured = torch.cuda.CUDAGraph()
        with torch.cuda.graph(captured):
            output = net(inputs)
        inputs.mul_(2)
        captured.replay()
        torch.testing.assert_close(output.cpu(), model().eval()(batch()[0] * 2))


def two_devices():
    net, inputs = model(), batch()[0]
    first, second = net[:3].to("cuda:0"), net[3:].to("cuda:1")
    output = second(first(inputs.to("cuda:0")).to("cuda:1"))
    assert output.device == torch.device("cuda:1"), output.device
    output.sum().backward()
    assert first[0].weight.grad.device == torch.device("cuda:0")
    torch.testing.assert_close(output.cpu(), model()(inputs))


def inference_mode():
    inputs = batch()[0]
    with torch.inference_mode():
        inside = model().cuda().eval()(inputs.cuda())
    torch.testing.assert_close(inside.cpu(), model().eval()(inputs))
    train()


def finding():
    try:
        torch.ones(2, device="cuda:0") + torch.ones(2, device="cuda:1")
    except RuntimeError:
        return
    raise AssertionError("tensors of two devices were added")


def hooks():
    assert torch.ones(2).to(torch.float64).sum().item() == 2


if __name__ == "__main__":
    globals()[sys.argv[1]]()
