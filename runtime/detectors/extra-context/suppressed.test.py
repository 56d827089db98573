# RUN: echo 'device-extra-context = "*/suppressed.test.py"' > %t.toml
# RUN: %status 0 %sim --fail-on=warning --suppressions=%t.toml -- %python %s 2>&1 | %file_check
import torch

torch.ones(4, device="cuda:1")
torch.cuda.mem_get_info(0)
# CHECK: no findings, 1 suppressed
