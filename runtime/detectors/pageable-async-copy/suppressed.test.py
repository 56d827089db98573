# RUN: echo 'device-pageable-async-copy = "*/suppressed.test.py"' > %t.toml
# RUN: %status 0 %sim --fail-on=warning --suppressions=%t.toml -- %python %s 2>&1 | %file_check
import torch

torch.ones(4).to("cuda:1", non_blocking=True)
# CHECK: no findings, 1 suppressed
