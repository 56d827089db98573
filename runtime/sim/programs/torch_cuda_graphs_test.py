"""torch.cuda on simulated devices: CUDA graphs. Run by ctest under _simulated."""

import copy
import gc
import tempfile
import threading
import unittest
import warnings
from pathlib import Path

from devsan import sim

sim.install()

import torch

SECOND = torch.device("cuda:1")


class Graphs(unittest.TestCase):
    def setUp(self):
        torch.cuda.set_device(1)
        self.addCleanup(torch.cuda.set_device, 0)
        # torch.cuda.graph leaves its stream current where the capture fails.
        self.addCleanup(torch.cuda.set_stream, torch.cuda.current_stream())

    def capture(self, work):
        graph = torch.cuda.CUDAGraph()
        with torch.cuda.graph(graph):
            result = work()
        return graph, result

    def test_replays_read_their_inputs_anew(self):
        x = torch.zeros(4, device=SECOND)
        graph, y = self.capture(lambda: (x * 2 + 1).view(2, 2).sum(0))
        for value in (1.0, 5.0):
            x.fill_(value)
            graph.replay()
            self.assertEqual(y.tolist(), [2 * (2 * value + 1)] * 2)

    def test_capturing_computes_nothing(self):
        counter = torch.zeros(1, device=SECOND)
        graph, y = self.capture(lambda: counter.add_(1) * 1)
        self.assertEqual(counter.item(), 0)
        self.assertTrue(y.isnan().all())
        graph.replay(), graph.replay()
        self.assertEqual((counter.item(), y.item()), (2, 2))

    def test_random_numbers_differ(self):
        state = torch.cuda.get_rng_state(1)
        graph, y = self.capture(lambda: torch.rand(8, device=SECOND))
        self.assertTrue(torch.equal(state, torch.cuda.get_rng_state(1)))
        graph.replay()
        first = y.clone()
        graph.replay()
        self.assertFalse(torch.equal(first, y))

    def test_a_whole_training_step(self):
        torch.manual_seed(0)
        model = torch.nn.Sequential(torch.nn.Linear(3, 4, bias=False), torch.nn.BatchNorm1d(4), torch.nn.Linear(4, 1)).to(SECOND)
        plain = copy.deepcopy(model)
        x = torch.randn(5, 3, device=SECOND)

        def trainer(net):
            optimizer = torch.optim.Adam(net.parameters(), lr=0.1, capturable=True)

            def step():
                loss = net(x).square().mean()
                loss.backward()
                optimizer.step()
                return loss

            return optimizer, step

        optimizers, steps = zip(*(trainer(net) for net in (model, plain)))
        for _ in range(2):  # creates the optimizers' state
            for optimizer, step in zip(optimizers, steps):
                optimizer.zero_grad()
                step()
        optimizers[0].zero_grad(set_to_none=True)
        graph, loss = self.capture(steps[0])
        for _ in range(3):
            graph.replay()
            optimizers[1].zero_grad()
            expected = steps[1]()
            torch.testing.assert_close(loss, expected)
        for ours, theirs in zip(model.state_dict().values(), plain.state_dict().values()):
            torch.testing.assert_close(ours, theirs)

    def test_graphed_callables(self):
        torch.manual_seed(0)
        model = torch.nn.Sequential(torch.nn.Linear(3, 4), torch.nn.ReLU(), torch.nn.Linear(4, 1)).to(SECOND)
        plain = copy.deepcopy(model)
        graphed = torch.cuda.make_graphed_callables(model, (torch.randn(5, 3, device=SECOND),))
        for _ in range(2):
            x = torch.randn(5, 3, device=SECOND)
            for net in (model, plain):
                net.zero_grad()
            graphed(x).sum().backward()
            plain(x).sum().backward()
            for ours, theirs in zip(model.parameters(), plain.parameters()):
                torch.testing.assert_close(ours.grad, theirs.grad)

    def test_graphs_that_share_a_pool(self):
        """What one of them frees during its capture, the next one gets: replays in another order overwrite it."""
        for shared in (False, True):
            one, two, three = (torch.cuda.CUDAGraph() for _ in range(3))
            pool = torch.cuda.graph_pool_handle() if shared else None
            a = torch.ones(4, device=SECOND)
            with torch.cuda.graph(one, pool=pool):
                c, d = a + 1, a + 2
            with torch.cuda.graph(two, pool=pool):
                e = c + 3
                del c
            with torch.cuda.graph(three, pool=pool):
                f = d + 4
            for graph in (one, two, three):
                graph.replay()
            self.assertEqual((e.tolist(), f.tolist()), ([5] * 4, [7] * 4))
            for graph in (one, three, two):
                graph.replay()
            self.assertEqual((e.tolist(), f.tolist()), ([10 if shared else 5] * 4, [7] * 4))

    def test_memory_of_a_graph(self):
        a = torch.ones(1 << 20, device=SECOND)
        gc.collect()  # what other tests left
        torch.cuda.synchronize()
        torch.cuda.empty_cache()
        before = torch.cuda.memory_allocated(1), torch.cuda.memory_reserved(1)
        graph, y = self.capture(lambda: ((a + 1) + 1) + 1)
        self.assertEqual(torch.cuda.memory_allocated(1), before[0] + a.nbytes + 2 * 512)  # seed and offset
        graph.replay()
        torch.cuda.empty_cache()
        other = torch.zeros(1 << 20, device=SECOND)  # outside the pool, which the graph holds
        graph.replay()
        self.assertEqual((y.unique().tolist(), other.unique().tolist()), ([4], [0]))
        del graph, other
        self.assertEqual(y.unique().tolist(), [4])
        del y
        torch.cuda.synchronize()
        torch.cuda.empty_cache()
        self.assertEqual((torch.cuda.memory_allocated(1), torch.cuda.memory_reserved(1)), before)

    def test_memory_of_generators(self):
        """Graphs share it for a state, and the last one releases it."""
        gc.collect()
        blocks = lambda: torch.cuda.memory_stats(1)["active.all.current"]
        before = blocks()
        generators = [torch.Generator(SECOND), torch.Generator(SECOND)]
        generators.append(generators[0].graphsafe_get_state())
        graphs = [torch.cuda.CUDAGraph() for _ in range(2)]
        for graph in graphs:
            for generator in generators:
                graph.register_generator_state(generator)
        self.assertEqual(blocks(), before + 2 * 2)
        x = torch.ones(1, device=SECOND)
        with torch.cuda.graph(graphs[1]):
            x.add_(1)
        del x
        self.assertEqual(blocks(), before + 2 * 3 + 1)  # the graph keeps x
        del graph, graphs[0]
        self.assertEqual(blocks(), before + 2 * 3 + 1)
        del graphs
        self.assertEqual(blocks(), before)

    def test_debug_dump(self):
        x = torch.zeros(2, device=SECOND)
        graph, _ = self.capture(lambda: (x + 1) * 2)
        with tempfile.TemporaryDirectory() as folder:
            path = Path(folder) / "graph.dot"
            with self.assertWarnsRegex(UserWarning, "CUDA Graphs debug not enabled"):
                graph.debug_dump(str(path))
            self.assertFalse(path.exists())
            graph.enable_debug_mode()
            graph.debug_dump(str(path))
            self.assertEqual(
                path.read_text(),
                'digraph cuda_graph {\nnode_0 [label="aten.add.Tensor"];\nnode_1 [label="aten.mul.Tensor"];\nnode_0 -> node_1\n}\n',
            )

    def test_a_graph_knows_memory_not_tensors(self):
        x, y = torch.zeros(2, 3, device=SECOND), torch.ones(3, 2, device=SECOND)
        old, parameter = x.detach(), torch.nn.Parameter(torch.zeros(2, device=SECOND))
        held = parameter.data
        graph, z = self.capture(lambda: x.add_(1) + parameter.detach().sum())
        seen = z.detach()
        x.t_()
        x.set_(y)
        z.data = torch.zeros(1, device=SECOND)
        parameter.data = torch.full((2,), 7.0, device=SECOND)
        graph.replay()
        self.assertEqual((old.unique().tolist(), x.unique().tolist(), seen.unique().tolist()), ([1], [1], [1]))
        self.assertEqual((x.shape, old.shape, z.tolist()), ((3, 2), (2, 3), [0]))
        held.fill_(2)
        graph.replay()
        self.assertEqual((old.unique().tolist(), seen.unique().tolist()), ([2], [6]))

    def test_what_cannot_be_captured(self):
        x = torch.ones(2, device=SECOND)
        for wait in (x.sum().item, x.cpu, x.nonzero, torch.cuda.synchronize, lambda: torch.ones(1).to(SECOND)):
            with self.assertRaisesRegex(torch.AcceleratorError, "during capture") as failure:
                self.capture(wait)
            self.assertIn("operation not permitted when stream is capturing", str(failure.exception.__context__))
        self.assertFalse(torch.cuda.is_current_stream_capturing())
        pinned = torch.ones(2).pin_memory()
        self.capture(lambda: x.copy_(pinned, non_blocking=True))

    def test_streams_of_a_capture(self):
        capturing = torch.cuda.is_current_stream_capturing

        def on(stream):
            with torch.cuda.stream(stream):
                return capturing(), getattr(stream, "is_capturing", capturing)()

        other, forked, again = torch.cuda.Stream(), torch.cuda.Stream(), torch.cuda.Stream()

        def work():
            forked.wait_stream(torch.cuda.current_stream())
            again.wait_event(forked.record_event())
            seen.extend(on(stream) for stream in (torch.cuda.current_stream(), other, forked, again))
            thread = threading.Thread(target=lambda: seen.append(on(other)))
            thread.start()
            thread.join()

        for _ in range(2):
            seen = []
            with warnings.catch_warnings():
                warnings.simplefilter("ignore")
                self.capture(work)
            self.assertEqual(seen, [(True, True), (False, False), (True, True), (True, True), (False, False)])
            self.assertEqual(on(forked), (False, False))

    def test_wrong_use(self):
        graph = torch.cuda.CUDAGraph()
        with self.assertRaisesRegex(RuntimeError, "without a preceding successful capture"):
            graph.replay()
        with self.assertRaisesRegex(RuntimeError, "must be captured on a non-default stream"):
            graph.capture_begin()
        with warnings.catch_warnings(record=True) as caught:
            warnings.simplefilter("always")
            self.capture(lambda: self.assertTrue(torch.cuda.is_current_stream_capturing()))
            if hasattr(torch.Stream, "is_capturing"):  # since PyTorch 2.12
                self.capture(lambda: self.assertTrue(torch.accelerator.current_stream().is_capturing()))
        self.assertIn("The CUDA Graph is empty", str(caught[-1].message))
        optimizer = torch.optim.Adam([torch.nn.Parameter(torch.ones(1, device=SECOND))])
        with self.assertRaisesRegex(RuntimeError, "Attempting CUDA graph capture of step"):
            self.capture(optimizer.step)
        graph, _ = self.capture(lambda: torch.ones(1, device=SECOND))
        with torch.cuda.stream(torch.cuda.Stream()), self.assertRaisesRegex(RuntimeError, "already owns a captured graph"):
            graph.capture_begin()

    def test_random_numbers_of_the_state_at_capture(self):
        generator, other = torch.Generator(SECOND).manual_seed(5), torch.Generator(SECOND).manual_seed(6)
        expected = torch.rand(3, generator=torch.Generator(SECOND).manual_seed(5), device=SECOND)
        graph = torch.cuda.CUDAGraph()
        graph.register_generator_state(generator)
        with torch.cuda.graph(graph):
            y = torch.rand(3, generator=generator, device=SECOND)
        generator.graphsafe_set_state(other.graphsafe_get_state())
        graph.replay()
        self.assertTrue(torch.equal(y, expected))

    def test_states_shared_between_generators(self):
        one = torch.Generator(SECOND).manual_seed(5)
        other = torch.Generator(SECOND)
        other.graphsafe_set_state(one.graphsafe_get_state())
        self.assertFalse(torch.equal(torch.rand(3, generator=one, device=SECOND), torch.rand(3, generator=other, device=SECOND)))
        self.assertTrue(torch.equal(one.get_state(), other.get_state()))


if __name__ == "__main__":
    unittest.main()
