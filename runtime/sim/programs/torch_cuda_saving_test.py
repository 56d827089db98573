"""torch.cuda on simulated devices: saving and loading: checkpoints, pickles, copies, script modules. Run by ctest under _simulated."""

import copy
import io
import pickle
import unittest
import warnings

from devsan import sim

sim.install()

import torch

SECOND = torch.device("cuda:1")


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


if __name__ == "__main__":
    unittest.main()
