"""torch.cuda on simulated devices: devices, and the errors where an operator's tensors live on several. Run by ctest under _simulated."""

import subprocess
import sys
import unittest

from devsan import sim

sim.install()

import torch

SECOND = torch.device("cuda:1")


class Devices(unittest.TestCase):
    def test_availability(self):
        self.assertTrue(torch.cuda.is_available())
        self.assertEqual(torch.cuda.device_count(), 2)
        self.assertTrue(torch.backends.cuda.is_built())
        self.assertTrue(torch.backends.cudnn.is_available())

    def test_current_device(self):
        self.assertEqual(torch.cuda.current_device(), 0)
        with torch.cuda.device(1):
            self.assertEqual(torch.cuda.current_device(), 1)
            self.assertEqual(torch.ones(1, device="cuda").device, SECOND)
            with torch.cuda.device("cuda:0"):
                self.assertEqual(torch.ones(1).cuda().device.index, 0)
        self.assertEqual(torch.cuda.current_device(), 0)
        torch.cuda.set_device(1)
        self.assertEqual(torch.ones(1).to("cuda").device, SECOND)
        torch.cuda.set_device(0)
        with torch.cuda.device_of(torch.ones(1, device=SECOND)):
            self.assertEqual(torch.cuda.current_device(), 1)
        with torch.cuda.device(-1):
            self.assertEqual(torch.cuda.current_device(), 0)

    def test_every_way_to_a_device(self):
        for tensor in (
            torch.ones(2).cuda(1),
            torch.ones(2).cuda("cuda:1"),
            torch.ones(2, device=1),
            torch.ones(2, device="cuda:1"),
            torch.ones(2).to(1),
            torch.ones(2).to(torch.ones(1, device=SECOND)),
            torch.tensor([1.0, 1.0], device=SECOND),
            torch.nn.Linear(2, 2).cuda(1).weight,
            torch.nn.Linear(2, 2, device=SECOND).weight,
        ):
            self.assertEqual(tensor.device, SECOND)
        with torch.device(SECOND):
            self.assertEqual(torch.ones(1).device, SECOND)

    def test_properties(self):
        properties = torch.cuda.get_device_properties(1)
        self.assertEqual(torch.cuda.get_device_name(1), properties.name)
        self.assertEqual(torch.cuda.get_device_capability(), (properties.major, properties.minor))
        self.assertGreater(properties.total_memory, 0)
        self.assertEqual(len(properties.uuid.bytes), 16)
        self.assertNotEqual(str(properties.uuid), str(torch.cuda.get_device_properties(0).uuid))
        self.assertIn(f"sm_{properties.major}{properties.minor}", torch.cuda.get_arch_list())
        self.assertTrue(torch.cuda.is_bf16_supported())
        self.assertTrue(torch.cuda.can_device_access_peer(0, 1))
        self.assertFalse(torch.cuda.can_device_access_peer(1, 1))

    def test_versions(self):
        self.assertRegex(torch.version.cuda, r"^\d+\.\d+$")
        major, minor = map(int, torch.version.cuda.split("."))
        self.assertEqual(torch._C._cuda_getCompiledVersion(), 1000 * major + 10 * minor)

    def test_cudart(self):
        cudart, host = torch.cuda.cudart(), torch.ones(20)
        address, bytes_ = host.data_ptr(), host.nbytes
        self.assertFalse(host.is_pinned())
        self.assertEqual(cudart.cudaHostRegister(address, bytes_, 0), 0)
        self.assertTrue(host.is_pinned())
        self.assertEqual(int(cudart.cudaHostRegister(address + 8, 8, 0)), 712)
        self.assertEqual(cudart.cudaHostUnregister(address), 0)
        self.assertFalse(host.is_pinned())
        self.assertEqual(int(cudart.cudaHostUnregister(address)), 713)
        with self.assertRaisesRegex(torch.cuda.CudaError, "invalid device ordinal"):
            torch.cuda.check_error(101)
        with torch.cuda.profiler.profile():
            pass

    def test_used_devices(self):
        code = (
            "import torch; used = lambda: [torch._C._cuda_hasPrimaryContext(i) for i in (0, 1)]; "
            "torch.cuda.init(); print(used()); x = torch.ones(1, device='cuda:1'); repr(x); x.cpu(); print(used()); "
            "torch.cuda.set_device(0); print(used())"
        )
        output = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, timeout=120, check=True)
        self.assertEqual(output.stdout.split("\n")[:3], ["[False, False]", "[False, True]", "[True, True]"])

    def test_uninitialised_memory_in_deterministic_mode(self):
        torch.use_deterministic_algorithms(True)
        self.addCleanup(torch.use_deterministic_algorithms, False)
        self.assertTrue(torch.empty(3, device=SECOND).isnan().all())
        self.assertTrue(torch.empty_strided((2, 2), (1, 2), device=SECOND).isnan().all())
        self.assertEqual(torch.ones(1, dtype=torch.int8, device=SECOND).resize_(3).tolist(), [1, 127, 127])

    def test_accelerator(self):
        self.assertEqual(torch.accelerator.current_accelerator().type, "cuda")
        self.assertEqual(torch.accelerator.device_count(), 2)
        with torch.accelerator.device_index(1):
            self.assertEqual(torch.cuda.current_device(), 1)
        torch.accelerator.synchronize()

    def test_invalid_ordinal(self):
        for use in (
            lambda: torch.ones(1).to("cuda:9"),
            lambda: torch.ones(1).to(9),
            lambda: torch.ones(1).cuda(9),
            lambda: torch.ones(1, device="cuda:2"),
            lambda: torch.ones(1, device=torch.device("cuda", 9)),
            lambda: torch.cuda.set_device(2),
            lambda: torch.nn.Linear(1, 1).cuda(5),
            lambda: torch.cuda.device(9).__enter__(),
            lambda: torch.cuda.current_stream(9),
            lambda: torch.cuda.synchronize(9),
            lambda: torch.Generator(device="cuda:9"),
        ):
            with self.assertRaisesRegex(torch.AcceleratorError, "CUDA error: invalid device ordinal"):
                use()
        for ask in (torch.cuda.get_device_properties, torch.cuda.get_device_name, torch.cuda.get_device_capability):
            with self.assertRaisesRegex(AssertionError, "Invalid device id"):
                ask(9)

    def test_what_is_no_device(self):
        for error, text, use in (
            (RuntimeError, "Device index must not be negative", lambda: torch.ones(1).cuda(-1)),
            (RuntimeError, "Invalid device string: 'cuda:-1'", lambda: torch.ones(1, device="cuda:-1")),
            (RuntimeError, "Invalid device, must be cuda device", lambda: torch.ones(1).cuda("cpu")),
            (ValueError, "Expected a cuda device, but got: cpu", lambda: torch.cuda.set_device("cpu")),
            (RuntimeError, "Expected one of cpu, cuda", lambda: torch.cuda.set_device("x")),
            (RuntimeError, "invalid argument to setDevice", lambda: torch._C._cuda_setDevice("1")),
            (RuntimeError, "invalid argument to exchangeDevice", lambda: torch._C._cuda_exchangeDevice(1.0)),
        ):
            with self.assertRaisesRegex(error, text):
                use()
        torch.cuda.set_device(-1)
        self.assertEqual(torch.cuda.current_device(), 0)
        self.assertEqual((torch.ones(1).get_device(), torch.ones(1, device=SECOND).get_device()), (-1, 1))

    def test_what_needs_a_gpu_says_so(self):
        with self.assertRaisesRegex(NotImplementedError, "not simulated: torch._C._cuda_getCurrentBlasHandle"):
            torch.cuda.current_blas_handle()
        with self.assertRaisesRegex(TypeError, "can't convert cuda:1 device type tensor to numpy"):
            torch.ones(1, device=SECOND).numpy()


class Mismatch(unittest.TestCase):
    def test_texts(self):
        host, device = torch.ones(2, 2), torch.ones(2, 2, device=SECOND)
        with self.assertRaisesRegex(
            RuntimeError,
            r"^Expected all tensors to be on the same device, but found at least two devices, cuda:1 and cpu!$",
        ):
            device + host
        with self.assertRaisesRegex(
            RuntimeError,
            r"^Expected all tensors to be on the same device, but got mat1 is on cuda:1, different from other tensors "
            r"on cpu \(when checking argument in method wrapper_CUDA_addmm\)",
        ):
            torch.nn.Linear(2, 2)(device)
        with self.assertRaisesRegex(
            RuntimeError,
            r"^Input type \(torch.cuda.FloatTensor\) and weight type \(torch.FloatTensor\) should be the same$",
        ):
            torch.nn.Conv2d(1, 1, 1)(torch.ones(1, 1, 2, 2, device=SECOND))
        self.assertEqual((device + torch.tensor(1.0)).device, SECOND)
        self.assertEqual(device[torch.tensor([0])].device, SECOND)


if __name__ == "__main__":
    unittest.main()
