# RUN: echo 'device-disallowed-transfer = ["function:logged"]' > %t.toml
# RUN: %status 0 %sim --suppressions=%t.toml -- %python %s 2>&1 | %file_check
import threading

import torch

import devsan

# Suppressed.
@devsan.transfer_guard("disallow_explicit")
def logged(x):
    return x.cpu()


logged(torch.ones(4, device="cuda:1"))

# Silent.
device = torch.device("cuda:1")
x = torch.ones(4).to(device)
with devsan.transfer_guard("disallow"):
    x.cpu()
    x.to("cuda:0")
    torch.nn.Linear(4, 2).to(device)
with devsan.transfer_guard("disallow_explicit"):
    x.sum().item()
    # Scopes are a thread's own.
    other = threading.Thread(target=x.cpu)
    other.start()
    other.join()
x.cpu()
# CHECK: no findings, 1 suppressed
