# RUN: %status 1 %sim -- %python %s 2>&1 | %file_check
import torch


class Mean(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.total = torch.zeros(4)

    def forward(self, x):
        # CHECK: flagged.test.py:[[#@LINE+2]]: error: a state made earlier ({{.*}}float32 [4]) stayed on cpu while its inputs are on cuda:1: aten::add refused once [device-unregistered-state]
        # CHECK: flagged.test.py:[[#@LINE-4]]: note: made on cpu here
        return self.total + x


Mean().to("cuda:1")(torch.ones(4, device="cuda:1"))
