"""Simulated devices with an unchanged CUDA build of PyTorch, which this Python has: whole programs by `devsan run --sim=N`.

usage: cuda_build_test.py DEVSAN [--extension=FILE] [unittest's arguments]
  --extension=FILE   extension/scale.cu, compiled by nvcc; its tests are skipped without it"""

import json
import os
import subprocess
import sys
import tempfile
import textwrap
import unittest
from pathlib import Path

DEVSAN = os.path.abspath(sys.argv[1])
ARGUMENTS = [argument for argument in sys.argv[2:] if not argument.startswith("--extension=")]
EXTENSION = next((a.removeprefix("--extension=") for a in sys.argv[2:] if a.startswith("--extension=")), None)
HERE = Path(__file__).resolve().parent
PROGRAMS = HERE.parents[1] / "programs"


class Program(unittest.TestCase):
    def setUp(self):
        self.folder = Path(self.enterContext(tempfile.TemporaryDirectory()))

    def run_file(self, file, *arguments, devices=2, options=(), status=0, environment=None):
        report = self.folder / "report.json"
        command = [DEVSAN, "run", f"--sim={devices}", "--fail-on=none", "--quiet", f"--report={report}", *options, "--",
                   sys.executable, str(file), *arguments]
        result = subprocess.run(command, cwd=self.folder, capture_output=True, text=True, timeout=560,
                                env=os.environ | {"OMP_NUM_THREADS": "1"} | (environment or {}))
        self.assertEqual(result.returncode, status, result.stdout + result.stderr)
        self.output, self.errors = result.stdout, result.stderr
        self.findings = json.loads(report.read_text())["findings"] if status == 0 else []
        return result.stdout

    def run_text(self, text, **options):
        file = self.folder / "program.py"
        file.write_text(textwrap.dedent(text).lstrip())
        return self.run_file(file, **options)

    def lines_of(self, rule):
        return sorted(finding["locations"][0]["line"] for finding in self.findings if finding["rule"] == rule)


class Training(Program):
    def test_gives_the_losses_of_the_cpu(self):
        host, device = ([float(loss) for loss in self.run_file(HERE / "train.py", name).split()]
                        for name in ("cpu", "cuda:1"))
        self.assertEqual(len(host), 8)
        self.assertLess(host[-1], host[0])
        for expected, loss in zip(host, device):
            self.assertAlmostEqual(loss, expected, delta=1e-5 * abs(expected))
        self.assertEqual([f for f in self.findings if f["severity"] == "error"], [])

    def test_a_short_program_ends_before_its_backward_threads(self):
        """They still owe Python references then, and would find it gone: now and then, on a busy machine."""
        program = self.folder / "program.py"
        program.write_text("import torch\nfor i in 0, 1:\n    x = torch.ones(4, device=f'cuda:{i}', requires_grad=True)\n    gradient = torch.autograd.grad(x.sum(), x)\n")
        command = [DEVSAN, "run", "--sim=2", "--fail-on=none", "--quiet", "--", sys.executable, str(program)]
        processes = [subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True) for _ in range(8)]
        for process in processes:
            output = process.communicate(timeout=560)[0]
            self.assertEqual(process.returncode, 0, output)

    def test_operators_give_the_results_of_the_cpu(self):
        self.run_text("""
            import torch
            from torch import nn
            torch.manual_seed(0)
            inputs = torch.randn(4, 6, 8)
            modules = [nn.LSTM(8, 5, 2), nn.GRU(8, 5), nn.GRUCell(8, 5), nn.MultiheadAttention(8, 2), nn.LayerNorm(8),
                       nn.TransformerEncoderLayer(8, 2, 16, dropout=0.0), nn.Conv1d(6, 3, 3), nn.Softmax(-1), nn.Embedding(9, 4)]
            def call(module, x):
                x = {"GRUCell": x[0], "Embedding": x.abs().long()}.get(type(module).__name__, x)
                result = module(x, x, x) if isinstance(module, nn.MultiheadAttention) else module(x)
                return result[0] if isinstance(result, tuple) else result
            for module in modules:
                host = call(module, inputs)
                device = call(module.to("cuda:1"), inputs.to("cuda:1"))
                assert device.device == torch.device("cuda:1"), module
                torch.testing.assert_close(device.cpu(), host, msg=lambda text: f"{module}: {text}")
            a = torch.randn(5, 5, dtype=torch.float64)
            for f in (torch.linalg.svdvals, torch.linalg.inv, torch.linalg.qr, torch.fft.fft, torch.cumsum, torch.sort,
                      torch.unique, torch.histc, torch.nonzero, torch.logsumexp):
                extra = (0,) if f in (torch.cumsum, torch.logsumexp) else ()
                host, device = f(a, *extra), f(a.to("cuda:1"), *extra)
                host, device = [x if isinstance(x, tuple) else (x,) for x in (host, device)]
                for one, other in zip(host, device):
                    torch.testing.assert_close(other.cpu(), one, msg=lambda text: f"{f}: {text}")
            """)


class Errors(Program):
    def test_devices_that_differ_are_refused_in_atens_words(self):
        self.run_text("""
            import torch
            a, b = torch.ones(2, 2, device="cuda:0"), torch.ones(2, 2, device="cuda:1")
            for f in (lambda: a + b, lambda: a @ b, lambda: torch.cat([a, b]), lambda: a + torch.ones(2, 2)):
                try:
                    f()
                except RuntimeError as error:
                    print(error)
            """)
        lines = self.output.splitlines()
        self.assertEqual(lines[0], "Expected all tensors to be on the same device, but found at least two devices, "
                                   "cuda:0 and cuda:1!")
        self.assertIn("mat2 is on cuda:1, different from other tensors on cuda:0", lines[1])
        self.assertIn("wrapper_CUDA_mm", lines[1])
        self.assertEqual(len(lines), 4)
        self.assertEqual(len(self.lines_of("device-mismatch")), 4, self.findings)

    def test_what_is_not_simulated_says_so(self):
        self.run_text("""
            import torch
            def tell(f):
                try:
                    f()
                    print("nothing")
                except Exception as error:
                    print(str(error).splitlines()[0])
            x = torch.ones(4, device="cuda:1")
            tell(lambda: torch.ops.quantization._FloatToBfloat16Quantized(x.view(2, 2)))
            tell(torch.cuda.current_blas_handle)
            tell(lambda: torch.ones(2, device="cuda:7"))
            tell(lambda: torch.cuda.jiterator._create_jit_fn("template <typename T> T f(T x) { return x; }")(x))
            assert (x * 2).sum().item() == 8
            """)
        lines = self.output.splitlines()
        self.assertRegex(lines[0], "not simulated: the GPU kernel .*float_to_bfloat16")
        self.assertIn("CUBLAS_STATUS_NOT_SUPPORTED", lines[1])
        self.assertIn("devsan: not simulated: cuBLAS (cublasCreate_v2)", self.errors)
        self.assertIn("invalid device ordinal", lines[2])
        self.assertIn("not simulated: GPU kernels that are loaded from code (cuModuleLoadData)", lines[3])

    def test_nccl_by_its_own_functions_says_so(self):
        self.run_text("""
            import torch
            try:
                torch.cuda.nccl.unique_id()
            except RuntimeError as error:
                print(error)
            """)
        self.assertIn("NCCL Error", self.output)
        self.assertIn("devsan: not simulated: NCCL (ncclGetUniqueId)", self.errors)


class Waits(Program):
    def test_are_reported_where_cuda_waits(self):
        self.run_text("""
            import torch
            x = torch.arange(6.0, device="cuda:1")
            for _ in range(3):
                x.sum().item()
                x.nonzero()
                x[x > 2]
                x[x > 2] = 1.0
                x.add_(1).mul(2)
                x.cpu()
                torch.cuda.synchronize(1)
            """)
        self.assertEqual(sorted(set(self.lines_of("device-host-sync"))), [4, 5, 6, 9, 10])
        counts = {f["locations"][0]["line"]: f["count"] for f in self.findings if f["rule"] == "device-host-sync"}
        self.assertEqual(set(counts.values()), {3})

    def test_of_pinned_copies_are_not(self):
        self.run_text("""
            import torch
            host = torch.arange(6.0).pin_memory()
            device = host.to("cuda:1", non_blocking=True)
            back = torch.empty(6, pin_memory=True)
            for _ in range(3):
                back.copy_(device, non_blocking=True)
            event = torch.cuda.Event()
            event.record(torch.cuda.current_stream(1))
            event.synchronize()
            assert torch.equal(back, host)
            pageable = torch.empty(6)
            for _ in range(3):
                pageable.copy_(device, non_blocking=True)
            """)
        self.assertNotIn(6, self.lines_of("device-host-sync"))
        self.assertEqual(self.lines_of("device-pageable-async-copy"), [13])

    def test_inside_of_libraries_are_seen_by_us_alone(self):
        self.run_text("""
            import torch
            x = torch.ones(3, 2, device="cuda:1")
            torch.cuda.set_sync_debug_mode("error")
            for _ in range(2):
                torch.unique(x, dim=0)
            """)
        self.assertEqual(self.lines_of("device-host-sync"), [5])

    def test_are_seen_by_pytorchs_own_debug_mode(self):
        self.run_text("""
            import torch
            x = torch.ones(3, device="cuda:1")
            torch.cuda.set_sync_debug_mode("error")
            for f in (x.nonzero, x[0].item, lambda: x[x > 0], lambda: x * 2):
                try:
                    f()
                    print("runs")
                except RuntimeError as error:
                    print(error)
            """)
        self.assertEqual(self.output.splitlines(), ["called a synchronizing CUDA operation"] * 3 + ["runs"])


class Memory(Program):
    def test_is_counted_by_pytorchs_own_allocator(self):
        self.run_text("""
            import torch
            x = torch.empty(1 << 20, device="cuda:1")
            assert torch.cuda.memory_allocated(1) == 4 << 20, torch.cuda.memory_allocated(1)
            assert torch.cuda.memory_allocated(0) == 0
            y = x + 1
            assert torch.cuda.memory_allocated(1) == 8 << 20, torch.cuda.memory_allocated(1)
            assert torch.cuda.memory_stats(1)["allocation.all.current"] == 2
            free, total = torch.cuda.mem_get_info(1)
            del x, y
            assert torch.cuda.memory_allocated(1) == 0
            torch.cuda.empty_cache()
            assert torch.cuda.memory_reserved(1) == 0
            assert torch.cuda.mem_get_info(1)[0] > free
            assert torch.cuda.get_device_properties(1).total_memory == total
            assert torch.cuda.memory_snapshot() == []
            """)

    def test_ends_at_sim_memory(self):
        self.run_text("""
            import torch
            assert torch.cuda.get_device_properties(0).total_memory == 64 << 20
            x = torch.ones(8 << 20, device="cuda:0")
            try:
                torch.ones(16 << 20, device="cuda:0")
            except torch.cuda.OutOfMemoryError as error:
                print(error)
            assert x.sum().item() == 8 << 20
            """, options=["--sim-memory=64MiB"])
        self.assertIn("CUDA out of memory. Tried to allocate 64.00 MiB. GPU 0 has a total capacity of 64.00 MiB", self.output)

    def test_that_the_host_touches_is_reported(self):
        self.run_text("""
            import ctypes, torch
            x = torch.full((4,), 3.0, device="cuda:1")
            print(ctypes.c_float.from_address(x.data_ptr()).value)
            assert x.sum().item() == 12
            """)
        self.assertEqual(self.output, "3.0\n")
        self.assertEqual(self.lines_of("device-host-access"), [3])

    def test_is_open_without_protection(self):
        self.run_text("""
            import ctypes, torch
            x = torch.full((4,), 3.0, device="cuda:1")
            print(ctypes.c_float.from_address(x.data_ptr()).value)
            """, options=["--sim-protect=off"])
        self.assertEqual(self.output, "3.0\n")
        self.assertEqual(self.lines_of("device-host-access"), [])


class Devices(Program):
    def test_copies_keep_values(self):
        self.run_text("""
            import torch
            x = torch.arange(12.0).view(3, 4)
            for source in ("cpu", "cuda:0", "cuda:1"):
                for target in ("cpu", "cuda:0", "cuda:1"):
                    moved = x.to(source).t().to(target).to(torch.half)
                    assert moved.device == torch.device(target)
                    torch.testing.assert_close(moved.cpu(), x.t().half())
                    to = torch.zeros(3, 8, device=target, dtype=torch.int32)[:, ::2]
                    to.copy_(x.to(source))
                    torch.testing.assert_close(to.cpu(), x.int())
            z = torch.tensor([1 + 2j]).to("cuda:0").conj()
            assert z.to("cuda:1").cpu().item() == 1 - 2j
            """)

    def test_streams_and_events_are_pytorchs_own(self):
        self.run_text("""
            import torch
            x = torch.ones(4, device="cuda:1")
            stream = torch.cuda.Stream("cuda:1")
            start, end = torch.cuda.Event(enable_timing=True), torch.cuda.Event(enable_timing=True)
            stream.wait_stream(torch.cuda.current_stream(1))
            with torch.cuda.stream(stream):
                assert torch.cuda.current_stream() == stream
                start.record()
                y = x * 2
                end.record()
            torch.cuda.current_stream(1).wait_stream(stream)
            y.record_stream(torch.cuda.current_stream(1))
            end.synchronize()
            assert end.query() and stream.query() and start.elapsed_time(end) >= 0
            assert y.sum().item() == 8
            with torch.cuda.stream(stream):
                torch.cuda._sleep(200_000_000)
            assert not stream.query() and torch.cuda.current_stream(1).query()
            stream.synchronize()
            assert stream.query()
            with torch.cuda.device(1):
                assert torch.empty(1, device="cuda").device == torch.device("cuda:1")
            """)

    def test_streams_that_nothing_orders_are_found(self):
        self.run_text("""
            import torch
            side = torch.cuda.Stream()
            x = torch.ones(1000, device="cuda")
            with torch.cuda.stream(side):
                y = x * 2
            side.wait_stream(torch.cuda.current_stream())
            with torch.cuda.stream(side):
                y = x * 2
            y.sum()
            torch.cuda.current_stream().wait_stream(side)
            y.sum()
            with torch.cuda.stream(side):
                z = torch.ones(1000).pin_memory().to("cuda", non_blocking=True)
            z.sum()
            side.synchronize()
            z.sum()
            """)
        self.assertEqual(self.lines_of("device-stream-race"), [5, 9, 14])

    def test_memory_that_a_stream_may_still_use_is_found(self):
        self.run_text("""
            import torch
            side = torch.cuda.Stream()
            def use(wait=False, record=False):
                x = torch.ones(4096, device="cuda")
                side.wait_stream(torch.cuda.current_stream())
                with torch.cuda.stream(side):
                    x.sum()
                if record:
                    x.record_stream(side)
                if wait:
                    torch.cuda.current_stream().wait_stream(side)
            for how in {"wait": True}, {"record": True}, {}:
                use(**how)
                y = torch.zeros(4096, device="cuda")
                del y
                torch.cuda.synchronize()
            """)
        self.assertEqual([(f["locations"][0]["line"], f["count"], [r["line"] for r in f["related"]])
                          for f in self.findings if f["rule"] == "device-stream-lifetime"], [(7, 1, [14])])

    def test_of_one_process_work_together(self):
        self.run_file(HERE.parents[1] / "distributed" / "one_process_test.py")

    def test_generators_keep_their_states(self):
        self.run_text("""
            import torch
            torch.manual_seed(5)
            host = torch.rand(10)
            torch.manual_seed(5)
            assert torch.equal(torch.rand(10, device="cuda:1").cpu(), host)
            state = torch.cuda.get_rng_state(1)
            first, second = torch.randn(2000, device="cuda:1"), torch.randn(7, device="cuda:1")
            torch.cuda.set_rng_state(state, 1)
            assert torch.equal(torch.randn(2000, device="cuda:1"), first)
            assert torch.equal(torch.randn(7, device="cuda:1"), second)
            assert not torch.equal(first[:7], second)
            generator = torch.Generator("cuda:0").manual_seed(3)
            assert torch.randperm(9, generator=generator, device="cuda:0").sort()[0].tolist() == list(range(9))
            """)

    def test_are_those_that_are_visible(self):
        self.run_text("""
            import os
            import torch
            os.environ["CUDA_VISIBLE_DEVICES"] = "1"
            assert torch.cuda.device_count() == 1
            assert str(torch.cuda.get_device_properties(0).uuid).endswith("0001")
            """)


class Processes(Program):
    def test_a_forked_child_has_devices_of_its_own(self):
        """Where its parent has not used any yet. Neither has a context but on the device that it names."""
        output = self.run_text("""
            import os
            import torch

            def use():
                return torch.ones(1000, device="cuda:1").sum().item()

            for _ in range(2):
                child = os.fork()
                if child == 0:
                    os._exit(0 if use() == 1000 else 1)
                assert os.waitpid(child, 0)[1] == 0
            print(use())
        """)
        self.assertIn("1000.0", output)
        self.assertEqual(self.lines_of("device-extra-context"), [])

    def test_a_forked_child_is_refused_in_pytorchs_words(self):
        self.run_text("""
            import os, torch
            x = torch.ones(2, device="cuda:1")
            child = os.fork()
            if child == 0:
                try:
                    torch.ones(2, device="cuda:1")
                except RuntimeError as error:
                    print(str(error).splitlines()[0], flush=True)
                    os._exit(0 if torch.ones(2).sum().item() == 2 else 4)
                os._exit(3)
            assert os.waitpid(child, 0)[1] == 0
            assert x.sum().item() == 2
            """)
        self.assertIn("Cannot re-initialize CUDA in forked subprocess", self.output)

    def test_a_spawned_child_has_devices(self):
        self.run_text("""
            import torch, torch.multiprocessing as mp
            def work(rank, results):
                results[rank] = torch.full((3,), rank + 1.0, device=f"cuda:{rank}").sum().item()
            if __name__ == "__main__":
                results = mp.get_context("spawn").Array("d", 2)
                mp.spawn(work, (results,), nprocs=2)
                print(list(results))
            """)
        self.assertEqual(self.output, "[3.0, 6.0]\n")


    def test_are_sent_tensors(self):
        self.run_text("""
            import torch, torch.multiprocessing as mp
            def work(sent, answers):
                tensor, event = sent.get()
                event.synchronize()
                assert tensor.device == torch.device("cuda:1") and tensor.tolist() == [1.0, 2.0, 3.0]
                tensor.mul_(2)
                answers.put(tensor.sum().item())
                del tensor
            if __name__ == "__main__":
                context = mp.get_context("spawn")
                sent, answers = context.Queue(), context.Queue()
                child = context.Process(target=work, args=(sent, answers))
                child.start()
                x = torch.arange(8.0, device="cuda:1")
                event = torch.cuda.Event(interprocess=True)
                event.record(torch.cuda.current_stream(1))
                sent.put((x[1:4], event))
                assert answers.get() == 12.0
                child.join()
                assert child.exitcode == 0 and x.tolist() == [0.0, 2.0, 4.0, 6.0, 4.0, 5.0, 6.0, 7.0]
            """)


class Distributed(Program):
    """The programs with which the CPU build's collectives are tested, on this build."""

    def run_ranks(self, name):
        return self.run_file(HERE.parents[1] / "distributed" / f"{name}_test.py", devices=3)

    def test_collectives_of_nccl(self):
        self.assertIn("all_to_alls: ok", self.run_ranks("nccl"))

    def test_training_over_nccl(self):
        output = self.run_ranks("training")
        for part in ("ddp_comm_hooks", "fsdp1", "fsdp2", "tensor_parallel", "zero_redundancy"):
            self.assertIn(f"{part}: ok", output)

    def test_devices_of_one_process(self):
        self.run_ranks("one_process")

    def test_reports(self):
        result = subprocess.run(
            [sys.executable, "-B", str(HERE.parents[1] / "distributed" / "report_test.py"), DEVSAN],
            capture_output=True, text=True, timeout=560, env=os.environ | {"OMP_NUM_THREADS": "1"})
        self.assertEqual(result.returncode, 0, result.stderr)


class Graphs(Program):
    def test_are_those_of_the_cpu_builds_simulator(self):
        self.run_file(PROGRAMS / "torch_cuda_graphs_test.py")


@unittest.skipIf(EXTENSION is None, "needs --extension=FILE, which script/test-cuda-build gives where it can install nvcc")
class Extensions(Program):
    def run_extension(self, text):
        self.run_text(f"import torch\ntorch.ops.load_library({EXTENSION!r})\nextension = torch.ops.devsan_test\n"
                      + textwrap.dedent(text).lstrip())

    def places_of(self, rule):
        return [(Path(f["locations"][0]["file"]).name, f["locations"][0]["function"], [r["message"] for r in f["related"]])
                for f in self.findings if f["rule"] == rule]

    def test_kernels_leave_memory_as_it_is_and_say_so(self):
        self.run_extension("""
            x = torch.arange(4.0, device="cuda:1")
            for _ in range(2):
                extension.scale_(x, 2.0)
            assert x.tolist() == [0, 1, 2, 3]
            """)
        self.assertEqual(self.errors.count("the GPU kernel scale(float*, float, int) does nothing here"), 1, self.errors)
        self.assertEqual([f for f in self.findings if f["severity"] == "error"], [])

    def test_waits_of_operators_are_seen_after_a_launch(self):
        self.run_extension("""
            x = torch.arange(4.0, device="cuda:1")
            extension.scale_(x, 2.0)
            for _ in range(5):
                x.sum().item()
                x.cpu()
            """)
        waits = [f["message"] for f in self.findings if f["rule"] == "device-host-sync"]
        self.assertEqual(len(waits), 2, waits)
        for message in waits:
            self.assertIn(", 5 times", message)

    def test_kernels_run_their_host_implementations(self):
        self.run_extension("""
            import ctypes, devsan
            @devsan.host_kernel("scale(float*, float, int)")
            def scale(launch, values, factor, count):
                assert (launch.grid, launch.block, launch.device) == ((1, 1, 1), (128, 1, 1), 1), launch.grid
                values.tensor(count).mul_(factor)
            class Rows(ctypes.Structure):
                _fields_ = [("data", ctypes.c_void_p), ("sizes", ctypes.c_int * 2), ("strides", ctypes.c_int * 2)]
            class Row(ctypes.Structure):
                _fields_ = [("data", ctypes.c_void_p), ("sizes", ctypes.c_int), ("strides", ctypes.c_int)]
            @devsan.host_kernel("void addRows<float>(*)")
            def add_rows(launch, to, row):
                to, row = to.read(Rows), row.read(Row)
                launch.pointer(to.data, torch.float).tensor(*to.sizes).add_(launch.pointer(row.data, torch.float).tensor(row.sizes))
            x = torch.arange(4.0, device="cuda:1")
            extension.scale_(x, 2.0)
            assert x.tolist() == [0, 2, 4, 6]
            to = torch.zeros(3, 4, device="cuda:1")
            extension.add_row_(to, x)
            assert torch.equal(to, x.expand(3, 4))
            @devsan.host_kernel("scale(*)")
            def scale(*_):
                raise ValueError("cannot scale")
            try:
                extension.scale_(x, 2.0)
            except RuntimeError as error:
                print(str(error).splitlines()[0])
            """)
        self.assertIn("unspecified launch failure", self.output)
        self.assertIn("ValueError: cannot scale", self.errors)
        self.assertEqual(self.lines_of("device-host-access"), [])

    def test_an_operators_cpu_kernel_gives_the_numbers(self):
        """Its own kernel runs too, for its guards; and alone where its launches have an effect."""
        self.run_extension("""
            import devsan
            x = torch.arange(4.0, device="cuda:1")
            assert extension.scale_by_either_(x, 2.0) is not None
            assert x.tolist() == [2, 4, 6, 8]
            @devsan.host_kernel("scale(float*, float, int)")
            def scale(launch, values, factor, count):
                values.tensor(count).mul_(-factor)
            extension.scale_by_either_(x, 2.0)
            assert x.tolist() == [-6, -10, -14, -18]
            """)
        self.assertNotIn("does nothing here", self.errors)
        self.assertEqual(self.places_of("device-missing-guard"), [("scale.cu", "launch", ["made on cuda:1 here"])])

    def test_launches_without_a_guard_are_found(self):
        self.run_extension("""
            x = torch.ones(4, device="cuda:1")
            extension.scale_(x, 2.0)
            extension.scale_without_guard_(x, 2.0)
            y = torch.zeros(2, 4, device="cuda:0")
            extension.add_row_(y, x)
            """)
        self.assertEqual(sorted(self.places_of("device-missing-guard")),
                         [("scale.cu", "launch", ["made on cuda:1 here"]), ("scale.cu", "rowAdded", ["made on cuda:1 here"])])

    def test_launches_on_the_default_stream_are_found(self):
        self.run_extension("""
            x = torch.arange(4.0, device="cuda:1")
            extension.scale_on_default_stream_(x, 2.0)
            with torch.cuda.stream(torch.cuda.Stream("cuda:1")):
                extension.scale_(x, 2.0)
                extension.scale_on_default_stream_(x, 2.0)
            """)
        self.assertEqual(self.places_of("device-wrong-stream"), [("scale.cu", "launch", [])])


    def test_launches_on_streams_that_nothing_orders_are_found(self):
        self.run_extension("""
            side = torch.cuda.Stream("cuda:1")
            torch.cuda.set_device(1)
            x = torch.ones(4, device="cuda:1")
            with torch.cuda.stream(side):
                y = extension.scaled(x, 2.0)
            y.sum()
            extension.scale_on_own_stream_(x, 2.0, False)
            z = torch.zeros(4, device="cuda:1")
            with torch.cuda.stream(side):
                extension.copy_(z, x, False)
            torch.cuda.synchronize()
            """)
        messages = [f["message"].partition(", and no event")[0] for f in self.findings if f["rule"] == "device-stream-race"]
        self.assertEqual(sorted(messages), [
            "aten::sum reads on the default stream of cuda:1 what scaleTo writes on stream 3 of cuda:1",
            "cudaMemcpyAsync reads on stream 3 of cuda:1 what aten::ones writes on the default stream of cuda:1",
            "scale reads on a stream that the program made on cuda:1 what aten::ones writes on the default stream of cuda:1",
            "scaleTo reads on stream 3 of cuda:1 what aten::ones writes on the default stream of cuda:1"])
        self.assertEqual({place[:2] for place in self.places_of("device-stream-race")},
                         {("program.py", "<module>"), ("scale.cu", "launch"), ("scale.cu", "scaledCopy"), ("scale.cu", "copied")})

    def test_launches_that_something_orders_are_not(self):
        self.run_extension("""
            side = torch.cuda.Stream("cuda:1")
            torch.cuda.set_device(1)
            x = torch.ones(4, device="cuda:1")
            side.wait_stream(torch.cuda.current_stream())
            with torch.cuda.stream(side):
                y = extension.scaled(x, 2.0)
                done = side.record_event()
            torch.cuda.current_stream().wait_event(done)
            y += 1
            extension.scale_on_own_stream_(y, 2.0, True)
            y += 1
            extension.scale_on_blocking_stream_(y, 2.0)
            y += 1
            torch.cuda.synchronize()
            z = torch.zeros(4, device="cuda:1")
            side.wait_stream(torch.cuda.current_stream())
            with torch.cuda.stream(side):
                extension.copy_(z, y, True)
            z += y
            # Two kernels that have the same inputs, in parameters that are not const.
            extension.scale_(x, 2.0)
            side.wait_stream(torch.cuda.current_stream())
            extension.scale_(x, 2.0)
            with torch.cuda.stream(side):
                extension.scale_(x, 2.0)
            """)
        self.assertEqual([(f["rule"], f["locations"][0]["line"]) for f in self.findings if "stream" in f["rule"]], [])

    def test_memory_that_a_launch_may_still_use_is_found(self):
        self.run_extension("""
            side = torch.cuda.Stream()
            def use(record):
                x = torch.ones(4096, device="cuda:0")
                side.wait_stream(torch.cuda.current_stream())
                with torch.cuda.stream(side):
                    extension.scale_(x, 2.0)
                if record:
                    x.record_stream(side)
            use(True)
            a = torch.zeros(4096, device="cuda:0")
            del a
            torch.cuda.synchronize()
            use(False)
            b = torch.zeros(4096, device="cuda:0")
            torch.cuda.synchronize()
            extension.scale_in_scratch_(b, 2.0, True)
            c = torch.zeros(4096, device="cuda:0")
            torch.cuda.synchronize()
            extension.scale_in_scratch_(b, 2.0, False)
            d = torch.zeros(4096, device="cuda:0")
            """)
        self.assertEqual(sorted(self.places_of("device-stream-lifetime")),
                         [("scale.cu", function, ["given out again on the default stream of cuda:0 here"])
                          for function in ("launch", "scaledInScratch")])


class Start(unittest.TestCase):
    def test_is_the_cuda_build(self):
        import torch

        self.assertIsNotNone(torch.version.cuda, "this Python has a CPU build of PyTorch")


if __name__ == "__main__":
    unittest.main(argv=[sys.argv[0], *ARGUMENTS], verbosity=2)
