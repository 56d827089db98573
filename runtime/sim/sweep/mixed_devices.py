"""Moves one tensor of each OpInfo sample to another device, and asks whether ATen's rules are kept.

usage: mixed_devices.py [--full] [--samples N] [--verbose] [OP...]

Every tensor argument in turn goes to the CPU and to cuda:0 while the others are on cuda:1. A dispatch mode follows the
ATen operators below autograd, into composites: where device_rules says that CUDA refuses the operands the call must
raise an error about devices, and where it accepts them the call must not. The status is 1 if one disagrees.
"""

import argparse
import collections
import re
import sys
import time
import warnings

from devsan import sim

sim.install()

import torch
from torch.testing._internal.common_methods_invocations import op_db
from torch.utils._python_dispatch import TorchDispatchMode

from device_rules import ACCEPT, DELEGATES, REFUSE, UNKNOWN, expected_text, is_mixed, operands_of, rule_of
from opinfo import DEVICE, SUBSET, name_of
from values import CPU, brief, on, rebuild, tensors_in, to_device

OTHER = torch.device("cuda:0")
DEVICE_ERROR = re.compile(
    r"same device|different device|same GPU|should be the same|on (the )?cpu|on (the )?cuda|CPU scalars|"
    r"expected device|CPU tensor|CUDA tensor|devices?\b",
    re.IGNORECASE,
)
COMPOSITES = (
    torch._C.DispatchKey.CompositeExplicitAutogradNonFunctional,
    torch._C.DispatchKey.CompositeExplicitAutograd,
    torch._C.DispatchKey.CompositeImplicitAutograd,
)


class Disagreement(Exception):
    pass


class RuleKeeper(TorchDispatchMode):
    """Compares each operator on mixed devices with its rule."""

    def __init__(self, unknown):
        super().__init__()
        self.unknown = unknown
        self.refused = 0
        self.accepted = 0

    def __torch_dispatch__(self, func, types, args=(), kwargs=None):
        kwargs = kwargs or {}
        operands = operands_of(func, args, kwargs)
        if not is_mixed(operands):
            return func(*args, **kwargs)
        rule = rule_of(func, operands)
        if rule == DELEGATES:
            return self.run_composite(func, args, kwargs)
        if rule == UNKNOWN:
            self.unknown[str(func)] += 1
            return func(*args, **kwargs)
        where = ", ".join(f"{o.name} ({o.tensor.dim()}-d) on {o.tensor.device}" for o in operands)
        try:
            result = func(*args, **kwargs)
        except Exception as error:
            about_devices = DEVICE_ERROR.search(str(error))
            if rule == ACCEPT and about_devices:
                raise Disagreement(f"{func} with {where}: CUDA accepts, we raise {brief(error)}") from error
            if rule == REFUSE and not about_devices:
                raise Disagreement(f"{func} with {where}: raises {brief(error)}, which is not about devices") from error
            if rule == REFUSE and not re.search(expected := self.text(func, operands), str(error)):
                raise Disagreement(f"{func} with {where}: says {brief(error)}, ATen /{expected}/") from error
            self.refused += 1
            raise
        if rule == REFUSE:
            raise Disagreement(f"{func} with {where}: CUDA refuses, we accept")
        self.accepted += 1
        return result

    def text(self, func, operands):
        try:
            return expected_text(func, operands)
        except KeyError as error:
            raise Disagreement(f"{func}: device_rules.UNCHECKED_TEXTS has no text for {error}") from error

    def run_composite(self, func, args, kwargs):
        for key in COMPOSITES:
            if func.has_kernel_for_dispatch_key(key):
                with self:
                    return func._op_dk(key, *args, **kwargs)
        return func(*args, **kwargs)


def moved(given, index, device):
    """The sample on cuda:1 with its tensor number `index` on `device`."""
    count = iter(range(10**6))
    return rebuild(given, lambda t: to_device(t, device if next(count) == index else DEVICE).requires_grad_(False), DEVICE)


def check_sample(op, sample, counts, unknown, found):
    given = ((sample.input, *sample.args), sample.kwargs)
    tensors = tensors_in(given)
    if len(tensors) < 2:
        return
    for index in range(min(len(tensors), 6)):
        for device in (CPU, OTHER):
            arguments, keywords = moved(given, index, device)
            keeper = RuleKeeper(unknown)
            torch.manual_seed(0)
            try:
                with torch.no_grad(), keeper:
                    op(*arguments, **keywords)
                counts["accepted"] += 1
            except Disagreement as error:
                counts["disagreements"] += 1
                found[str(error)].add(name_of(op))
            except Exception as error:
                counts["raised" if DEVICE_ERROR.search(str(error)) else "raised for other reasons"] += 1


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--full", action="store_true", help="every entry")
    parser.add_argument("--samples", type=int, help="samples of each entry, 0 for all")
    parser.add_argument("--verbose", action="store_true", help="slow entries")
    parser.add_argument("ops", nargs="*", metavar="OP", help="entries by name")
    options = parser.parse_args()
    if options.samples is None:
        options.samples = 0 if options.full or options.ops else 3
    warnings.simplefilter("ignore")
    torch.set_num_threads(1)
    torch.cuda.set_device(DEVICE)
    wanted = set(options.ops or SUBSET)
    if unknown_names := wanted - {op.name for op in op_db} - {name_of(op) for op in op_db}:
        sys.exit("no such OpInfo entry: " + ", ".join(sorted(unknown_names)))
    counts, unknown, found = collections.Counter(), collections.Counter(), collections.defaultdict(set)
    started = time.perf_counter()
    for op in op_db:
        if not (options.full and not options.ops or op.name in wanted or name_of(op) in wanted):
            continue
        dtype = next((d for d in (torch.float32, torch.int64, torch.bool, torch.complex64) if d in op.dtypes), None)
        if dtype is None:
            continue
        counts["entries"] += 1
        entry_started = time.perf_counter()
        torch.manual_seed(0)
        for number, sample in enumerate(op.sample_inputs("cpu", dtype)):
            if options.samples and number >= options.samples:
                break
            check_sample(op, sample, counts, unknown, found)
        if options.verbose and (seconds := time.perf_counter() - entry_started) > 2:
            print(f"{name_of(op)}: {seconds:.0f} s, {number + 1} samples", flush=True)
    for problem, names in sorted(found.items()):
        print(f"{', '.join(sorted(names)[:3])}: {problem}")
    for name, count in unknown.items():
        print(f"no rule for {name} ({count} times)")
    print("mixed devices: " + ", ".join(f"{count} {what}" for what, count in counts.items()),
          f"in {time.perf_counter() - started:.0f} s")
    return 1 if found or unknown else 0


if __name__ == "__main__":
    sys.exit(main())
