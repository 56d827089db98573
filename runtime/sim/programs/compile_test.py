"""torch.compile and Triton on simulated devices give the eager results. Run by ctest with the environment that
`devsan run --sim=2` sets."""

import contextlib
import copy
import io
import os
import sys
import tempfile
import types
import unittest
from unittest import mock

CACHE = tempfile.TemporaryDirectory()
os.environ["TORCHINDUCTOR_CACHE_DIR"] = CACHE.name
os.environ["TORCHINDUCTOR_VEC_ISA_OK"] = "0"  # nor is it tried what this CPU has, for seconds

from devsan import sim

sim.install()

import torch
import torch._inductor.config
from torch import nn
from torch.nn import functional as F

DEVICE = torch.device("cuda:1")


def same(result, expected):
    torch.testing.assert_close(result, expected, rtol=1e-4, atol=1e-4)


@contextlib.contextmanager
def notes():
    with contextlib.redirect_stderr(io.StringIO()) as said:
        yield said


class Model(nn.Module):
    """Its attention is an operator that only CUDA has, between what is compiled."""

    def __init__(self):
        super().__init__()
        self.first, self.norm, self.last = nn.Linear(8, 24), nn.LayerNorm(8), nn.Linear(8, 4)

    def forward(self, x):
        query, key, value = self.first(x).view(*x.shape[:2], 3, 2, 4).permute(2, 0, 3, 1, 4)
        y = F.scaled_dot_product_attention(query, key, value, is_causal=True)
        return F.gelu(self.last(self.norm(y.transpose(1, 2).flatten(2) + x)))


class Compiled(unittest.TestCase):
    def setUp(self):
        torch.manual_seed(0)
        torch._dynamo.reset()

    def compiled(self, function, *args, **options):
        """That something was compiled, and not run eagerly, is part of what each test says."""
        with notes() as said:
            result = torch.compile(function, **options)(*args)
        self.assertEqual(said.getvalue(), "")
        return result

    def test_trains(self):
        model = Model().to(DEVICE)
        eager = copy.deepcopy(model)
        compiled = torch.compile(model, fullgraph=True, dynamic=True)
        optimizers = [torch.optim.SGD(m.parameters(), lr=0.1) for m in (model, eager)]
        with notes() as said:
            for length in (5, 7):
                x = torch.randn(2, length, 8, device=DEVICE)
                for m, optimizer in zip((compiled, eager), optimizers):
                    optimizer.zero_grad()
                    m(x).square().mean().backward()
                    optimizer.step()
                same(list(model.state_dict().values()), list(eager.state_dict().values()))
        self.assertEqual(said.getvalue(), "")

    def test_writes_what_it_is_given(self):
        def function(x, out, host):
            x.add_(1)
            view = x[1:]
            view.mul_(2)
            out.copy_(x)
            moved = view.to("cuda:0") + 1
            return view, moved, host, moved.cpu(), host.to(DEVICE) * out

        def arguments():
            return torch.arange(6.0, device=DEVICE).view(3, 2), torch.zeros(3, 2, device=DEVICE), torch.ones(3, 2)

        for_compiled, for_eager = arguments(), arguments()
        results, expected = self.compiled(function, *for_compiled), function(*for_eager)
        same(list(results), list(expected))
        same(list(for_compiled), list(for_eager))
        self.assertEqual([r.device for r in results], [r.device for r in expected])
        self.assertIs(results[2], for_compiled[2])
        results[0].zero_()
        self.assertEqual(for_compiled[0][1:].count_nonzero().item(), 0)
        results[3].numpy()  # memory of the host

    def test_draws_from_the_devices_generator(self):
        function = torch.compile(lambda x: F.dropout(x, 0.5))
        x = torch.ones(1000, device=DEVICE)
        host = torch.get_rng_state()
        torch.cuda.manual_seed_all(1)
        first, second = function(x), function(x)
        torch.cuda.manual_seed_all(1)
        same(function(x), first)
        self.assertFalse(torch.equal(first, second))
        self.assertEqual(host.tolist(), torch.get_rng_state().tolist())

    def test_operators_of_the_program_are_called_on_the_device(self):
        devices = []

        @torch.library.custom_op("devsan_test::accumulate", mutates_args=("total",))
        def accumulate(x: torch.Tensor, total: torch.Tensor) -> None:
            devices.append(x.device)
            total.add_(x)

        def function(x):
            total = x.new_ones(x.shape)
            torch.ops.devsan_test.accumulate(x, total)
            return total

        x = torch.randn(5, device=DEVICE)
        same(self.compiled(function, x, fullgraph=True), x + 1)
        self.assertEqual(devices, [DEVICE])

    def test_a_captured_graph_runs_it_again(self):
        function = torch.compile(lambda x: x + 1)
        x = torch.zeros(3, device=DEVICE)
        with torch.cuda.device(DEVICE):
            function(x)
            graph = torch.cuda.CUDAGraph()
            with torch.cuda.graph(graph):
                result = function(x)
            x.fill_(2)
            graph.replay()
        same(result.cpu(), torch.full((3,), 3.0))

    def test_what_is_not_simulated_is_said(self):
        x = torch.randn(3, device=DEVICE)
        with mock.patch("devsan.notes._told", set()), notes() as said:
            for _ in range(2):
                torch._dynamo.reset()
                same(torch.compile(lambda x: x + 1, mode="reduce-overhead")(x), x + 1)
        self.assertEqual(said.getvalue().count("devsan: note: torch.compile: CUDA graphs are not simulated"), 1)

    def test_without_a_compiler_it_runs_eagerly(self):
        x = torch.randn(3, device=DEVICE)
        with mock.patch("devsan.notes._told", set()), notes() as said:
            with torch._inductor.config.patch({"cpp.cxx": ("no-such-compiler",)}):
                same(torch.compile(lambda x: x.sin() * 2)(x), x.sin() * 2)
        self.assertIn("a graph runs eagerly", said.getvalue())
        self.assertEqual(said.getvalue().count("devsan: note"), 1)


class TritonKernels(unittest.TestCase):
    def test_the_interpreter_works_on_the_devices_memory(self):
        from devsan.sim import triton

        class GridExecutor:
            """As Triton's: `arguments` are what its kernel would get."""

            def __call__(self, *args, **kwargs):
                self.arguments = args, kwargs
                args[0].add_(kwargs["pair"][0])

        triton.share_memory(types.SimpleNamespace(GridExecutor=GridExecutor))
        x, y, wrapper = torch.ones(4, device=DEVICE), torch.ones(4, device=DEVICE), types.SimpleNamespace()
        wrapper.base = x[1:]
        launch = GridExecutor()
        launch(x, wrapper, 3, pair=(y, None))
        (first, wrapped, number), keywords = launch.arguments
        self.assertEqual((first.device.type, wrapped.base.device.type, number), ("cpu", "cpu", 3))
        self.assertEqual(keywords["pair"][1], None)
        self.assertEqual(wrapper.base.device, DEVICE)
        same(x.cpu(), torch.full((4,), 2.0))

    def test_kernels(self):
        try:
            import triton
        except ImportError:
            self.skipTest("triton is not installed; pip install triton")
        sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
        import triton_kernels

        triton_kernels.check(DEVICE)


if __name__ == "__main__":
    unittest.main()
