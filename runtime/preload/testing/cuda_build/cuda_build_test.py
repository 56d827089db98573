"""A CUDA build of LibTorch is known before it is loaded, and finds the stand-ins instead of CUDA's libraries. The build
here is a fake: libraries of the same names, and a CUDA runtime that counts 77 devices.

usage: cuda_build_test.py SHIM STANDIN FAKE OPENS LINKED"""

import os
import subprocess
import sys
import tempfile
import unittest
from pathlib import Path

SHIM, STANDIN, FAKE, OPENS, LINKED = sys.argv[1:6]
TORCH = os.path.join(FAKE, "libtorch_cuda.so")
REAL_DEVICES = "77 devices"


def run(command, **environment):
    base = {"PATH": os.environ["PATH"], "LD_PRELOAD": SHIM}
    return subprocess.run(command, env=base | environment, capture_output=True, text=True, timeout=60)


def simulated(command, **environment):
    return run(command, **{"DEVSAN_SIM_DEVICES": "3", "DEVSAN_CUDA_STANDIN": STANDIN} | environment)


class CudaBuild(unittest.TestCase):
    def test_finds_cuda_without_sim(self):
        for command in ([OPENS, TORCH], [LINKED]):
            for environment in ({}, {"DEVSAN_CUDA_STANDIN": STANDIN}, {"DEVSAN_SIM_DEVICES": "3"}):
                result = run(command, **environment)
                self.assertIn(REAL_DEVICES, result.stdout, result.stderr)

    def test_finds_the_simulated_devices(self):
        for command in ([OPENS, TORCH], [LINKED]):
            result = simulated(command)
            self.assertIn("3 devices", result.stdout, result.stderr)
            # What the program starts itself is not started with the stand-ins.
            self.assertIn(f"LD_PRELOAD={SHIM}\n", result.stdout)

    def test_counts_the_devices_that_it_may_see(self):
        for text, count in {"0,2": 2, "2,2": 0, "": 0, "1,7,2": 1, "0": 1}.items():
            result = simulated([OPENS, TORCH], CUDA_VISIBLE_DEVICES=text)
            self.assertIn(f"{count} devices", result.stdout, f"CUDA_VISIBLE_DEVICES={text}: {result.stderr}")

    def test_refuses_to_hide_a_real_driver(self):
        for command in ([OPENS, TORCH], [LINKED]):
            result = simulated(command, DEVSAN_SIM_REAL_DRIVER="/dev/nvidiactl")
            self.assertEqual(result.returncode, 2)
            self.assertEqual(result.stdout, "")
            self.assertIn("this machine has NVIDIA's driver (/dev/nvidiactl)", result.stderr)
            self.assertIn("--sim-force", result.stderr)

    def test_is_left_alone_where_it_is_no_cuda_build(self):
        with tempfile.TemporaryDirectory() as folder:
            library = Path(folder) / "libtorch_cpu.so"
            library.symlink_to(TORCH)
            # Nothing beside it says CUDA: a real driver is no matter, and nothing is put before its libraries.
            result = simulated([OPENS, str(library)], DEVSAN_SIM_REAL_DRIVER="/dev/nvidiactl")
            self.assertIn(REAL_DEVICES, result.stdout, result.stderr)

    def test_finds_the_simulated_devices_for_a_plugin_that_brings_it(self):
        environments = {"runpath": {}, "rpath": {}, "environment": {"LD_LIBRARY_PATH": f"{FAKE}/between:{FAKE}"}}
        for kind, environment in environments.items():
            with self.subTest(kind):
                plugin = os.path.join(FAKE, "plugin", f"libplugin_{kind}.so")
                self.assertIn(REAL_DEVICES, run([OPENS, plugin], **environment).stdout)
                result = simulated([OPENS, plugin], **environment)
                self.assertIn("3 devices", result.stdout, result.stderr)

    def test_refuses_another_cuda(self):
        with tempfile.TemporaryDirectory() as folder:
            (Path(folder) / "libtorch_cuda.so").symlink_to(TORCH)
            (Path(folder) / "libc10_cuda.so").write_bytes(b"libcudart.so.11.0\0")
            result = simulated([OPENS, str(Path(folder) / "libtorch_cuda.so")])
            self.assertEqual(result.returncode, 2)
            self.assertIn(f"not simulated: PyTorch with another CUDA than 12 and 13: {folder}", result.stderr)


if __name__ == "__main__":
    unittest.main(argv=sys.argv[:1])
