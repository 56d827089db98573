# Levels by direction, of scopes and of the run; the inner scope holds.
# RUN: %status 3 %sim -- %python %s 2>&1 | %file_check
import torch

import devsan

device = torch.device("cuda:1")
x = torch.ones(4).to(device)
with devsan.transfer_guard("disallow_explicit", host_to_device="allow"):
    y = torch.ones(4).to(device)
    # CHECK-DAG: flagged.test.py:[[#@LINE+1]]: error: copied 16 B cuda:1 → cpu in aten::to where such copies are disallowed, once (16 B) [device-disallowed-transfer]
    x.cpu()
    # CHECK-DAG: flagged.test.py:[[#@LINE+1]]: error: copied 16 B cuda:1 → cuda:0 in aten::to where such copies are disallowed, once (16 B) [device-disallowed-transfer]
    x.to("cuda:0")
    with devsan.allow_transfer():
        x.cpu()


@devsan.transfer_guard(host_to_device="log_explicit")
def upload():
    # CHECK-DAG: flagged.test.py:[[#@LINE+1]]: warning: copied 16 B cpu → cuda:1 in aten::to where such copies are logged, 2 times (32 B) [device-disallowed-transfer]
    torch.ones(4).to(device)


upload()
upload()
with devsan.transfer_guard("disallow"):
    y = torch.ones(4).to(device)
    # CHECK-DAG: flagged.test.py:[[#@LINE+1]]: error: copied 8 B cpu → cuda:1 in aten::index (`indices[0]`) although nothing asked for it, where such copies are disallowed, once (8 B); the host waited for it [device-implicit-transfer]
    x[torch.tensor([1])]
# CHECK-DAG: 4 findings (3 errors, 1 warning, 0 notes)
