# RUN: echo 'device-async-copy-race = "function:peek"' > %t.toml
# RUN: %status 0 %sim --fail-on=error --suppressions=%t.toml -- %python %s 2>&1 | FileCheck %s --implicit-check-not=device-async
# RUN: %status 0 %sim --sim-protect=off --fail-on=error -- %python %s
import torch


def peek(tensor):
    tensor[0] + 1


peek(torch.ones(1024, device="cuda").to("cpu", non_blocking=True))
# CHECK: 1 suppressed
