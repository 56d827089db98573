# RUN: echo 'device-implicit-transfer = ["function:indexed", "function:shuffled"]' > %t.toml
# RUN: %status 0 %sim --fail-on=warning --suppressions=%t.toml -- %python %s 2>&1 | %file_check
import io
import multiprocessing.reduction

import torch
import torch.multiprocessing

import devsan


# Suppressed.
def indexed(table, rows):
    return table[rows]


def rows_of(table, rows):
    return table[rows]


def first_of(table, rows):
    return table[rows] + 1


def shuffled(table):  # one finding with two places, neither of them its own
    rows = torch.randperm(8)
    return rows_of(table, rows), first_of(table, rows)


indexed(torch.ones(8, 4, device="cuda:1"), torch.tensor([1, 2]))
shuffled(torch.ones(8, 4, device="cuda:1"))

# Silent.
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
optimizer = torch.optim.Adam(model.parameters())
model(table).sum().backward()
optimizer.step()
file = io.BytesIO()
torch.save(optimizer.state_dict(), file)
file.seek(0)
optimizer.load_state_dict(torch.load(file, map_location="cpu"))
for _ in range(3):                                        # the gradient goes back the way of its tensor
    model(table).to("cuda:0").sum().backward()
    multiprocessing.reduction.ForkingPickler.dumps(table.clone())  # to another process
table[torch.tensor([3, 1, 4], device=table.device)]       # once
table.add(1.0).mul_(2)
# CHECK: no findings, 2 suppressed
# CHECK: 3 notes not shown
