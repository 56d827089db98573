"""Operators that LibTorch has for GPUs alone, on simulated devices: results, gradients, shapes and strides against CPU
operators that compute the same; and the refusal of those without an equivalent. Run by ctest with the environment that
`devsan run --sim=2` sets."""

import json
import os
import sys
import unittest
import warnings

from devsan import sim

sim.install()

import torch
from torch import nn
from torch.nn import functional as F

DEVICE = torch.device("cuda:1")
OPERATORS = os.path.join(os.path.dirname(os.path.abspath(__file__)), "../operators")


def on_device(*tensors):
    return [tensor.detach().to(DEVICE).requires_grad_(tensor.requires_grad) for tensor in tensors]


class Case(unittest.TestCase):
    def setUp(self):
        torch.manual_seed(0)

    def assertSame(self, device, host, **tolerance):
        self.assertEqual(device.device, DEVICE)
        torch.testing.assert_close(device.detach().cpu(), host.detach(), **tolerance)

    def assertNode(self, tensor, name):
        self.assertEqual(type(tensor.grad_fn).__name__, name)


class Norms(Case):
    def test_batch_norm_is_cudnns(self):
        host = nn.BatchNorm2d(3)
        device = nn.BatchNorm2d(3).to(DEVICE)
        x = torch.randn(4, 3, 5, 5, requires_grad=True)
        (y,) = on_device(x)
        for training in (True, False):
            expected, result = host.train(training)(x), device.train(training)(y)
            self.assertNode(result, "CudnnBatchNormBackward0")
            self.assertSame(result, expected)
            expected.square().sum().backward()
            result.square().sum().backward()
            self.assertSame(y.grad, x.grad)
            self.assertSame(device.weight.grad, host.weight.grad)
            self.assertSame(device.running_var, host.running_var)

    def test_mismatch_names_cudnns_kernel(self):
        with self.assertRaisesRegex(
            RuntimeError,
            r"Expected all tensors to be on the same device, but got weight is on cpu, different from other tensors on "
            r"cuda:1 \(when checking argument in method wrapper_CUDA__cudnn_batch_norm\)",
        ):
            nn.BatchNorm2d(3)(torch.randn(2, 3, 4, 4, device=DEVICE))

    def test_statistics_of_several_devices(self):
        x = torch.randn(6, 3, 4, 4, requires_grad=True)
        host = nn.BatchNorm2d(3)
        host.weight.data.uniform_()
        expected = host(x)
        grad = torch.randn_like(expected)
        expected.backward(grad)

        parts = on_device(x[:2], x[2:])
        mean, invstd = (torch.stack(values) for values in zip(*(torch.batch_norm_stats(part, 1e-5) for part in parts)))
        counts = torch.tensor([2 * 16.0, 4 * 16.0], device=DEVICE)
        running = torch.zeros(3, device=DEVICE), torch.ones(3, device=DEVICE)
        mean, invstd = torch.batch_norm_gather_stats_with_counts(parts[0], mean, invstd, *running, 0.1, 1e-5, counts)
        self.assertSame(running[0], host.running_mean)
        self.assertSame(running[1], host.running_var)
        weight, bias = on_device(host.weight, host.bias)
        result = torch.cat([torch.batch_norm_elemt(part, weight, bias, mean, invstd, 1e-5) for part in parts])
        self.assertSame(result, expected)

        grads = grad[:2].to(DEVICE), grad[2:].to(DEVICE)
        sums = [
            torch.batch_norm_backward_reduce(g, part, mean, invstd, weight, True, True, True)
            for g, part in zip(grads, parts)
        ]
        sum_dy, sum_dy_xmu, grad_weight, grad_bias = (sum(values) for values in zip(*sums))
        self.assertSame(grad_weight, host.weight.grad)
        self.assertSame(grad_bias, host.bias.grad)
        counts = counts.to(torch.int)
        grad_input = torch.cat(
            [
                torch.batch_norm_backward_elemt(g, part, mean, invstd, weight, sum_dy, sum_dy_xmu, counts)
                for g, part in zip(grads, parts)
            ]
        )
        self.assertSame(grad_input, x.grad)

    def test_rms_norm(self):
        for dtype in (torch.float32, torch.bfloat16):
            x, weight = torch.randn(2, 5, 8, requires_grad=True), torch.randn(8, requires_grad=True)
            y, device_weight = (t.detach().to(DEVICE, dtype).requires_grad_() for t in (x, weight))
            expected, result = F.rms_norm(x, (8,), weight, 1e-5), F.rms_norm(y, (8,), device_weight, 1e-5)
            self.assertNode(result, "FusedRmsNormBackward0")
            tolerance = {} if dtype == torch.float32 else {"atol": 0.1, "rtol": 0.1}
            self.assertSame(result.float(), expected, **tolerance)
            expected.square().sum().backward()
            result.float().square().sum().backward()
            self.assertSame(y.grad.float(), x.grad, **(tolerance and {"atol": 0.5, "rtol": 0.1}))
            self.assertSame(device_weight.grad.float(), weight.grad, **(tolerance and {"atol": 0.5, "rtol": 0.1}))


class Convolutions(Case):
    def test_forward_and_backward(self):
        x, weight = torch.randn(2, 4, 8, 8, requires_grad=True), torch.randn(6, 2, 3, 3, requires_grad=True)
        y, device_weight = on_device(x, weight)
        expected = F.conv2d(x, weight, None, 2, 1, 1, 2)
        result = torch.cudnn_convolution(y, device_weight, (1, 1), (2, 2), (1, 1), 2, False, False, False)
        self.assertSame(result, expected)
        expected.sum().backward()
        result.sum().backward()
        self.assertSame(y.grad, x.grad)
        self.assertSame(device_weight.grad, weight.grad)

    def test_the_other_entry_points(self):
        x, weight, z = torch.randn(2, 3, 8, 8), torch.randn(4, 3, 3, 3), torch.randn(2, 4, 8, 8)
        y, w, v = on_device(x, weight, z)
        ones = (1, 1)
        plain = F.conv2d(x, weight, padding=1)
        self.assertSame(torch.cudnn_convolution_relu(y, w, None, ones, ones, ones, 1), plain.relu())
        self.assertSame(torch.cudnn_convolution_add_relu(y, w, v, 0.5, None, ones, ones, ones, 1), (plain + 0.5 * z).relu())
        back = torch.cudnn_convolution_transpose(v, w, ones, (0, 0), ones, ones, 1, False, False, False)
        self.assertSame(back, F.conv_transpose2d(z, weight, padding=1))
        depthwise = torch.randn(3, 1, 3, 3)
        self.assertSame(
            torch._C._nn._conv_depthwise2d(y, depthwise.to(DEVICE), (3, 3), None, ones, ones, ones),
            F.conv2d(x, depthwise, padding=1, groups=3),
        )

    def test_spatial_transformer(self):
        x, theta = torch.randn(2, 3, 6, 6, requires_grad=True), torch.randn(2, 2, 3, requires_grad=True)
        y, device_theta = on_device(x, theta)
        for a, b in ((x, theta), (y, device_theta)):
            F.grid_sample(a, F.affine_grid(b, (2, 3, 4, 4), align_corners=True), align_corners=True).square().sum().backward()
        self.assertSame(y.grad, x.grad)
        self.assertSame(device_theta.grad, theta.grad, atol=1e-4, rtol=1e-4)
        grid = torch.cudnn_affine_grid_generator(device_theta, 2, 3, 4, 4)
        self.assertSame(torch.cudnn_grid_sampler(y, grid).sum(), F.grid_sample(x, grid.cpu(), align_corners=True).sum())


class Recurrent(Case):
    KINDS = {
        "lstm": lambda **k: nn.LSTM(4, 5, 2, **k),
        "gru": lambda **k: nn.GRU(4, 5, 2, **k),
        "tanh": lambda **k: nn.RNN(4, 5, 2, **k),
        "relu": lambda **k: nn.RNN(4, 5, 2, nonlinearity="relu", **k),
    }

    def check(self, make, pack=False, **options):
        host, device = make(**options), make(**options)
        device.load_state_dict(host.state_dict())
        device.to(DEVICE)
        x = torch.randn(6, 3, 4, requires_grad=True)
        (y,) = on_device(x)
        lengths = torch.tensor([6, 4, 2])

        def run(module, tensor):
            source = nn.utils.rnn.pack_padded_sequence(tensor, lengths) if pack else tensor
            output, states = module(source)
            output = output.data if pack else output
            states = states if isinstance(states, tuple) else (states,)
            (output.square().sum() + sum(state.sum() for state in states)).backward()
            return (output, *states)

        expected, results = run(host, x), run(device, y)
        self.assertNode(results[0], "CudnnRnnBackward0")
        for result, value in zip(results, expected):
            self.assertSame(result, value)
        self.assertSame(y.grad, x.grad)
        for a, b in zip(device.parameters(), host.parameters()):
            self.assertSame(a.grad, b.grad, atol=1e-4, rtol=1e-4)

    def test_layers_and_directions(self):
        for make in self.KINDS.values():
            self.check(make)
            self.check(make, bidirectional=True)
            self.check(make, bias=False)
            self.check(make, pack=True, bidirectional=True)
        self.check(self.KINDS["gru"], batch_first=True)
        self.check(self.KINDS["lstm"], proj_size=3, bidirectional=True)
        self.check(self.KINDS["lstm"], proj_size=3, pack=True)

    def test_weights_lie_in_one_buffer(self):
        module = nn.LSTM(4, 5, 2, bidirectional=True).to(DEVICE)
        self.assertEqual(len({weight.untyped_storage().data_ptr() for weight in module.parameters()}), 1)
        with warnings.catch_warnings():
            warnings.simplefilter("error")
            module(torch.randn(3, 2, 4, device=DEVICE))
        module.weight_hh_l0.data = module.weight_hh_l0.detach().clone()
        with self.assertWarnsRegex(UserWarning, "not part of single contiguous chunk of memory"):
            module(torch.randn(3, 2, 4, device=DEVICE))

    def test_cudnns_rules(self):
        module = nn.GRU(4, 5).to(DEVICE).eval()
        with self.assertRaisesRegex(RuntimeError, "cudnn RNN backward can only be called in training mode"):
            module(torch.randn(3, 2, 4, device=DEVICE))[0].sum().backward()
        states = torch.randn(1, 5, 2, device=DEVICE).transpose(1, 2)
        with self.assertRaisesRegex(RuntimeError, "rnn: hx is not contiguous"):
            module(torch.randn(3, 2, 4, device=DEVICE), states)
        with torch.backends.cudnn.flags(enabled=False):
            self.assertNode(module(torch.randn(3, 2, 4, device=DEVICE))[0], "StackBackward0")

    def test_dropout_of_everything(self):
        for make in (nn.LSTM, nn.GRU, nn.RNN):
            module = make(4, 5, 2, dropout=1.0).to(DEVICE)
            x = torch.randn(3, 2, 4, device=DEVICE, requires_grad=True)
            module(x)[0].sum().backward()
            self.assertFalse(x.grad.any().item())

    def test_parameters_elsewhere_are_refused(self):
        for make in (nn.LSTM, nn.GRU, nn.RNN):
            with self.assertRaisesRegex(RuntimeError, "Input and parameter tensors are not at the same device"):
                make(4, 5)(torch.randn(3, 2, 4, device=DEVICE))
            with self.assertRaisesRegex(RuntimeError, "Input and hidden tensors are not at the same device"):
                state = torch.zeros(1, 2, 5)
                make(4, 5).to(DEVICE)(torch.randn(3, 2, 4, device=DEVICE), (state, state) if make is nn.LSTM else state)

    def test_dropout_between_layers(self):
        module = nn.LSTM(4, 64, 3, dropout=0.5).to(DEVICE)
        x = torch.randn(3, 2, 4, device=DEVICE, requires_grad=True)
        torch.manual_seed(3)
        first = module(x)[0]
        self.assertFalse(torch.equal(first, module(x)[0]))
        torch.manual_seed(3)
        again = module(x)[0]
        self.assertTrue(torch.equal(first, again))
        (grad,) = torch.autograd.grad(again.sum(), x)
        step = 1e-2 * torch.randn_like(x)
        torch.manual_seed(3)
        moved = module(x + step)[0].sum()
        torch.manual_seed(3)
        back = module(x - step)[0].sum()
        torch.testing.assert_close((grad * step).sum(), (moved - back) / 2, rtol=1e-2, atol=1e-4)
        self.assertTrue(torch.equal(module.eval()(x)[0], module(x)[0]))

    def test_autocast(self):
        module = nn.LSTM(4, 5, 2).to(DEVICE)
        with torch.autocast("cuda"):
            output, _ = module(torch.randn(3, 2, 4, device=DEVICE))
        self.assertEqual(output.dtype, torch.float16)
        output.float().sum().backward()
        self.assertEqual(module.weight_ih_l0.grad.dtype, torch.float32)


class Attention(Case):
    NODES = {
        "FLASH_ATTENTION": "ScaledDotProductFlashAttentionBackward0",
        "EFFICIENT_ATTENTION": "ScaledDotProductEfficientAttentionBackward0",
        "CUDNN_ATTENTION": "ScaledDotProductCudnnAttentionBackward0",
    }

    def run_both(self, backend, dtype, shapes, **options):
        inputs = [torch.randn(*shape, requires_grad=True) for shape in shapes]
        device = [t.detach().to(DEVICE, dtype).requires_grad_() for t in inputs]
        host_options = dict(options)
        if options.get("attn_mask") is not None:
            options["attn_mask"] = options["attn_mask"].to(DEVICE)
            if options["attn_mask"].is_floating_point():
                options["attn_mask"] = options["attn_mask"].to(dtype)
        expected = F.scaled_dot_product_attention(*inputs, **host_options)
        with torch.nn.attention.sdpa_kernel(getattr(torch.nn.attention.SDPBackend, backend)):
            result = F.scaled_dot_product_attention(*device, **options)
        names, node = set(), [result.grad_fn]
        while node and node[-1] is not None and len(names) < 8:
            names.add(type(node[-1]).__name__)
            node.append(node[-1].next_functions[0][0] if node[-1].next_functions else None)
        if backend != "MATH":
            self.assertIn(self.NODES[backend], names)
        tolerance = {"atol": 2e-2, "rtol": 2e-2} if dtype != torch.float32 else {"atol": 1e-4, "rtol": 1e-4}
        self.assertSame(result.float(), expected, **tolerance)
        grad = torch.randn_like(expected)
        expected.backward(grad)
        result.backward(grad.to(DEVICE, dtype))
        for a, b in zip(device, inputs):
            self.assertSame(a.grad.float(), b.grad, **{k: 3 * v for k, v in tolerance.items()})

    def test_backends(self):
        square = [(2, 4, 16, 32)] * 3
        for backend, dtype in (
            ("FLASH_ATTENTION", torch.float16),
            ("FLASH_ATTENTION", torch.bfloat16),
            ("EFFICIENT_ATTENTION", torch.float32),
            ("EFFICIENT_ATTENTION", torch.float16),
            ("CUDNN_ATTENTION", torch.float16),
            ("MATH", torch.float32),
        ):
            for causal in (False, True):
                tolerated = dtype != torch.bfloat16
                if tolerated:
                    self.run_both(backend, dtype, square, is_causal=causal)
        self.run_both("FLASH_ATTENTION", torch.float16, [(2, 4, 16, 32), (2, 2, 16, 32), (2, 2, 16, 32)], enable_gqa=True)
        self.run_both("EFFICIENT_ATTENTION", torch.float32, [(2, 4, 9, 16), (2, 4, 12, 16), (2, 4, 12, 8)])
        mask = torch.rand(9, 12) > 0.3
        mask[:, 0] = True
        self.run_both("EFFICIENT_ATTENTION", torch.float32, [(2, 4, 9, 16), (2, 4, 12, 16), (2, 4, 12, 16)], attn_mask=mask)
        self.run_both(
            "EFFICIENT_ATTENTION", torch.float32, [(2, 4, 9, 16)] + [(2, 4, 12, 16)] * 2, attn_mask=torch.randn(2, 4, 9, 12)
        )

    def test_gradient_of_a_bias(self):
        q, k, v = (torch.randn(2, 2, 8, 8, device=DEVICE) for _ in range(3))
        bias = torch.randn(2, 2, 8, 8, device=DEVICE, requires_grad=True)
        host = bias.detach().cpu().requires_grad_()
        F.scaled_dot_product_attention(q, k, v, attn_mask=bias).square().sum().backward()
        F.scaled_dot_product_attention(q.cpu(), k.cpu(), v.cpu(), attn_mask=host).square().sum().backward()
        self.assertSame(bias.grad, host.grad, atol=1e-4, rtol=1e-4)

    def test_saved_tensors(self):
        q = torch.randn(2, 4, 10, 16, device=DEVICE, dtype=torch.float16)
        flash = torch.ops.aten._scaled_dot_product_flash_attention(q, q, q, 0.1)
        self.assertEqual(flash[0].transpose(1, 2).is_contiguous(), True)
        self.assertEqual((flash[1].shape, flash[1].dtype), ((2, 4, 10), torch.float32))
        self.assertEqual((flash[6].shape, flash[6].dtype, flash[6].device), ((2,), torch.uint64, DEVICE))
        efficient = torch.ops.aten._scaled_dot_product_efficient_attention(q, q, q, None, True)
        self.assertEqual(efficient[1].shape, (2, 4, 32))
        self.assertEqual(efficient[2].device.type, "cpu")
        cudnn = torch.ops.aten._scaled_dot_product_cudnn_attention(q, q, q, None, True)
        self.assertEqual(cudnn[1].shape, (2, 4, 10, 1))

    def test_dropout_is_the_same_in_backward(self):
        for backend, dtype in (("FLASH_ATTENTION", torch.float16), ("EFFICIENT_ATTENTION", torch.float32)):
            q, k, v = (torch.randn(1, 2, 16, 16, device=DEVICE, dtype=dtype) for _ in range(3))
            v = torch.eye(16, device=DEVICE, dtype=dtype).expand(1, 2, 16, 16).contiguous().requires_grad_()
            with torch.nn.attention.sdpa_kernel(getattr(torch.nn.attention.SDPBackend, backend)):
                torch.manual_seed(1)
                weights = F.scaled_dot_product_attention(q, k, v, dropout_p=0.5)
                torch.manual_seed(1)
                self.assertTrue(torch.equal(weights, F.scaled_dot_product_attention(q, k, v, dropout_p=0.5)))
                self.assertFalse(torch.equal(weights, F.scaled_dot_product_attention(q, k, v, dropout_p=0.5)))
            self.assertGreater(int((weights == 0).sum()), 100)
            # The values are the identity, so the output is the dropped weights, and the values' gradient their transpose.
            grad = torch.eye(16, device=DEVICE, dtype=dtype).expand(1, 2, 16, 16).contiguous()
            weights.backward(grad)
            torch.testing.assert_close(v.grad, weights.detach().transpose(-1, -2), atol=1e-3, rtol=1e-3)

    def test_choice_and_strides_are_what_compilers_expect(self):
        from torch._subclasses.fake_tensor import FakeTensorMode

        def attend(query, key):
            return F.scaled_dot_product_attention(query, key, key, enable_gqa=True)

        query, key = (torch.randn(2, heads, 5, 8, device=DEVICE, requires_grad=True) for heads in (4, 2))
        torch.compile(attend, backend="aot_eager")(query, key).sum().backward()
        self.assertEqual(key.grad.shape, key.shape)
        query = torch.randn(6, 2, 4, 8, device=DEVICE).permute(1, 2, 0, 3)
        efficient = torch.ops.aten._scaled_dot_product_efficient_attention
        with FakeTensorMode() as fake:
            expected = efficient(*[fake.from_tensor(query)] * 3, None, True)[0]
        self.assertEqual(efficient(query, query, query, None, True)[0].stride(), expected.stride())

    def test_no_kernel(self):
        q = torch.randn(1, 1, 4, 8, device=DEVICE)
        with torch.nn.attention.sdpa_kernel(torch.nn.attention.SDPBackend.FLASH_ATTENTION):
            with warnings.catch_warnings(record=True) as said:
                warnings.simplefilter("always")
                with self.assertRaisesRegex(RuntimeError, "No available kernel. Aborting execution."):
                    F.scaled_dot_product_attention(q, q, q)
        self.assertTrue(any("Expected query, key and value to all be of dtype" in str(w.message) for w in said))
        params = torch.backends.cuda.SDPAParams(q.half(), q.half(), q.half(), None, 0.0, False, False)
        self.assertTrue(torch.backends.cuda.can_use_flash_attention(params))
        params = torch.backends.cuda.SDPAParams(q, q, q, None, 0.0, False, False)
        self.assertFalse(torch.backends.cuda.can_use_flash_attention(params))
        self.assertTrue(torch.backends.cuda.can_use_efficient_attention(params))

    def test_sequences_of_several_lengths(self):
        for dtype in (torch.float16, torch.float32):
            parts = [torch.randn(5, 16), torch.randn(3, 16)]
            nested = torch.nested.nested_tensor([p.to(DEVICE, dtype) for p in parts], layout=torch.jagged, requires_grad=True)
            heads = nested.unflatten(-1, [2, 8]).transpose(1, 2)
            output = F.scaled_dot_product_attention(heads, heads, heads).transpose(1, 2).flatten(-2)
            output.values().sum().backward()
            for part, result, grad in zip(parts, output.unbind(), nested.grad.unbind()):
                part.requires_grad_()
                head = part.unflatten(-1, [2, 8]).transpose(0, 1)
                expected = F.scaled_dot_product_attention(head, head, head).transpose(0, 1).flatten(-2)
                expected.sum().backward()
                tolerance = {"atol": 1e-2, "rtol": 1e-2}
                self.assertSame(result.float(), expected, **tolerance)
                self.assertSame(grad.float(), part.grad, **tolerance)


class Losses(Case):
    def test_ctc(self):
        host = torch.randn(10, 2, 5).log_softmax(-1).requires_grad_()
        (device,) = on_device(host)
        targets = torch.tensor([1, 2, 3, 4, 1], dtype=torch.int)
        arguments = ([10, 10], [2, 3])
        expected, result = F.ctc_loss(host, targets, *arguments), F.ctc_loss(device, targets, *arguments)
        self.assertSame(result, expected)
        expected.backward()
        result.backward()
        self.assertSame(device.grad, host.grad)
        self.assertTrue(torch._use_cudnn_ctc_loss(device, targets, *arguments, 0))
        self.assertFalse(torch._use_cudnn_ctc_loss(device, targets.long(), *arguments, 0))
        F.ctc_loss(device, targets.long().to(DEVICE), *arguments).backward()


class Dropout(Case):
    def test_older_fused_dropout(self):
        x = torch.ones(1000, device=DEVICE, requires_grad=True)
        y, mask = torch._fused_dropout(x, 0.8)
        self.assertEqual(mask.dtype, torch.uint8)
        torch.testing.assert_close(y, mask / 0.8)
        y.sum().backward()
        torch.testing.assert_close(x.grad, mask / 0.8)


class DtypesOfCudaAlone(Case):
    def test_16_bit_floats(self):
        labels, lists = torch.tensor([0, 2]), torch.tensor([[0, 1, -1, 0], [1, -1, 0, 0]])
        for dtype in (torch.float16, torch.bfloat16):
            for sizes, function in (
                ((2, 4), lambda x: F.multi_margin_loss(x, labels.to(x.device))),
                ((2, 4), lambda x: F.multilabel_margin_loss(x, lists.to(x.device))),
                ((1, 2, 4, 4, 4), lambda x: F.avg_pool3d(x, 2)),
                ((1, 2, 6, 6), lambda x: F.interpolate(x, size=(3, 4), mode="bilinear", antialias=True)),
                ((1, 2, 6, 6), lambda x: F.interpolate(x, size=(3, 4), mode="bicubic", antialias=True)),
                ((1, 2, 6, 6), lambda x: F.rrelu(x, 0.25, 0.25, training=True)),
            ):
                device = torch.randn(sizes).to(DEVICE, dtype).requires_grad_()
                host = device.detach().cpu().float().requires_grad_()
                result, expected = function(device), function(host)
                self.assertSame(result, expected.to(dtype))
                result.float().square().sum().backward()
                expected.square().sum().backward()
                self.assertSame(device.grad, host.grad.to(dtype), rtol=0.02, atol=0.02)
            out = torch.empty(0, device=DEVICE, dtype=dtype)
            x = torch.randn(2, 4).to(DEVICE, dtype)
            torch.ops.aten.multi_margin_loss.out(x, labels.to(DEVICE), out=out)
            self.assertSame(out, F.multi_margin_loss(x.cpu().float(), labels).to(dtype))
        self.assertEqual(torch.tensor([True, False], device=DEVICE).abs().tolist(), [True, False])

    def test_sparse_sums(self):
        for dtype in (torch.float16, torch.bool):
            a, b = (torch.tensor(rows).to(dtype) for rows in ([[1, 0], [0, 1]], [[0, 1], [0, 1]]))
            first, second = (x.to_sparse().to(DEVICE) for x in (a, b))
            self.assertSame((first + second).to_dense(), a + b)
            self.assertSame((first * second).to_dense(), a * b)
            self.assertSame(first.clone().add_(second).to_dense(), a + b)
        self.assertSame((first.half() - second.half()).to_dense(), a.half() - b.half())


class Refused(Case):
    def test_every_operator_for_gpus_alone_is_simulated_or_refused_by_name(self):
        sys.path.insert(0, OPERATORS)
        import generate_cuda_operators as generator

        has = torch._C._dispatch_has_computed_kernel_for_dispatch_key
        own = torch._C._dispatch_has_kernel_for_dispatch_key
        root = os.path.dirname(os.path.dirname(torch.__file__))
        native = os.path.join(root, "torchgen", "packaged", "ATen", "native", "native_functions.yaml")
        missing = []
        for operator in generator.read_operators(native):
            for key, host in generator.HOST_KEYS.items():
                name = f"aten::{operator['name']}"
                if key in operator["keys"] and not has(name, host) and not own(name, key):
                    missing.append(f"{name} ({key})")
        self.assertEqual(missing, [])

    def test_the_list_says_what_fails(self):
        libraries = os.environ["DEVSAN_LIBS"].split(os.pathsep)
        simulator = next(path for path in libraries if path.endswith("libdevsan_sim.so"))
        with open(os.path.join(os.path.dirname(simulator), "devsan_not_simulated.json"), encoding="utf-8") as file:
            listed = {entry["name"] for entry in json.load(file)["operators"]}
        self.assertIn("aten::_weight_int4pack_mm", listed)
        self.assertIn("torch._C._cuda_jiterator_compile_and_launch_kernel", listed)
        x = torch.zeros(4, 4, device=DEVICE)
        for call in (lambda: torch._cslt_compress(x), lambda: torch.miopen_convolution_relu(x, x, None, [1], [0], [1], 1)):
            with self.assertRaisesRegex(NotImplementedError, r"^not simulated: aten::\w+, because .+; .+"):
                call()


class Factorizations(Case):
    def test_lu_without_pivoting(self):
        for dtype in (torch.float64, torch.complex64):
            for shape in ((4, 4), (3, 5, 3), (2, 2, 3, 5)):
                a = torch.randn(shape, dtype=dtype, device=DEVICE)
                a.diagonal(dim1=-2, dim2=-1).add_(4)
                lu, pivots, infos = torch.linalg.lu_factor_ex(a, pivot=False)
                self.assertEqual((lu.stride(-2), pivots.dtype, infos.any().item()), (1, torch.int32, False))
                self.assertTrue((pivots == torch.arange(1, pivots.size(-1) + 1, device=DEVICE)).all())
                p, lower, upper = torch.linalg.lu(a, pivot=False)
                self.assertEqual(p.shape, (0,))
                torch.testing.assert_close(lower @ upper, a)
                self.assertEqual((lower.size(-1), upper.size(-2)), (min(shape[-2:]),) * 2)
        square, b = a[..., :3], torch.randn(2, 2, 3, 1, dtype=dtype, device=DEVICE)
        torch.testing.assert_close(square @ torch.linalg.lu_solve(*torch.linalg.lu_factor(square, pivot=False), b), b)

    def test_lu_without_pivoting_into_tensors(self):
        a = torch.randn(3, 3, device=DEVICE) + 4 * torch.eye(3, device=DEVICE)
        lu, pivots = torch.linalg.lu_factor(a, pivot=False)
        out = torch.empty(0, device=DEVICE), torch.empty(0, dtype=torch.int32, device=DEVICE)
        torch.linalg.lu_factor(a, pivot=False, out=out)
        torch.testing.assert_close(out, (lu, pivots))
        parts = [torch.empty(0, device=DEVICE) for _ in range(3)]
        torch.linalg.lu(a, pivot=False, out=parts)
        torch.testing.assert_close(tuple(parts), tuple(torch.linalg.lu(a, pivot=False)))
        with self.assertRaisesRegex(RuntimeError, "Expected out tensor to have dtype"):
            torch.linalg.lu_factor(a, pivot=False, out=(out[0].double(), out[1]))
        a.requires_grad_()
        torch.linalg.lu_factor(a, pivot=False)[0].sum().backward()
        self.assertEqual(a.grad.shape, (3, 3))

    def test_lu_without_pivoting_that_breaks_down(self):
        a = torch.tensor([[1.0, 2, 3], [1, 2, 4], [0, 1, 1]], device=DEVICE)
        self.assertEqual(torch.linalg.lu_factor_ex(a, pivot=False).info.item(), 2)
        with self.assertRaisesRegex(RuntimeError, "^torch.linalg.lu_factor: U\\[2,2\\] is zero"):
            torch.linalg.lu_factor(a, pivot=False)
        self.assertEqual(torch.linalg.lu_factor(torch.empty(0, 2, 2, device=DEVICE), pivot=False).LU.shape, (0, 2, 2))


class Libraries(Case):
    def test_cudnn(self):
        self.assertTrue(torch.backends.cudnn.is_available())
        self.assertGreaterEqual(torch.backends.cudnn.version(), 90000)
        torch.backends.cudnn.benchmark = True
        torch.backends.cudnn.benchmark_limit = 3
        self.assertEqual(torch.backends.cudnn.benchmark_limit, 3)
        torch.backends.cudnn.benchmark = False

    def test_svd_drivers(self):
        a = torch.randn(4, 3, device=DEVICE)
        for driver in ("gesvd", "gesvdj", "gesvda", None):
            u, s, v = torch.linalg.svd(a, full_matrices=False, driver=driver)
            torch.testing.assert_close(u @ s.diag() @ v, a)
        with self.assertRaisesRegex(RuntimeError, "unknown svd driver"):
            torch.linalg.svd(a, driver="best")
        with self.assertRaisesRegex(RuntimeError, "only supported on CUDA inputs with cuSOLVER"):
            torch.linalg.svd(a.cpu(), driver="gesvd")


if __name__ == "__main__":
    unittest.main()
