"""Operators of other libraries on simulated devices: which run, and which fail as they do on a GPU. Run by ctest with the
environment that `devsan run --sim=2` sets."""

import os
import subprocess
import sys
import unittest

from devsan import sim

sim.install()

import torch

DEVICE = torch.device("cuda:1")
NO_KERNEL = r"^Could not run 'mine::\w+' with arguments from the 'CUDA' backend\. This could be because"

library = torch.library.Library("mine", "DEF")


def define(name, key, kernel, schema="(Tensor x) -> Tensor"):
    library.define(name + schema)
    library.impl(name, kernel, key)
    return getattr(torch.ops.mine, name)


class Kernels(unittest.TestCase):
    def test_cpu_kernel_alone_fails(self):
        op = define("host_only", "CPU", lambda x: x + 1)
        self.assertEqual(op(torch.ones(2)).tolist(), [2, 2])
        with self.assertRaisesRegex(NotImplementedError, NO_KERNEL):
            op(torch.ones(2, device=DEVICE))

        @torch.library.custom_op("mine::decorated_host_only", mutates_args=(), device_types="cpu")
        def decorated(x: torch.Tensor) -> torch.Tensor:
            return x + 1

        with self.assertRaisesRegex(NotImplementedError, NO_KERNEL):
            decorated(torch.ones(2, device=DEVICE))

    def test_composites_run(self):
        for key in ("CompositeImplicitAutograd", "CompositeExplicitAutograd"):
            op = define("composite_" + key.lower(), key, lambda x: x * 2)
            self.assertEqual(op(torch.ones(2, device=DEVICE)).device, DEVICE)

        @torch.library.custom_op("mine::any_device", mutates_args=())
        def any_device(x: torch.Tensor) -> torch.Tensor:
            return x * 2

        any_device.register_autograd(lambda ctx, grad: grad * 2)
        x = torch.ones(2, device=DEVICE, requires_grad=True)
        any_device(x).sum().backward()
        self.assertEqual(x.grad.tolist(), [2, 2])

    def test_own_cuda_kernel_runs(self):
        op = define("both", "CPU", lambda x: x + 1)
        library.impl("both", lambda x: x + 10, "CUDA")
        self.assertEqual(op(torch.ones(1)).item(), 2)
        self.assertEqual(op(torch.ones(1, device=DEVICE)).item(), 11)

    def test_mixed_devices_reach_the_kernel(self):
        op = define("pair", "CUDA", lambda x, y: x + y.to(x.device), "(Tensor x, Tensor y) -> Tensor")
        self.assertEqual(op(torch.ones(1, device=DEVICE), torch.ones(1)).device, DEVICE)

    def test_prims_and_decompositions(self):
        x = torch.ones(2, device=DEVICE)
        self.assertEqual(torch.ops.prims.add(x, x).device, DEVICE)
        self.assertEqual(torch._refs.softmax(x, 0).device, DEVICE)

    def test_a_named_library_is_taken_to_have_cuda_kernels(self):
        program = """
import torch
library = torch.library.Library("theirs", "DEF")
library.define("twice(Tensor x) -> Tensor")
library.impl("twice", lambda x: x * 2, "CPU")
print(torch.ops.theirs.twice(torch.ones(1, device="cuda:1")))
"""
        program = "from devsan import sim; sim.install()" + program
        named = {**os.environ, "DEVSAN_SIM_LIBRARIES": "other,theirs"}
        done = subprocess.run([sys.executable, "-c", program], env=named, capture_output=True, text=True)
        self.assertIn("tensor([2.], device='cuda:1')", done.stdout, done.stderr)
        done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True)
        self.assertIn("set DEVSAN_SIM_LIBRARIES=theirs to let its CPU kernel stand in", done.stderr)


if __name__ == "__main__":
    unittest.main()
