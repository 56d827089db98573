"""Operators with one kernel for all devices that calls a function of the tensor's device (at::native::DispatchStub): a CPU
build has none for CUDA. Finds them by the stubs that the installed headers declare and by which functions of
libtorch_cpu.so refer to them, and runs all of them on the CPU and on a simulated device. Run by ctest with the environment
that `devsan run --sim=2` sets."""

import pathlib
import re
import sys
import unittest

from devsan import sim

sim.install()

import torch

OPERATORS = pathlib.Path(__file__).resolve().parent.parent / "operators"
sys.path.insert(0, str(OPERATORS))
from generate_cuda_operators import read_cuda_build, release_of
from read_cuda_build import STUB, Library, operators_of_symbols, read_functions

PACKAGE = pathlib.Path(torch.__file__).parent
YAML = PACKAGE.parent / "torchgen/packaged/ATen/native/native_functions.yaml"
DECLARED = re.compile(r"DECLARE_DISPATCH\(([^;]*?),\s*(\w+)\s*\)", re.DOTALL)


def reals(device):
    return torch.linspace(-2, 2, 12, device=device).reshape(3, 4)


def batch_norm(device):
    ones = torch.ones(4, device=device)
    return torch.ops.aten._batch_norm_no_update(reals(device), ones, ones, ones, ones, 0.1, 1e-5)[0]


def convolution(device):
    image, weight = torch.arange(32.0, device=device).reshape(1, 2, 4, 4), torch.ones(3, 2, 2, 2, device=device)
    return torch.ops.aten._convolution(image, weight, None, [1, 1], [0, 0], [1, 1], False, [0, 0], 1, False, False, True, True)


def space(name, *ends):
    def run(device):
        return getattr(torch.ops.aten.linspace, name)(*ends, 5, out=torch.empty(0, device=device))

    return run


ONE, TWO = torch.tensor(1.0), torch.tensor(2.0)
WINDOW = {"dtype": torch.float32, "layout": torch.strided, "pin_memory": False}
aten = torch.ops.aten
RUN = {
    "_batch_norm_no_update": batch_norm,
    "_convolution": convolution,
    "arange.out": lambda device: aten.arange.out(5, out=torch.empty(0, device=device)),
    "conj_physical_": lambda device: torch.complex(reals(device), reals(device)).conj_physical_(),
    "copy_": lambda device: torch.empty(3, 4, device=device).copy_(reals(device)),
    "floor_divide.Scalar": lambda device: aten.floor_divide.Scalar(reals(device), 0.7),
    "floor_divide_.Scalar": lambda device: aten.floor_divide_.Scalar(reals(device), 0.7),
    "kaiser_window": lambda device: aten.kaiser_window(7, device=device, **WINDOW),
    "kaiser_window.beta": lambda device: aten.kaiser_window.beta(7, False, 3.0, device=device, **WINDOW),
    "kaiser_window.periodic": lambda device: aten.kaiser_window.periodic(7, True, device=device, **WINDOW),
    "ldexp.Tensor": lambda device: aten.ldexp.Tensor(reals(device), torch.arange(4, device=device, dtype=torch.int32)),
    "ldexp.out": lambda device: aten.ldexp.out(reals(device), torch.tensor(2), out=torch.empty(0, device=device)),
    "linspace.Scalar_Tensor_out": space("Scalar_Tensor_out", 1, TWO),
    "linspace.Tensor_Scalar_out": space("Tensor_Scalar_out", ONE, 2),
    "linspace.Tensor_Tensor_out": space("Tensor_Tensor_out", ONE, TWO),
    "mode.values": lambda device: aten.mode.values(
        reals(device).round(), values=torch.empty(0, device=device), indices=torch.empty(0, device=device, dtype=torch.long))[0],
}  # fmt: skip


class Stubs(unittest.TestCase):
    def operators(self):
        declared = set()
        for header in (PACKAGE / "include/ATen/native").rglob("*.h"):
            declared |= {name for _, name in DECLARED.findall(header.read_text(encoding="utf-8", errors="replace"))}
        self.assertGreater(len(declared), 300)
        library = Library(PACKAGE / "lib/libtorch_cpu.so")
        stubs = {name for name in library.objects.values() if (match := STUB.match(name)) and match[1] in declared}
        self.assertGreater(len(stubs), 300)
        users = library.users(stubs.__contains__)
        _, of_all = read_functions(YAML)
        return operators_of_symbols({user for stub in users.values() for user in stub}, of_all)

    def test_each_runs_on_a_simulated_device(self):
        operators = self.operators()
        self.assertLessEqual({"kaiser_window", "mode.values"}, operators)
        known = {name for kind, name, _ in read_cuda_build(OPERATORS / "cuda_build.txt", release_of(YAML)) if kind == "kernel"}
        for name in sorted(operators | known):
            with self.subTest(name):
                self.assertIn(name, RUN, "write a call of this operator")
                host, device = RUN[name]("cpu"), RUN[name]("cuda:1")
                self.assertEqual(str(device.device), "cuda:1")
                torch.testing.assert_close(device.cpu(), host)


if __name__ == "__main__":
    unittest.main()
