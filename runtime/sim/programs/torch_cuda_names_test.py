"""torch.cuda on simulated devices: torch's own Python sources find every name of a CUDA build's torch._C.

Each name that they take from torch._C, and each CUDA name that its type stub declares, is there, is refused with the
reason, or is left out for a reason that refused.ABSENT gives. Run by ctest under _simulated.
"""

import ast
import functools
import os
import re
import unittest

from devsan import sim

sim.install()

import torch
from devsan.sim import refused

CUDA = re.compile(r"cuda|cudnn|nccl|cublas|cusparse|cufft|nvtx|nvrtc|tunable|mempool|graph_pool|greencontext", re.IGNORECASE)
OTHER_DEVICES = re.compile(r"^_?(xpu|mps|mtia|hpu|xccl|ucc|mpi)_", re.IGNORECASE)
# Asked for by Python sources that name no C function of any build, or one for another device.
NOT_CUDA = {
    "CompiledFunction": "torch/jit/_trace.py: no build has had it for years; the code is not reached",
    "IValue": "a type in annotations",
    "JitType": "a type in annotations",
    "_StaticXpuLauncher": "Intel GPUs",
    "_XpuDeviceProperties": "Intel GPUs",
    "_run_tensorexpr_cpp_tests": "builds with C++ tests",
    "*": "an import of everything",
}
# torch.distributed asks for these in `try`, and has tests of its own here.
OTHER_NAMES = re.compile(r"^_nccl_")
OTHER_MODULES = ("torch._C._distributed_c10d", "torch._C._distributed_rpc_testing", "torch._C._aoti")


def dotted(node):
    parts = []
    while isinstance(node, ast.Attribute):
        parts.append(node.attr)
        node = node.value
    return ".".join([node.id, *reversed(parts)]) if isinstance(node, ast.Name) else ""


def is_torch_c(module):
    return module == "torch._C" or module.startswith("torch._C.")


def names_in(tree):
    """(module, name) of all that a source takes from torch._C."""
    for node in ast.walk(tree):
        if isinstance(node, ast.Attribute) and is_torch_c(module := dotted(node.value)):
            yield module, node.attr
        elif isinstance(node, ast.ImportFrom) and node.module and is_torch_c(node.module):
            for name in node.names:
                yield node.module, name.name
        elif isinstance(node, ast.Call) and dotted(node.func) in ("getattr", "hasattr") and len(node.args) > 1:
            if is_torch_c(module := dotted(node.args[0])) and isinstance(node.args[1], ast.Constant):
                yield module, node.args[1].value
        # what torch._dynamo lists by name
        elif isinstance(node, ast.Constant) and isinstance(node.value, str) and re.fullmatch(r"torch\._C\.\w+", node.value):
            yield "torch._C", node.value.rsplit(".", 1)[1]


def python_sources():
    for folder, _, files in os.walk(os.path.dirname(torch.__file__)):
        for file in files:
            if file.endswith(".py"):
                with open(os.path.join(folder, file), encoding="utf-8") as source:
                    text = source.read()
                if "torch._C" in text:
                    yield text


@functools.cache
def names_used():
    return {name for text in python_sources() for name in names_in(ast.parse(text))}


def names_declared():
    with open(os.path.join(os.path.dirname(torch.__file__), "_C", "__init__.pyi"), encoding="utf-8") as stub:
        for node in ast.parse(stub.read()).body:
            name = getattr(node, "name", None) or getattr(getattr(node, "target", None), "id", "")
            if CUDA.search(name):
                yield "torch._C", name


def provided(module, name):
    holder = torch
    for part in module.split(".")[1:]:
        if not hasattr(holder, part):
            return False
        holder = getattr(holder, part)
    return hasattr(holder, name)


def explained(module, name):
    last = module.rsplit(".", 1)[1]
    return (
        module in OTHER_MODULES
        or OTHER_NAMES.match(name)
        or OTHER_DEVICES.match(name)
        or name in NOT_CUDA
        or name in refused.ABSENT
        or last in refused.ABSENT
    )


class Names(unittest.TestCase):
    def test_every_name_is_there_or_explained(self):
        used = names_used()
        self.assertGreater(len(used), 1000, "the sources of torch were not found or not read")
        unexplained = sorted(
            f"{module}.{name}"
            for module, name in used | set(names_declared())
            if not provided(module, name) and not explained(module, name)
        )
        self.assertEqual(unexplained, [])

    def test_what_is_absent_is_absent_and_asked_for(self):
        asked = {name for _, name in names_used() | set(names_declared())}
        for name in refused.ABSENT:
            self.assertFalse(hasattr(torch._C, name), name)
            self.assertIn(name, asked)

    def test_what_is_refused_says_so(self):
        self.assertGreater(len(refused.FUNCTIONS), 0)
        for name in (*refused.FUNCTIONS, *refused.CLASSES):
            value = getattr(torch._C, name)
            self.assertEqual(value.__module__, refused.__name__, f"{name} is given by another part, and listed as refused")
            with self.assertRaisesRegex(NotImplementedError, rf"^not simulated: torch\._C\.{name}; run this on a real GPU"):
                value()


if __name__ == "__main__":
    unittest.main()
