# All that led to one finding, from its logs or from a report, without what is the user's.
# RUN: rm -rf %t && mkdir -p %t
# RUN: %status 0 %sim --quiet --keep-logs=%t/logs --report=%t/run.json -- %python %s secret-argument
# RUN: %python %s explain %t/run.json %devsan report %t/logs | FileCheck %s --implicit-check-not=secret
# CHECK: finding: device-host-sync {{[0-9a-f]+}}, observed by devsan run
# CHECK-NEXT: version: {{[0-9.]+}}
# CHECK-NEXT: severity: warning
# CHECK-NEXT: says: the host waited for cuda:0 in aten::item, 4 times
# CHECK: place: {{.*}}explain.test.py:[[#@LINE+34]] in Model.read
# CHECK-NEXT: devices: simulated
# CHECK-NEXT: happened: 4 times{{.*}}, no steps
# CHECK: whose: the place is the project's own code
# CHECK: frames that a report shows, innermost first:
# CHECK: own     Model.read at {{.*}}explain.test.py:[[#@LINE+29]]
# CHECK: event: wait cuda:0 in aten::_local_scalar_dense, 4 times, in 1 step from 0 to 0, at most 4 in one, the host waited
# CHECK-NEXT: read as: the program asked for it, in its own line, to read one value; it called aten::item
# CHECK-NEXT: frames:
# CHECK: torch   at::_ops::item::call at libtorch_cpu.so
# CHECK: program Model.read at {{.*}}explain.test.py
# RUN: %python %s explain %t/run.json %devsan report %t/run.json | FileCheck %s --check-prefix=REPORT --implicit-check-not=secret --implicit-check-not=event:
# REPORT: says: the host waited for cuda:0
# REPORT: events: a report holds none; `devsan run --keep-logs=DIR` keeps them
# RUN: %status 2 %devsan report --explain 123 %t/run.json 2>&1 | FileCheck %s --check-prefix=UNKNOWN
# UNKNOWN: devsan: error: no finding has the fingerprint '123'; there are:
# UNKNOWN: {{[0-9a-f]+}} device-host-sync {{.*}}explain.test.py:[[#@LINE+18]]
# RUN: %status 2 %devsan report --explain 123 --fail-on=none %t/run.json 2>&1 | FileCheck %s --check-prefix=OPTIONS
# OPTIONS: devsan: error: --explain takes one report or folder of logs
import json
import subprocess
import sys

if sys.argv[1] == "explain":
    _, _, report, devsan, command, inputs = sys.argv
    with open(report, encoding="utf-8") as file:
        fingerprint = json.load(file)["findings"][0]["fingerprint"]
    sys.exit(subprocess.run([devsan, command, "--explain", fingerprint, inputs]).returncode)

import torch


class Model:
    def read(self, secret):
        return secret.sum().item()


for _ in range(4):
    Model().read(torch.ones(4, device="cuda"))
