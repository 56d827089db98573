"""Does the host wait where PyTorch's CUDA host code waits? Runs OpInfo samples on cuda:1 of two simulated devices, forward and
backward, and compares each call of an operator with the recording of the nearest release (test/reference/blocking).

usage: blocking_test.py [--full] [ENTRY...]

A call is compared where the recording says of the same operator, with the same arguments if those decide, whether the host
waits, and where it runs here. The status is 1 if an operator differs that is not in EXPLAINED or none of one that is, or
if fewer than the least number of calls is compared. Needs the environment of `devsan run --sim=2`, and the PyPI package
expecttest. With --full all dtypes run, else float32 and int64.
"""

import argparse
import collections
import ctypes
import sys
import warnings
from pathlib import Path

from devsan import sim

sim.install()

import torch

sys.path.insert(0, str(Path(__file__).with_name("blocking")))
import calls
import tables

# Operator -> why the simulated device does not wait as the recording does, or waits where it does not.
EXPLAINED = {"aten.linalg_ldl_factor_ex.default": "cuSOLVER waits inside, as observed on a GPU"}
LEAST = {False: 60000, True: 130000}


class HostWaits:
    def __init__(self):
        self._count = ctypes.CDLL(sim.library_path()).devsan_sim_host_waits
        self._count.restype = ctypes.c_uint64
        self._before = 0

    def __call__(self):
        before, self._before = self._before, self._count()
        return self._before > before


class Comparison:
    def __init__(self, table):
        self.table = table
        self.counts = collections.Counter()
        self.differences = collections.defaultdict(collections.Counter)

    def take(self, op, key, waited, error):
        expected = self.table.expected(op, key)
        if error:
            self.counts["raise here"] += 1
        elif expected is None:
            self.counts["not in the recording"] += 1
        else:
            self.counts["compared"] += 1
            if waited != expected:
                self.differences[op][f"CUDA {'waits' if expected else 'does not wait'}, here it is the other way round"] += 1


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--full", action="store_true")
    parser.add_argument("entry", nargs="*")
    options = parser.parse_args()
    warnings.simplefilter("ignore")
    entries = calls.entries()
    unknown = set(options.entry) - entries.keys()
    if unknown:
        sys.exit(f"no such OpInfo entry: {' '.join(sorted(unknown))}")
    table = tables.table_for(torch.__version__)
    comparison = Comparison(table)
    recorder = calls.Calls(HostWaits(), comparison.take)
    dtypes = calls.DTYPES if options.full else (torch.float32, torch.int64)
    for name in options.entry or entries:
        calls.run(entries[name], recorder, dtypes)
    problems = [f"{op}: {difference} ({count} calls)" for op, differences in sorted(comparison.differences.items())
                if op not in EXPLAINED for difference, count in differences.items()]
    if not options.entry:
        problems += [f"{op}: in EXPLAINED, but nothing differs" for op in sorted(EXPLAINED.keys() - comparison.differences.keys())]
        if comparison.counts["compared"] < LEAST[options.full]:
            problems.append(f"{comparison.counts['compared']} calls compared, expected at least {LEAST[options.full]}")
    print("\n".join(problems))
    explained = len(comparison.differences.keys() & EXPLAINED.keys())
    print(f"recording of torch {table.torch}: " + ", ".join(f"{count} {what}" for what, count in comparison.counts.items())
          + f", {len(comparison.differences)} operators differ, {explained} of them explained")
    return 1 if problems else 0


if __name__ == "__main__":
    sys.exit(main())
