# RUN: %status 3 %sim -- %python %s %t.store 2>&1 | %file_check
import os
import sys

import torch
import torch.distributed as dist

if os.path.exists(sys.argv[1]):
    os.remove(sys.argv[1])
dist.init_process_group("gloo", init_method=f"file://{sys.argv[1]}", rank=0, world_size=1)
own = torch.ones(4, requires_grad=True) * 2
gathered = [torch.empty(4)]
dist.all_gather(gathered, own)
# CHECK: flagged.test.py:[[#@LINE+2]]: error: gathered tensors were combined in aten::cat without this rank's own tensor, which carries the graph, once: no gradient flows back [device-collective-drops-grad]
# CHECK: flagged.test.py:[[#@LINE-2]]: note: gathered here
torch.cat(gathered)
dist.destroy_process_group()
