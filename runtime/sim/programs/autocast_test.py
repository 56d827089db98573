"""torch.autocast("cuda") on simulated devices: the dtype and the value of every operator in PyTorch's own lists of CUDA's
autocast (torch.testing._internal.autocast_test_lists), and training with torch.amp.GradScaler. Run by ctest with the
environment that `devsan run --sim=2` sets."""

import unittest

from devsan import sim

sim.install()

import torch
from torch import nn
from torch.testing._internal.autocast_test_lists import AutocastTestLists, TestAutocast


class Lists(TestAutocast):
    @classmethod
    def setUpClass(cls):
        super().setUpClass()
        torch.manual_seed(0)
        cls.lists = AutocastTestLists(torch.device("cuda:1"))

    def check(self, entries, run_as, dtype=torch.float16, **options):
        for entry in entries:
            name, arguments, rest = entry[0], entry[1], entry[2:]
            if rest and not isinstance(rest[0], dict) and rest[0]:  # a true third member asks to leave it out
                continue
            keywords = rest[0] if rest and isinstance(rest[0], dict) else None
            with self.subTest(operator=name, dtype=dtype):
                self._run_autocast_outofplace(
                    name, arguments, run_as, "cuda", amp_dtype=dtype, add_kwargs=keywords, **options
                )

    def check_promoting(self, entries, module):
        for name, arguments, out_type in entries:
            with self.subTest(operator=name):
                self._run_autocast_outofplace(
                    name, arguments, torch.float32, "cuda", out_type=out_type, module=module, amp_dtype=torch.float16
                )

    def test_lower_precision(self):
        for dtype in (torch.float16, torch.bfloat16):
            self.check(self.lists.torch_fp16, dtype, dtype)
            self.check(self.lists.nn_fp16, dtype, dtype, module=torch._C._nn)
            self.check(self.lists.linalg_fp16, dtype, dtype, module=torch._C._linalg)
            self.check(self.lists.methods_fp16, dtype, dtype, module=None)

    def test_float(self):
        self.check(self.lists.torch_fp32, torch.float32)
        self.check(self.lists.nn_fp32, torch.float32, module=torch._C._nn)
        self.check(self.lists.methods_fp32, torch.float32, module=None)

    def test_promotion(self):
        self.check(self.lists.torch_need_autocast_promote, torch.float32)
        self.check_promoting(self.lists.torch_expect_builtin_promote, torch)
        self.check_promoting(self.lists.methods_expect_builtin_promote, None)

    def test_banned(self):
        with torch.autocast("cuda"):
            for name, arguments, module in self.lists.banned:
                with self.assertRaises(RuntimeError):
                    getattr(module, name)(*arguments)


class Behaviour(unittest.TestCase):
    def test_the_hosts_autocast_is_another(self):
        a = torch.randn(4, 4, device="cuda:1")
        with torch.autocast("cpu"):
            self.assertEqual((a @ a).dtype, torch.float32)
        with torch.autocast("cuda"):
            self.assertEqual((a @ a).dtype, torch.float16)
            self.assertEqual((a.cpu() @ a.cpu()).dtype, torch.float32)
            with torch.autocast("cuda", enabled=False):
                self.assertEqual((a @ a).dtype, torch.float32)
        with torch.autocast("cuda", dtype=torch.bfloat16):
            self.assertEqual((a @ a).dtype, torch.bfloat16)

    def test_einsum(self):
        a = torch.randn(2, 3, 4, 8, device="cuda:1")
        with torch.autocast("cuda"):
            self.assertEqual(torch.einsum("bkhd,bqhd->bqkh", a, a).dtype, torch.float16)

    def test_softmax_from_half_to_float(self):
        for kind in (torch.softmax, torch.log_softmax):
            device = torch.randn(4, 8, device="cuda:1", dtype=torch.float16).requires_grad_()
            host = device.detach().cpu().float().requires_grad_()
            result, expected = kind(device, -1, dtype=torch.float32), kind(host, -1)
            torch.testing.assert_close(result.cpu(), expected)
            result.square().sum().backward()
            expected.square().sum().backward()
            self.assertEqual(device.grad.dtype, torch.float16)
            torch.testing.assert_close(device.grad.float().cpu(), host.grad, atol=1e-2, rtol=1e-2)

    def test_weights_are_cast_once(self):
        layer = nn.Linear(4, 4, device="cuda:1")
        with torch.autocast("cuda"):
            first, second = (layer(torch.ones(1, 4, device="cuda:1")) for _ in range(2))
        self.assertIs(first.grad_fn.next_functions[2][0].next_functions[0][0], second.grad_fn.next_functions[2][0].next_functions[0][0])

    def train(self, scaler, model, steps, poison=()):
        optimizer = torch.optim.SGD(model.parameters(), lr=0.05)
        torch.manual_seed(1)
        data = torch.randn(steps, 16, 8, device="cuda:1")
        losses = []
        for step in range(steps):
            optimizer.zero_grad()
            with torch.autocast("cuda"):
                loss = model(data[step]).float().sub(data[step].sum(-1, keepdim=True)).square().mean()
            losses.append(loss.item())
            scaler.scale(loss).backward()
            if step in poison:
                model[0].weight.grad[0, 0] = float("inf")
            scaler.unscale_(optimizer)
            nn.utils.clip_grad_norm_(model.parameters(), 1.0)
            scaler.step(optimizer)
            scaler.update()
        return losses

    def test_grad_scaler(self):
        torch.manual_seed(0)
        model = nn.Sequential(nn.Linear(8, 32), nn.ReLU(), nn.Linear(32, 1)).to("cuda:1")
        scaler = torch.amp.GradScaler("cuda", init_scale=1024.0, growth_interval=10)
        losses = self.train(scaler, model, 30)
        self.assertLess(losses[-1], losses[0])
        self.assertEqual(scaler.get_scale(), 1024.0 * 8)
        before = [p.detach().clone() for p in model.parameters()]
        self.train(scaler, model, 1, poison=(0,))
        self.assertTrue(all(torch.equal(a, b) for a, b in zip(before, model.parameters())))
        self.assertEqual(scaler.get_scale(), 1024.0 * 4)

    def test_fused_optimizer_takes_the_scale(self):
        torch.manual_seed(0)
        for kind in (torch.optim.Adam, torch.optim.AdamW, torch.optim.SGD, torch.optim.Adagrad):
            results = []
            for device, fused in (("cpu", False), ("cuda:1", True)):
                weight = nn.Parameter(torch.linspace(-1, 1, 12, device=device))
                optimizer = kind([weight], lr=0.1, fused=fused)
                scaler = torch.amp.GradScaler(device.split(":")[0], init_scale=64.0)
                for _ in range(4):
                    optimizer.zero_grad()
                    scaler.scale((weight**3).sum()).backward()
                    scaler.step(optimizer)
                    scaler.update()
                results.append(weight.detach().cpu())
            torch.testing.assert_close(*results)


if __name__ == "__main__":
    unittest.main()
