"""Nothing hangs, crashes or loses an error: forks, threads, signals and errors, each while other threads work.

usage: stress_test.py DEVSAN [--times=N] [unittest options]      N multiplies the loops, 1 unless told
"""

import os
import signal
import subprocess
import sys
import tempfile
import textwrap
import unittest

DEVSAN = os.path.abspath(sys.argv.pop(1))
TIMES = 1
if len(sys.argv) > 1 and sys.argv[1].startswith("--times="):
    TIMES = int(sys.argv.pop(1).split("=")[1])

PRELUDE = """
import os, signal, sys, threading, time, torch
TIMES = int(os.environ["TIMES"])

def first_calls():
    '''LibTorch chooses a kernel at its first call, under the guard of a static, which a child never gets where a fork came
    in between, with devsan or without. So every operator that threads run beside a fork has to have run before.'''
    for device in ("cuda:0", "cuda:1"):
        x = torch.ones(64, device=device)
        x.nonzero()
        x.sum().item()
        x.cpu().add(1)
    (torch.zeros(3) + 1).add(1)

class Busy:
    '''Threads that wait for their device again and again.'''
    def __init__(self, count=3):
        self.stop = False
        self.rounds = 0
        self.threads = [threading.Thread(target=self.work, args=(f"cuda:{i % 2}",)) for i in range(count)]
    def work(self, device):
        x = torch.ones(64, device=device)
        while not self.stop:
            x.sum().item()
            x.cpu()
            self.rounds += 1
    def __enter__(self):
        first_calls()
        for thread in self.threads: thread.start()
        return self
    def __exit__(self, *error):
        self.stop = True
        for thread in self.threads: thread.join()

def child(body, seconds=60):
    '''The status of a forked process, which SIGALRM ends where it hangs.'''
    pid = os.fork()
    if pid == 0:
        signal.signal(signal.SIGALRM, signal.SIG_DFL)
        signal.alarm(seconds)
        status = 1
        try:
            body()
            status = 0
        finally:
            os._exit(status)
    return os.waitpid(pid, 0)[1]
"""


class Stress(unittest.TestCase):
    def start(self, program):
        directory = tempfile.TemporaryDirectory()
        self.addCleanup(directory.cleanup)
        path = os.path.join(directory.name, "program.py")
        with open(path, "w", encoding="utf-8") as file:
            file.write(PRELUDE + textwrap.dedent(program))
        # One process group for all, so that a hung run leaves nothing behind.
        process = subprocess.Popen([DEVSAN, "run", "--sim=2", "--fail-on=none", "--", sys.executable, path],
                                   stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, start_new_session=True,
                                   env={**os.environ, "TIMES": str(TIMES), "OMP_NUM_THREADS": "1"})
        return process

    def finish(self, process, limit=240):
        try:
            return process.communicate(timeout=limit + 60 * TIMES)
        except subprocess.TimeoutExpired:
            self.fail("hangs; " + self.stacks(process.pid))
        finally:
            if process.returncode is None:
                os.killpg(process.pid, signal.SIGKILL)
                process.communicate()

    def stacks(self, leader):
        """Where the processes of a hung run stand, if gdb is there to tell."""
        found = subprocess.run(["ps", "-o", "pid=", "-g", str(leader)], capture_output=True, text=True).stdout.split()
        text = ""
        for pid in found:
            debugger = subprocess.run(["gdb", "-p", pid, "-batch", "-ex", "thread apply all bt 12"], capture_output=True,
                                      text=True, timeout=60)
            text += f"process {pid}:\n{debugger.stdout[-6000:]}\n"
        return text

    def run_program(self, program, *statuses, limit=240):
        process = self.start(program)
        output, errors = self.finish(process, limit)
        self.assertIn(process.returncode, statuses or (0,), output + errors)
        return output, errors

    def test_fork_while_threads_take_stacks(self):
        self.run_program("""
            with Busy():
                for i in range(15 * TIMES):
                    status = child(lambda: torch.zeros(3).add(1))
                    assert status == 0, (i, status)
            """)

    def test_many_forks_while_threads_take_new_stacks(self):
        # Loading and unwinding take locks of the loader's, which a child never gets where a fork found one held.
        self.run_program("""
            import ctypes
            stop = False
            def work(device):
                x = torch.ones(64, device=device)
                line = 0
                while not stop:
                    line = (line + 1) % 5000
                    exec(compile("\\n" * line + "x.nonzero()", f"/new/{device}.py", "exec"), {"x": x})
                    x.cpu().add(1)
            def loads_and_throws():
                ctypes.CDLL("libm.so.6")
                try:
                    torch.zeros(2).view(3)
                except RuntimeError:
                    pass
                thread = threading.Thread(target=lambda: torch.zeros(3).add(1))
                thread.start()
                thread.join()
            threads = [threading.Thread(target=work, args=(f"cuda:{i % 2}",)) for i in range(3)]
            first_calls()
            for thread in threads: thread.start()
            try:
                for i in range(75 * TIMES):
                    status = child(loads_and_throws)
                    assert status == 0, (i, status)
            finally:
                stop = True
                for thread in threads: thread.join()
            """)

    def test_fork_while_threads_follow_data(self):
        # A thread of the child takes LibTorch's lock of observers at its first operator: no fork may find it held.
        self.run_program("""
            stop = False
            def follow(device):
                x = torch.ones(64, device=device)
                while not stop:
                    host = x.cpu() + 1
                    del host
                    for _ in range(300): torch.zeros(2)
            threads = [threading.Thread(target=follow, args=(f"cuda:{i % 2}",)) for i in range(4)]
            first_calls()
            for thread in threads: thread.start()
            def first_operator_of_a_thread():
                thread = threading.Thread(target=lambda: torch.zeros(3).add(1))
                thread.start()
                thread.join()
            for i in range(20 * TIMES):
                status = child(first_operator_of_a_thread)
                assert status == 0, (i, status)
            stop = True
            for thread in threads: thread.join()
            """)

    def test_fork_in_a_hook_of_backward(self):
        self.run_program("""
            def hook(gradient):
                assert child(lambda: torch.zeros(3).add(1)) == 0
            with Busy():
                for i in range(3 * TIMES):
                    x = torch.ones(3, device="cuda:1", requires_grad=True)
                    y = x * 2
                    y.register_hook(hook)
                    y.sum().backward()
            """)

    def test_workers_of_a_loader_while_backward_runs(self):
        output, _ = self.run_program("""
            data = torch.utils.data.TensorDataset(torch.arange(64.0).reshape(32, 2))
            model = torch.nn.Linear(2, 2).to("cuda:1")
            def train():
                while not done:
                    model(torch.ones(4, 2, device="cuda:1")).sum().backward()
            done = False
            thread = threading.Thread(target=train)
            thread.start()
            total = 0
            for i in range(TIMES):
                for (batch,) in torch.utils.data.DataLoader(data, batch_size=8, num_workers=2):
                    total += batch.to("cuda:0").sum().item()
            done = True
            thread.join()
            print(total == 2016.0 * TIMES)
            """)
        self.assertEqual(output, "True\n")

    def test_other_programs_start_while_threads_work(self):
        self.run_program("""
            import subprocess
            with Busy():
                for i in range(5 * TIMES):
                    assert subprocess.run(["/bin/true"]).returncode == 0
                    assert os.waitpid(os.posix_spawn("/bin/true", ["true"], os.environ), 0)[1] == 0
                    assert child(lambda: os.execv("/bin/true", ["true"])) == 0
                code = "import torch; print(torch.ones(3, device='cuda:1').sum().item())"
                inner = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True)
                assert inner.stdout == "3.0\\n", inner
                assert subprocess.run([sys.executable, "-I", "-c", "pass"]).returncode == 0
            """)

    def test_exec_takes_the_place_of_the_program(self):
        output, _ = self.run_program("""
            torch.ones(3, device="cuda:0")
            threading.Thread(target=Busy().work, args=("cuda:1",), daemon=True).start()
            code = "import torch; print(torch.ones(3, device='cuda:1').sum().item())"
            os.execv(sys.executable, [sys.executable, "-c", code])
            """)
        self.assertEqual(output, "3.0\n")

    def test_errors_of_kernels_on_autograd_threads(self):
        output, _ = self.run_program("""
            class Bad(torch.autograd.Function):
                @staticmethod
                def forward(ctx, x): return x.clone()
                @staticmethod
                def backward(ctx, gradient):
                    if ctx.mode == 0: torch.linalg.cholesky(-torch.eye(3, device=gradient.device))
                    if ctx.mode == 1: return gradient @ torch.ones(7, 7, device=gradient.device)
                    if ctx.mode == 2: return gradient + torch.ones(3, 3, device="cuda:0")
                    if ctx.mode == 3: return torch.empty(1 << 60, device=gradient.device)
                    raise ValueError("mine")
            class Mode(Bad):
                @staticmethod
                def forward(ctx, x, mode):
                    ctx.mode = mode
                    return x.clone()
                @staticmethod
                def backward(ctx, gradient): return Bad.backward(ctx, gradient), None
            kinds = set()
            for i in range(3 * TIMES):
                for mode in range(5):
                    x = torch.ones(3, 3, device="cuda:1", requires_grad=True)
                    try:
                        Mode.apply(x, mode).sum().backward()
                    except Exception as error:
                        kinds.add((mode, type(error).__name__))
            print(sorted(kinds))
            """)
        self.assertEqual(output, "[(0, '_LinAlgError'), (1, 'RuntimeError'), (2, 'RuntimeError'), "
                         "(3, 'OutOfMemoryError'), (4, 'ValueError')]\n")

    def test_threads_devices_and_streams(self):
        output, _ = self.run_program("""
            results = []
            def work(seed):
                streams = [torch.cuda.Stream(device=i) for i in (0, 1)]
                total = 0
                for i in range(10 * TIMES):
                    device = (seed + i) % 2
                    with torch.cuda.device(device), torch.cuda.stream(streams[device]):
                        x = torch.full((8, 8), 1.0, device=f"cuda:{device}", requires_grad=True)
                        (x.to(f"cuda:{1 - device}") * 2).sum().backward()
                        event = torch.cuda.Event()
                        event.record()
                    event.synchronize()
                    streams[device].synchronize()
                    total += int(x.grad.sum().item())
                results.append(total)
            threads = [threading.Thread(target=work, args=(i,)) for i in range(8)]
            for thread in threads: thread.start()
            for thread in threads: thread.join()
            print(results == [128 * 10 * TIMES] * 8)
            """)
        self.assertEqual(output, "True\n")

    def test_backward_inside_backward(self):
        output, _ = self.run_program("""
            from torch.utils.checkpoint import checkpoint
            class Inner(torch.autograd.Function):
                @staticmethod
                def forward(ctx, x): return x * 2
                @staticmethod
                def backward(ctx, gradient):
                    with torch.enable_grad():
                        x = torch.ones(3, device="cuda:0", requires_grad=True)
                        y = torch.ones(3, device="cuda:1", requires_grad=True)
                        checkpoint(lambda v: (v * 3).to("cuda:1"), x, use_reentrant=True).sum().backward()
                        (y * y).sum().backward()
                    return gradient * 2 + x.grad.to(gradient.device) * 0
            results = []
            def work():
                for i in range(4 * TIMES):
                    x = torch.ones(3, device="cuda:1", requires_grad=True)
                    Inner.apply(Inner.apply(x)).sum().backward()
                    results.append(x.grad.tolist())
            threads = [threading.Thread(target=work) for _ in range(4)]
            for thread in threads: thread.start()
            for thread in threads: thread.join()
            print(results == [[4, 4, 4]] * (16 * TIMES))
            """)
        self.assertEqual(output, "True\n")

    def test_hooks_that_call_operators(self):
        output, _ = self.run_program("""
            model = torch.nn.Sequential(torch.nn.Linear(4, 4), torch.nn.ReLU(), torch.nn.Linear(4, 1)).to("cuda:1")
            calls = 0
            def count(*ignored):
                global calls
                calls += 1
                torch.ones(2, device="cuda:0").sum().item()
                (torch.ones(2, device="cuda:1").cpu() + 1).to("cuda:1")
            for part in model:
                part.register_forward_hook(count)
                part.register_full_backward_hook(count)
            for parameter in model.parameters():
                parameter.register_post_accumulate_grad_hook(count)
            with torch.autograd.graph.saved_tensors_hooks(lambda t: t.cpu(), lambda t: t.to("cuda:1")):
                for i in range(3 * TIMES):
                    model(torch.ones(2, 4, device="cuda:1")).sum().backward()
            print(calls == 10 * 3 * TIMES)
            """)
        self.assertEqual(output, "True\n")

    def test_torchscript_fork_and_wait(self):
        output, _ = self.run_program("""
            @torch.jit.script
            def part(x: torch.Tensor) -> torch.Tensor:
                return x * 2 + x.sum()
            @torch.jit.script
            def both(x: torch.Tensor, y: torch.Tensor) -> torch.Tensor:
                first = torch.jit.fork(part, x)
                second = torch.jit.fork(part, y)
                return torch.jit.wait(first) + torch.jit.wait(second).to(x.device)
            for i in range(5 * TIMES):
                result = both(torch.ones(3, device="cuda:0"), torch.ones(3, device="cuda:1"))
            print(result.tolist())
            """)
        self.assertEqual(output, "[10.0, 10.0, 10.0]\n")

    def test_exit_while_threads_work(self):
        # PyTorch itself aborts where a daemon thread comes out of an operator after the interpreter has ended.
        for how, *statuses in (("sys.exit(5)", 5, -signal.SIGABRT), ("os._exit(6)", 6),
                               ("raise SystemExit(0)", 0, -signal.SIGABRT)):
            with self.subTest(how=how):
                self.run_program(f"""
                    busy = [Busy() for _ in range(3)]
                    for i, worker in enumerate(busy):
                        threading.Thread(target=worker.work, args=(f"cuda:{{i % 2}}",), daemon=True).start()
                    torch.ones(3, device="cuda:1", requires_grad=True).sum().backward()
                    while not all(worker.rounds for worker in busy):
                        time.sleep(0.001)
                    {how}
                    """, *statuses)

    def test_short_programs_end_after_backward(self):
        for _ in range(TIMES + TIMES // 4):
            self.run_program("""
                class Twice(torch.autograd.Function):
                    @staticmethod
                    def forward(ctx, x): return x * 2
                    @staticmethod
                    def backward(ctx, gradient): return gradient * 2
                Twice.apply(torch.ones(3, device="cuda:1", requires_grad=True)).sum().backward()
                """)

    def test_abort_in_a_thread(self):
        self.run_program("""
            with Busy():
                threading.Thread(target=os.abort).start()
                threading.Event().wait(60)
            """, -signal.SIGABRT)

    def test_interrupted_operators(self):
        process = self.start("""
            x = torch.ones(300, 300, device="cuda:1")
            (x @ x).sum().item()
            try:
                print("ready", flush=True)
                while True:
                    (x @ x).sum().item()
            except KeyboardInterrupt:
                print("interrupted", x.sum().item())
            """)
        self.assertEqual(process.stdout.readline(), "ready\n")
        process.send_signal(signal.SIGINT)
        output, errors = self.finish(process, 60)
        self.assertEqual((process.returncode, output), (0, "interrupted 90000.0\n"), errors)

    def test_interrupted_backward_on_another_thread(self):
        process = self.start("""
            def differentiate():
                x = torch.ones(30, 30, device="cuda:1", requires_grad=True)
                (x @ x).sum().backward()
            with Busy(2) as busy:
                differentiate()
                while not busy.rounds:
                    time.sleep(0.001)
                try:
                    print("ready", flush=True)
                    while True:
                        differentiate()
                except KeyboardInterrupt:
                    pass
            print("interrupted")
            """)
        self.assertEqual(process.stdout.readline(), "ready\n")
        process.send_signal(signal.SIGINT)
        output, errors = self.finish(process, 60)
        self.assertEqual((process.returncode, output), (0, "interrupted\n"), errors)


if __name__ == "__main__":
    unittest.main()
