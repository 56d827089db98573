# RUN: echo 'device-stream-race = "function:racy"' > %t.toml
# RUN: %status 0 %sim --fail-on=warning --suppressions=%t.toml -- %python %s 2>&1 | %file_check
import torch

side = torch.cuda.Stream()


def racy(batch):
    with torch.cuda.stream(side):
        batch.sum()


batch = torch.ones(4, device="cuda")
racy(batch)
# CHECK: no findings, 1 suppressed
