"""torch.cuda on simulated devices: training: the CPU's results, on the device. Run by ctest under _simulated."""

import copy
import itertools
import threading
import unittest

from devsan import sim

sim.install()

import torch

SECOND = torch.device("cuda:1")


class Training(unittest.TestCase):
    def losses(self, device, **optimizer_options):
        torch.manual_seed(0)
        model = torch.nn.Sequential(
            torch.nn.Conv2d(3, 4, 3),
            torch.nn.BatchNorm2d(4),
            torch.nn.ReLU(),
            torch.nn.Flatten(),
            torch.nn.Dropout(0.0),  # random numbers are not the CPU's
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

    def test_modes_by_turns(self):
        torch.manual_seed(0)
        model = torch.nn.Sequential(torch.nn.Conv2d(3, 4, 3), torch.nn.BatchNorm2d(4), torch.nn.GRU(6, 5)).eval()
        x = torch.randn(2, 3, 8, 8)

        def output(layers, x):
            return layers[2](layers[1](layers[0](x))[0])[0]

        moved, expected = copy.deepcopy(model).to(SECOND), output(model, x).detach()
        results = []

        def run(modes):
            for mode in modes:
                with mode():
                    results.append(output(moved, x.to(SECOND)).cpu())

        # What a thread keeps for its next operator is from its first.
        for modes in itertools.permutations((torch.inference_mode, torch.no_grad, torch.enable_grad)):
            thread = threading.Thread(target=run, args=(modes,))
            thread.start()
            thread.join()
        self.assertEqual(len(results), 18)
        for result in results:
            torch.testing.assert_close(result.detach(), expected, rtol=1e-4, atol=1e-5)


if __name__ == "__main__":
    unittest.main()
