# Budgets of .devsan.toml hold for `run` and `report`; --max goes before them; ranks come to no sum.
# RUN: rm -rf %t && mkdir -p %t
# RUN: sed -n '/^import os/,$p' %s > %t/program.py
# RUN: echo '[budgets]' > %t/.devsan.toml
# RUN: echo 'device-host-sync = "1/step"' >> %t/.devsan.toml
# RUN: cd %t
# RUN: %status 0 %sim --report=ranks.json -- %python program.py ranks
# RUN: %status 3 %sim --report=one.json -- %python program.py 2>&1 | FileCheck %s --check-prefix=OVER
# OVER: over budget: device-host-sync happened 2 times in a run without steps (see devsan::step()), the budget is 1/step
# RUN: %status 0 %devsan report ranks.json
# RUN: %status 3 %devsan report one.json
# RUN: %status 0 %devsan report one.json --max device-host-sync=2
# RUN: %status 3 %devsan report ranks.json --max device-host-sync=1
# RUN: echo 'device-mismatch = -1' >> %t/.devsan.toml
# RUN: %status 2 %devsan report one.json 2>&1 | FileCheck %s --check-prefix=BAD
# BAD: devsan: error: {{.*}}.devsan.toml:3: 'device-mismatch' must be a number from 0, or a string such as "1/step", but is -1
# RUN: printf '[run]\nsim = 99\n' > %t/.devsan.toml
# RUN: %status 2 %sim -- false 2>&1 | FileCheck %s --check-prefix=SIM
# SIM: .devsan.toml:2: sim=99: the number of simulated devices must be from 1 to 64
import os
import subprocess
import sys

if "ranks" in sys.argv:
    for rank in "01":
        subprocess.run([sys.executable, __file__, rank], env={**os.environ, "RANK": rank}, check=True)
    sys.exit()

import torch

x = torch.ones(4, device="cuda")
if "1" not in sys.argv:
    x.nonzero()
if "0" not in sys.argv:
    x.nonzero()
