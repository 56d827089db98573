# RUN: echo 'device-collective-drops-grad = "*/silent.test.py"' > %t.toml
# RUN: %status 0 %sim --fail-on=warning --suppressions=%t.toml -- %python %s %t.store 2>&1 | %file_check
import os
import sys

import torch
import torch.distributed as dist

# Suppressed.
if os.path.exists(sys.argv[1]):
    os.remove(sys.argv[1])
dist.init_process_group("gloo", init_method=f"file://{sys.argv[1]}", rank=0, world_size=1)
own = torch.ones(4, requires_grad=True) * 2
gathered = [torch.empty(4)]
dist.all_gather(gathered, own)
torch.cat(gathered)
dist.destroy_process_group()

# Silent.
if os.path.exists(sys.argv[1]):
    os.remove(sys.argv[1])
dist.init_process_group("gloo", init_method=f"file://{sys.argv[1]}", rank=0, world_size=1)
own = torch.ones(4, requires_grad=True) * 2
gathered = [torch.empty(4)]
dist.all_gather(gathered, own)
gathered[dist.get_rank()] = own
torch.cat(gathered)
with torch.no_grad():
    dist.all_gather(gathered, own.detach())
    torch.cat(gathered)
dist.destroy_process_group()
# CHECK: no findings, 1 suppressed
