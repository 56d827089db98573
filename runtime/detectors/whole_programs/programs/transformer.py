"""A language model with rotary embeddings and tied weights, PyTorch's own transformer layers, and generation."""

import torch
import torch.nn.functional as F
from torch import nn

DEVICE = torch.device("cuda:1")
WIDTH, HEADS, WORDS, LENGTH = 32, 4, 50, 16


class Rotary(nn.Module):
    def __init__(self, width, length):
        super().__init__()
        angles = torch.outer(torch.arange(length), 1.0 / 10000 ** (torch.arange(0, width, 2) / width))
        self.register_buffer("cos", angles.cos(), persistent=False)
        self.register_buffer("sin", angles.sin(), persistent=False)

    def forward(self, x):
        even, odd = x[..., ::2], x[..., 1::2]
        cos, sin = self.cos[: x.size(-2)], self.sin[: x.size(-2)]
        return torch.stack((even * cos - odd * sin, even * sin + odd * cos), -1).flatten(-2)


class Attention(nn.Module):
    def __init__(self):
        super().__init__()
        self.inputs, self.output = nn.Linear(WIDTH, 3 * WIDTH), nn.Linear(WIDTH, WIDTH)
        self.rotary = Rotary(WIDTH // HEADS, 64)

    def forward(self, x):
        batch, length, _ = x.shape
        query, key, value = self.inputs(x).view(batch, length, 3, HEADS, -1).permute(2, 0, 3, 1, 4)
        mixed = F.scaled_dot_product_attention(self.rotary(query), self.rotary(key), value, is_causal=True,
                                               dropout_p=0.1 if self.training else 0.0)
        return self.output(mixed.transpose(1, 2).reshape(x.shape))


class Model(nn.Module):
    def __init__(self):
        super().__init__()
        self.embedding = nn.Embedding(WORDS, WIDTH)
        self.attention = nn.ModuleList(Attention() for _ in range(2))
        self.norms = nn.ModuleList(nn.LayerNorm(WIDTH) for _ in range(2))
        self.head = nn.Linear(WIDTH, WORDS, bias=False)
        self.head.weight = self.embedding.weight

    def forward(self, words):
        x = self.embedding(words)
        for attention, norm in zip(self.attention, self.norms):
            x = x + attention(norm(x))
        return self.head(x)


def main():
    torch.manual_seed(0)
    model = Model().to(DEVICE)
    attention = nn.MultiheadAttention(WIDTH, HEADS, batch_first=True).to(DEVICE)
    encoder = nn.TransformerEncoder(nn.TransformerEncoderLayer(WIDTH, HEADS, 64, batch_first=True), 2,
                                    enable_nested_tensor=False).to(DEVICE)
    both = nn.Transformer(WIDTH, HEADS, 1, 1, 64, batch_first=True).to(DEVICE)
    parts = nn.ModuleList([model, attention, encoder, both])
    optimizer = torch.optim.AdamW(parts.parameters(), fused=True)
    padding = torch.zeros(4, LENGTH, dtype=torch.bool, device=DEVICE)
    mask = nn.Transformer.generate_square_subsequent_mask(LENGTH, device=DEVICE)
    for _ in range(4):
        words = torch.randint(0, WORDS, (4, LENGTH), device=DEVICE)
        loss = F.cross_entropy(model(words)[:, :-1].flatten(0, 1), words[:, 1:].flatten())
        x = model.embedding(words)
        loss = loss + attention(x, x, x, key_padding_mask=padding, attn_mask=mask.bool())[0].mean()
        loss = loss + encoder(x, mask=mask, is_causal=True).mean() + encoder(x, src_key_padding_mask=padding).mean()
        loss = loss + both(x, x, tgt_mask=mask, tgt_is_causal=True).mean()
        # PyTorch compares the mask with the causal one, on the host.
        loss = loss + both(x, x, tgt_mask=mask).mean()  # expect: device-host-sync
        loss.backward()
        nn.utils.clip_grad_norm_(parts.parameters(), 1.0)
        optimizer.step()
        optimizer.zero_grad()
    parts.eval()
    with torch.no_grad():
        words = torch.zeros(1, 1, dtype=torch.long, device=DEVICE)
        for _ in range(8):
            words = torch.cat([words, model(words)[:, -1].softmax(-1).multinomial(1)], 1)
        encoder(x, src_key_padding_mask=padding)
    print(words.tolist())


main()
