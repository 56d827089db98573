"""Random numbers on simulated devices as torch.cuda promises them: a state per device, reproducible, restorable, and the
same whatever other threads draw meanwhile. Run by ctest with the environment that `devsan run --sim=2` sets."""

import threading
import unittest

from devsan import sim

sim.install()

import torch
from torch import nn
from torch.nn import functional as F
from torch.utils.checkpoint import checkpoint

FIRST, SECOND = torch.device("cuda:0"), torch.device("cuda:1")


def draw(device=SECOND, generator=None):
    return torch.rand(8, device=device, generator=generator).cpu()


class Case(unittest.TestCase):
    def assertEqualTensors(self, a, b):
        self.assertTrue(torch.equal(a, b), f"{a} != {b}")

    def assertDiffer(self, a, b):
        self.assertFalse(torch.equal(a, b))


class Seeds(Case):
    def test_every_way_to_seed(self):
        torch.manual_seed(5)
        first, second = draw(FIRST), draw(SECOND)
        self.assertEqualTensors(first, second)  # a seed means the same on every device
        for seed in (torch.cuda.manual_seed_all, torch.manual_seed):
            seed(5)
            self.assertEqualTensors(draw(SECOND), second)
            self.assertEqualTensors(draw(FIRST), first)
        with torch.cuda.device(1):
            torch.cuda.manual_seed(5)
            self.assertEqual(torch.cuda.initial_seed(), 5)
        self.assertEqualTensors(draw(SECOND), second)
        self.assertDiffer(draw(FIRST), first)

    def test_unseeded_devices_differ(self):
        torch.cuda.seed_all()
        self.assertEqual(torch.cuda.default_generators[0].initial_seed(), torch.cuda.default_generators[1].initial_seed())
        torch.cuda.seed()
        self.assertNotEqual(
            torch.cuda.default_generators[0].initial_seed(), torch.cuda.default_generators[1].initial_seed()
        )

    def test_numbers_do_not_repeat(self):
        torch.manual_seed(0)
        draws = torch.stack([draw() for _ in range(100)]).flatten()
        self.assertEqual(draws.unique().numel(), draws.numel())
        self.assertAlmostEqual(draws.mean().item(), 0.5, delta=0.05)
        numbers = torch.randn(100, 100, device=SECOND)
        self.assertAlmostEqual(numbers.std().item(), 1, delta=0.05)

    def test_the_hosts_numbers_are_its_own(self):
        torch.manual_seed(1)
        host = torch.rand(8)
        torch.manual_seed(1)
        F.dropout(torch.ones(64, device=SECOND), 0.5)
        torch.randperm(16, device=FIRST)
        self.assertEqualTensors(torch.rand(8), host)


class States(Case):
    def test_get_and_set(self):
        state = torch.cuda.get_rng_state(1)
        numbers = draw()
        torch.cuda.set_rng_state(state, "cuda:1")
        self.assertEqualTensors(draw(), numbers)
        states = torch.cuda.get_rng_state_all()
        numbers = [draw(FIRST), draw(SECOND)]
        torch.cuda.set_rng_state_all(states)
        for a, b in zip([draw(FIRST), draw(SECOND)], numbers):
            self.assertEqualTensors(a, b)

    def test_state_is_a_cuda_generators(self):
        generator = torch.Generator(SECOND).manual_seed(7)
        state = generator.get_state()
        self.assertEqual((state.dtype, state.device.type, state.numel()), (torch.uint8, "cpu", 16))
        self.assertEqual(state[:8].view(torch.int64).item(), 7)
        draw(generator=generator)
        self.assertEqual(generator.get_state()[8:].view(torch.int64).item(), generator.get_offset())
        self.assertGreater(generator.get_offset(), 0)
        self.assertEqual(generator.get_offset() % 4, 0)
        with self.assertRaisesRegex(RuntimeError, "RNG state is wrong size"):
            generator.set_state(torch.zeros(5056, dtype=torch.uint8))
        with self.assertRaisesRegex(RuntimeError, "offset must be a multiple of 4"):
            generator.set_offset(3)

    def test_offset(self):
        generator = torch.Generator(SECOND).manual_seed(7)
        first = draw(generator=generator)
        offset = generator.get_offset()
        self.assertEqualTensors(draw(generator=torch.Generator(SECOND).manual_seed(7)), first)
        numbers = draw(generator=generator)
        other = torch.Generator(FIRST).manual_seed(7)
        other.set_offset(offset)
        self.assertEqualTensors(draw(FIRST, other), numbers)

    def test_asking_for_the_state_changes_nothing(self):
        torch.manual_seed(2)
        a = [draw() for _ in range(3)]
        torch.manual_seed(2)
        b = [(torch.cuda.get_rng_state(1), draw())[1] for _ in range(3)]
        for x, y in zip(a, b):
            self.assertEqualTensors(x, y)

    def test_graph_safe_state_is_shared(self):
        generator = torch.Generator(SECOND).manual_seed(7)
        saved = generator.graphsafe_get_state()
        draw(generator=generator)
        self.assertEqual(saved.get_offset(), generator.get_offset())
        clone = generator.clone_state()
        numbers = draw(generator=generator)
        generator.graphsafe_set_state(clone)
        self.assertEqualTensors(draw(generator=generator), numbers)

    def test_fork_rng(self):
        torch.manual_seed(3)
        expected = draw(FIRST), draw(SECOND)
        torch.manual_seed(3)
        with torch.random.fork_rng(devices=[0, 1]):
            draw(FIRST), draw(SECOND)
        self.assertEqualTensors(draw(FIRST), expected[0])
        self.assertEqualTensors(draw(SECOND), expected[1])

    def test_what_draws_nothing_asks_no_generator(self):
        for host in (None, torch.Generator()):
            self.assertEqual(torch.randperm(0, device=SECOND, generator=host).shape, (0,))
            self.assertEqual(torch.randperm(0, generator=torch.Generator(SECOND)).device.type, "cpu")
            self.assertEqual(torch.rand(3, 0, device=SECOND, generator=host).shape, (3, 0))

    def test_generator_of_another_kind(self):
        with self.assertRaisesRegex(RuntimeError, "Expected a 'cuda' device type for generator but found 'cpu'"):
            torch.randperm(2, device=SECOND, generator=torch.Generator())
        with self.assertRaisesRegex(RuntimeError, "Expected a 'cuda' device type for generator but found 'cpu'"):
            torch.rand(2, device=SECOND, generator=torch.Generator())
        with self.assertRaisesRegex(RuntimeError, "Expected a 'cpu' device type for generator but found 'cuda'"):
            torch.rand(2, generator=torch.Generator(SECOND))


class Training(Case):
    def test_checkpoint_repeats_its_dropout(self):
        for reentrant in (True, False):
            x = torch.randn(4, 256, device=SECOND, requires_grad=True)
            torch.manual_seed(4)
            block = nn.Sequential(nn.Linear(256, 256), nn.Dropout(0.5)).to(SECOND)
            results = []
            for run in (lambda: block(x), lambda: checkpoint(block, x, use_reentrant=reentrant)):
                torch.manual_seed(9)
                x.grad = None
                output = run()
                after = draw()
                output.square().sum().backward()
                results.append((output.detach(), x.grad, after))
            for a, b in zip(*results):
                self.assertEqualTensors(a, b)

    def test_threads_do_not_disturb_each_other(self):
        def run(device, into):
            values = []
            for _ in range(100):
                values.append(F.dropout(torch.ones(64, device=device), 0.5))
                values.append(torch.nn.functional.rrelu(-torch.ones(8, device=device), training=True))
            into[str(device)] = torch.cat([v.flatten() for v in values]).cpu()

        def host(into):
            torch.random.default_generator.manual_seed(11)
            values = [torch.rand(4) for _ in range(300)]
            into["cpu"] = torch.cat(values)

        alone, together = {}, {}
        torch.manual_seed(11)
        run(FIRST, alone)
        run(SECOND, alone)
        host(alone)
        for _ in range(3):
            torch.manual_seed(11)
            threads = [threading.Thread(target=run, args=(device, together)) for device in (FIRST, SECOND)]
            threads.append(threading.Thread(target=host, args=(together,)))
            for thread in threads:
                thread.start()
            for thread in threads:
                thread.join()
            for name, numbers in alone.items():
                self.assertEqualTensors(together[name], numbers)

    def test_an_error_leaves_the_generators_alone(self):
        torch.manual_seed(6)
        host = torch.rand(4)
        torch.manual_seed(6)
        with self.assertRaises(RuntimeError):
            F.dropout(torch.ones(4, dtype=torch.int64, device=SECOND), 0.5)
        self.assertEqualTensors(torch.rand(4), host)


if __name__ == "__main__":
    unittest.main()
