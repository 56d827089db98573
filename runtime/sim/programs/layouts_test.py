"""Sparse, quantised, nested and other tensors that are not plain dense ones, on simulated devices. Run by ctest with the
environment that `devsan run --sim=2` sets."""

import itertools
import re
import unittest

from devsan import sim

sim.install()

import torch
from torch import nn
from torch.nn import functional as F

DEVICE = torch.device("cuda:1")
HOST = torch.device("cpu")


class Case(unittest.TestCase):
    def setUp(self):
        torch.manual_seed(0)

    def assertSame(self, device, host):
        self.assertEqual(device.device, DEVICE)
        if device.layout != torch.strided:
            self.assertEqual(device.layout, host.layout)
            device, host = device.to_dense(), host.to_dense()
        torch.testing.assert_close(device.detach().cpu(), host.detach())

    def both(self, function, *tensors):
        """Runs `function` on the host's tensors and on their copies on the device."""
        self.assertSame(function(*(tensor.to(DEVICE) for tensor in tensors)), function(*tensors))


def thin(*shape):
    return torch.randn(*shape).relu()


class Sparse(Case):
    def test_products(self):
        a, b = thin(4, 5), torch.randn(5, 3)
        for layout in (torch.sparse_coo, torch.sparse_csr, torch.sparse_csc):
            self.both(lambda x, y: x.to_sparse(layout=layout) @ y, a, b)
        self.both(lambda x, y: x.to_sparse() @ y.to_sparse(), a, b)
        self.both(lambda x, y: x.to_sparse_csr() @ y.to_sparse_csr(), a, b)
        self.both(lambda x, y: torch.sparse.addmm(torch.ones(4, 3, device=x.device), x.to_sparse(), y), a, b)
        self.both(lambda x, y: torch.sspaddmm(x.new_ones(4, 3).to_sparse(), x.to_sparse(), y), a, b)
        self.both(
            lambda x, y, z: torch.sparse.sampled_addmm(x.to_sparse_csr(), y, z), thin(4, 5), torch.randn(4, 6), torch.randn(6, 5)
        )
        self.both(lambda x, y: x.to_sparse_bsr((2, 2)) @ y, thin(4, 4), torch.randn(4, 3))
        batch = torch.stack([torch.eye(3), torch.eye(3) * 2])
        self.both(lambda x, y: torch.bmm(x.to_sparse(), y), batch, torch.randn(2, 3, 3))

    def test_batched_compressed_products(self):
        batch, dense = torch.stack([torch.eye(4), torch.eye(4) * 2]), torch.randn(2, 4, 3)
        device = batch.to(DEVICE).to_sparse_csr()
        self.assertSame(torch.bmm(device, dense.to(DEVICE)), torch.bmm(batch, dense))

    def test_what_can_be_done_with_one_matrix(self):
        a = thin(4, 5)
        for function in (
            lambda x: x.to_sparse().coalesce(),
            lambda x: x.to_sparse() * 2,
            lambda x: x.to_sparse() + x.to_sparse(),
            lambda x: x.to_sparse().t(),
            lambda x: torch.cat([x.to_sparse(), x.to_sparse()]),
            lambda x: torch.sparse.sum(x.to_sparse(), 0),
            lambda x: torch.sparse.softmax(x.to_sparse(), 1),
            lambda x: x.to_sparse().to_sparse_csr(),
            lambda x: x.to_sparse_csr().to_sparse_csc(),
            lambda x: x.to_sparse_csr() * 3,
            lambda x: x.to_sparse().index_select(0, torch.tensor([2, 0], device=x.device)),
            lambda x: x.to_sparse().clone().detach().double(),
            lambda x: x.to_sparse().sqrt(),
            lambda x: x.sparse_mask(torch.eye(4, 5, device=x.device).to_sparse()),
            lambda x: x.to_sparse().transpose(0, 1).coalesce().values(),
        ):
            self.both(function, a)

    def test_making(self):
        indices, values = torch.tensor([[0, 1], [1, 0]]), torch.tensor([1.0, 2.0])
        for matrix in (
            torch.sparse_coo_tensor(indices, values, (2, 2), device=DEVICE),
            torch.sparse_coo_tensor(indices.to(DEVICE), values.to(DEVICE)),
            torch.sparse_csr_tensor(torch.tensor([0, 1, 2]), torch.tensor([1, 0]), values, device=DEVICE),
        ):
            self.assertEqual(matrix.device, DEVICE)
            self.assertEqual(matrix.values().device if matrix.layout != torch.sparse_coo else matrix._values().device, DEVICE)
            self.assertEqual(matrix.to_dense().tolist(), [[0, 1], [2, 0]])
            self.assertIn("device='cuda:1'", repr(matrix))
            self.assertEqual(matrix.to("cuda:0").device.index, 0)
            self.assertEqual(matrix.cpu().device, HOST)
        for layout in (torch.sparse_coo, torch.sparse_csr):
            self.assertEqual(torch.zeros(2, 3, layout=layout, device=DEVICE).device, DEVICE)
        with self.assertRaisesRegex(RuntimeError, "indices .*cuda:0.* values .*cuda:1|same device"):
            torch.sparse_coo_tensor(indices.to("cuda:0"), values.to(DEVICE))

    def test_gradients(self):
        a, b = thin(4, 5), torch.randn(5, 3)
        results = []
        for device in (HOST, DEVICE):
            x = a.to(device).to_sparse().requires_grad_()
            y = b.to(device, copy=True).requires_grad_()
            torch.sparse.mm(x, y).square().sum().backward()
            results.append((x.grad.to_dense().cpu(), y.grad.cpu()))
        torch.testing.assert_close(*results)
        embedding = nn.Embedding(10, 3, sparse=True, device=DEVICE)
        optimizer = torch.optim.SparseAdam(embedding.parameters(), lr=0.1)
        embedding(torch.tensor([1, 2, 1], device=DEVICE)).sum().backward()
        self.assertEqual((embedding.weight.grad.layout, embedding.weight.grad.device), (torch.sparse_coo, DEVICE))
        before = embedding.weight.detach().clone()
        optimizer.step()
        changed = (embedding.weight != before).any(1).nonzero().flatten().tolist()
        self.assertEqual(changed, [1, 2])


class Quantised(Case):
    def test_per_tensor_and_channel(self):
        x = torch.randn(4, 4)
        self.both(lambda t: torch.quantize_per_tensor(t, 0.1, 3, torch.quint8).int_repr(), x)
        self.both(lambda t: torch.quantize_per_tensor(t, 0.1, 3, torch.qint8).dequantize(), x)
        scales, zeros = torch.rand(4) + 0.1, torch.zeros(4, dtype=torch.int64)
        self.both(lambda t, s, z: torch.quantize_per_channel(t, s, z, 0, torch.qint8).dequantize(), x, scales, zeros)
        device = torch.quantize_per_tensor(x.to(DEVICE), 0.1, 0, torch.qint8)
        for result in (device[0], device.view(16), device.clone(), device.t().contiguous(), device.to("cuda:1")):
            self.assertEqual((result.device, result.dtype), (DEVICE, torch.qint8))
        self.assertEqual(device.q_scale(), 0.1)
        self.assertEqual(device.cpu().device, HOST)
        self.assertIn("quantization_scheme", repr(device))

    def test_fake_quantisation(self):
        x = torch.randn(8, requires_grad=True)
        y = x.detach().to(DEVICE).requires_grad_()
        for tensor in (x, y):
            torch.fake_quantize_per_tensor_affine(tensor, 0.01, 0, -128, 127).square().sum().backward()
        self.assertSame(y.grad, x.grad)

    def test_integer_and_float8_products(self):
        a = torch.randint(-5, 5, (32, 32), dtype=torch.int8)
        self.both(lambda x: torch._int_mm(x, x), a)
        out = torch.empty(32, 32, dtype=torch.int32, device=DEVICE)
        self.assertIs(torch._int_mm(a.to(DEVICE), a.to(DEVICE), out=out), out)
        self.assertTrue(torch.equal(out.cpu(), torch._int_mm(a, a)))
        for self_size, other_size, said in (
            ((16, 8), (8, 32), "self.size(0) needs to be greater than 16, but got 16"),
            ((17, 7), (7, 32), "self.size(1) needs to be greater than 0 and a multiple of 8, but got 7"),
            ((17, 8), (7, 32), "self.size(1) needs to match mat2.size(0) but got 8 and 7"),
            ((17, 8), (8, 31), "mat2.size(1) needs to be greater than 0 and a multiple of 8, but got 31"),
        ):
            left, right = (torch.empty(size, dtype=torch.int8, device=DEVICE) for size in (self_size, other_size))
            with self.assertRaisesRegex(RuntimeError, re.escape(said)):
                torch._int_mm(left, right)
        with self.assertRaisesRegex(RuntimeError, "expected scalar type Char but found Byte"):
            torch._int_mm(a.to(DEVICE, torch.uint8), a.to(DEVICE))
        # cuBLASLt takes a transposed second matrix, and no transposed first one.
        self.both(lambda x: torch._int_mm(x, x.t()), a)
        with self.assertRaisesRegex(RuntimeError, "CUBLAS_STATUS_NOT_SUPPORTED when calling cublasLtMatmul"):
            torch._int_mm(a.to(DEVICE).t(), a.to(DEVICE))

    def test_products_of_other_dtypes(self):
        """Different dtypes are refused before one that has no kernel."""
        short, real = torch.ones(2, 2, dtype=torch.int16, device=DEVICE), torch.ones(2, 2, device=DEVICE)
        with self.assertRaisesRegex(RuntimeError, "to have the same dtype, but got"):
            short.mm(real)
        with self.assertRaisesRegex(NotImplementedError, "\"addmm_cuda\" not implemented for 'Short'"):
            short.mm(short)
        with self.assertRaisesRegex(RuntimeError, "Input dtypes must be the same"):
            torch.baddbmm(short[None], real[None], real[None])
        x = torch.randn(32, 32).to(torch.float8_e4m3fn).to(DEVICE)
        one = torch.ones((), device=DEVICE)
        result = torch._scaled_mm(x, x.t(), one, one, out_dtype=torch.bfloat16)
        torch.testing.assert_close(result.float(), x.float() @ x.float().t(), atol=0.2, rtol=0.05)


class Nested(Case):
    def make(self, device, **options):
        torch.manual_seed(0)
        return torch.nested.nested_tensor([torch.randn(2, 3), torch.randn(4, 3)], device=device, **options)

    def check(self, function, **options):
        results = [function(self.make(device, **options)) for device in (HOST, DEVICE)]
        for result in results:
            self.assertTrue(result.is_nested)
        self.assertEqual(results[1].device, DEVICE)
        for host, device in zip(*(result.unbind() for result in results)):
            self.assertSame(device, host)

    def test_strided(self):
        torch.manual_seed(0)
        layer = nn.Linear(3, 5)
        for function in (
            lambda t: t + t,
            lambda t: t * 2,
            lambda t: -t,
            lambda t: F.relu(t),
            lambda t: F.gelu(t),
            lambda t: F.softmax(t, -1),
            lambda t: t.clone().add_(t),
            lambda t: t.transpose(1, 2).contiguous(),
            lambda t: torch.matmul(t, t.transpose(1, 2)),
            lambda t: torch.zeros_like(t),
            lambda t: layer.to(t.device)(t),
            lambda t: t.to(torch.float64),
        ):
            self.check(function)
        self.assertSame(self.make(DEVICE).to_padded_tensor(0.0), self.make(HOST).to_padded_tensor(0.0))
        self.assertEqual(self.make(DEVICE).cpu().device, HOST)
        self.assertEqual(self.make(DEVICE).to("cuda:0").device.index, 0)
        leaf = self.make(DEVICE, requires_grad=True)
        layer.to(DEVICE)(leaf).to_padded_tensor(0.0).sum().backward()
        self.assertEqual(leaf.grad.device, DEVICE)

    def test_strided_attention(self):
        tensors = [torch.randn(4, 2, 8), torch.randn(4, 3, 8)]
        nested = torch.nested.nested_tensor(tensors, device=DEVICE)
        result = F.scaled_dot_product_attention(nested, nested, nested)
        for part, tensor in zip(result.unbind(), tensors):
            self.assertSame(part, F.scaled_dot_product_attention(tensor, tensor, tensor))

    def test_jagged(self):
        torch.manual_seed(0)
        layer = nn.Linear(3, 5)
        for function in (
            lambda t: t * 2 + t,
            lambda t: F.relu(t),
            lambda t: F.layer_norm(t, (3,)),
            lambda t: layer.to(t.device)(t),
        ):
            self.check(function, layout=torch.jagged)
        nested = self.make(DEVICE, layout=torch.jagged, requires_grad=True)
        nested.sin().values().sum().backward()
        self.assertEqual(nested.grad.device, DEVICE)
        self.assertSame(
            torch.nested.to_padded_tensor(self.make(DEVICE, layout=torch.jagged), 0.0),
            torch.nested.to_padded_tensor(self.make(HOST, layout=torch.jagged), 0.0),
        )

    def test_padded_batches_in_a_transformer(self):
        torch.manual_seed(0)
        layer = nn.TransformerEncoderLayer(16, 2, 32, batch_first=True)
        x, padding = torch.randn(2, 5, 16), torch.tensor([[False] * 5, [False] * 3 + [True] * 2])
        encoder = nn.TransformerEncoder(layer, 2).eval()
        with torch.inference_mode():
            expected = encoder(x, src_key_padding_mask=padding)
            result = encoder.to(DEVICE)(x.to(DEVICE), src_key_padding_mask=padding.to(DEVICE))
        torch.testing.assert_close(result.cpu(), expected, atol=1e-5, rtol=1e-4)


class Modes(Case):
    """Made in one mode and used in another, a tensor is an inference tensor where the CPU's is one, and nowhere else."""

    DENSE = [
        lambda t: t * 2,
        lambda t: t.view(-1),
        lambda t: t.unfold(0, 2, 1),
        lambda t: torch.ops.aten.alias(t),
        lambda t: t.detach(),
        lambda t: t.conj().imag if t.is_complex() else t.add_(1),
        lambda t: torch.add(t, 1, out=torch.empty_like(t)),
    ]
    KINDS = {
        "dense": (lambda device: torch.ones(4, 3, device=device), DENSE),
        "complex": (lambda device: torch.ones(4, 3, device=device, dtype=torch.complex64), DENSE),
        "sparse": (
            lambda device: torch.eye(3, device=device).to_sparse(),
            [lambda t: t + t, lambda t: t.coalesce(), lambda t: t._values(), lambda t: t.to_dense()],
        ),
        "compressed": (
            lambda device: torch.eye(3, device=device).to_sparse_csr(),
            [lambda t: t * 2, lambda t: t.values(), lambda t: t @ t.to_dense()],
        ),
        "quantised": (
            lambda device: torch.quantize_per_tensor(torch.ones(4, 3, device=device), 0.1, 0, torch.qint8),
            [lambda t: t.dequantize(), lambda t: t.view(-1).dequantize(), lambda t: t.int_repr()],
        ),
        "nested": (
            lambda device: torch.nested.nested_tensor([torch.ones(2), torch.ones(3)], device=device),
            [lambda t: (t * 2).to_padded_tensor(0), lambda t: t.values(), lambda t: t.unbind()[0]],
        ),
    }

    def test_every_kind(self):
        modes = (torch.enable_grad, torch.no_grad, torch.inference_mode)
        for (kind, (make, uses)), made_in, used_in in itertools.product(self.KINDS.items(), modes, modes):
            for number, use in enumerate(uses):
                with self.subTest(kind=kind, use=number, made_in=made_in.__name__, used_in=used_in.__name__):
                    with made_in():
                        host, device = make(HOST), make(DEVICE)
                    with used_in():
                        try:
                            expected = use(host)
                        except RuntimeError as error:
                            with self.assertRaisesRegex(RuntimeError, str(error)[:40]):
                                use(device)
                            continue
                        result = use(device)
                        self.assertSame(result, expected)
                    self.assertEqual(device.is_inference(), host.is_inference())
                    self.assertEqual(result.is_inference(), expected.is_inference())


class Others(Case):
    def test_complex_views(self):
        x = torch.randn(3, 4, dtype=torch.complex64)
        self.both(lambda t: (t @ t.mH).real, x)
        self.both(lambda t: torch.view_as_real(t.conj().resolve_conj()), x)
        self.both(lambda t: t.conj().imag.neg() + t.imag, x)
        device = x.to(DEVICE)
        device.real.fill_(2)
        self.assertEqual(device.real.unique().tolist(), [2])

    def test_views_alias(self):
        base = torch.zeros(4, 4, device=DEVICE)
        base.t()[1:, 2].fill_(1)
        base.view(-1)[0] = 7
        base.as_strided((2,), (5,), 10).add_(1)
        expected = torch.zeros(4, 4)
        expected.t()[1:, 2].fill_(1)
        expected.view(-1)[0] = 7
        expected.as_strided((2,), (5,), 10).add_(1)
        self.assertSame(base, expected)
        self.assertTrue(base[0]._is_view())

    def test_out_is_resized(self):
        out = torch.empty(0, device=DEVICE)
        torch.add(torch.ones(2, 3, device=DEVICE), 1, out=out)
        self.assertEqual((out.shape, out.device, out.sum().item()), ((2, 3), DEVICE, 12))
        with self.assertRaisesRegex(RuntimeError, "Expected out tensor to have device|same device|found at least two devices"):
            torch.add(torch.ones(2, device=DEVICE), 1, out=torch.empty(2))

    def test_set(self):
        a, b = torch.zeros(3, device=DEVICE), torch.arange(4.0, device=DEVICE)
        alias = a.set_(b)
        alias[0] = 9
        self.assertEqual(b.tolist(), [9, 1, 2, 3])
        a.set_(b.untyped_storage(), 2, (2,), (1,))
        self.assertEqual(a.tolist(), [2, 3])

    def test_lazy_clones_part_at_the_first_write(self):
        norm = nn.BatchNorm1d(3).to(DEVICE)
        norm.running_mean.set_(torch._lazy_clone(shared := torch.zeros(3, device=DEVICE)))

        def write_after_address(t):
            with torch.cuda.device(DEVICE):  # where ATen takes the memory from
                t.data_ptr()
            t.fill_(1)

        writes = {
            "in place": lambda t: t.add_(1),
            "copy": lambda t: t.copy_(torch.ones(3)),
            "late copy": lambda t: t.copy_(torch.ones(3).pin_memory(), non_blocking=True),
            "out=": lambda t: torch.add(t, 1, out=t),
            "view": lambda t: t.view(3, 1).fill_(1),
            "resize": lambda t: t.resize_(5)[:3].fill_(1),
            "storage": lambda t: t.set_(t.untyped_storage(), 0, (3,), (1,)).fill_(1),
            "address": write_after_address,
        }
        for name, write in writes.items():
            for written in (0, 1):
                with self.subTest(name=name, written=written):
                    x = torch.zeros(3, device=DEVICE)
                    pair = [x, torch._lazy_clone(x)]
                    self.assertTrue(torch._C._is_cow_tensor(pair[1]))
                    write(pair[written])
                    self.assertEqual(pair[written][:3].tolist(), [1, 1, 1])
                    self.assertEqual(pair[1 - written].tolist(), [0, 0, 0])
                    self.assertEqual(pair[written].untyped_storage().device, DEVICE)
                    # The last that has the block keeps it.
                    address = torch._C._data_address(pair[1 - written])
                    write(pair[1 - written])
                    self.assertEqual(pair[1 - written][:3].tolist(), [1, 1, 1])
                    self.assertTrue(pair[1 - written].numel() != 3 or torch._C._data_address(pair[1 - written]) == address)
        # Statistics are written although the schema does not say so.
        norm(torch.ones(4, 3, device=DEVICE) * 5)
        self.assertEqual(shared.tolist(), [0, 0, 0])
        self.assertTrue((norm.running_mean != 0).all())
        # What reads leaves them shared.
        (x + 1, x.sum(), x.cpu(), x.clone())
        y = torch._lazy_clone(x)
        self.assertEqual((y + x).sum().item(), 2 * x.sum().item())
        self.assertTrue(torch._C._is_cow_tensor(y) and torch._C._is_cow_tensor(x))

    def test_mkldnn_is_for_the_host(self):
        with self.assertRaisesRegex(RuntimeError, "mkldnn|MkldnnCPU|MKLDNN|Mkldnn"):
            torch.ones(2, device=DEVICE).to_mkldnn()


if __name__ == "__main__":
    unittest.main()
