# RUN: %status 0 %sim -- %python %s 2>&1 | %file_check
import threading

import torch

import devsan

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
# CHECK: no findings
