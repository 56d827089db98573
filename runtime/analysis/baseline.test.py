# A baseline holds what is known: only new findings fail the run, and lines may move. .devsan.toml names it.
# RUN: rm -rf %t && mkdir -p %t
# RUN: echo '[run]' > %t/.devsan.toml
# RUN: echo 'fail-on = "warning"' >> %t/.devsan.toml
# RUN: echo 'baseline = "known.json"' >> %t/.devsan.toml
# RUN: sed -n '/^import torch/,$p' %s > %t/program.py
# RUN: cd %t
# RUN: %status 2 %sim -- true 2>&1 | FileCheck %s --check-prefix=ABSENT
# ABSENT: devsan: error: cannot read {{.*}}known.json: No such file or directory; `--baseline={{.*}}known.json --update-baseline` makes it
# RUN: %status 0 %sim --update-baseline -- %python program.py 2>&1 | FileCheck %s --check-prefix=KNOWN
# RUN: %status 0 %sim --update-baseline -- true 2>&1 | FileCheck %s --check-prefix=KEPT
# KEPT: known.json: holds 1 finding now
# RUN: sed -i '1i # lines move' program.py
# RUN: %status 0 %sim -- %python program.py 2>&1 | FileCheck %s --check-prefix=KNOWN --implicit-check-not=': warning:'
# KNOWN: devsan run: {{.*}}: no new findings, 1 known from the baseline
# RUN: %status 3 %sim -- %python program.py more 2>&1 | FileCheck %s --check-prefix=NEW --implicit-check-not=': warning:'
# NEW: program.py:{{.*}}: warning: the host waited for cuda:1 in aten::nonzero, once [device-host-sync]
# NEW: 1 new finding (0 errors, 1 warning, 0 notes), 1 known from the baseline
# RUN: %status 0 %sim -- %python program.py none 2>&1 | FileCheck %s --check-prefix=STALE
# STALE: no findings
# STALE: not found any more, take it out of the baseline: device-host-sync in {{.*}}program.py, function <module>
#
# Settings that are wrong are named with their line, and nothing is started.
# RUN: echo '[budgets]' >> %t/.devsan.toml
# RUN: echo 'device-host-sync = "many"' >> %t/.devsan.toml
# RUN: %status 2 %sim -- false 2>&1 | FileCheck %s --check-prefix=BUDGET
# BUDGET: devsan: error: {{.*}}.devsan.toml:5: 'device-host-sync' must be a number from 0, or a string such as "1/step", but is many
# RUN: echo '[run]' > %t/.devsan.toml
# RUN: echo 'fail-on = "typo"' >> %t/.devsan.toml
# RUN: %status 2 %sim -- false 2>&1 | FileCheck %s --check-prefix=FAILON
# FAILON: devsan: error: {{.*}}.devsan.toml:2: fail-on: unknown rule or severity 'typo'; valid: note, warning, error, none, device-
# RUN: rm %t/.devsan.toml
# RUN: %status 2 %sim --update-baseline -- false 2>&1 | FileCheck %s --check-prefix=WHICH
# WHICH: devsan: error: --update-baseline needs the file: add --baseline=FILE
import torch
import sys

x = torch.ones(4, device="cuda:1")
for _ in range(3 if "none" not in sys.argv else 0):
    x.sum().item()
if "more" in sys.argv:
    x.nonzero()
