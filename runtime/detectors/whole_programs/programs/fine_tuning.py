"""A fine-tuning loop by hand, as the trainers of transformers do it: collated batches, accumulation, a schedule."""

import torch
from torch import nn

DEVICE = torch.device("cuda", 1)


class Classifier(nn.Module):
    def __init__(self):
        super().__init__()
        self.embedding = nn.Embedding(100, 16)
        self.encoder = nn.LSTM(16, 16, 2, batch_first=True, dropout=0.1)
        self.head = nn.Linear(16, 2)

    def forward(self, input_ids, attention_mask, labels=None):
        states, _ = self.encoder(self.embedding(input_ids))
        mask = attention_mask.unsqueeze(-1).to(states.dtype)
        logits = self.head((states * mask).sum(1) / mask.sum(1).clamp(min=1e-6))
        return {"logits": logits, "loss": None if labels is None else nn.functional.cross_entropy(logits, labels)}


def collate(rows):
    longest = max(len(row) for row in rows)
    ids, mask = (torch.zeros(len(rows), longest, dtype=torch.long) for _ in range(2))
    for i, row in enumerate(rows):
        ids[i, : len(row)] = row
        mask[i, : len(row)] = 1
    return {"input_ids": ids, "attention_mask": mask, "labels": torch.randint(0, 2, (len(rows),))}


def main():
    torch.manual_seed(0)
    rows = [torch.randint(1, 100, (3 + i % 9,)) for i in range(64)]
    loader = torch.utils.data.DataLoader(rows, batch_size=8, collate_fn=collate, pin_memory=True)
    model = Classifier().to(DEVICE)
    optimizer = torch.optim.AdamW(model.parameters(), lr=1e-3)
    scheduler = torch.optim.lr_scheduler.LambdaLR(optimizer, lambda step: min(1.0, step / 10))
    running_loss = torch.tensor(0.0).to(DEVICE)
    for _ in range(2):
        for i, batch in enumerate(loader):
            batch = {name: value.to(DEVICE, non_blocking=True) for name, value in batch.items()}
            loss = model(**batch)["loss"]
            (loss / 2).backward()
            running_loss += loss.detach() / 2
            if i % 2:
                nn.utils.clip_grad_norm_(model.parameters(), 1.0)
                optimizer.step()
                scheduler.step()
                optimizer.zero_grad()
    model.eval()
    predictions = []
    with torch.no_grad():
        for batch in loader:
            batch = {name: value.to(DEVICE, non_blocking=True) for name, value in batch.items()}
            predictions.append(model(**batch)["logits"].argmax(-1))
    print(running_loss.item(), torch.cat(predictions).cpu().float().mean())
    torch.save({"model": model.state_dict(), "optimizer": optimizer.state_dict()}, "checkpoint.pt")
    state = torch.load("checkpoint.pt", map_location="cpu")
    model.load_state_dict(state["model"])
    optimizer.load_state_dict(state["optimizer"])


main()
