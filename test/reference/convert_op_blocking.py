"""Makes op_blocking_torch2.11_cu130.json from the recording it came from.

usage: convert_op_blocking.py RECORDING.jsonl TORCH_2.11 OUTPUT.json

RECORDING.jsonl has one OpInfo entry a line: the CUDA runtime calls that the host code of the CUDA wheel of PyTorch 2.11
(cu130) made for each of the first six samples of the entry in its first dtype of float32, complex64, int64 and bool, on
cuda:1. The calls were logged by a stand-in for libcudart whose kernel launches do nothing, so all data is zero or
undefined; cuDNN was off. "!" marks a call that blocks the host, and copies from and to pageable memory block, too.
TORCH_2.11 is a folder that holds torch/testing of PyTorch 2.11 (`pip install --no-deps --target TORCH_2.11
torch==2.11.0`): the samples' signatures come from there, and the rest of PyTorch from the interpreter's own.

The output maps an entry to its dtype and its samples, in order, each "B" (blocks), "-" (does not) or "?" (the call failed
before anything blocked, which tells nothing) with the sample's signature.
"""

import json
import os
import sys

sys.path.insert(0, os.path.join(os.path.dirname(__file__), "../../runtime/sim/sweep"))

import torch
import torch.testing

from opinfo_signature import signature


def op_db_of(folder):
    for name in [name for name in sys.modules if name.partition("torch.testing")[1] and name.startswith("torch.testing")]:
        del sys.modules[name]
    torch.__path__.insert(0, os.path.join(folder, "torch"))
    from torch.testing._internal.common_methods_invocations import op_db

    assert torch.testing.__file__.startswith(folder), torch.testing.__file__
    return {(op.name, op.variant_test_name): op for op in op_db}


def outcome(sample, crashed):
    if any("!" in call or "pageable" in call for call in sample["calls"]):
        return "B"
    return "?" if sample["error"] or crashed else "-"


def main(recording, folder, output):
    # Only torch/testing is taken from the other version.
    overlay = os.path.join(folder, "only-testing")
    os.makedirs(os.path.join(overlay, "torch"), exist_ok=True)
    link = os.path.join(overlay, "torch", "testing")
    if not os.path.lexists(link):
        os.symlink(os.path.join(os.path.abspath(folder), "torch", "testing"), link)
    entries = op_db_of(overlay)
    result = {}
    with open(recording, encoding="utf-8") as lines:
        for line in lines:
            row = json.loads(line)
            name = f"{row['op']}.{row['variant']}" if row["variant"] else row["op"]
            dtype = row["dtype"].removeprefix("torch.")
            torch.manual_seed(0)
            samples = entries[row["op"], row["variant"]].sample_inputs("cpu", getattr(torch, dtype))
            recorded = {sample["sample"]: outcome(sample, row["crashed"]) for sample in row["samples"]}
            result[name] = [dtype] + [
                recorded[index] + signature(sample)
                for index, sample in zip(range(len(recorded)), samples)
                if index in recorded
            ]
    with open(output, "w", encoding="utf-8") as file:
        rows = (f"{json.dumps(name)}:{json.dumps(row, separators=(',', ':'))}" for name, row in result.items())
        file.write("{\n" + ",\n".join(rows) + "\n}\n")


if __name__ == "__main__":
    main(*sys.argv[1:])
