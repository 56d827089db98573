# Logs that are kept, and reports of several runs, as one report; what cannot be read is named and nothing is shown.
# RUN: rm -rf %t && mkdir -p %t
# RUN: %status 0 env RANK=0 %sim --keep-logs=%t/logs --report=%t/0.json -- %python %s
# RUN: %status 0 env RANK=1 %sim --keep-logs=%t/logs --report=%t/1.json -- %python %s
# RUN: %status 0 %devsan report --merge %t/logs | %file_check
# RUN: %status 0 %devsan report --merge %t/0.json %t/1.json | %file_check
# CHECK: merged.test.py:[[#@LINE+52]]: warning: the host waited for cuda:0 in aten::item, 3 times, on rank 0; the same on both ranks, 6 times in all [device-host-sync]
# CHECK: merged.test.py:[[#@LINE+55]]: warning: the host waited for cuda:1 in aten::nonzero, once, on rank 1 only [device-host-sync]
# CHECK: devsan report: {{.*}}: 2 reports of {{.*}}: 2 findings (0 errors, 2 warnings, 0 notes)
# RUN: %status 3 %devsan report --fail-on=warning %t/0.json | FileCheck %s --check-prefix=SINGLE
# SINGLE: warning: the host waited for cuda:0 in aten::item, 3 times [device-host-sync]
# SINGLE: devsan run: {{.*}}: 1 finding
# RUN: %status 3 %devsan report --merge --max=device-host-sync=6 --format=json -o %t/all.json %t/0.json %t/1.json
# RUN: %status 0 %devsan report --merge --max=device-host-sync=7 %t/all.json | FileCheck %s --check-prefix=AGAIN
# AGAIN: the same on both ranks, 6 times in all
# RUN: %status 0 %devsan report --baseline=%t/b.json --update-baseline %t/all.json
# RUN: %status 0 %devsan report --fail-on=note --baseline=%t/b.json --merge %t/all.json %t/logs | FileCheck %s --check-prefix=KNOWN
# KNOWN: no new findings, 2 known from the baseline
# Reports that are shown one by one have one baseline: what one of them holds is not gone.
# RUN: %status 0 %devsan report --baseline=%t/b.json %t/0.json %t/1.json | FileCheck %s --check-prefix=APART --implicit-check-not="any more"
# APART: no new findings, 1 known from the baseline
# APART: no new findings, 2 known from the baseline
# RUN: %status 0 %devsan report --baseline=%t/b.json %t/0.json %t/0.json | FileCheck %s --check-prefix=GONE
# GONE: known from the baseline
# GONE-NEXT: known from the baseline
# GONE-NEXT: not found any more, take it out of the baseline: device-host-sync in
#
# RUN: %status 2 %devsan report --format=json %t/0.json %t/1.json 2>&1 | FileCheck %s --check-prefix=SEVERAL
# SEVERAL: devsan: error: 2 reports have no common JSON report unless they are merged: add --merge
# RUN: %status 2 %devsan report --format=html %t/0.json %t/1.json 2>&1 | FileCheck %s --check-prefix=PAGES
# PAGES: devsan: error: 2 reports have no common page unless they are merged: add --merge
# RUN: head -c 900 %t/0.json > %t/cut.json
# RUN: %status 2 %devsan report --merge %t/1.json %t/cut.json 2>&1 | FileCheck %s --check-prefix=CUT --implicit-check-not=warning
# CUT: devsan: error: {{.*}}cut.json:{{[0-9]+}}: this is not a JSON report of devsan, or it is cut off; valid: JSON reports (devsan/1), event logs
# RUN: echo nonsense > %t/bad.devsanlog
# RUN: %status 2 %devsan report %t/bad.devsanlog 2>&1 | FileCheck %s --check-prefix=LOG
# LOG: devsan: error: bad.devsanlog at offset 0: {{.*}}; valid: JSON reports
# RUN: mkdir %t/empty
# RUN: %status 2 %devsan report %t/empty 2>&1 | FileCheck %s --check-prefix=EMPTY
# EMPTY: devsan: error: {{.*}}empty: the folder holds no event logs; valid: JSON reports
# RUN: %status 2 %devsan report /no/such.json 2>&1 | FileCheck %s --check-prefix=ABSENT
# ABSENT: devsan: error: cannot read /no/such.json: No such file or directory; valid: JSON reports
# RUN: %status 2 %devsan report -o /dev/full %t/0.json 2>&1 | FileCheck %s --check-prefix=FULL
# FULL: devsan: error: cannot write /dev/full: No space left on device
# RUN: cp %t/1.json %t/kept.json
# RUN: %status 2 sh -c "ulimit -f 1; exec %devsan report --format=json -o %t/kept.json %t/0.json" 2>&1 | FileCheck %s --check-prefix=LIMIT
# LIMIT: devsan: error: cannot write {{.*}}kept.json: File too large
# RUN: cmp %t/1.json %t/kept.json
# RUN: %status 2 %devsan report --format=yaml %t/0.json 2>&1 | FileCheck %s --check-prefix=FORMAT
# FORMAT: devsan: error: --format=yaml is unknown; valid: text, json, sarif, github, html
# RUN: %status 2 %devsan report 2>&1 | FileCheck %s --check-prefix=NONE
# NONE: devsan: error: FILE is required; see devsan report --help
import os
import torch

rank = int(os.environ["RANK"])
x = torch.ones(4, device=f"cuda:{rank}")
for _ in range(3):
    x.sum().item()


if rank == 1:
    x.nonzero()
