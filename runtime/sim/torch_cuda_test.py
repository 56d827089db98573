"""torch.cuda on simulated devices, as programs use it. Run by ctest with the environment that `devsan run --sim=2` sets."""

import copy
import io
import os
import pickle
import subprocess
import sys
import threading
import unittest
import warnings

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

    def test_accelerator(self):
        self.assertEqual(torch.accelerator.current_accelerator().type, "cuda")
        self.assertEqual(torch.accelerator.device_count(), 2)
        with torch.accelerator.device_index(1):
            self.assertEqual(torch.cuda.current_device(), 1)
        torch.accelerator.synchronize()

    def test_invalid_ordinal(self):
        for use in (
            lambda: torch.ones(1).to("cuda:9"),
            lambda: torch.ones(1, device="cuda:2"),
            lambda: torch.cuda.set_device(2),
            lambda: torch.nn.Linear(1, 1).cuda(5),
        ):
            with self.assertRaisesRegex(torch.AcceleratorError, "CUDA error: invalid device ordinal"):
                use()

    def test_what_needs_a_gpu_says_so(self):
        with self.assertRaisesRegex(NotImplementedError, "not simulated: torch._C._CUDAGraph"):
            torch.cuda.CUDAGraph()
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


class Streams(unittest.TestCase):
    def test_streams_are_current_per_device(self):
        stream = torch.cuda.Stream(1)
        with torch.cuda.stream(stream):
            self.assertEqual(torch.cuda.current_stream(1), stream)
            self.assertEqual(torch.cuda.current_device(), 1)
            inner = torch.cuda.Stream(0)
            with torch.cuda.stream(inner):
                self.assertEqual(torch.cuda.current_stream(0), inner)
            self.assertEqual(torch.cuda.current_stream(1), stream)
        self.assertEqual(torch.cuda.current_stream(1), torch.cuda.default_stream(1))
        self.assertEqual(torch.cuda.current_device(), 0)
        torch.ones(1, device=SECOND).record_stream(stream)
        stream.wait_stream(torch.cuda.default_stream(1))
        stream.synchronize()
        self.assertTrue(stream.query())
        self.assertNotEqual(stream, inner)

    def test_events(self):
        start, end = torch.cuda.Event(enable_timing=True), torch.cuda.Event(enable_timing=True)
        with self.assertRaisesRegex(ValueError, "must be recorded"):
            start.elapsed_time(end)
        start.record()
        torch.ones(64, 64, device="cuda").sum()
        end.record()
        end.synchronize()
        self.assertGreater(start.elapsed_time(end), 0.0)
        torch.cuda.current_stream().wait_event(start)
        with self.assertRaisesRegex(ValueError, "enable_timing=True"):
            start.elapsed_time(torch.cuda.Event())


class Random(unittest.TestCase):
    def test_seeds(self):
        def draw(device):
            return torch.randn(8, device=device).cpu()

        torch.manual_seed(5)
        alone = draw(SECOND)
        torch.cuda.manual_seed_all(5)
        draw("cuda:0"), torch.rand(3)
        self.assertTrue(torch.equal(alone, draw(SECOND)))
        with torch.cuda.device(1):
            torch.cuda.manual_seed(5)
        self.assertTrue(torch.equal(alone, draw(SECOND)))
        self.assertEqual(torch.cuda.default_generators[1].initial_seed(), 5)

    def test_states(self):
        state = torch.cuda.get_rng_state(1)
        once = torch.rand(4, device=SECOND)
        torch.cuda.set_rng_state(state, 1)
        self.assertTrue(torch.equal(once, torch.rand(4, device=SECOND)))
        with torch.random.fork_rng(devices=[1]):
            torch.rand(4, device=SECOND)
        generator = torch.Generator(device=SECOND).manual_seed(3)
        first = torch.randn(2, generator=generator, device=SECOND)
        self.assertTrue(torch.equal(first, torch.randn(2, generator=generator.manual_seed(3), device=SECOND)))
        with self.assertRaisesRegex(RuntimeError, "Expected a 'cuda' device type for generator but found 'cpu'"):
            torch.randn(2, generator=torch.Generator(), device=SECOND)

    def test_dropout_under_checkpoint(self):
        layer = torch.nn.Sequential(torch.nn.Linear(4, 4), torch.nn.Dropout(0.5)).to(SECOND)
        x = torch.ones(2, 4, device=SECOND, requires_grad=True)
        torch.utils.checkpoint.checkpoint(layer, x, use_reentrant=True).sum().backward()
        self.assertEqual(x.grad.device, SECOND)


class Memory(unittest.TestCase):
    def test_counts_per_device(self):
        before = torch.cuda.memory_allocated(1), torch.cuda.memory_allocated(0)
        tensor = torch.ones(1000, device=SECOND)
        self.assertEqual(torch.cuda.memory_allocated(1) - before[0], 4096)
        self.assertEqual(torch.cuda.memory_allocated(0), before[1])
        result = tensor * 2
        self.assertEqual(torch.cuda.memory_allocated(1) - before[0], 8192)
        del tensor, result
        self.assertEqual(torch.cuda.memory_allocated(1), before[0])
        self.assertGreaterEqual(torch.cuda.max_memory_allocated(1), before[0] + 8192)
        torch.cuda.reset_peak_memory_stats(1)
        self.assertEqual(torch.cuda.max_memory_allocated(1), before[0])
        self.assertIn("Allocated memory", torch.cuda.memory_summary(1))
        free, total = torch.cuda.mem_get_info(1)
        self.assertLessEqual(free, total)

    def test_host_tensors_do_not_count(self):
        before = torch.cuda.memory_allocated(0)
        kept = torch.ones(1000) * 2
        self.assertEqual(torch.cuda.memory_allocated(0), before)
        del kept

    def test_pinned_batches(self):
        data = torch.utils.data.TensorDataset(torch.arange(6.0))
        for workers in (0, 1):
            for (batch,) in torch.utils.data.DataLoader(data, batch_size=3, pin_memory=True, num_workers=workers):
                self.assertTrue(batch.is_pinned())
                self.assertEqual(batch.to(SECOND, non_blocking=True).device, SECOND)

    def test_storages(self):
        storage = torch.UntypedStorage(8, device=SECOND)
        self.assertEqual(storage.device, SECOND)
        tensor = torch.arange(4.0, device=SECOND)
        saved = tensor.untyped_storage().cpu()
        tensor.untyped_storage().resize_(0)
        self.assertEqual(tensor.untyped_storage().nbytes(), 0)
        tensor.untyped_storage().resize_(16)
        tensor.untyped_storage().copy_(saved)
        self.assertEqual(tensor.tolist(), [0.0, 1.0, 2.0, 3.0])


class Saving(unittest.TestCase):
    def test_map_location(self):
        file = io.BytesIO()
        torch.save({"x": torch.ones(2, device=SECOND)}, file)
        for location, device in (
            (None, "cuda:1"),
            ("cpu", "cpu"),
            ("cuda:0", "cuda:0"),
            ({"cuda:1": "cuda:0"}, "cuda:0"),
            (lambda storage, where: storage.cuda(0), "cuda:0"),
        ):
            file.seek(0)
            self.assertEqual(torch.load(file, map_location=location)["x"].device, torch.device(device))

    def test_a_device_that_does_not_exist(self):
        file = io.BytesIO()
        torch.save(torch.ones(2, device=SECOND), file)
        content = file.getvalue().replace(b"cuda:1", b"cuda:7")
        with self.assertRaisesRegex(RuntimeError, "Attempting to deserialize object on CUDA device 7"):
            torch.load(io.BytesIO(content))

    def test_copies_and_pickles(self):
        tensor = torch.ones(3, device=SECOND)
        self.assertEqual(copy.deepcopy(tensor).device, SECOND)
        self.assertEqual(pickle.loads(pickle.dumps(tensor)).device, SECOND)
        model = torch.nn.Sequential(torch.nn.Linear(2, 2), torch.nn.BatchNorm1d(2)).cuda(1)
        self.assertEqual(copy.deepcopy(model)[1].running_mean.device, SECOND)

    def test_script_modules(self):
        file = io.BytesIO()
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            torch.jit.save(torch.jit.script(torch.nn.Linear(2, 2).cuda(1)), file)
            file.seek(0)
            self.assertEqual(torch.jit.load(file).weight.device, SECOND)
            file.seek(0)
            loaded = torch.jit.load(file, map_location="cuda:0")
        self.assertEqual(loaded(torch.ones(1, 2, device="cuda:0")).device.index, 0)


class Training(unittest.TestCase):
    def losses(self, device, **optimizer_options):
        torch.manual_seed(0)
        model = torch.nn.Sequential(
            torch.nn.Conv2d(3, 4, 3),
            torch.nn.BatchNorm2d(4),
            torch.nn.ReLU(),
            torch.nn.Flatten(),
            torch.nn.Dropout(0.2),
            torch.nn.Linear(144, 5),
        ).to(device)
        inputs, targets = torch.randn(4, 3, 8, 8).to(device), torch.arange(4).to(device)
        optimizer = torch.optim.Adam(model.parameters(), lr=1e-2, **optimizer_options)
        torch.manual_seed(1)
        result = []
        for _ in range(4):
            optimizer.zero_grad()
            loss = torch.nn.functional.cross_entropy(model(inputs), targets)
            loss.backward()
            optimizer.step()
            result.append(loss.item())
        return result

    def test_equals_the_cpu(self):
        for options in ({}, {"fused": True}, {"foreach": True}, {"foreach": False}):
            for host, device in zip(self.losses("cpu", **options), self.losses(SECOND, **options)):
                self.assertAlmostEqual(host, device, places=5, msg=str(options))

    def test_autocast(self):
        layer, x = torch.nn.Linear(4, 4).to(SECOND), torch.randn(2, 4, device=SECOND)
        scaler = torch.amp.GradScaler("cuda")
        optimizer = torch.optim.SGD(layer.parameters(), lr=0.1)
        for dtype in (torch.float16, torch.bfloat16):
            with torch.autocast("cuda", dtype=dtype):
                y = layer(x)
                self.assertEqual(y.dtype, dtype)
                self.assertEqual(torch.nn.functional.mse_loss(y, x.to(dtype)).dtype, torch.float32)
        scaler.scale(y.float().sum()).backward()
        scaler.step(optimizer)
        scaler.update()

    def test_attention_and_recurrent_layers(self):
        x = torch.randn(2, 3, 8)
        for make in (
            lambda: torch.nn.TransformerEncoderLayer(8, 2, batch_first=True, dropout=0.0),
            lambda: torch.nn.TransformerEncoderLayer(8, 2, batch_first=True).eval(),
            lambda: torch.nn.LSTM(8, 4, num_layers=2, bidirectional=True),
            lambda: torch.nn.GRU(8, 4),
            lambda: torch.nn.LSTMCell(8, 4),
        ):
            torch.manual_seed(0)
            layer = make()
            moved = copy.deepcopy(layer).to(SECOND)
            host = x[0] if isinstance(layer, torch.nn.LSTMCell) else x
            expected, actual = layer(host), moved(host.to(SECOND))
            while isinstance(expected, tuple):
                expected, actual = expected[0], actual[0]
            self.assertEqual(actual.device, SECOND)
            torch.testing.assert_close(actual.cpu(), expected, rtol=1e-4, atol=1e-5)


class SeveralDevices(unittest.TestCase):
    def test_collectives_in_one_process(self):
        from torch.cuda import comm

        x = torch.arange(6.0, device="cuda:0")
        parts = comm.scatter(x, [0, 1])
        self.assertEqual([part.device.index for part in parts], [0, 1])
        self.assertTrue(torch.equal(comm.gather(parts, destination=1).cpu(), x.cpu()))
        self.assertEqual([copy.device.index for copy in comm.broadcast(x, [0, 1])], [0, 1])
        self.assertTrue(torch.equal(comm.reduce_add([x, x.to(SECOND)], 0), x * 2))

    def test_data_parallel(self):
        torch.manual_seed(0)
        model = torch.nn.Linear(3, 2).cuda(0)
        x = torch.randn(4, 3, device="cuda:0")
        parallel = torch.nn.DataParallel(model, [0, 1])
        torch.testing.assert_close(parallel(x), model(x))
        parallel(x).sum().backward()
        expected = torch.autograd.grad(model(x).sum(), model.weight)[0]
        torch.testing.assert_close(model.weight.grad, expected)


class Processes(unittest.TestCase):
    def test_threads(self):
        def work(results, index):
            device = torch.device("cuda", index % 2)
            x = torch.full((64, 64), float(index), device=device, requires_grad=True)
            for _ in range(20):
                (x @ x).sum().backward()
            results[index] = (x.grad.device, torch.cuda.current_device())

        results = [None] * 4
        threads = [threading.Thread(target=work, args=(results, i)) for i in range(4)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join(60)
        self.assertEqual(results, [(torch.device("cuda", i % 2), 0) for i in range(4)])

    def test_forked_children_are_refused_as_on_cuda(self):
        torch.ones(1, device=SECOND)
        child = os.fork()
        if child == 0:
            try:
                torch.ones(1, device=SECOND)
            except RuntimeError as error:
                os._exit(0 if "Cannot re-initialize CUDA in forked subprocess" in str(error) else 1)
            os._exit(2)
        self.assertEqual(os.waitpid(child, 0)[1], 0)

    def test_spawned_children(self):
        code = (
            "from devsan import sim; sim.install(); import torch; "
            "x = torch.ones(2, device='cuda:1', requires_grad=True); (x * 2).sum().backward(); print(x.grad.device)"
        )
        output = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, timeout=120, check=True)
        self.assertEqual(output.stdout.strip(), "cuda:1")

    def test_wrong_numbers_of_devices(self):
        for count in ("0", "-1", "65", "two", "", "2x"):
            environment = dict(os.environ, DEVSAN_SIM_DEVICES=count)
            code = f"import ctypes; ctypes.CDLL({sim.library_path()!r})"
            result = subprocess.run([sys.executable, "-c", code], env=environment, capture_output=True, text=True)
            self.assertEqual(result.returncode, 2)
            self.assertEqual(len(result.stderr.splitlines()), 1, result.stderr)
            self.assertIn("from 1 to 64", result.stderr)


if __name__ == "__main__":
    unittest.main()
