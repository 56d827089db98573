"""Several simulated devices in one process: torch.nn.DataParallel, torch.cuda.comm, torch.nn.parallel and torch.cuda.nccl."""

import unittest

from devsan import sim

sim.install()

import torch
from torch.cuda import comm, nccl
from torch.nn import parallel

BOTH = [0, 1]


def make_model():
    torch.manual_seed(0)
    return torch.nn.Sequential(torch.nn.Linear(6, 16), torch.nn.BatchNorm1d(16), torch.nn.ReLU(), torch.nn.Linear(16, 4))


class Scaled(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.linear = torch.nn.Linear(3, 2)
        self.register_buffer("offset", torch.ones(2))
        self.seen = None

    def forward(self, x, *, factor, table):
        return {"out": self.linear(x) * factor + self.offset + table["bias"], "where": torch.full((1,), x.get_device(), device=x.device)}


class DataParallel(unittest.TestCase):
    def same_gradients(self, ours, theirs):
        for (name, a), b in zip(ours.named_parameters(), theirs.parameters()):
            self.assertEqual(a.grad.device, torch.device("cuda:0"), name)
            torch.testing.assert_close(a.grad.cpu(), b.grad)

    def test_forward_and_backward_equal_the_cpu(self):
        for batch in (8, 5, 1):
            reference = make_model().eval()
            model = torch.nn.DataParallel(make_model().cuda().eval(), device_ids=BOTH)
            x = torch.randn(batch, 6)
            expected, result = reference(x), model(x.cuda())
            self.assertEqual(result.device, torch.device("cuda:0"))
            torch.testing.assert_close(result.cpu(), expected)
            expected.square().sum().backward()
            result.square().sum().backward()
            self.same_gradients(model.module, reference)

    def test_training(self):
        reference, model = make_model(), torch.nn.DataParallel(make_model().cuda())
        ours, theirs = (torch.optim.SGD(m.parameters(), lr=0.1) for m in (model, reference))
        for _ in range(3):
            x = torch.randn(8, 6)
            # each replica normalises its own half
            ours.zero_grad(), theirs.zero_grad()
            model(x.cuda()).square().sum().backward()
            torch.cat([reference(half) for half in x.chunk(2)]).square().sum().backward()
            ours.step(), theirs.step()
        for a, b in zip(model.parameters(), reference.parameters()):
            torch.testing.assert_close(a.detach().cpu(), b.detach())

    def test_keywords_dictionaries_and_buffers(self):
        torch.manual_seed(0)
        module = Scaled().cuda()
        model = torch.nn.DataParallel(module, device_ids=BOTH, output_device=1)
        table = {"bias": torch.arange(4.0).view(4, 1).cuda()}
        result = model(torch.ones(4, 3), factor=2.0, table=table)
        self.assertEqual(result["where"].tolist(), [0, 1])
        self.assertEqual(result["out"].device, torch.device("cuda:1"))
        expected = module(torch.ones(4, 3).cuda(), factor=2.0, table=table)["out"]
        torch.testing.assert_close(result["out"].cpu(), expected.cpu())

    def test_buffers_changed_on_the_first_device_stay(self):
        model = torch.nn.DataParallel(make_model().cuda())
        before = model.module[1].running_mean.clone()
        model(torch.randn(8, 6).cuda() + 3)
        self.assertFalse(torch.equal(before, model.module[1].running_mean))

    def test_module_on_the_wrong_device(self):
        model = torch.nn.DataParallel(torch.nn.Linear(2, 2).to("cuda:1"), device_ids=BOTH)
        with self.assertRaisesRegex(
            RuntimeError,
            r"module must have its parameters and buffers on device cuda:0 \(device_ids\[0\]\) but found one of them on "
            r"device: cuda:1",
        ):
            model(torch.ones(2, 2).cuda())

    def test_an_error_in_a_replica(self):
        model = torch.nn.DataParallel(torch.nn.Linear(2, 2).cuda())
        with self.assertRaisesRegex(RuntimeError, "Caught RuntimeError in replica 0 on device 0"):
            model(torch.ones(4, 3).cuda())

    def test_functional(self):
        module = torch.nn.Linear(3, 2).cuda()
        x = torch.randn(5, 3, device="cuda")
        torch.testing.assert_close(parallel.data_parallel(module, x, BOTH), module(x))


class Parts(unittest.TestCase):
    def test_scatter_and_gather_with_autograd(self):
        x = torch.arange(10.0).view(5, 2).requires_grad_()
        first, second = parallel.scatter(x, BOTH)
        self.assertEqual((first.shape[0], second.shape[0]), (3, 2))
        self.assertEqual((first.device.index, second.device.index), (0, 1))
        whole = parallel.gather([first * 2, second * 3], "cuda:1")
        self.assertEqual(whole.device.index, 1)
        whole.sum().backward()
        torch.testing.assert_close(x.grad, torch.tensor([[2.0, 2]] * 3 + [[3.0, 3]] * 2))

    def test_gather_to_the_cpu(self):
        parts = [torch.ones(1, device=f"cuda:{i}", requires_grad=True) for i in BOTH]
        whole = parallel.gather(parts, "cpu")
        self.assertEqual(whole.device.type, "cpu")
        (whole * torch.tensor([1.0, 5.0])).sum().backward()
        self.assertEqual(parts[1].grad.item(), 5)
        self.assertEqual(parts[1].grad.device.index, 1)

    def test_gather_of_scalars_warns(self):
        with self.assertWarnsRegex(UserWarning, "will instead unsqueeze"):
            whole = parallel.gather([torch.tensor(float(i), device=f"cuda:{i}") for i in BOTH], 0)
        self.assertEqual(whole.tolist(), [0, 1])

    def test_replicate(self):
        module = make_model().cuda()
        replicas = parallel.replicate(module, BOTH)
        self.assertEqual(replicas[1][0].weight.device.index, 1)
        sum(r[0].weight.sum().to("cuda:0") for r in replicas).backward()
        torch.testing.assert_close(module[0].weight.grad, torch.full((16, 6), 2.0, device="cuda"))

    def test_parallel_apply(self):
        modules = [torch.nn.Linear(2, 2).to(f"cuda:{i}") for i in BOTH]
        inputs = [torch.ones(1, 2, device=f"cuda:{i}") for i in BOTH]
        outputs = parallel.parallel_apply(modules, inputs)
        self.assertEqual([o.device.index for o in outputs], BOTH)


class Comm(unittest.TestCase):
    def raises(self, text, call):
        with self.assertRaises(RuntimeError) as caught:
            call()
        self.assertEqual(str(caught.exception), text)

    def test_broadcast(self):
        x = torch.arange(3.0, device="cuda:1")
        copies = comm.broadcast(x, BOTH)
        self.assertEqual([copy.device.index for copy in copies], BOTH)
        self.assertEqual(copies[1].data_ptr(), x.data_ptr())
        torch.testing.assert_close(copies[0].cpu(), x.cpu())
        self.raises(
            "Expected all output tensors to be CUDA tensors, but output tensor at index 1 has device 'cpu'",
            lambda: comm.broadcast(x, out=[torch.empty(3, device="cuda"), torch.empty(3)]),
        )
        self.raises(
            "Expected all output tensors to have same shape as the source tensor [3], but output tensor at index 0 has "
            "shape [2]",
            lambda: comm.broadcast(x, out=[torch.empty(2, device="cuda")]),
        )
        self.raises("Expected non-negative device index, but got -1", lambda: torch._C._broadcast(x, [-1]))

    def test_broadcast_coalesced(self):
        tensors = [torch.ones(2, device="cuda"), torch.full((3,), 4, device="cuda")]
        own, other = comm.broadcast_coalesced(tensors, BOTH)
        self.assertIs(own[0], tensors[0])
        self.assertEqual([t.device.index for t in other], [1, 1])
        self.assertEqual(other[1].tolist(), [4, 4, 4])
        self.raises("All tensors must be on devices[0]: 1", lambda: comm.broadcast_coalesced(tensors, [1, 0]))

    def test_scatter(self):
        x = torch.arange(12.0).view(4, 3)
        parts = comm.scatter(x, BOTH, chunk_sizes=[1, 3])
        self.assertEqual([part.shape[0] for part in parts], [1, 3])
        torch.testing.assert_close(parts[1].cpu(), x[1:])
        parts = comm.scatter(x.cuda(), BOTH, dim=-1)
        self.assertEqual([tuple(part.shape) for part in parts], [(4, 2), (4, 1)])
        outs = [torch.empty(1, 3, device="cuda:0"), torch.empty(3, 3, device="cuda:1")]
        self.assertIs(comm.scatter(x, out=outs)[0], outs[0])
        torch.testing.assert_close(outs[1].cpu(), x[1:])
        self.raises("Expected at least one device to scatter to", lambda: comm.scatter(x, []))
        self.raises(
            "Expected devices and chunk_sizes to be of same length, but got len(devices) = 2 and len(chunk_sizes) = 1",
            lambda: comm.scatter(x, BOTH, [4]),
        )
        self.raises(
            "Total size for output tensors along scatter dim 0 does not match the source tensor size at dim 0. Expected 4, "
            "but got total size 1",
            lambda: comm.scatter(x, out=outs[:1]),
        )
        self.raises(
            "Output tensor at index 0 has incorrect shape: [1, 2]. Expected same shape except for scatter dim 0 as the "
            "source tensor: [4, 3]",
            lambda: comm.scatter(x, out=[torch.empty(1, 2, device="cuda")]),
        )

    def test_scatter_on_streams(self):
        streams = [torch.cuda.Stream(device=i) for i in BOTH]
        before = torch.cuda.current_stream(1)
        parts = comm.scatter(torch.ones(4), BOTH, streams=streams)
        torch.cuda.synchronize(1)
        self.assertEqual(parts[1].tolist(), [1, 1])
        self.assertEqual(torch.cuda.current_stream(1), before)
        self.raises(
            "Expected the device associated with the stream at index 0 (was 1) to match the device supplied at that index "
            "(expected 0)",
            lambda: comm.scatter(torch.ones(4), BOTH, streams=streams[::-1]),
        )

    def test_gather(self):
        parts = [torch.full((1, 2), float(i), device=f"cuda:{i}") for i in BOTH]
        with torch.cuda.device(1):
            self.assertEqual(comm.gather(parts).device.index, 1)
        self.assertEqual(comm.gather(parts, destination="cpu").tolist(), [[0, 0], [1, 1]])
        self.assertEqual(comm.gather(parts, dim=1, destination=0).tolist(), [[0, 0, 1, 1]])
        out = torch.empty(2, 2, device="cuda")
        self.assertIs(comm.gather(parts, out=out), out)
        self.raises(
            "Expected out tensor to have shape [2, 2], but got [3, 2]",
            lambda: comm.gather(parts, out=torch.empty(3, 2, device="cuda")),
        )
        self.raises(
            "Expected all input tensors to be CUDA tensors, but tensor at index 1 has device 'cpu'",
            lambda: comm.gather([parts[0], torch.ones(1, 2)]),
        )
        self.raises(
            "Input tensor at index 1 has invalid shape [1, 3], but expected [1, 2]",
            lambda: comm.gather([parts[0], torch.ones(1, 3, device="cuda:1")]),
        )

    def test_reduce_add(self):
        parts = [torch.full((3,), i + 1.0, device=f"cuda:{i}") for i in BOTH]
        total = comm.reduce_add(parts, destination=1)
        self.assertEqual((total.device.index, total.tolist()), (1, [3, 3, 3]))
        sums = comm.reduce_add_coalesced([[part, part * 10] for part in parts], destination=0)
        self.assertEqual([(s.device.index, s.tolist()) for s in sums], [(0, [3] * 3), (0, [30] * 3)])
        with self.assertRaisesRegex(ValueError, "input 1 has invalid size: got 2, but expected 3"):
            comm.reduce_add([parts[0], torch.ones(2, device="cuda:1")])


class Nccl(unittest.TestCase):
    def setUp(self):
        self.tensors = [torch.full((4,), i + 1.0, device=f"cuda:{i}") for i in BOTH]

    def test_available(self):
        self.assertTrue(nccl.is_available(self.tensors))
        self.assertFalse(nccl.is_available([torch.ones(1)]))
        self.assertGreater(nccl.version(), (2, 10))

    def test_collectives(self):
        nccl.all_reduce(self.tensors)
        self.assertEqual([t.tolist() for t in self.tensors], [[3] * 4] * 2)
        self.setUp()
        nccl.broadcast(self.tensors, root=1)
        self.assertEqual([t.tolist() for t in self.tensors], [[2] * 4] * 2)
        self.setUp()
        result = torch.zeros(4, device="cuda:1")
        nccl.reduce(self.tensors, result, root=1)
        self.assertEqual((result.tolist(), self.tensors[0].tolist()), ([3] * 4, [1] * 4))
        gathered = [torch.empty(8, device=f"cuda:{i}") for i in BOTH]
        nccl.all_gather(self.tensors, gathered)
        self.assertEqual([t.tolist() for t in gathered], [[1] * 4 + [2] * 4] * 2)
        parts = [torch.empty(2, device=f"cuda:{i}") for i in BOTH]
        nccl.reduce_scatter([t + torch.arange(4.0, device=t.device) for t in self.tensors], parts)
        self.assertEqual([t.tolist() for t in parts], [[3, 5], [7, 9]])

    def test_errors(self):
        with self.assertRaisesRegex(RuntimeError, "inputs must be on unique devices"):
            nccl.all_reduce([self.tensors[0], self.tensors[0].clone()])
        with self.assertRaisesRegex(RuntimeError, "input sequence can't be empty"):
            nccl.all_reduce([])
        with self.assertRaisesRegex(TypeError, "Inputs should be a collection of tensors"):
            nccl.all_reduce(self.tensors[0])


if __name__ == "__main__":
    unittest.main()
