# RUN: echo 'device-stream-lifetime = "function:prefetch"' > %t.toml
# RUN: %status 0 %sim --fail-on=warning --suppressions=%t.toml -- %python %s 2>&1 | %file_check
import torch

side = torch.cuda.Stream()


def prefetch(batch):
    side.wait_stream(torch.cuda.current_stream())
    with torch.cuda.stream(side):
        return batch * 2


half = prefetch(torch.ones(1024, device="cuda"))
torch.ones(1024, device="cuda")
# CHECK: no findings, 1 suppressed
