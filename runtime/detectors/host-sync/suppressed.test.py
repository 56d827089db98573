# RUN: echo 'device-host-sync = ["function:logged"]' > %t.toml
# RUN: echo 'device-mismatch = "old.py"' >> %t.toml
# RUN: %status 0 %sim --fail-on=warning --suppressions=%t.toml -- %python %s 2>&1 | %file_check
# RUN: echo 'device-nothing = "x"' > %t.bad.toml
# RUN: %status 2 %sim --suppressions=%t.bad.toml -- %python %s 2>&1 | FileCheck %s --check-prefix=BAD
# BAD: error: {{.*}}.bad.toml:1: unknown rule 'device-nothing'
import torch


def logged(x):
    if x.sum() > 0:
        return "positive"


x = torch.ones(4, device="cuda:1")
for _ in range(3):
    logged(x)
# CHECK: no findings, 1 suppressed
# CHECK: suppression never used: device-mismatch = old.py
