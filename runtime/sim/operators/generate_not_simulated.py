"""Writes what is made of not_simulated.txt: the kernels' table and the list that `devsan doctor --sim` reads.

usage: generate_not_simulated.py native_functions.yaml not_simulated.txt refused.py TABLE.inc LIST.json

The list also names what devsan/sim/refused.py refuses of torch._C, which torch.cuda calls.
"""

import fnmatch
import importlib.util
import json
import sys

from generate_cuda_operators import HOST_KEYS, KEYS, read_operators

RUNNABLE = set(HOST_KEYS.values()) | {"CompositeExplicitAutograd", "CompositeImplicitAutograd"}


def read_lines(path):
    for number, line in enumerate(open(path, encoding="utf-8"), 1):
        line = line.strip()
        if not line or line.startswith("#"):
            continue
        fields = [field.strip() for field in line.split("|")]
        if len(fields) != 3 or not all(fields):
            sys.exit(f"{path}:{number}: expected NAME | REASON | REMEDY, got: {line}")
        yield number, fields


def refused_operators(yaml, path):
    device_only = {
        operator["name"]: [key for key in KEYS if key in operator["keys"]]
        for operator in read_operators(yaml)
        if operator["keys"] & set(KEYS) and not operator["keys"] & RUNNABLE
    }
    refused = {}
    for number, (pattern, reason, remedy) in read_lines(path):
        pattern, _, key = (part.strip() for part in pattern.partition("@"))
        matched = [name for name in fnmatch.filter(device_only, pattern) if not key or key in device_only[name]]
        for name in matched:
            keys = [key] if key else device_only[name]
            refused.setdefault(name, {"name": f"aten::{name}", "keys": keys, "reason": reason, "remedy": remedy})
        if not matched:
            print(f"{path}:{number}: this LibTorch has no operator {pattern} for GPUs alone", file=sys.stderr)
    return [refused[name] for name in sorted(refused)]


def refused_python(path):
    specification = importlib.util.spec_from_file_location("refused", path)
    module = importlib.util.module_from_spec(specification)
    specification.loader.exec_module(module)
    reasons = dict.fromkeys(module.FUNCTIONS + module.CLASSES, "it has no meaning without a GPU") | module.ABSENT
    return [
        {"name": f"torch._C.{name}", "keys": [], "reason": reason, "remedy": "run it on a real GPU"}
        for name, reason in sorted(reasons.items())
    ]


def quoted(text):
    return json.dumps(text, ensure_ascii=True)


def main():
    yaml, source, python, table, listing = sys.argv[1:]
    operators = refused_operators(yaml, source)
    with open(table, "w", encoding="utf-8") as out:
        for operator in operators:
            for key in operator["keys"]:
                name = operator["name"].removeprefix("aten::")
                out.write(f"{{{quoted(name)}, c10::DispatchKey::{key}, {quoted(operator['reason'])}, {quoted(operator['remedy'])}}},\n")
    with open(listing, "w", encoding="utf-8") as out:
        json.dump({"schema": "devsan-not-simulated/1", "operators": operators + refused_python(python)}, out, indent=1)
        out.write("\n")


if __name__ == "__main__":
    main()
