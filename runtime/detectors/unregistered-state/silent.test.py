# RUN: %status 0 %sim --fail-on=warning -- %python %s 2>&1 | %file_check
import torch


class Mean(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.register_buffer("total", torch.zeros(4))

    def forward(self, x):
        return self.total + x


Mean().to("cuda:1")(torch.ones(4, device="cuda:1"))
# CHECK: no findings
