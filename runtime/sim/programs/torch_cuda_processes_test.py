"""torch.cuda on simulated devices: several devices, threads and processes. Run by ctest under _simulated."""

import copy
import os
import signal
import subprocess
import sys
import threading
import unittest

from devsan import sim

sim.install()

import torch

SECOND = torch.device("cuda:1")


class OnTheDevice(torch.utils.data.Dataset):
    def __len__(self):
        return 2

    def __getitem__(self, index):
        return torch.full((1,), float(index), device=SECOND)


def add_one(tensors, devices):
    tensor = tensors.get()
    tensor += 1
    devices.put(str(tensor.device))


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

    def test_forked_children_use_pinned_memory(self):
        pinned = torch.zeros(1000).pin_memory()
        torch.ones(1, device=SECOND)
        done = threading.Event()

        def use_pinned_memory():
            while not done.is_set():
                for _ in range(100):
                    pinned.is_pinned()
                torch.empty(100000, pin_memory=True)

        threads = [threading.Thread(target=use_pinned_memory) for _ in range(3)]
        for thread in threads:
            thread.start()
        try:
            for _ in range(60):
                child = os.fork()
                if child == 0:
                    signal.alarm(10)
                    works = pinned.is_pinned() and torch.ones(3).pin_memory().sum() == 3 and not torch.ones(3).is_pinned()
                    os._exit(0 if works else 1)
                self.assertEqual(os.waitpid(child, 0)[1], 0)
        finally:
            done.set()
            for thread in threads:
                thread.join()

    def test_spawned_children(self):
        code = (
            "from devsan import sim; sim.install(); import torch; "
            "x = torch.ones(2, device='cuda:1', requires_grad=True); (x * 2).sum().backward(); print(x.grad.device)"
        )
        output = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, timeout=120, check=True)
        self.assertEqual(output.stdout.strip(), "cuda:1")

    def test_workers_of_data_loaders(self):
        torch.ones(1, device=SECOND)
        loader = torch.utils.data.DataLoader(OnTheDevice(), num_workers=1)
        with self.assertRaisesRegex(RuntimeError, "Cannot re-initialize CUDA in forked subprocess"):
            list(loader)

    def test_tensors_for_other_processes(self):
        context = torch.multiprocessing.get_context("spawn")
        tensors, devices = context.Queue(), context.Queue()
        child = context.Process(target=add_one, args=(tensors, devices))
        child.start()
        tensor = torch.zeros(3, device=SECOND)
        view = tensor[1:]
        tensors.put(view)
        self.assertEqual(devices.get(timeout=120), "cuda:1")
        child.join(60)
        self.assertEqual(child.exitcode, 0)
        self.assertEqual(tensor.tolist(), [0.0, 1.0, 1.0])

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
