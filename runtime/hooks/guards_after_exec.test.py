# A process that goes on as another program has two logs; what the second one does is looked up in its own.
# RUN: %status 0 %sim --fail-on=none -- %python %s first
import os
import sys

import torch

import devsan

x = torch.ones(4).to("cuda:1")
if sys.argv[1] == "first":
    for line in range(20):  # spelled out: were the second's places taken for these, nothing would be raised
        exec(compile("\n" * line + "x.cpu()", "<asked>", "exec"))
    os.execv(sys.executable, [sys.executable, __file__, "second"])
with devsan.sync_guard("disallow", raises=True):
    try:
        x.nonzero()
    except RuntimeError:
        sys.exit(0)
sys.exit("nothing was raised")
