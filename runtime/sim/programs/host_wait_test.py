"""Where the host waits for a simulated device, and what torch.cuda.set_sync_debug_mode says of it. Needs the environment of
`devsan run --sim=2`."""

import ctypes
import unittest
import warnings

from devsan import sim

sim.install()

import torch

library = ctypes.CDLL(sim.library_path())
library.devsan_sim_host_waits.restype = ctypes.c_uint64

RELEASE = tuple(int(part) for part in torch.__version__.split(".")[:2])
SYNC = "called a synchronizing CUDA operation"


def waits(call):
    before = library.devsan_sim_host_waits()
    call()
    return library.devsan_sim_host_waits() - before


class HostWaits(unittest.TestCase):
    def setUp(self):
        self.x = torch.arange(1.0, 17.0, device="cuda:1").view(4, 4)
        self.mask = self.x > 3
        self.rows = torch.tensor([0, 2], device="cuda:1")
        self.host_rows = torch.tensor([0, 2])

    def assert_waits(self, **calls):
        for name, call in calls.items():
            with self.subTest(name):
                self.assertGreater(waits(call), 0)

    def assert_goes_on(self, **calls):
        for name, call in calls.items():
            with self.subTest(name):
                self.assertEqual(waits(call), 0)

    def set_item(self, index, value):
        self.x[index] = value

    def test_reads(self):
        x = self.x
        self.assert_waits(
            item=lambda: x.sum().item(),
            condition=lambda: bool(x.any()),
            tolist=lambda: x.tolist(),
            cpu=lambda: x.cpu(),
            numpy=lambda: x.cpu().numpy(),
            printing=lambda: str(x),
            equal=lambda: torch.equal(x, x + 1),
            allclose=lambda: torch.allclose(x, x),
            number_of_tensors=lambda: torch.tensor([x[0, 0], x[1, 1]]),
            index_of_python=lambda: [1, 2, 3, 4][self.rows[0]],
            loop=lambda: list(range(self.rows[1])),
        )
        self.assert_goes_on(
            any=lambda: x.any(),
            isclose=lambda: torch.isclose(x, x),
            equal_to_itself=lambda: torch.equal(x, x),
            equal_of_other_shape=lambda: torch.equal(x, x[0]),
            tensor_of_scalar=lambda: x[0, 0].clone(),
            shape=lambda: (x.shape, x.is_contiguous(), x.numel()),
        )

    def test_sizes_that_depend_on_values(self):
        x, mask, rows = self.x, self.mask, self.rows
        counts = torch.tensor([1, 2], device="cuda:1")
        self.assert_waits(
            nonzero=lambda: x.nonzero(),
            where=lambda: torch.where(mask),
            masked_select=lambda: x.masked_select(mask),
            mask=lambda: x[mask],
            unique=lambda: x.unique(),
            unique_of_rows=lambda: x.unique(dim=0),
            bincount=lambda: torch.bincount(rows),
            repeat_interleave=lambda: rows.repeat_interleave(counts),
            one_hot=lambda: torch.nn.functional.one_hot(rows),
            histc=lambda: torch.histc(x, 4),
        )
        self.assert_goes_on(
            where=lambda: torch.where(mask, x, x + 1),
            where_of_number=lambda: torch.where(mask, x, 2.0),
            repeat_interleave=lambda: rows.repeat_interleave(counts, output_size=3),
            one_hot=lambda: torch.nn.functional.one_hot(rows, 4),
            histc=lambda: torch.histc(x, 4, 0, 20),
            nonzero_static=lambda: torch.nonzero_static(x, size=4),
            masked_fill=lambda: x.masked_fill(mask, 2.0),
            topk=lambda: x.topk(2),
            searchsorted=lambda: torch.searchsorted(x[0], x[1]),
            bucketize=lambda: torch.bucketize(x, x[0]),
            short_mode=lambda: x.mode(),
        )

    def test_indices_and_scalars(self):
        x, mask, rows, host_rows = self.x, self.mask, self.rows, self.host_rows
        host_mask, one = mask.cpu(), torch.tensor(1.0, device="cuda:1")
        self.assert_waits(
            host_index=lambda: x[host_rows],
            list_index=lambda: x[[0, 2]],
            put_at_host_index=lambda: self.set_item(host_rows, x[:2] + 1),
            put_at_list=lambda: self.set_item([0, 2], x[:2] + 1),
            put_number=lambda: self.set_item((0, 0), 5.0),
            put_device_values_by_mask=lambda: x.masked_scatter(mask, x)[mask],
            fill_with_tensor=lambda: x.masked_fill(mask, x[0, 0]),
            accumulate_by_host_mask=lambda: x.index_put((host_mask,), one, accumulate=True),
            accumulate_by_mask=lambda: x.index_put((mask,), torch.tensor(1.0, device="cuda:1"), accumulate=True),
            where_with_host_scalar=lambda: torch.where(mask, x, torch.tensor(2.0)),
            make_on_device=lambda: torch.tensor([1.0, 2.0], device="cuda:1"),
        )
        self.assert_goes_on(
            device_index=lambda: x[rows],
            slices=lambda: x[1:, ::2],
            **({} if RELEASE < (2, 13) else {
                "host_mask": lambda: x[host_mask],
                "put_at_host_mask": lambda: x.index_put_((host_mask,), one),
            }),
            put_number_by_mask=lambda: self.set_item(mask, 1.0),
            put_at_device_index=lambda: self.set_item(rows, x[:2] + 1),
            fill=lambda: x.fill_(1.0),
            host_scalar=lambda: x + torch.tensor(1.0),
            index_select=lambda: x.index_select(0, rows),
            scatter=lambda: x.scatter(0, rows.view(2, 1), 1.0),
            full=lambda: torch.full((3,), 2.0, device="cuda:1"),
        )

    def test_copies(self):
        x = self.x
        pageable, pinned = torch.ones(4, 4), torch.ones(4, 4).pin_memory()
        staged = torch.ones(16 << 10, dtype=torch.float32)  # 64 KiB, which CUDA takes along with its command
        larger = torch.ones((16 << 10) + 1, dtype=torch.float32)
        self.assert_waits(
            upload=lambda: pageable.to("cuda:1"),
            pageable_upload=lambda: larger.to("cuda:1", non_blocking=True),
            converted_upload=lambda: torch.ones(16 << 10, dtype=torch.float64).to("cuda:1", torch.float32, non_blocking=True),
            pageable_download=lambda: torch.ones(4, 4).copy_(x, non_blocking=True),
            pinned_upload=lambda: pinned.to("cuda:1"),
            download=lambda: pinned.copy_(x),
            foreach=lambda: torch._foreach_copy_([x], [pageable]),
        )
        self.assert_goes_on(
            pinned_upload=lambda: pinned.to("cuda:1", non_blocking=True),
            small_upload=lambda: staged.to("cuda:1", non_blocking=True),
            download=lambda: pinned.copy_(x, non_blocking=True),
            other_device=lambda: x.to("cuda:0"),
            same_device=lambda: x.clone().copy_(x),
            nothing=lambda: torch.empty(0, device="cuda:1").cpu(),
        )

    def test_linear_algebra(self):
        a = torch.eye(3, device="cuda:1") * 2
        self.assert_waits(
            solve=lambda: torch.linalg.solve(a, a),
            inv=lambda: torch.linalg.inv(a),
            cholesky=lambda: torch.linalg.cholesky(a),
            eigh=lambda: torch.linalg.eigh(a),
            eig=lambda: torch.linalg.eig(a),
            svd=lambda: torch.linalg.svd(a),
            lu_factor=lambda: torch.linalg.lu_factor(a),
            matrix_exp=lambda: torch.linalg.matrix_exp(a),
        )
        self.assert_goes_on(
            inv_ex=lambda: torch.linalg.inv_ex(a),
            cholesky_ex=lambda: torch.linalg.cholesky_ex(a),
            solve_ex=lambda: torch.linalg.solve_ex(a, a),
            det=lambda: torch.linalg.det(a),
            qr=lambda: torch.linalg.qr(a),
            norm=lambda: torch.linalg.vector_norm(a),
        )

    def test_sparse(self):
        indices = torch.tensor([[0, 1, 1], [2, 0, 0]], device="cuda:1")
        values = torch.tensor([1.0, 2.0, 3.0], device="cuda:1")
        coo = torch.sparse_coo_tensor(indices, values, (2, 3), check_invariants=False)
        coalesced = coo.coalesce()
        self.assert_waits(
            to_sparse=lambda: self.x.to_sparse(),
            to_sparse_csr=lambda: self.x.to_sparse_csr(),
            coalesce=lambda: coo.coalesce(),
            coo_to_csr=lambda: coo.to_sparse_csr(),
            to_host=lambda: coalesced.cpu(),
            shape_from_indices=lambda: torch.sparse_coo_tensor(indices, values),
            softmax=lambda: torch.sparse.softmax(coalesced, 1),
            printing=lambda: str(coo),
        )
        self.assert_goes_on(
            coalesced=lambda: coalesced.coalesce(),
            to_csr=lambda: coalesced.to_sparse_csr(),
            to_dense=lambda: coalesced.to_dense(),
            product=lambda: torch.sparse.mm(coalesced, torch.ones(3, 2, device="cuda:1")),
        )

    def test_compressed(self):
        csr = self.x.to_sparse_csr()
        self.assert_waits(
            row=lambda: csr[0],
            to_dense=lambda: csr.to_dense(),
            to_host=lambda: csr.cpu(),
            sum_of_rows=lambda: torch._sparse_csr_sum(csr, [1], True),
        )
        self.assert_goes_on(
            product=lambda: csr @ self.x,
            parts=lambda: (csr.crow_indices(), csr.col_indices(), csr.values()),
        )

    def test_quantised(self):
        x = self.x
        scale, zero = torch.tensor(0.1, device="cuda:1"), torch.tensor(0, device="cuda:1")
        quantised = torch.quantize_per_tensor(x, 0.1, 0, torch.quint8)
        scales, zeros = torch.full((4,), 0.1, device="cuda:1"), torch.zeros(4, dtype=torch.int32, device="cuda:1")
        self.assert_waits(
            scale_on_device=lambda: torch.quantize_per_tensor(x, scale, zero, torch.quint8),
            dynamic=lambda: torch.quantize_per_tensor_dynamic(x, torch.quint8, False),
            channels=lambda: torch.quantize_per_channel(x, scales, zeros, 0, torch.quint8),
            fake_channels=lambda: torch.fake_quantize_per_channel_affine(x, scales, zeros, 0, 0, 255),
        )
        self.assert_goes_on(
            numbers=lambda: torch.quantize_per_tensor(x, 0.1, 0, torch.quint8),
            dequantise=lambda: quantised.dequantize(),
            fake=lambda: torch.fake_quantize_per_tensor_affine(x, scale, zero.int(), 0, 255),
        )

    def test_training(self):
        model = torch.nn.Linear(4, 2, device="cuda:1")
        inputs = torch.ones(3, 4, device="cuda:1")

        def step(optimizer, **options):
            model.zero_grad()
            model(inputs).sum().backward()
            return waits(optimizer.step)

        for options in ({}, {"foreach": False}, {"fused": True}, {"capturable": True}):
            with self.subTest(str(options)):
                optimizer = torch.optim.Adam(model.parameters(), **options)
                step(optimizer)
                self.assertEqual(step(optimizer), 0)
        step(torch.optim.SGD(model.parameters(), lr=0.1))
        clip = torch.nn.utils.clip_grad_norm_
        self.assert_goes_on(clip=lambda: clip(model.parameters(), 1.0))
        self.assert_waits(clip=lambda: clip(model.parameters(), 1.0, error_if_nonfinite=True))

        scaler = torch.amp.GradScaler("cuda")
        optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
        scaler.scale(model(inputs).sum()).backward()
        self.assert_waits(scaler=lambda: scaler.step(optimizer))

    def test_losses_and_sequences(self):
        functional = torch.nn.functional
        scores = torch.randn(6, 2, 4, device="cuda:1").log_softmax(2).requires_grad_()
        targets = torch.ones(2, 3, dtype=torch.long, device="cuda:1")
        lengths = (torch.tensor([6, 6]), torch.tensor([3, 3]))
        with torch.backends.cudnn.flags(enabled=False):
            loss = functional.ctc_loss(scores, targets, *lengths)
            self.assert_waits(
                ctc=lambda: functional.ctc_loss(scores, targets, *lengths),
                ctc_backward=lambda: torch.autograd.grad(loss, scores, retain_graph=True),
            )
        table = torch.ones(5, 3, device="cuda:1")
        self.assert_goes_on(
            embedding=lambda: functional.embedding(self.rows, table),
            embedding_bag=lambda: functional.embedding_bag(self.rows, table, self.rows[:1] * 0),
            cross_entropy=lambda: functional.cross_entropy(self.x, targets.new_ones(4)),
            multinomial=lambda: torch.multinomial(self.x, 2),
            pack_in_order=lambda: torch.nn.utils.rnn.pack_padded_sequence(self.x.view(4, 4, 1), torch.tensor([4, 3, 2, 1])),
        )
        self.assert_waits(
            pack=lambda: torch.nn.utils.rnn.pack_padded_sequence(
                self.x.view(4, 4, 1), torch.tensor([1, 3, 2, 4]), enforce_sorted=False
            ),
            validated=lambda: torch.distributions.Categorical(probs=self.x, validate_args=True),
        )


class SyncDebugMode(unittest.TestCase):
    def setUp(self):
        self.x = torch.ones(3, device="cuda:1")

    def tearDown(self):
        self.set(0)

    def set(self, mode):
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            torch.cuda.set_sync_debug_mode(mode)

    def test_modes(self):
        for mode, number in (("default", 0), ("warn", 1), ("error", 2), (1, 1), (0, 0)):
            self.set(mode)
            self.assertEqual(torch.cuda.get_sync_debug_mode(), number)
        with self.assertRaisesRegex(RuntimeError, "invalid value of debug_mode, expected one of 0,1,2"):
            self.set(3)
        with self.assertRaisesRegex(RuntimeError, "invalid value of debug_mode"):
            self.set("loud")

    def test_warns(self):
        self.set("warn")
        with self.assertWarnsRegex(UserWarning, SYNC):
            self.assertEqual(self.x.sum().item(), 3.0)
        # An operator of the fallback.
        with self.assertWarnsRegex(UserWarning, SYNC):
            self.x.nonzero()

    def assert_raises(self, call):
        with self.assertRaisesRegex(RuntimeError, SYNC):
            call()

    def test_raises(self):
        mask = self.x > 0
        self.set("error")
        for call in (
            lambda: self.x.sum().item(),
            lambda: self.x.cpu(),
            lambda: self.x[mask],
            lambda: self.x.unique(),
            lambda: torch.ones(3).cuda(),
            lambda: torch.cuda.current_stream().synchronize(),
            lambda: torch.linalg.inv(torch.eye(2, device="cuda:1")),
            lambda: str(self.x),
        ):
            self.assert_raises(call)
        # Nothing has been done.
        host = torch.zeros(3)
        self.assert_raises(lambda: host.copy_(self.x))
        self.set("default")
        self.assertEqual(host.tolist(), [0.0] * 3)
        self.assertEqual(self.x.tolist(), [1.0] * 3)

    def test_is_raised_in_backward(self):
        class Reads(torch.autograd.Function):
            @staticmethod
            def forward(ctx, x):
                return x.clone()

            @staticmethod
            def backward(ctx, gradient):
                gradient.sum().item()
                return gradient

        loss = Reads.apply(self.x.requires_grad_()).sum()
        self.set("error")
        self.assert_raises(loss.backward)

    def test_does_not_see_everything(self):
        event = torch.cuda.Event()
        event.record()
        pageable = torch.ones(1 << 15)
        self.set("error")
        for call in (
            torch.cuda.synchronize,
            torch.accelerator.synchronize,
            event.synchronize,
            lambda: self.x.view(3, 1).unique(dim=0),
            lambda: pageable.to("cuda:1", non_blocking=True),
        ):
            self.assertGreater(waits(call), 0)
        self.x[self.x > 0] = 2.0
        self.x + 1


class ExplicitWaits(unittest.TestCase):
    def test_are_waits(self):
        stream, event = torch.cuda.Stream(1), torch.cuda.Event()
        event.record(stream)
        for call in (
            torch.cuda.synchronize,
            torch.accelerator.synchronize,
            stream.synchronize,
            event.synchronize,
            torch.cuda.current_stream().synchronize,
        ):
            self.assertEqual(waits(call), 1)
        self.assertEqual(waits(lambda: torch.cuda.current_stream(1).wait_stream(stream)), 0)
        self.assertEqual(waits(stream.query), 0)
        self.assertEqual(waits(torch.cuda.Event().synchronize), 0)


if __name__ == "__main__":
    unittest.main()
