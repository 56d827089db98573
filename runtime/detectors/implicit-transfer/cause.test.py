# One tensor of the host that many lines use is one finding with its places, and where it was made.
# RUN: %status 0 %sim -- %python %s 2>&1 | %file_check
import torch

table = torch.ones(8, 4, device="cuda:1")
order = torch.randperm(8)
a = table[order]
b = table[order] + 1
c = table.index_select(0, order.to("cuda:1"))
d = table[order]
# CHECK: cause.test.py:[[#@LINE-4]]: warning: copied 64 B cpu → cuda:1 in aten::index (`indices[0]`) although nothing asked for it, 3 times (192 B), at 3 places; the host waited for it [device-implicit-transfer]
# CHECK: cause.test.py:[[#@LINE-4]]: note: also here
# CHECK-NEXT: cause.test.py:[[#@LINE-3]]: note: also here
# CHECK-NEXT: cause.test.py:[[#@LINE-8]]: note: made on the host here
# CHECK: 1 finding (0 errors, 1 warning, 0 notes)
