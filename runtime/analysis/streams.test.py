# The program's own streams stay as they were, and the report comes after them on stderr.
# RUN: echo typed | %sim -- %python %s > %t.out 2> %t.err
# RUN: FileCheck %s --check-prefix=OUT --implicit-check-not=devsan < %t.out
# RUN: FileCheck %s --check-prefix=ERR < %t.err
# OUT: got typed
# ERR: complaint
# ERR: devsan run: {{.*}}: no findings
import sys

import torch

torch.ones(4, device="cuda:1")
print("got", input())
print("complaint", file=sys.stderr)
