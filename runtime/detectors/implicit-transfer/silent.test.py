# RUN: %status 0 %sim --fail-on=device-implicit-transfer -- %python %s 2>&1 | %file_check
import io

import torch

import devsan

device = torch.device("cuda:1")
table = torch.ones(8, 4).to(device)
rows = torch.tensor([1, 2])
table[rows.to(device)]
with devsan.allow_transfer(), devsan.allow_sync():
    table[rows]
model = torch.nn.Linear(4, 2).to(device)
file = io.BytesIO()
torch.save(model.state_dict(), file)
file.seek(0)
model.load_state_dict(torch.load(file, map_location=device))
table.add(1.0).mul_(2)
# CHECK: no findings
