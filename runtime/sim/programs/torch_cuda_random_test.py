"""torch.cuda on simulated devices: generators: a state for each device. Run by ctest under _simulated."""

import unittest

from devsan import sim

sim.install()

import torch

SECOND = torch.device("cuda:1")


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


if __name__ == "__main__":
    unittest.main()
