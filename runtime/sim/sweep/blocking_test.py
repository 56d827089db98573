"""Does the host wait where PyTorch's CUDA host code waits? Runs OpInfo samples on cuda:1 of two simulated devices and compares
with a recording (test/reference/op_blocking_torch2.11_cu130.json; convert_op_blocking.py beside it says what it is).

usage: blocking_test.py [--recording FILE] [OP...]

Without arguments every entry runs. A sample is compared if it is the recorded one: equal in its place, shapes, dtypes
and arguments, and if it runs here. The status is 1 if a sample differs whose entry is not in EXPLAINED or none does of one
that is, if an entry raises that is not in RAISES or none does of one that is, if an entry is missing from this PyTorch, or if
fewer than LEAST samples are compared. Needs the environment of `devsan run --sim=2`, and the PyPI package expecttest.
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
# Entry -> (how many of its samples raise here, why): how far they came says little about the rest of the way.
RAISES = {}
# What must be left to compare when the samples of a new PyTorch are no longer the recorded ones.
LEAST = 3000


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
        self.raising = collections.defaultdict(list)

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
                if error:
                    self.raising[name_of(op)].append(f"sample {index}: {error}")
                    self.counts["raise here"] += 1
                    continue
                self.counts["compared"] += 1
                if waited != (expected[0] == "B"):
                    differences.append(
                        f"sample {index}: CUDA {'blocks' if expected[0] == 'B' else 'does not block'}, here it is the other way round"
                    )
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
    problems = [f"{name}: not in this PyTorch" for name in sorted(wanted)]
    for name, differences in sorted(comparison.differences.items()):
        comparison.counts["differ"] += len(differences)
        if name in EXPLAINED:
            comparison.counts["explained"] += len(differences)
        else:
            problems += [f"{name}: {difference}" for difference in differences]
    for name, errors in sorted(comparison.raising.items()):
        if len(errors) > RAISES.get(name, (0, ""))[0]:
            problems += [f"{name} raises: {error}" for error in errors]
    if not options.op:
        problems += [f"{name}: in EXPLAINED, but nothing differs" for name in EXPLAINED.keys() - comparison.differences.keys()]
        problems += [
            f"{name}: in RAISES with {most}, but {len(comparison.raising[name])} raise"
            for name, (most, _) in RAISES.items()
            if len(comparison.raising[name]) < most
        ]
        if comparison.counts["compared"] < LEAST:
            problems.append(f"{comparison.counts['compared']} samples compared, expected at least {LEAST}")
    print("\n".join(problems))
    print(", ".join(f"{count} {what}" for what, count in comparison.counts.items()))
    return 1 if problems else 0


if __name__ == "__main__":
    sys.exit(main())
