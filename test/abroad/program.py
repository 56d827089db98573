"""One program of `script/abroad`: runs FAMILY's NAME and writes what it computed.

usage: program.py FAMILY NAME OUT.json [--no-dropout]      or: program.py FAMILY --list
A family is a module of the folder `families`: `NEEDS` (packages), `names()`, `run(name, told)`. It uses "cuda" where PyTorch has it.
"""

import importlib
import json
import os
import sys
import warnings

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "families"))


class Told:
    """What a program computed, each under a label, in order."""

    def __init__(self):
        import torch
        self.torch = torch
        self.device = torch.device("cuda" if torch.cuda.is_available() else "cpu")
        self.values = []

    def __call__(self, label, value):
        self.values.append((label, self.plain(value)))

    def plain(self, value):
        torch = self.torch
        if isinstance(value, torch.Tensor):
            value = value.detach()
            if value.layout != torch.strided:
                value = value.to_dense()
            if value.is_nested or value.is_quantized:
                return str(value.shape)
            if value.is_complex():
                value = torch.view_as_real(value)
            value, shape = value.cpu(), list(value.shape)  # NOLINT(device-host-sync): what is compared
            if value.numel() <= 4:
                return {"shape": shape, "values": value.flatten().tolist()}
            # The shape and numbers that change with any element and its place; the sum of magnitudes is their scale.
            value = value.flatten().double()
            weights = torch.linspace(1, 2, value.numel(), dtype=torch.float64)
            finite = torch.nan_to_num(value, 0, 0, 0)
            return {"shape": shape, "finite": int(value.isfinite().sum()), "scale": finite.abs().sum().item(),
                    "sum": finite.sum().item(), "weighted": (finite * weights).sum().item()}
        if isinstance(value, dict):
            return {str(key): self.plain(each) for key, each in value.items()}
        if isinstance(value, (list, tuple)):
            return [self.plain(each) for each in value]
        if hasattr(value, "to_tuple"):
            return self.plain(value.to_tuple())
        return value if isinstance(value, (bool, int, float, str, type(None))) else str(type(value))

    def trained(self, model, inputs, loss_of, steps=2):
        """Trains with plain SGD, then evaluates under inference_mode."""
        torch = self.torch
        model.train()
        optimizer = torch.optim.SGD([p for p in model.parameters() if p.requires_grad], lr=1e-3)
        for step in range(steps):
            loss = loss_of(model(*inputs))
            optimizer.zero_grad()
            loss.backward()
            optimizer.step()
            self(f"loss of step {step}", loss)
        model.eval()
        with torch.inference_mode():
            self("outputs", model(*inputs))


def mean_of(outputs):
    """A loss of whatever a model gives back: the mean square of all its floating tensors."""
    import torch
    if isinstance(outputs, torch.Tensor):
        return outputs.float().square().mean() if outputs.is_floating_point() or outputs.is_complex() else outputs.new_zeros((), dtype=torch.float32)
    if isinstance(outputs, dict):
        outputs = list(outputs.values())
    elif hasattr(outputs, "to_tuple"):
        outputs = outputs.to_tuple()
    if isinstance(outputs, (list, tuple)):
        parts = [mean_of(each) for each in outputs]
        return sum(part for part in parts if isinstance(part, torch.Tensor) and part.requires_grad)
    return 0


def main():
    family = importlib.import_module(sys.argv[1])
    if sys.argv[2] == "--list":
        json.dump(sorted(family.names()), sys.stdout)
        return
    import torch
    warnings.simplefilter("ignore")
    if "--no-dropout" in sys.argv[4:]:
        for name in ("dropout", "dropout1d", "dropout2d", "dropout3d", "alpha_dropout", "feature_alpha_dropout"):
            setattr(torch.nn.functional, name, lambda input, *_, **__: input)
    torch.manual_seed(20)
    told = Told()
    drawn = torch.cuda.get_rng_state_all()
    family.run(sys.argv[2], told)
    drawn = any(not torch.equal(before, after) for before, after in zip(drawn, torch.cuda.get_rng_state_all()))
    with open(sys.argv[3], "w", encoding="utf-8") as file:
        json.dump({"values": told.values, "draws_on_device": drawn}, file)


if __name__ == "__main__":
    main()
