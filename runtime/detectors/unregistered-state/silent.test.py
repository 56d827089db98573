# RUN: echo 'device-unregistered-state = "function:Mean.forward"' > %t.toml
# RUN: %status 0 %sim --fail-on=warning --suppressions=%t.toml -- %python %s 2>&1 | %file_check
import torch

# Suppressed.
class Mean(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.total = torch.zeros(4)

    def forward(self, x):
        return self.total + x


try:
    Mean()(torch.ones(4, device="cuda:1"))
except RuntimeError:
    pass

# Silent.
class Mean(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.register_buffer("total", torch.zeros(4))

    def forward(self, x):
        return self.total + x


Mean().to("cuda:1")(torch.ones(4, device="cuda:1"))
# CHECK: no findings, 1 suppressed
