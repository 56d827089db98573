# RUN: %status 0 %sim --fail-on=device-stream-lifetime -- %python %s 2>&1 | FileCheck %s --implicit-check-not=device-stream
import torch

side = torch.cuda.Stream()


def prefetch(batch, record):
    side.wait_stream(torch.cuda.current_stream())
    with torch.cuda.stream(side):
        result = batch * 2
    if record:
        batch.record_stream(side)
    return result


half = prefetch(torch.ones(1024, device="cuda"), record=True)
torch.ones(1024, device="cuda")
half = prefetch(torch.ones(1024, device="cuda"), record=False)
torch.cuda.current_stream().wait_stream(side)
torch.ones(1024, device="cuda")
# CHECK: no findings
