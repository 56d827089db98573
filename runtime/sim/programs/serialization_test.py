"""Saving and loading what lives on simulated devices: torch.save and torch.load with every kind of map_location,
modules, optimizers, scripted modules, copies and pickles. Run by ctest with the environment that `devsan run --sim=2`
sets."""

import copy
import io
import os
import pickle
import subprocess
import sys
import tempfile
import unittest

from devsan import sim

sim.install()

import torch
from torch import nn

FIRST, SECOND = torch.device("cuda:0"), torch.device("cuda:1")


def saved(value, **options):
    file = io.BytesIO()
    torch.save(value, file, **options)
    return file


def load(file, **options):
    file.seek(0)
    return torch.load(file, **options)


def run(program, devices):
    environment = {**os.environ, "DEVSAN_SIM_DEVICES": str(devices)}
    program = "from devsan import sim; sim.install(); import torch\n" + program
    return subprocess.run([sys.executable, "-c", program], env=environment, capture_output=True, text=True, timeout=200)


class Checkpoints(unittest.TestCase):
    def test_map_location(self):
        file = saved({"a": torch.arange(3, device=SECOND), "b": torch.ones(2)})
        for location, expected in (
            (None, SECOND),
            ("cpu", torch.device("cpu")),
            ("cuda", FIRST),
            ("cuda:0", FIRST),
            (FIRST, FIRST),
            ({"cuda:1": "cuda:0"}, FIRST),
            ({"cuda:0": "cpu"}, SECOND),
            (lambda storage, place: storage.cuda(0) if place == "cuda:1" else storage, FIRST),
            (lambda storage, place: storage, torch.device("cpu")),
            (lambda storage, place: None, SECOND),
        ):
            loaded = load(file, map_location=location)
            self.assertEqual(loaded["a"].device, expected, location)
            self.assertEqual(loaded["a"].tolist(), [0, 1, 2])
        with torch.cuda.device(1):
            self.assertEqual(load(file, map_location="cuda")["a"].device, SECOND)

    def test_shared_storages_stay_shared(self):
        base = torch.zeros(4, device=SECOND)
        views = load(saved([base, base[1:3]]))
        views[0][1] = 5
        self.assertEqual(views[1].tolist(), [5, 0])
        self.assertEqual(views[1].untyped_storage().data_ptr(), views[0].untyped_storage().data_ptr())

    def test_every_layout(self):
        sparse = torch.eye(3, device=SECOND).to_sparse()
        values = {
            "coo": sparse,
            "csr": sparse.to_sparse_csr(),
            "complex": torch.ones(2, dtype=torch.complex64, device=SECOND).conj(),
            "half": torch.ones(2, dtype=torch.bfloat16, device=SECOND),
            "quantised": torch.quantize_per_tensor(torch.ones(2, device=SECOND), 0.1, 0, torch.qint8),
            "parameter": nn.Parameter(torch.ones(2, device=SECOND)),
            "jagged": torch.nested.nested_tensor([torch.ones(2), torch.ones(3)], layout=torch.jagged, device=SECOND),
            "strides": torch.arange(6.0, device=SECOND).view(2, 3).t(),
        }
        for location, expected in ((None, SECOND), ("cpu", torch.device("cpu")), ("cuda:0", FIRST)):
            loaded = load(saved(values), map_location=location, weights_only=False)
            for name, value in values.items():
                self.assertEqual(loaded[name].device, expected, name)
                self.assertEqual(loaded[name].dtype, value.dtype, name)
        self.assertIsInstance(loaded["parameter"], nn.Parameter)
        self.assertEqual(loaded["strides"].stride(), values["strides"].stride())
        self.assertTrue(torch.equal(loaded["coo"].to_dense(), torch.eye(3, device=FIRST)))

    def test_training_goes_on(self):
        def make(device):
            model = nn.Linear(4, 1).to(device)
            return model, torch.optim.Adam(model.parameters(), lr=0.1)

        def step(model, optimizer):
            optimizer.zero_grad()
            model(torch.ones(2, 4, device=model.weight.device)).sum().backward()
            optimizer.step()
            return model.weight.detach().cpu()

        model, optimizer = make(SECOND)
        step(model, optimizer)
        file = saved({"model": model.state_dict(), "optimizer": optimizer.state_dict(), "rng": torch.cuda.get_rng_state_all()})
        expected = step(model, optimizer)
        for target in (FIRST, SECOND, torch.device("cpu")):
            model, optimizer = make(target)
            checkpoint = load(file, map_location=target)
            model.load_state_dict(checkpoint["model"])
            optimizer.load_state_dict(checkpoint["optimizer"])
            torch.cuda.set_rng_state_all([state.cpu() for state in checkpoint["rng"]])
            self.assertEqual(optimizer.state[model.weight]["exp_avg"].device, target)
            torch.testing.assert_close(step(model, optimizer), expected)

    def test_mapped_file(self):
        with tempfile.TemporaryDirectory() as folder:
            path = os.path.join(folder, "x.pt")
            torch.save({"a": torch.arange(1000.0, device=SECOND)}, path)
            for location, expected in ((None, SECOND), ("cuda:0", FIRST), ("cpu", torch.device("cpu"))):
                loaded = torch.load(path, mmap=True, map_location=location)["a"]
                self.assertEqual(loaded.device, expected)
                self.assertEqual(loaded.sum().item(), 499500)

    def test_older_format(self):
        file = saved(torch.ones(3, device=SECOND), _use_new_zipfile_serialization=False)
        self.assertEqual(load(file).device, SECOND)
        self.assertEqual(load(file, map_location="cuda:0").device, FIRST)

    def test_a_device_that_is_not_there(self):
        with tempfile.TemporaryDirectory() as folder:
            path = os.path.join(folder, "x.pt")
            torch.save(torch.ones(3, device=SECOND), path)
            done = run(f"torch.load({path!r})", devices=1)
            self.assertIn(
                "RuntimeError: Attempting to deserialize object on CUDA device 1 but torch.cuda.device_count() is 1. "
                "Please use torch.load with map_location to map your storages to an existing device.",
                done.stderr,
            )
            done = run(f"print(torch.load({path!r}, map_location={{'cuda:1': 'cuda:0'}}))", devices=1)
            self.assertIn("tensor([1., 1., 1.], device='cuda:0')", done.stdout, done.stderr)


class Copies(unittest.TestCase):
    def test_deepcopy_and_pickle(self):
        module = nn.Sequential(nn.Linear(2, 2), nn.BatchNorm1d(2), nn.LSTM(2, 2)).to(SECOND)
        for twin in (copy.deepcopy(module), pickle.loads(pickle.dumps(module))):
            for a, b in zip(twin.state_dict().values(), module.state_dict().values()):
                self.assertEqual(a.device, SECOND)
                self.assertTrue(torch.equal(a, b))
                self.assertNotEqual(a.data_ptr(), b.data_ptr())
        tensor = torch.ones(3, device=SECOND)
        for twin in (copy.deepcopy(tensor), pickle.loads(pickle.dumps(tensor))):
            self.assertEqual((twin.device, twin.tolist()), (SECOND, [1, 1, 1]))
        storage = copy.deepcopy(tensor.untyped_storage())
        self.assertEqual((storage.device, storage.nbytes()), (SECOND, 12))

    def test_storages(self):
        storage = torch.arange(4, device=SECOND).untyped_storage()
        self.assertEqual(storage.cpu().nbytes(), 32)
        self.assertEqual(storage.cuda(0).device, FIRST)
        self.assertEqual(storage.clone().device, SECOND)
        tensor = torch.empty(0, dtype=torch.int64, device=SECOND).set_(storage, 1, (2,), (1,))
        self.assertEqual(tensor.tolist(), [1, 2])
        storage.resize_(8)
        self.assertEqual(storage.nbytes(), 8)
        other = torch.UntypedStorage(32, device=SECOND).copy_(torch.arange(4).untyped_storage())
        self.assertEqual(torch.empty(0, dtype=torch.int64, device=SECOND).set_(other).tolist(), [0, 1, 2, 3])
        self.assertTrue(storage.is_cuda)

    def test_a_storage_is_freed_and_filled_again(self):
        tensor = torch.arange(4.0, device=SECOND)
        kept = tensor.untyped_storage().cpu()
        tensor.untyped_storage().resize_(0)
        self.assertEqual(tensor.untyped_storage().nbytes(), 0)
        tensor.untyped_storage().resize_(16)
        tensor.untyped_storage().copy_(kept)
        self.assertEqual(tensor.tolist(), [0, 1, 2, 3])

    def test_bytes_from_a_file(self):
        data = torch.frombuffer(bytearray(torch.arange(4.0).numpy().tobytes()), dtype=torch.float32)
        self.assertEqual(data.to(SECOND).tolist(), [0, 1, 2, 3])


class Scripts(unittest.TestCase):
    def test_save_and_load(self):
        x = torch.ones(1, 2, device=SECOND)
        for make in (lambda module: torch.jit.trace(module, x), torch.jit.script):
            module = nn.Sequential(nn.Linear(2, 2), nn.ReLU()).to(SECOND)
            script = make(module)
            self.assertEqual(script(x).device, SECOND)
            file = io.BytesIO()
            torch.jit.save(script, file)
            for location, expected in ((None, SECOND), ("cuda:0", FIRST), ("cpu", torch.device("cpu"))):
                file.seek(0)
                loaded = torch.jit.load(file, map_location=location)
                self.assertEqual(loaded(x.to(expected)).device, expected)
                torch.testing.assert_close(loaded(x.to(expected)).cpu(), module(x).cpu())
            self.assertEqual(script.to(FIRST)(x.to(FIRST)).device, FIRST)

    def test_a_constant_device_stays(self):
        def function(x):
            return x + torch.zeros(1, device=x.device)

        traced = torch.jit.trace(function, torch.ones(1, device=SECOND))
        with self.assertRaisesRegex(RuntimeError, "Expected all tensors to be on the same device"):
            traced(torch.ones(1, device=FIRST))


if __name__ == "__main__":
    unittest.main()
