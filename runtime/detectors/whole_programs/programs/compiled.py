"""A compiled model: what the compiler copies and what happens in compiled code is no finding, what is around it is."""

import ctypes
import os

os.environ["TORCHINDUCTOR_CACHE_DIR"] = os.getcwd()
os.environ["TORCHINDUCTOR_VEC_ISA_OK"] = "0"  # for the time that asking the compiler takes

import torch

DEVICE = torch.device("cuda:1")
weight = torch.ones(4, 4, device=DEVICE, requires_grad=True)


@torch.compile
def loss(x):
    scale = torch.tensor([1.0, 2.0, 3.0, 4.0], device=DEVICE)
    return torch.nn.functional.dropout(x @ weight * scale, 0.5).square().sum()


for _ in range(3):
    value = loss(torch.ones(2, 4, device=DEVICE))
    value.backward()
    print(value.item())  # expect: device-host-sync

result = loss(torch.ones(2, 4, device=DEVICE)).detach()
ctypes.c_float.from_address(result.data_ptr()).value  # expect: device-host-access
