"""torch.cuda on simulated devices: the parts of PyTorch that programs build on: compilers, transforms, profilers, legacy
types. Run by ctest under _simulated."""

import contextlib
import io
import unittest
import warnings

from devsan import sim

sim.install()

import torch

SECOND = torch.device("cuda:1")


def model():
    return torch.nn.Sequential(torch.nn.Linear(4, 4), torch.nn.BatchNorm1d(4), torch.nn.Dropout(0.1)).to(SECOND)


class Compilers(unittest.TestCase):
    def test_dynamo(self):
        def function(x):
            return (x @ x).relu() + x.sum()

        x = torch.randn(3, 3, device=SECOND)
        torch.testing.assert_close(torch.compile(function, backend="eager")(x), function(x))

    def test_aot_autograd(self):
        compiled, x = model(), torch.randn(3, 4, device=SECOND)
        torch.compile(compiled, backend="aot_eager")(x).sum().backward()
        self.assertEqual(compiled[0].weight.grad.device, SECOND)

    def test_export_and_tracing(self):
        layer, x = torch.nn.Linear(4, 4).to(SECOND), torch.randn(2, 4, device=SECOND)
        for program in (
            torch.export.export(layer, (x,)).module(),
            torch.fx.symbolic_trace(layer),
            torch.jit.trace(layer, x),
        ):
            torch.testing.assert_close(program(x), layer(x))

    def test_fake_tensors(self):
        from torch._subclasses.fake_tensor import FakeTensorMode

        with FakeTensorMode():
            x = torch.randn(3, device=SECOND)
            self.assertEqual((x + 1).device, SECOND)
            self.assertEqual((x @ x).device, SECOND)


class Transforms(unittest.TestCase):
    def test_functions_of_functions(self):
        from torch.func import grad, hessian, jvp, vmap

        x, w = torch.randn(5, 3, device=SECOND), torch.randn(3, device=SECOND)
        torch.testing.assert_close(vmap(lambda row: (row * w).sum())(x), x @ w)
        torch.testing.assert_close(grad(lambda v: (v**2).sum())(w), 2 * w)
        torch.testing.assert_close(jvp(torch.sin, (w,), (w,))[1], w.cos() * w)
        torch.testing.assert_close(hessian(lambda v: (v**3).sum())(w), torch.diag(6 * w))
        noise = vmap(lambda row: torch.randn_like(row), randomness="different")(x)
        self.assertEqual(noise.device, SECOND)

    def test_saved_tensors_on_the_host(self):
        x = torch.ones(2, device=SECOND, requires_grad=True)
        with torch.autograd.graph.save_on_cpu(pin_memory=True):
            y = (x * x).sum()
        y.backward()
        self.assertEqual(x.grad.tolist(), [2.0, 2.0])

    def test_default_devices(self):
        try:
            torch.set_default_device("cuda:1")
            self.assertEqual(torch.nn.Linear(1, 1).weight.device, SECOND)
            with torch.device("cuda:0"):
                self.assertEqual(torch.zeros(1).device.index, 0)
        finally:
            torch.set_default_device(None)
        self.assertEqual(torch.zeros(1).device.type, "cpu")

    def test_operators_of_ones_own(self):
        @torch.library.custom_op("devsan_test::twice", mutates_args=(), device_types="cuda")
        def twice(x: torch.Tensor) -> torch.Tensor:
            return x * 2

        self.assertEqual(twice(torch.ones(1, device=SECOND)).device, SECOND)
        with self.assertRaises(NotImplementedError):
            twice(torch.ones(1))


class Profilers(unittest.TestCase):
    def test_times_of_devices(self):
        for activities in ([torch.profiler.ProfilerActivity.CPU], None):
            with torch.profiler.profile(activities=activities) as profile:
                torch.randn(64, 64, device=SECOND).sum()
            self.assertIn("aten::sum", profile.key_averages().table())

    def test_nvtx(self):
        with torch.cuda.nvtx.range("range"):
            torch.cuda.nvtx.mark("mark")
            torch.cuda.nvtx.range_end(torch.cuda.nvtx.range_start("another"))
        with torch.autograd.profiler.emit_nvtx():
            torch.ones(1, device=SECOND) + 1

    def test_what_needs_nvml_says_so(self):
        for ask in (torch.cuda.utilization, torch.cuda.temperature, torch.cuda.power_draw, torch.cuda.clock_rate):
            with self.assertRaisesRegex((ModuleNotFoundError, RuntimeError), "nvidia-ml-py|NVML|driver"):
                ask()


class Settings(unittest.TestCase):
    def test_they_are_read_back(self):
        for module, name, value in (
            (torch.backends.cuda.matmul, "allow_tf32", True),
            (torch.backends.cudnn, "benchmark", True),
            (torch.backends.cudnn, "deterministic", True),
        ):
            before = getattr(module, name)
            setattr(module, name, value)
            self.assertEqual(getattr(module, name), value)
            setattr(module, name, before)
        self.assertEqual(torch.backends.cuda.cublas_workspace_size(1024), 1024)
        torch._C._cuda_resetCublasWorkspaceSize()
        self.assertEqual(torch.backends.cuda.cublas_workspace_size(), 8519680)

    def test_tunable_operators(self):
        from torch.cuda import tunable

        self.assertFalse(tunable.is_enabled())
        tunable.enable(True)
        self.assertTrue(tunable.is_enabled())
        tunable.enable(False)
        tunable.set_max_tuning_duration(-5)
        self.assertEqual(tunable.get_max_tuning_duration(), 0)
        tunable.set_filename("results.csv", insert_device_ordinal=True)
        self.assertEqual(tunable.get_filename(), "results0.csv")
        self.assertEqual(tunable.get_results(), ())
        with self.assertRaises(TypeError):
            tunable.enable(1)

    def test_environment_report(self):
        from torch.utils.collect_env import get_env_info

        report = get_env_info()
        self.assertEqual(report.is_cuda_available, "True")
        self.assertEqual(report.cuda_compiled_version, torch.version.cuda)


class LegacyTypes(unittest.TestCase):
    def test_constructors(self):
        self.assertEqual(torch.cuda.FloatTensor(2, 3).shape, (2, 3))
        self.assertEqual(torch.cuda.HalfTensor([1, 2]).dtype, torch.float16)
        self.assertEqual(torch.cuda.LongTensor([1], device="cuda:1").device, SECOND)
        with self.assertRaisesRegex(RuntimeError, "legacy constructor expects device type: cuda"):
            torch.cuda.FloatTensor([1.0], device="cpu")
        with self.assertRaisesRegex(TypeError, "expected TensorOptions"):
            torch.cuda.FloatTensor(torch.ones(1))
        self.assertEqual(torch.ones(1, device=SECOND).new([1, 2]).device, SECOND)

    def test_types(self):
        x = torch.ones(1, device=SECOND)
        self.assertEqual(x.type(), "torch.cuda.FloatTensor")
        self.assertIsInstance(x, torch.cuda.FloatTensor)
        self.assertNotIsInstance(x.cpu(), torch.cuda.FloatTensor)
        self.assertEqual(torch.ones(1).type("torch.cuda.HalfTensor").type(), "torch.cuda.HalfTensor")
        self.assertEqual(torch.ones(1).type(torch.cuda.HalfTensor).dtype, torch.float16)
        self.assertTrue(torch.cuda.FloatTensor.is_cuda)
        self.assertFalse(torch.FloatTensor.is_cuda)

    def test_default_type(self):
        with warnings.catch_warnings(), contextlib.redirect_stderr(io.StringIO()):
            warnings.simplefilter("ignore")
            try:
                torch.set_default_tensor_type("torch.cuda.DoubleTensor")
                self.assertEqual(torch.Tensor(2).type(), "torch.cuda.DoubleTensor")
                self.assertEqual(torch.zeros(1).type(), "torch.cuda.DoubleTensor")
            finally:
                torch.set_default_tensor_type("torch.FloatTensor")
        self.assertEqual(torch.zeros(1).type(), "torch.FloatTensor")


if __name__ == "__main__":
    unittest.main()
