# RUN: echo 'device-module-replaced-after-to = "*/silent.test.py"' > %t.toml
# RUN: %status 0 %sim --fail-on=warning --suppressions=%t.toml -- %python %s 2>&1 | %file_check
import torch

# Suppressed.
device = torch.device("cuda:1")
model = torch.nn.Sequential(torch.nn.Linear(8, 4)).to(device)
model.append(torch.nn.Linear(4, 2))
try:
    model(torch.ones(3, 8, device=device))
except RuntimeError:
    pass

# Silent.
device = torch.device("cuda:1")
model = torch.nn.Sequential(torch.nn.Linear(8, 4)).to(device)
model.append(torch.nn.Linear(4, 2).to(device))
model(torch.ones(3, 8, device=device))
# CHECK: no findings, 1 suppressed
