"""Does the host wait for a simulated device where it waits for a GPU? OpInfo's samples on either, and what differs.

    on_device.py record OUT.json [ENTRY...] [--device DEVICE] [--full]
    on_device.py compare GPU.json SIMULATED.json

`record` runs the samples, forward and backward, on a device of the process, a GPU's or a simulated one, and asks PyTorch
itself about each operator's call: torch.cuda.set_sync_debug_mode("error") raises where the host would wait. The call is
then repeated without. `compare` lists the operators whose calls, with the same arguments, wait on one side alone; its status
is 1 if there are any. What waits inside of NVIDIA's libraries, PyTorch does not see.
"""

import argparse
import collections
import json
import sys
import warnings
from pathlib import Path

HERE = Path(__file__).resolve().parent
WAITED = "called a synchronizing CUDA operation"


def recording(options):
    import torch

    sys.path.insert(0, str(HERE))
    import calls

    class Asked(calls.Calls):
        """Reports whether PyTorch said that the host waits."""

        def __init__(self, report):
            super().__init__(lambda: None, report)

        def __torch_dispatch__(self, func, types, args=(), kwargs=None):
            kwargs = kwargs or {}
            if not any(map(calls.on_a_device, calls.tree_flatten((args, kwargs))[0])):
                return func(*args, **kwargs)
            key = calls.signature((args, kwargs))
            waited = False
            torch.cuda.set_sync_debug_mode("error")
            try:
                result = func(*args, **kwargs)
            except RuntimeError as error:
                waited = WAITED in str(error)
                if not waited:
                    raise
            finally:
                torch.cuda.set_sync_debug_mode("default")
            if waited:
                result = func(*args, **kwargs)
            self.report(str(func), key, waited)
            return result

    calls.DEVICE = options.device
    seen = collections.defaultdict(lambda: collections.defaultdict(lambda: [0, 0]))

    def take(op, key, waited):
        seen[op][key][waited] += 1

    entries = calls.entries()
    unknown = set(options.entry) - entries.keys()
    if unknown:
        sys.exit(f"on_device.py: error: no such OpInfo entry: {' '.join(sorted(unknown))}")
    asked = Asked(take)
    dtypes = calls.DTYPES if options.full else (torch.float32, torch.int64)
    names = options.entry or list(entries)
    for number, name in enumerate(names, 1):
        calls.run(entries[name], asked, dtypes)
        if number % 50 == 0:
            print(f"{number} of {len(names)} entries", file=sys.stderr, flush=True)
    return {"torch": torch.__version__, "device": torch.cuda.get_device_name(options.device), "operators": seen}


def read(file):
    try:
        data = json.loads(Path(file).read_text())
        return data["torch"], data["device"], data["operators"]
    except (OSError, ValueError, KeyError) as error:
        sys.exit(f"on_device.py: error: {file} is no recording of this program's: {error}")


def differences(gpu, simulated):
    """Lines for the operators that differ, and how many calls were compared. Calls are compared by their arguments; those that
    wait sometimes on one side are not."""
    lines, compared = [], 0
    for op in sorted(gpu.keys() & simulated.keys()):
        counts = collections.Counter()
        for key in gpu[op].keys() & simulated[op].keys():
            one, other = gpu[op][key], simulated[op][key]
            if all(one) or all(other):
                continue
            compared += 1
            counts[(one[1] > 0, other[1] > 0)] += 1
        for waits, text in ((True, False), "waits on the GPU alone"), ((False, True), "waits on the simulated device alone"):
            if counts[waits]:
                lines.append(f"{op}: {text}, in {counts[waits]} of {sum(counts.values())} kinds of calls")
    return lines, compared


def main():
    parser = argparse.ArgumentParser(usage=__doc__.partition("\n\n")[2].partition("\n\n")[0])
    commands = parser.add_subparsers(dest="command", required=True)
    record = commands.add_parser("record")
    record.add_argument("out", type=Path)
    record.add_argument("--device", default="cuda:0")
    record.add_argument("--full", action="store_true")
    record.add_argument("entry", nargs="*")
    compare = commands.add_parser("compare")
    compare.add_argument("gpu")
    compare.add_argument("simulated")
    options = parser.parse_args()
    warnings.simplefilter("ignore")
    if options.command == "record":
        options.out.write_text(json.dumps(recording(options)))
        return 0
    (torch, device, gpu), (other_torch, other_device, simulated) = read(options.gpu), read(options.simulated)
    lines, compared = differences(gpu, simulated)
    print("\n".join(lines))
    print(f"{device} with PyTorch {torch}, {other_device} with {other_torch}: {compared} kinds of calls compared, {len(lines)} operators differ")
    if not compared:
        sys.exit("on_device.py: error: no operator was called with the same arguments on both")
    return 1 if lines else 0


if __name__ == "__main__":
    sys.exit(main())
