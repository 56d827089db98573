# What `devsan run` does around a program, whatever the program is.
#
# The program's own status wins; a crash keeps its signal, and its report is there.
# RUN: %status 7 %sim -- %python %s exit 2>&1 | FileCheck %s --check-prefix=SEEN
# RUN: %status -11 %sim -- %python %s crash 2>&1 | FileCheck %s --check-prefix=SEEN
# SEEN: exit_status.test.py:{{[0-9]+}}: warning: the host waited for cuda:1 in aten::item, 3 times [device-host-sync]
# SEEN: devsan run: {{.*}}: 1 finding
#
# Notes are shown where they fail the run.
# RUN: env DEVSAN_OPTIONS=help=1 %status 0 %sim --strict -- %python %s once 2>&1 | FileCheck %s --check-prefixes=KEYS,QUIET --implicit-check-not=waited --implicit-check-not="keys of"
# RUN: %status 3 %sim --fail-on=note --report=%t.sarif -- %python %s once 2>&1 | FileCheck %s --check-prefix=NOTE
# RUN: FileCheck %s --check-prefix=SARIF < %t.sarif
# SARIF: "ruleId": "device-host-sync"
# RUN: %status 3 %sim --max=device-host-sync=0 -- %python %s once 2>&1 | FileCheck %s --check-prefix=NOTE
# NOTE: exit_status.test.py:{{[0-9]+}}: note: the host waited for cuda:1 in aten::item, once [device-host-sync]
#
# A program without LibTorch.
# RUN: %status 0 %sim -- true 2>&1 | FileCheck %s --check-prefix=NOTHING
# RUN: %status 5 %sim -- sh -c 'exit 5' 2>&1 | FileCheck %s --check-prefix=NOTHING
# NOTHING: LibTorch was never loaded by {{true|sh}}: nothing was observed
#
# RUN: %status 2 %sim --strict -- true 2>&1 | FileCheck %s --check-prefix=STRICT
# STRICT: LibTorch was never loaded by true: nothing was observed
# STRICT: devsan: error: nothing was observed, and --strict was given or set in .devsan.toml
# RUN: %status 5 %sim --strict -- sh -c 'exit 5'
#
# RUN: env DEVSAN_OPTIONS=help=1 %status 0 %sim -- true 2>&1 | FileCheck %s --check-prefix=KEYS --implicit-check-not="keys of"
# KEYS: devsan: keys of DEVSAN_OPTIONS
# KEYS: origins
# QUIET: devsan run: note: 1 note not shown
#
# What cannot start: one line each.
# RUN: %status 2 %devsan run 2>&1 | FileCheck %s --check-prefix=NONE --implicit-check-not=error
# NONE: devsan: error: no command; write it after `--`
# RUN: %status 2 %sim python -c 1 2>&1 | FileCheck %s --check-prefix=SEPARATOR --implicit-check-not=error
# SEPARATOR: devsan: error: The following arguments were not expected: python -c 1; the command comes after `--`
# RUN: %status 2 %sim -- no-such-command 2>&1 | FileCheck %s --check-prefix=ABSENT --implicit-check-not=error
# ABSENT: devsan: error: cannot execute 'no-such-command': command not found
# RUN: %status 2 %devsan run --sim=0 -- true 2>&1 | FileCheck %s --check-prefix=SIM
# RUN: %status 2 %devsan run --sim=-1 -- true 2>&1 | FileCheck %s --check-prefix=SIM
# RUN: %status 2 %devsan run --sim=65 -- true 2>&1 | FileCheck %s --check-prefix=SIM
# RUN: %status 2 %devsan run --sim=two -- true 2>&1 | FileCheck %s --check-prefix=SIM
# SIM: devsan: error: --sim={{.*}}: the number of simulated devices must be from 1 to 64
# RUN: %status 2 %sim --fail-on=device-nothing -- true 2>&1 | FileCheck %s --check-prefix=RULE
# RULE: devsan: error: --fail-on: unknown rule or severity 'device-nothing'; valid: note, warning, error, none, {{.*}}device-bare-cuda
# RUN: %status 2 %sim --max=device-host-sync=many -- true 2>&1 | FileCheck %s --check-prefix=BUDGET
# BUDGET: devsan: error: --max=device-host-sync=many: write RULE=N
# RUN: %status 2 %sim --report=%t.perfetto.json -- true 2>&1 | FileCheck %s --check-prefix=FORMAT
# FORMAT: devsan: error: --report={{.*}}.perfetto.json: a trace is no report; --trace=FILE.json writes one
# RUN: %status 2 %sim --trace=%t.html -- true 2>&1 | FileCheck %s --check-prefix=TRACE
# TRACE: devsan: error: --trace={{.*}}.html: the file's name must end in .json or .json.gz
# RUN: %status 2 %sim --trace=/no/such/folder/a.json -- true 2>&1 | FileCheck %s --check-prefix=NO_TRACE
# NO_TRACE: devsan: error: cannot write the trace /no/such/folder/a.json: No such file or directory
# RUN: %status 2 %sim --report=/no/such/folder/a.json -- true 2>&1 | FileCheck %s --check-prefix=UNWRITABLE
# UNWRITABLE: devsan: error: cannot write the report /no/such/folder/a.json: No such file or directory
# RUN: %status 2 %sim --suppressions=/no/such.toml -- true 2>&1 | FileCheck %s --check-prefix=SUPPRESSIONS
# SUPPRESSIONS: devsan: error: cannot read /no/such.toml: No such file or directory
# RUN: %status 2 %devsan no-such-command 2>&1 | FileCheck %s --check-prefix=COMMAND
# COMMAND: devsan: error: unknown command 'no-such-command'; valid: check, run, report, rules, explain, doctor
# RUN: %status 2 %devsan explain nothing 2>&1 | FileCheck %s --check-prefix=EXPLAIN
# EXPLAIN: devsan: error: unknown rule 'nothing'; valid: {{.*}}device-bare-cuda
import os
import signal
import sys

import torch

x = torch.ones(4, device="cuda:1")
for _ in range(1 if sys.argv[1] == "once" else 3):
    x.sum().item()
match sys.argv[1]:
    case "exit":
        sys.exit(7)
    case "crash":
        os.kill(os.getpid(), signal.SIGSEGV)
