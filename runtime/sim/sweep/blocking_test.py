"""Does the host wait where PyTorch's CUDA host code waits? Runs OpInfo samples on cuda:1 of two simulated devices and compares
with a recording (test/reference/op_blocking_torch2.11_cu130.json; convert_op_blocking.py beside it says what it is).

usage: blocking_test.py [--recording FILE] [OP...]

Without arguments every entry runs. A sample is compared if it is the recorded one: equal in its place, shapes, dtypes
and arguments; the rest is counted. The status is 1 if a sample differs whose entry is not in EXPLAINED, or none does of one
that is. Needs the environment of `devsan run --sim=2`, and the PyPI package expecttest.
"""

import argparse
import collections
import ctypes
import itertools
import json
import os
import sys
import warnings

from devsan import sim

sim.install()

import torch
from torch.testing._internal.common_methods_invocations import op_db

from opinfo_signature import signature

RECORDING = os.path.join(os.path.dirname(__file__), "../../../test/reference/op_blocking_torch2.11_cu130.json")
DEVICE = "cuda:1"

# Entry -> why its samples differ, although the simulated device waits as a real one does.
EXPLAINED = {}

def name_of(op):
    return f"{op.name}.{op.variant_test_name}" if op.variant_test_name else op.name


def on_device(value):
    if isinstance(value, torch.Tensor):
        return value.detach().to(DEVICE)
    if isinstance(value, torch.device) or isinstance(value, str) and value == "cpu":
        return torch.device(DEVICE)
    if isinstance(value, tuple) and hasattr(value, "_fields"):
        return type(value)(*map(on_device, value))
    if isinstance(value, (list, tuple)):
        return type(value)(map(on_device, value))
    if isinstance(value, dict):
        return {key: on_device(item) for key, item in value.items()}
    return value


class Comparison:
    def __init__(self):
        library = ctypes.CDLL(sim.library_path())
        self.host_waits = library.devsan_sim_host_waits
        self.host_waits.restype = ctypes.c_uint64
        self.counts = collections.Counter()
        self.differences = {}

    def waits(self, op, sample):
        arguments = on_device((sample.input, sample.args, sample.kwargs))
        before = self.host_waits()
        error = ""
        try:
            op(arguments[0], *arguments[1], **arguments[2])
        except Exception as exception:
            error = (str(exception).splitlines() or [type(exception).__name__])[0]
        return self.host_waits() > before, error

    def compare(self, op, recorded):
        torch.manual_seed(0)
        # All before the first one runs, which may draw numbers as well.
        samples = list(itertools.islice(op.sample_inputs("cpu", getattr(torch, recorded[0])), len(recorded) - 1))
        differences = []
        for index, (expected, sample) in enumerate(zip(recorded[1:], samples)):
            if expected[0] == "?":
                self.counts["says nothing"] += 1
            elif expected[1:] != signature(sample):
                self.counts["another sample in this PyTorch"] += 1
            else:
                waited, error = self.waits(op, sample)
                self.counts["compared"] += 1
                if waited != (expected[0] == "B"):
                    differences.append(
                        f"sample {index}: CUDA {'blocks' if expected[0] == 'B' else 'does not block'}, here it is the other "
                        f"way round{f' ({error})' if error else ''}"
                    )
                elif error:
                    self.counts["equal, but raise here"] += 1
        if differences:
            self.differences[name_of(op)] = differences


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--recording", default=RECORDING)
    parser.add_argument("op", nargs="*")
    options = parser.parse_args()
    warnings.simplefilter("ignore")
    with open(options.recording, encoding="utf-8") as file:
        recording = json.load(file)
    wanted = set(options.op or recording)
    unknown = wanted - recording.keys()
    if unknown:
        sys.exit(f"no such entry in {options.recording}: {' '.join(sorted(unknown))}")
    comparison = Comparison()
    for op in op_db:
        if name_of(op) in wanted:
            comparison.compare(op, recording[name_of(op)])
            wanted.discard(name_of(op))
    for name in wanted:
        comparison.counts["not in this PyTorch"] += 1
    failed = False
    for name, differences in sorted(comparison.differences.items()):
        comparison.counts["differ"] += len(differences)
        if name in EXPLAINED:
            comparison.counts["explained"] += len(differences)
            continue
        failed = True
        for difference in differences:
            print(f"{name}: {difference}")
    if not options.op:
        for name in EXPLAINED.keys() - comparison.differences.keys():
            failed = True
            print(f"{name}: in EXPLAINED, but nothing differs")
    print(", ".join(f"{count} {what}" for what, count in comparison.counts.items()))
    return failed


if __name__ == "__main__":
    sys.exit(main())
