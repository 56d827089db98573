"""What `devsan run --sim` refuses, and what CUDA_VISIBLE_DEVICES leaves. Usage: bad_input_test.py DEVSAN"""

import importlib.util
import os
import subprocess
import sys
import unittest

DEVSAN = os.path.abspath(sys.argv.pop(1))
TORCH = os.path.dirname(importlib.util.find_spec("torch").origin)
# LibTorch without Python's torch, which takes five times as long to start.
LOAD = f"import ctypes; cuda = ctypes.CDLL('{TORCH}/lib/libtorch_cpu.so'); "
COUNT = LOAD + "print(cuda._ZN5torch4cuda12device_countEv())"
# By torch::cuda::is_available() and device_count().
AVAILABLE = LOAD + "cuda._ZN5torch4cuda12is_availableEv.restype = ctypes.c_bool; " + \
    "print(cuda._ZN5torch4cuda12is_availableEv(), cuda._ZN5torch4cuda12device_countEv())"

UNUSED = "used none of the simulated devices"


def run(options, code, **environment):
    return subprocess.run([DEVSAN, "run", *options, "--", sys.executable, "-c", code], capture_output=True, text=True,
                          timeout=120, env={**os.environ, **environment})


class NumberOfDevices(unittest.TestCase):
    def test_what_is_no_number_from_1_to_64(self):
        for value in ("0", "-1", "65", "two", "2x", "1.5", " 2", "99999999999999999999"):
            with self.subTest(value=value):
                result = run([f"--sim={value}"], "print('ran')")
                self.assertEqual(result.returncode, 2)
                self.assertEqual(result.stdout, "")
                self.assertIn("devsan: error: ", result.stderr)
                self.assertIn("from 1 to 64", result.stderr)

    def test_no_value(self):
        result = run(["--sim="], "print('ran')")
        self.assertEqual((result.returncode, result.stdout), (2, ""), result.stderr)
        self.assertIn("--sim", result.stderr)

    def test_the_bounds(self):
        for value in ("1", "64"):
            result = run([f"--sim={value}"], COUNT)
            self.assertEqual((result.returncode, result.stdout), (0, value + "\n"), result.stderr)

    def test_the_environment_set_by_hand(self):
        library = os.path.join(os.path.dirname(DEVSAN), "..", "lib")
        for value, message in (("0", "not 0"), ("65", "not 65"), ("two", "not two"), ("", "an empty text")):
            with self.subTest(value=value):
                result = subprocess.run(
                    [sys.executable, "-c", COUNT], capture_output=True, text=True, timeout=120,
                    env={**os.environ, "DEVSAN_SIM_DEVICES": value, "LD_PRELOAD": f"{library}/libdevsan_preload.so",
                         "DEVSAN_LIBS": f"{library}/libdevsan_sim.so"})
                self.assertEqual(result.returncode, 2, result.stderr)
                self.assertIn("the number of devices must be from 1 to 64, " + (message if value else "not " + message),
                              result.stderr)

    def test_a_program_without_devices_is_told(self):
        self.assertIn(UNUSED, run(["--sim=2"], COUNT).stderr)
        plain = run([], COUNT).stderr
        self.assertNotIn(UNUSED, plain)
        self.assertIn("LibTorch is for the CPU alone: with --sim=N", plain)

    def test_a_program_that_calls_cuda_itself_uses_them(self):
        code = LOAD + f"""
folder = '{os.path.dirname(DEVSAN)}/../lib/cuda'
driver = ctypes.CDLL(folder + '/libcuda.so.1', ctypes.RTLD_GLOBAL)
runtime = ctypes.CDLL(folder + '/12/libcudart.so.12')
made = ctypes.c_void_p()
null = ctypes.c_void_p()
"""
        for calls in ("runtime.cudaMalloc(ctypes.byref(made), ctypes.c_size_t(64))",
                      "runtime.cudaEventCreate(ctypes.byref(made)) or runtime.cudaEventRecord(made, null)",
                      "runtime.cudaLaunchHostFunc(null, ctypes.CFUNCTYPE(None, ctypes.c_void_p)(lambda data: None), null)"):
            with self.subTest(calls=calls):
                result = run(["--sim=2"], code + f"print({calls})")
                self.assertEqual(result.stdout, "0\n", result.stderr)
                self.assertNotIn(UNUSED, result.stderr)


class RunInsideARun(unittest.TestCase):
    def nested(self, options):
        return run(["--sim=2"], f"""
import subprocess, sys
inner = subprocess.run(["{DEVSAN}", "run", *{options}, "--", sys.executable, "-c", {COUNT!r}],
                       capture_output=True, text=True, check=True)
print("devices", inner.stdout, inner.stderr)
""")

    def test_devices_of_the_outer_run_stay(self):
        result = self.nested([])
        self.assertEqual(result.returncode, 0, result.stderr)
        self.assertIn("devices 2\n", result.stdout)
        self.assertIn("inside another one", result.stdout)
        self.assertIn("nothing was observed here: 1 `devsan run` inside", result.stderr)

    def test_an_inner_run_that_saw_nothing_has_not_reported(self):
        result = run([], f"import subprocess; subprocess.run(['{DEVSAN}', 'run', '--', 'true'], check=True)")
        self.assertEqual(result.returncode, 0, result.stderr)
        self.assertIn("LibTorch was never loaded by", result.stderr)
        self.assertNotIn("nothing was observed here", result.stderr)

    def test_the_inner_number_wins(self):
        result = self.nested(["--sim=3"])
        self.assertEqual(result.returncode, 0, result.stderr)
        self.assertIn("devices 3\n", result.stdout)
        self.assertIn("has 3 simulated devices instead of the outer run's 2", result.stdout)

    def test_the_shim_named_twice(self):
        shim = os.path.join(os.path.dirname(DEVSAN), "../lib/libdevsan_preload.so")
        result = run(["--sim=2"], COUNT, LD_PRELOAD=shim)
        self.assertEqual((result.returncode, result.stdout), (0, "2\n"), result.stderr)


class PythonOptions(unittest.TestCase):
    def test_python_that_runs_no_sitecustomize(self):
        code = "import torch; print(torch.ones(3, device='cuda:1').sum().item())"
        for option in ("-I", "-S"):  # -I is -E and more
            with self.subTest(option=option):
                result = subprocess.run([DEVSAN, "run", "--sim=2", "--", sys.executable, option, "-c", code],
                                        capture_output=True, text=True, timeout=120,
                                        env={**os.environ, "PYTHONPATH": os.path.dirname(TORCH)})
                self.assertEqual((result.returncode, result.stdout), (0, "3.0\n"), result.stderr)


class VisibleDevices(unittest.TestCase):
    def counts(self, value):
        result = run(["--sim=3"], AVAILABLE, CUDA_VISIBLE_DEVICES=value)
        self.assertEqual(result.returncode, 0, result.stderr)
        return result.stdout.strip()

    def test_limit_the_number(self):
        for value, expected in (("1", "True 1"), ("0,2", "True 2"), ("", "False 0"), ("-1", "False 0"), ("2,2", "False 0")):
            with self.subTest(value=value):
                self.assertEqual(self.counts(value), expected)

    def test_renumber(self):
        result = run(["--sim=3"], """
import torch
print([torch.cuda.get_device_properties(i).pci_bus_id for i in range(torch.cuda.device_count())])
torch.ones(3, device="cuda:1")
try:
    torch.ones(3, device="cuda:2")
except RuntimeError as error:
    print(str(error).splitlines()[0])
""", CUDA_VISIBLE_DEVICES="2,0")
        self.assertEqual(result.stdout, "[3, 1]\nCUDA error: invalid device ordinal\n", result.stderr)
        self.assertNotIn(UNUSED, result.stderr)

    def test_no_device(self):
        result = run(["--sim=3"], """
import torch
for use in (lambda: torch.ones(3, device="cuda"), lambda: torch.zeros(3).cuda(), lambda: torch.cuda.current_device()):
    try:
        use()
    except RuntimeError as error:
        print(error)
x = torch.ones(3, requires_grad=True)
x.sum().backward()
""", CUDA_VISIBLE_DEVICES="")
        self.assertEqual(result.stdout, "No CUDA GPUs are available\n" * 3, result.stderr)
        self.assertEqual(result.returncode, 0)

    def test_set_by_the_program_before_the_first_use(self):
        result = run(["--sim=3"], """
import os, torch
print(torch.cuda.device_count())
os.environ["CUDA_VISIBLE_DEVICES"] = "1,2"
print(torch.cuda.device_count())
torch.ones(3, device="cuda")
os.environ["CUDA_VISIBLE_DEVICES"] = "1"
print(torch.cuda.device_count())
""")
        self.assertEqual(result.stdout, "3\n2\n2\n", result.stderr)


if __name__ == "__main__":
    unittest.main()
