"""Device memory as Python programs see it: statistics, its end, protection, forks and signal handlers. Run by ctest with
the environment that `devsan run --sim=2` sets."""

import os
import resource
import signal
import subprocess
import sys
import unittest

from devsan import sim

sim.install()

import torch

SECOND = torch.device("cuda:1")

STATISTICS = (
    "active active_bytes allocated_bytes allocation inactive_split inactive_split_bytes requested_bytes reserved_bytes "
    "segment"
).split()


def run(code, limits=None, **environment):
    """A Python program with simulated devices; its result, with stdout and stderr as text."""
    return subprocess.run(
        [sys.executable, "-c", "import torch\n" + code],
        env=dict(os.environ, **environment),
        capture_output=True,
        text=True,
        timeout=200,
        preexec_fn=(lambda: resource.setrlimit(*limits)) if limits else None,
    )


class Statistics(unittest.TestCase):
    def test_keys_are_those_of_cuda(self):
        torch.ones(1, device=SECOND)
        statistics = torch.cuda.memory_stats(1)
        for name in STATISTICS:
            for pool in ("all", "small_pool", "large_pool"):
                for figure in ("current", "peak", "allocated", "freed"):
                    self.assertIn(f"{name}.{pool}.{figure}", statistics)
        for name in ("oversize_allocations", "oversize_segments"):
            self.assertIn(f"{name}.current", statistics)
        for name in "num_alloc_retries num_ooms num_sync_all_streams num_device_alloc num_device_free max_split_size".split():
            self.assertIn(name, statistics)
        self.assertIn("GPU reserved memory", torch.cuda.memory_summary(1))

    def test_counts_per_device(self):
        before = torch.cuda.memory_allocated(1), torch.cuda.memory_allocated(0)
        tensor = torch.ones(1000, device=SECOND)
        self.assertEqual(torch.cuda.memory_allocated(1) - before[0], 4096)
        result = tensor * 2
        self.assertEqual(torch.cuda.memory_allocated(1) - before[0], 8192)
        host = torch.ones(1000) * 2
        self.assertEqual(torch.cuda.memory_allocated(0), before[1])
        del tensor, result, host
        self.assertEqual(torch.cuda.memory_allocated(1), before[0])
        self.assertGreaterEqual(torch.cuda.max_memory_allocated(1), before[0] + 8192)
        torch.cuda.reset_peak_memory_stats(1)
        self.assertEqual(torch.cuda.max_memory_allocated(1), before[0])
        free, total = torch.cuda.mem_get_info(1)
        self.assertLessEqual(free, total)

    def test_peaks_and_the_cache(self):
        torch.cuda.empty_cache()
        before = torch.cuda.memory_reserved(1)
        large = torch.empty(30 << 20, dtype=torch.uint8, device=SECOND)
        self.assertEqual(torch.cuda.memory_reserved(1), before + (30 << 20))
        del large
        self.assertEqual(torch.cuda.memory_reserved(1), before + (30 << 20))
        torch.cuda.empty_cache()
        self.assertEqual(torch.cuda.memory_reserved(1), before)
        self.assertGreaterEqual(torch.cuda.max_memory_reserved(1), before + (30 << 20))
        torch.cuda.reset_peak_memory_stats(1)
        self.assertEqual(torch.cuda.max_memory_reserved(1), before)

    def test_snapshots_show_segments_and_blocks(self):
        kept = torch.empty(1000, dtype=torch.uint8, device=SECOND)
        segments = [segment for segment in torch.cuda.memory_snapshot() if segment["device"] == 1]
        self.assertEqual(sum(segment["total_size"] for segment in segments), torch.cuda.memory_reserved(1))
        blocks = [block for segment in segments for block in segment["blocks"]]
        (block,) = [block for block in blocks if block["address"] == kept.data_ptr()]
        self.assertEqual((block["size"], block["requested_size"], block["state"]), (1024, 1000, "active_allocated"))
        torch.cuda.memory._record_memory_history(None)
        with self.assertRaisesRegex(NotImplementedError, "not simulated: torch.cuda.memory._record_memory_history"):
            torch.cuda.memory._record_memory_history()

    def test_numbers_take_no_memory(self):
        def allocations(work):
            before = torch.cuda.memory_stats(SECOND)["allocation.all.allocated"]
            result = work()
            return torch.cuda.memory_stats(SECOND)["allocation.all.allocated"] - before, result

        values, one = torch.ones(8, device=SECOND), torch.ones((), dtype=torch.int64, device=SECOND)
        empty = torch.empty(0, device=SECOND)
        for expected, work, result in (
            (1, lambda: values * 2, 2.0),
            (0, lambda: values.mul_(1), 1.0),
            (1, lambda: torch.add(values, 3, alpha=2), 7.0),
            (1, lambda: one * 2.5, 2.5),  # a result that is as small
            (1, lambda: torch.mul(one, 0.5, out=empty), 0.5),
        ):
            held = torch.cuda.memory_allocated(SECOND)
            count, tensor = allocations(work)
            self.assertEqual(count, expected)
            self.assertEqual(torch.cuda.memory_allocated(SECOND) - held, 512 * expected)
            self.assertEqual(tensor.cpu().unique().tolist(), [result])
            self.assertEqual(tensor.device, SECOND)
            del tensor

    def test_memory_without_a_tensor(self):
        before = torch.cuda.memory_allocated(1)
        address = torch.cuda.caching_allocator_alloc(5000, 1)
        self.assertEqual(torch.cuda.memory_allocated(1), before + 5120)
        torch.cuda.caching_allocator_delete(address)
        self.assertEqual(torch.cuda.memory_allocated(1), before)

    def test_a_fraction_limits_the_process(self):
        torch.cuda.empty_cache()
        torch.cuda.set_per_process_memory_fraction(0.01, 1)
        total = torch.cuda.mem_get_info(1)[1]
        try:
            with self.assertRaisesRegex(torch.cuda.OutOfMemoryError, r" allowed; Of the allocated memory "):
                torch.empty(total // 50, dtype=torch.uint8, device=SECOND)
        finally:
            torch.cuda.set_per_process_memory_fraction(1.0, 1)
        torch.empty(total // 50, dtype=torch.uint8, device=SECOND)


class Limit(unittest.TestCase):
    def test_memory_ends_as_on_cuda_and_the_program_goes_on(self):
        result = run(
            """
kept = [torch.zeros(20 << 20, dtype=torch.uint8, device="cuda:0") for _ in range(3)]
try:
    torch.zeros(20 << 20, dtype=torch.uint8, device="cuda:0")
except torch.cuda.OutOfMemoryError as error:
    print(error)
torch.zeros(20 << 20, dtype=torch.uint8, device="cuda:1")
del kept[0]
print(torch.zeros(20 << 20, dtype=torch.uint8, device="cuda:0").sum(dtype=torch.uint8).item(), end=" ")
statistics = torch.cuda.memory_stats(0)
print(statistics["num_ooms"], statistics["num_alloc_retries"], torch.cuda.get_device_properties(0).total_memory)
""",
            DEVSAN_SIM_MEMORY="64MiB",
        )
        self.assertEqual(result.returncode, 0, result.stderr)
        text, rest = result.stdout.splitlines()
        self.assertTrue(
            text.startswith(
                "CUDA out of memory. Tried to allocate 20.00 MiB. GPU 0 has a total capacity of 64.00 MiB of which "
                "4.00 MiB is free. Including non-PyTorch memory, this process has 60.00 MiB memory in use. Of the "
                "allocated memory 60.00 MiB is allocated by PyTorch, and 0 bytes is reserved by PyTorch but unallocated."
            ),
            text,
        )
        self.assertEqual(rest, f"0 1 1 {64 << 20}")

    def test_bad_settings_are_refused(self):
        for name, value in (("DEVSAN_SIM_MEMORY", "lots"), ("DEVSAN_SIM_MEMORY", "1KiB"), ("DEVSAN_SIM_PROTECT", "yes")):
            code = f"import ctypes; ctypes.CDLL({sim.library_path()!r})"
            result = subprocess.run(
                [sys.executable, "-c", code], env=dict(os.environ, **{name: value}), capture_output=True, text=True
            )
            self.assertEqual(result.returncode, 2)
            self.assertRegex(result.stderr, f"^devsan: simulated devices: {name} must be .* not {value}\n$")

    def test_settings_of_the_allocator(self):
        code = "torch.ones(1, device='cuda'); print('accepted')"
        for settings, error in (
            ("backend:native,max_split_size_mb:100", None),
            ("roundup_power2_divisions:[64:8,256:4],release_lock_on_cudamalloc:True", None),
            ("max_splits_size_mb:100", "ValueError: Unrecognized key 'max_splits_size_mb'"),
            ("backend:other", "ValueError: Unknown allocator backend, options are native and cudaMallocAsync"),
        ):
            result = run(code, PYTORCH_CUDA_ALLOC_CONF=settings)
            self.assertEqual(result.stdout, "" if error else "accepted\n", result.stderr)
            self.assertIn(error or "", result.stderr)

    def test_without_a_cache(self):
        result = run(
            "x = torch.ones(4, device='cuda') * 2; print(x.tolist(), torch.cuda.memory_reserved())",
            PYTORCH_NO_CUDA_MEMORY_CACHING="1",
        )
        self.assertEqual(result.stdout, "[2.0, 2.0, 2.0, 2.0] 0\n", result.stderr)

    def test_runs_repeat_themselves(self):
        code = """
kept = []
for size in (5, 3000, 700000, 3, 9000000, 20, 3000):
    kept.append(torch.ones(size, device="cuda:1") + 1)
    if len(kept) % 3 == 0:
        del kept[1]
print([hex(tensor.data_ptr()) for tensor in kept], sorted(torch.cuda.memory_stats(1).items()))
"""
        self.assertEqual(run(code).stdout, run(code).stdout)


class Protection(unittest.TestCase):
    def test_a_host_access_is_said_once_for_each_place(self):
        result = run(
            """
import ctypes
x = torch.arange(4.0, device="cuda:1")
values = ctypes.cast(x.data_ptr(), ctypes.POINTER(ctypes.c_float))
for _ in range(3):
    print(values[2], end=" ")
    x.add_(1)
print(x.tolist())
"""
        )
        self.assertEqual(result.stdout, "2.0 3.0 4.0 [3.0, 4.0, 5.0, 6.0]\n", result.stderr)
        self.assertRegex(result.stderr, r"^devsan: host code reads memory of cuda:1 \(byte 8 of a tensor of 16 bytes\) at ")
        self.assertEqual(len(result.stderr.splitlines()), 1, result.stderr)

    def test_the_programs_signal_handlers_stay(self):
        access = "import ctypes; x = torch.ones(1, device='cuda'); ctypes.string_at(x.data_ptr(), 4)\n"
        # Set before and after the devices; what faults elsewhere is theirs.
        for code in (
            "import faulthandler; faulthandler.enable()\n" + access + "ctypes.string_at(0)",
            access + "import faulthandler; faulthandler.enable()\nctypes.string_at(x.data_ptr(), 4); ctypes.string_at(0)",
        ):
            result = run(code)
            self.assertEqual(result.returncode, -signal.SIGSEGV, result.stderr)
            self.assertIn("Fatal Python error: Segmentation fault", result.stderr)
            self.assertEqual(result.stderr.count("devsan: host code"), 1, result.stderr)
        result = run(
            access
            + """
import os, signal
caught = []
assert signal.signal(signal.SIGSEGV, lambda *_: caught.append(1)) == signal.SIG_DFL
os.kill(os.getpid(), signal.SIGSEGV)
x.add_(1)
ctypes.string_at(x.data_ptr(), 4)
print(caught)
signal.signal(signal.SIGSEGV, signal.SIG_IGN)
os.kill(os.getpid(), signal.SIGSEGV)
signal.signal(signal.SIGSEGV, signal.SIG_DFL)
os.kill(os.getpid(), signal.SIGSEGV)
"""
        )
        self.assertEqual((result.stdout, result.returncode), ("[1]\n", -signal.SIGSEGV), result.stderr)

    def test_a_fault_between_pinned_blocks_is_the_programs(self):
        result = run(
            """
import ctypes, faulthandler
libc = ctypes.CDLL(None)
libc.mmap.restype = ctypes.c_void_p
libc.mmap.argtypes = [ctypes.c_void_p, ctypes.c_size_t, ctypes.c_int, ctypes.c_int, ctypes.c_int, ctypes.c_long]
size = 4 << 20
source = torch.ones(size, dtype=torch.uint8, device="cuda")
pinned, own = [], []
for _ in range(4):
    pinned.append(torch.zeros(size, dtype=torch.uint8).pin_memory())
    own.append(libc.mmap(None, size, 0, 0x22, -1, 0))  # nobody may touch it
starts = [tensor.data_ptr() for tensor in pinned]
between = [address for address in own if min(starts) < address < max(starts)]
for tensor in pinned:
    tensor.copy_(source, non_blocking=True)
torch.cuda.synchronize()
faulthandler.enable()
print(len(between), flush=True)
ctypes.string_at(between[0], 1)
"""
        )
        self.assertGreater(int(result.stdout), 0, result.stderr)
        self.assertEqual(result.returncode, -signal.SIGSEGV, result.stderr)
        self.assertIn("Fatal Python error: Segmentation fault", result.stderr)

    def test_goes_on_unprotected_where_the_machine_gives_no_room(self):
        result = run(
            "x = torch.ones(4, device='cuda:1'); print((x + 1).sum().item(), x.data_ptr() != 0)",
            limits=(resource.RLIMIT_FSIZE, (1 << 20, 1 << 20)),
        )
        self.assertEqual((result.stdout, result.returncode), ("8.0 True\n", 0), result.stderr)
        self.assertEqual(len(result.stderr.splitlines()), 1, result.stderr)
        self.assertIn("their memory is not protected, host accesses go unseen: ulimit -f", result.stderr)

    def test_unprotected(self):
        result = run(
            "import ctypes; x = torch.ones(1, device='cuda'); ctypes.string_at(x.data_ptr(), 4)", DEVSAN_SIM_PROTECT="off"
        )
        self.assertEqual((result.stderr, result.returncode), ("", 0))


class Forks(unittest.TestCase):
    def in_child(self, work):
        child = os.fork()
        if child == 0:
            try:
                work()
            except BaseException as error:
                print(repr(error), file=sys.stderr, flush=True)
                os._exit(1)
            os._exit(0)
        self.assertEqual(os.waitpid(child, 0)[1], 0)

    def test_a_child_cannot_use_its_parents_tensors(self):
        tensor = torch.ones(4, device=SECOND)

        def work():
            for use in (lambda: tensor.add_(1), lambda: tensor.cpu(), lambda: tensor.tolist(), lambda: tensor + 1):
                with self.assertRaisesRegex(RuntimeError, "CUDA error: initialization error"):
                    use()
            torch.ones(3).sum()

        self.in_child(work)

        def forget():
            nonlocal tensor
            tensor = None

        self.in_child(forget)
        self.assertEqual(tensor.tolist(), [1.0] * 4)

    def test_a_child_that_comes_first_has_its_own(self):
        result = run(
            """
import os
child = os.fork()
if child == 0:
    print(torch.ones(2, device="cuda:1").sum().item(), flush=True)
    os._exit(0)
print(os.waitpid(child, 0)[1], torch.ones(3, device="cuda:1").sum().item())
"""
        )
        self.assertEqual(result.stdout, "2.0\n0 3.0\n", result.stderr)

    def test_workers_of_a_loader(self):
        kept = torch.ones(4, device=SECOND)
        data = torch.utils.data.TensorDataset(torch.arange(8.0))
        loader = torch.utils.data.DataLoader(data, batch_size=4, num_workers=2, multiprocessing_context="fork")
        total = sum(batch.to(SECOND).sum().item() for (batch,) in loader)
        self.assertEqual((total, kept.sum().item()), (28.0, 4.0))


if __name__ == "__main__":
    unittest.main()
