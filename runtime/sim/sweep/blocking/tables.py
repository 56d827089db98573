"""Tables of what operators do to the host, one for each release of PyTorch: made from record.py's recordings, and read.

    tables.py make RECORDING.jsonl TORCH_VERSION OUT.json
    tables.py page [--check] PAGE.md

A table maps an operator to what its calls did, each with how many calls did so, and with their signatures where not all of
the operator's calls agree on whether the host waits.
"""

import argparse
import collections
import datetime
import json
import re
import sys
from pathlib import Path

# The releases' tables; oldest first.
FOLDER = Path(__file__).resolve().parents[4] / "test/reference/blocking"
LIBRARIES = {"cublas": "cuBLAS", "cusolver": "cuSOLVER", "cusparse": "cuSPARSE", "cufft": "cuFFT"}
UNKNOWN = "unknown"


def version_key(text):
    return tuple(map(int, re.match(r"\d+(\.\d+)*", text)[0].split(".")))


def what(note):
    """A line of the stand-in's, without what differs from run to run; empty for what stays on the device."""
    kind, *words = note.split()
    if kind == "call":
        return next(name for prefix, name in LIBRARIES.items() if words[0].startswith(prefix))
    if kind == "wait":
        return f"wait for the {words[0]}"
    sides = ["device" if side.startswith("cuda:") else side for side in words[:2]]
    return "" if sides == ["device", "device"] else f"copy {sides[0]} to {sides[1]}" + ", waiting" * ("wait" in words)


def waits(did):
    return "wait" in did


def outcome(row):
    did = list(dict.fromkeys(filter(None, map(what, row["did"]))))
    text = "; ".join(did)
    return UNKNOWN if row["error"] and not waits(text) else text


def make(recording, version):
    operators = collections.defaultdict(lambda: collections.defaultdict(collections.Counter))
    samples = 0
    ended = []
    for line in recording:
        try:
            row = json.loads(line)
        except ValueError:
            continue  # cut off where the process ended
        samples += row.get("samples", 0)
        ended += [row["ended"]] if "ended" in row else []
        if "op" in row:
            operators[row["op"]][outcome(row)][row["key"]] += 1
    return {
        "torch": version,
        "recorded": datetime.date.today().isoformat(),
        "samples": samples,
        "calls": sum(sum(keys.values()) for rows in operators.values() for keys in rows.values()),
        "ended": sorted(ended),
        "operators": {op: rows_of(operators[op]) for op in sorted(operators)},
    }


def rows_of(outcomes):
    disagree = len({waits(did) for did in outcomes if did != UNKNOWN}) > 1
    return [[did, sum(keys.values())] + [" ".join(sorted(keys))] * disagree for did, keys in sorted(outcomes.items())]


def write(table, out):
    head = {key: value for key, value in table.items() if key != "operators"}
    rows = ",\n".join(f"{json.dumps(op)}:{json.dumps(rows, separators=(',', ':'))}" for op, rows in table["operators"].items())
    out.write_text(json.dumps(head, indent=0)[:-2] + ',\n"operators": {\n' + rows + "\n}}\n")


class Table:
    def __init__(self, file):
        data = json.loads(Path(file).read_text())
        self.torch, self.recorded = data["torch"], data["recorded"]
        self.samples, self.calls = data["samples"], data["calls"]
        self._operators = data["operators"]

    def operators(self):
        return self._operators.keys()

    def outcomes(self, op):
        """What is known that the operator's calls did."""
        return [did for did, *_ in self._operators.get(op, []) if did != UNKNOWN]

    def expected(self, op, key):
        """Whether the host waits in a call; None where the recording does not say."""
        known = {waits(did) for did in self.outcomes(op)}
        if len(known) > 1:
            known = {waits(did) for did, _, *keys in self._operators[op] if did != UNKNOWN and key in keys[0].split()}
        return known.pop() if len(known) == 1 else None


def all_tables():
    return sorted(map(Table, FOLDER.glob("*.json")), key=lambda table: version_key(table.torch))


def table_for(version):
    """The table of that release, or of the newest one before it."""
    tables = all_tables()
    return [t for t in tables if version_key(t.torch) <= version_key(version)][-1]


PAGE = """# What blocks in which release

This page shows which PyTorch operators make the host wait for a CUDA device, and what they do there. The host code of the CUDA
builds themselves was recorded while it ran OpInfo's samples, forward and backward, in {dtypes}.
`runtime/sim/sweep/blocking/tables.py` generates the page from the tables in `test/reference/blocking`. The
[design notes](design/simulator-cuda.md) tell how these are made.

| PyTorch | recorded on | samples | calls of operators | operators |
| --- | --- | --- | --- | --- |
{releases}

An operator here is what reaches a backend: `Tensor.item` is `_local_scalar_dense`, `x[mask]` is `index.Tensor`. The words mean:

- "no": no recorded call waited.
- "always": every call waited.
- "depends": some calls waited (it depends on shapes, dtypes, or where arguments are).
- "?": the kernels cannot be started here.
- "-": no sample called the operator.

The tables leave out cuDNN (switched off), waits inside cuBLAS, cuSOLVER, cuSPARSE and cuFFT, and waits for memory allocation.

## Differences between releases

{differences}

## Operators that wait in the newest release

{newest}
"""


def verdict(table, op):
    if op not in table.operators():
        return "-"
    known = {waits(did) for did in table.outcomes(op)}
    return {(): "?", (False,): "no", (True,): "always", (False, True): "depends"}[tuple(sorted(known))]


def grid(header, rows):
    return "\n".join("| " + " | ".join(row) + " |" for row in [header, ["---"] * len(header), *rows])


def short(op):
    return "`" + op.removeprefix("aten.").removesuffix(".default") + "`"


def page(tables):
    operators = sorted(set().union(*(table.operators() for table in tables)))
    verdicts = {op: [verdict(table, op) for table in tables] for op in operators}
    said = {op: set(row) - {"-", "?"} for op, row in verdicts.items()}
    differing = [[short(op), *verdicts[op]] for op in operators if len(said[op]) > 1]
    newest = [[short(op), verdict(tables[-1], op), "<br>".join(did for did in tables[-1].outcomes(op) if waits(did))]
              for op in operators if any(map(waits, tables[-1].outcomes(op)))]
    names = [table.torch for table in tables]
    return PAGE.format(
        dtypes="float32, float16, complex64, int64 and bool",
        releases="\n".join(f"| {t.torch} | {t.recorded} | {t.samples} | {t.calls} | {len(t.operators())} |" for t in tables),
        differences=grid(["operator", *names], differing) if differing else "None.",
        newest=grid(["operator", "waits", "by"], newest))


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    commands = parser.add_subparsers(dest="command", required=True)
    making = commands.add_parser("make")
    making.add_argument("recording", type=argparse.FileType())
    making.add_argument("version")
    making.add_argument("out", type=Path)
    paging = commands.add_parser("page")
    paging.add_argument("--check", action="store_true")
    paging.add_argument("out", type=Path)
    options = parser.parse_args()
    if options.command == "make":
        return write(make(options.recording, options.version), options.out)
    text = page(all_tables())
    if not options.check:
        return options.out.write_text(text) and None
    if options.out.read_text() != text:
        return f"{options.out} is not what the tables say: `tables.py page {options.out}` writes it"
    return None


if __name__ == "__main__":
    sys.exit(main())
