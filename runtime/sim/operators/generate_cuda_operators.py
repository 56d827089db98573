"""Writes cuda_operators.inc: what native_functions.yaml says about each operator's CUDA kernel.

usage: generate_cuda_operators.py native_functions.yaml cuda_build.txt cuda_operators.inc

The file comes with the LibTorch that is built against, so the simulator follows that release's own device rules. It is
read line by line: the environment need not have a YAML parser, and the comment beside `device_check` (lost to a parser)
tells operators that check through TensorIterator from those that do not check at all. What the list does not say stands
in cuda_build.txt, which read_cuda_build.py wrote.
"""

import collections
import pathlib
import re
import sys

# In the order of TensorKind.
KEYS = ("CUDA", "SparseCUDA", "SparseCsrCUDA", "QuantizedCUDA", "NestedTensorCUDA")
HOST_KEYS = {key: key.replace("CUDA", "CPU") for key in KEYS}
FUNC = re.compile(r"^- func: (?P<name>[\w.]+)\(")
FIELD = re.compile(r"^  (?P<key>\w+): *(?P<value>[^#]*?) *(?:#(?P<comment>.*))?$")
KERNEL = re.compile(r"^    (?P<keys>[\w, ]+): *\w+")


def read_operators(path):
    operators = []
    current = None
    in_dispatch = False
    for line in open(path, encoding="utf-8"):
        line = line.rstrip("\n")
        if match := FUNC.match(line):
            current = {"name": match["name"], "check": "kExactSame", "structured": False, "delegates": False, "keys": set()}
            operators.append(current)
            in_dispatch = False
        elif current is None:
            continue
        elif match := FIELD.match(line):
            key, value, comment = match["key"], match["value"], match["comment"] or ""
            in_dispatch = key == "dispatch"
            if key == "device_check" and value == "NoCheck":
                current["check"] = "kTensorIterator" if "TensorIterator" in comment else "kNone"
            elif key == "structured" and value == "True" or key == "structured_delegate":
                current["structured"] = True
                current["delegates"] = key == "structured_delegate"
        elif in_dispatch and (match := KERNEL.match(line)):
            current["keys"].update(key.strip() for key in match["keys"].split(","))
    return operators


def release_of(yaml):
    """(2, 13), of the torch whose torchgen has the list."""
    version = pathlib.Path(yaml).resolve().parents[4] / "torch/version.py"
    match = re.search(r"__version__ = '(\d+)\.(\d+)", version.read_text(encoding="utf-8"))
    if not match:
        sys.exit(f"{version} names no version; the list of operators must be the one in an installed PyTorch")
    return int(match[1]), int(match[2])


def read_cuda_build(path, release):
    """The facts of a release: (kind, operator, text)."""

    def number(text):
        return tuple(map(int, text.split(".")))

    for line in pathlib.Path(path).read_text(encoding="utf-8").splitlines():
        if line.startswith("#") or not line:
            continue
        kind, operator, text, releases = (field.strip() for field in line.split("|"))
        first, _, last = releases.removesuffix("+").partition("-")
        if number(first) <= release and (releases.endswith("+") or release <= number(last or first)):
            yield kind, operator, text


def add_cuda_build(operators, path, release):
    alerts, kernels = collections.defaultdict(list), set()
    for kind, operator, text in read_cuda_build(path, release):
        if kind == "alert":
            alerts[operator].append(text)
        else:
            kernels.add(operator)
    for operator in operators:
        operator["alerts"] = "|".join(sorted(alerts[operator["name"]]))
        operator["calls_device_kernel"] = operator["name"] in kernels
        if operator["calls_device_kernel"] and operator["check"] != "kNone":
            operator["check"] = "kTensorIterator"  # of the kernel: the composite one has none


def has_kernel(operator, key):
    return key in operator["keys"] or "CompositeExplicitAutograd" in operator["keys"] or key == "CUDA" and operator["structured"]


def covered_by_composite(operator, key):
    """Whether a composite kernel would come before the fallback for `key`, where CUDA has a kernel of its own.

    Functional and in-place structured operators have a generated composite kernel that calls the out= operator: two
    dispatches, and another name in error texts. Foreach operators keep theirs: it takes tensors of several devices.
    Where the CPU has only an implicit composite, that one is all there is to call.
    """
    if operator["name"].startswith("_foreach"):
        return False
    if operator["calls_device_kernel"] and key == "CUDA":
        return True
    if "CompositeImplicitAutograd" in operator["keys"] and not (operator["structured"] or HOST_KEYS[key] in operator["keys"]):
        return False
    composites = {"CompositeExplicitAutograd", "CompositeImplicitAutograd"}
    has_composite = operator["delegates"] or bool(composites & operator["keys"])
    return has_composite and (key in operator["keys"] or key == "CUDA" and operator["delegates"])


def bits(operator, predicate):
    return sum(predicate(operator, key) << bit for bit, key in enumerate(KEYS))


def main():
    source, cuda_build, target = sys.argv[1:]
    operators = read_operators(source)
    if len(operators) < 1000:
        sys.exit(f"{source}: found {len(operators)} operators; this is not a native_functions.yaml that can be read")
    add_cuda_build(operators, cuda_build, release_of(source))
    with open(target, "w", encoding="utf-8") as out:
        for operator in sorted(operators, key=lambda o: o["name"].encode()):
            out.write(
                f'{{"{operator["name"]}", DeviceCheck::{operator["check"]}, {int(operator["structured"])}, '
                f'{bits(operator, has_kernel)}, {bits(operator, covered_by_composite)}, "{operator["alerts"]}"}},\n'
            )


if __name__ == "__main__":
    main()
