# RUN: %status 0 %sim --fail-on=device-async-copy-race -- %python %s 2>&1 | FileCheck %s --implicit-check-not=device-async
import torch

import devsan

source, stream = torch.ones(1024, device="cuda"), torch.cuda.Stream()
with devsan.allow_sync():
    for wait in (torch.cuda.synchronize, torch.cuda.current_stream().synchronize, lambda: source[0].item()):
        moved = source.to("cpu", non_blocking=True)
        wait()
        assert moved.sum().item() == 1024
    kept = [source.to("cpu", non_blocking=True) for _ in range(3)]
    again = kept[0].to("cuda", non_blocking=True)  # in stream order
    assert again.sum().item() == 1024
    moved = source.to("cpu", non_blocking=True)
    event = torch.cuda.current_stream().record_event()
    while not event.query():
        pass
    moved.zero_()
source.to("cpu")
# CHECK: finding
