"""torch.use_deterministic_algorithms on simulated devices: what CUDA refuses is refused, with its words, and what it has a
deterministic kernel for runs. Run by ctest with the environment that `devsan run --sim=2` sets."""

import pathlib
import sys
import unittest
import warnings

from devsan import sim

sim.install()

import torch
from torch.nn import functional as F

OPERATORS = pathlib.Path(__file__).resolve().parent.parent / "operators"
sys.path.insert(0, str(OPERATORS))
from generate_cuda_operators import read_cuda_build

RELEASE = tuple(int(part) for part in torch.__version__.split(".")[:2])


def real(*sizes, dtype=torch.float32):
    return torch.randn(*sizes, device="cuda", dtype=dtype, requires_grad=True)


def backward(result):
    (result[0] if isinstance(result, tuple) else result).sum().backward()


def integers(high, *sizes):
    return torch.randint(high, sizes, device="cuda")


def unpooled(dimensions):
    pooled, indices = getattr(F, f"max_pool{dimensions}d")(real(1, 1, *[4] * dimensions), 2, return_indices=True)
    return getattr(F, f"max_unpool{dimensions}d")(pooled, indices, 2)


def resized(mode, dimensions, **more):
    # What the module does in this mode, where it has another way, is no matter here.
    name = f"upsample_{mode}{dimensions}d"
    return getattr(torch.ops.aten, name)(real(1, 1, *[4] * dimensions), [6] * dimensions, False, **more)


def smoothed(mode):
    return F.interpolate(real(1, 1, 4, 4), size=(3, 3), mode=mode, antialias=True)


def ctc(targets, *lengths):
    scores = torch.randn(5, 2, 4, device="cuda").log_softmax(2).requires_grad_()
    return F.ctc_loss(scores, targets, *lengths)


def scattered(name, *more, **named):
    return getattr(torch.zeros(4, device="cuda"), name)(0, integers(4, 6), torch.ones(6, device="cuda"), *more, **named)


def sampled(aligned):
    return F.grid_sample(real(1, 1, 4, 4), real(1, 3, 3, 2), align_corners=aligned)


# By the text of the alert: programs that reach it.
REFUSED = {
    "_bincount_cuda": lambda: torch.bincount(integers(4, 6), weights=torch.rand(6, device="cuda")),
    "_histc_cuda with floating point input": lambda: torch.histc(torch.rand(6, device="cuda"), 3),
    "adaptive_avg_pool2d_backward_cuda": lambda: backward(F.adaptive_avg_pool2d(real(1, 1, 4, 4), 3)),
    "adaptive_avg_pool3d_backward_cuda": lambda: backward(F.adaptive_avg_pool3d(real(1, 1, 4, 4, 4), 3)),
    "adaptive_max_pool2d_backward_cuda": lambda: backward(F.adaptive_max_pool2d(real(1, 1, 4, 4), 3)),
    "avg_pool3d_backward_cuda": lambda: backward(F.avg_pool3d(real(1, 1, 4, 4, 4), 2)),
    "ctc_loss_backward_gpu": lambda: backward(ctc(integers(3, 2, 3) + 1, torch.tensor([5, 4]), torch.tensor([3, 2]))),
    "cudnn_grid_sampler_backward": lambda: backward(sampled(True)),
    "embedding_bag_backward_cuda_max": lambda: backward(F.embedding_bag(integers(4, 2, 3), real(4, 5), mode="max")),
    "fractional_max_pool2d_backward_cuda": lambda: backward(F.fractional_max_pool2d(real(1, 1, 6, 6), 2, output_size=3)),
    "fractional_max_pool3d_backward_cuda": lambda: backward(F.fractional_max_pool3d(real(1, 1, 6, 6, 6), 2, output_size=3)),
    "grid_sampler_2d_backward_cuda": lambda: backward(sampled(False)),
    "grid_sampler_3d_backward_cuda": lambda: backward(F.grid_sample(real(1, 1, 4, 4, 4), real(1, 2, 2, 2, 3), align_corners=False)),
    "index_reduce_cuda": lambda: torch.zeros(4, device="cuda").index_reduce_(0, integers(4, 6), torch.ones(6, device="cuda"), "amax"),
    "kthvalue CUDA": lambda: torch.rand(6, device="cuda").kthvalue(2),
    "max_pool3d_with_indices_backward_cuda": lambda: backward(F.max_pool3d(real(1, 1, 4, 4, 4), 2)),
    "max_unpooling2d_forward_out": lambda: unpooled(2),
    "max_unpooling3d_forward_out": lambda: unpooled(3),
    "median CUDA with indices output": lambda: torch.rand(3, 4, device="cuda").median(1),
    "nll_loss2d_forward_out_cuda_template": lambda: F.cross_entropy(real(2, 3, 4, 4), integers(3, 2, 4, 4)),
    "put_": lambda: torch.zeros(4, device="cuda").put_(integers(4, 6), torch.ones(6, device="cuda"), accumulate=True),
    "reflection_pad1d_backward_out_cuda": lambda: backward(F.pad(real(1, 1, 4), (1, 1), mode="reflect")),
    "reflection_pad3d_backward_out_cuda": lambda: backward(F.pad(real(1, 1, 4, 4, 4), (1,) * 6, mode="reflect")),
    # torch.nn.functional.pad pads by indices in this mode.
    "replication_pad1d_backward_cuda": lambda: backward(torch.ops.aten.replication_pad1d(real(1, 1, 4), (1, 1))),
    "replication_pad2d_backward_cuda": lambda: backward(torch.ops.aten.replication_pad2d(real(1, 1, 4, 4), (1,) * 4)),
    "replication_pad3d_backward_cuda": lambda: backward(torch.ops.aten.replication_pad3d(real(1, 1, 4, 4, 4), (1,) * 6)),
    "scatter_reduce_cuda_kernel": lambda: scattered("scatter", reduce="multiply"),
    "scatter_reduce_cuda_prod_": lambda: scattered("scatter_reduce", "prod"),
    "upsample_bicubic2d_aa_backward_out_cuda": lambda: backward(smoothed("bicubic")),
    "upsample_bicubic2d_backward_out_cuda": lambda: backward(resized("bicubic", 2)),
    "upsample_bilinear2d_aa_backward_out_cuda": lambda: backward(smoothed("bilinear")),
    "upsample_bilinear2d_backward_out_cuda": lambda: backward(resized("bilinear", 2)),
    "upsample_linear1d_backward_out_cuda": lambda: backward(resized("linear", 1)),
    "upsample_trilinear3d_backward_out_cuda": lambda: backward(resized("trilinear", 3)),
}
# The same kernels by the out= form, which says its own name.
OUT_FORMS = {
    "adaptive_avg_pool3d_backward_out_cuda",
    "fractional_max_pool3d_backward_out_cuda",
    "max_pool3d_with_indices_backward_out_cuda",
    "replication_pad2d_backward_out_cuda",
    "replication_pad3d_backward_out_cuda",
}
# CUDA has another way in this mode, and never comes there.
NEVER = {"scatter_add_cuda_kernel", "scatter_cuda_", "scatter_reduce_cuda_mean_", "scatter_reduce_cuda_sum_"}

ALLOWED = {
    "scatter": lambda: scattered("scatter"),
    "scatter_reduce sum": lambda: scattered("scatter_reduce", "sum"),
    "scatter_reduce amax": lambda: scattered("scatter_reduce", "amax"),
    "scatter_add": lambda: scattered("scatter_add"),
    "scatter add": lambda: scattered("scatter", reduce="add"),
    "index_add": lambda: torch.zeros(4, device="cuda").index_add(0, integers(4, 6), torch.ones(6, device="cuda")),
    "index_put accumulate": lambda: torch.zeros(4, device="cuda").index_put_((integers(4, 6),), torch.ones(6, device="cuda"), True),
    "bincount": lambda: torch.bincount(integers(4, 6)),
    "histc of integers": lambda: torch.histc(integers(4, 6), 3),
    "median of all": lambda: torch.rand(5, device="cuda").median(),
    "nll_loss2d without reduction": lambda: F.nll_loss(real(2, 3, 4, 4), integers(3, 2, 4, 4), reduction="none"),
    "embedding_bag sum": lambda: backward(F.embedding_bag(integers(4, 2, 3), real(4, 5), mode="sum")),
    "reflection_pad2d": lambda: backward(F.pad(real(1, 1, 4, 4), (1,) * 4, mode="reflect")),
    "replication_pad2d": lambda: backward(F.pad(real(1, 1, 4, 4), (1,) * 4, mode="replicate")),
    "interpolate bilinear": lambda: backward(F.interpolate(real(1, 1, 4, 4), scale_factor=2, mode="bilinear")),
    "interpolate nearest": lambda: backward(F.interpolate(real(1, 1, 4, 4), scale_factor=2)),
    "cumsum": lambda: torch.rand(9, device="cuda").cumsum(0),
    "convolution": lambda: backward(F.conv2d(real(1, 1, 4, 4), real(1, 1, 3, 3))),
    "ctc of cuDNN": lambda: backward(ctc(torch.tensor([1, 2, 3], dtype=torch.int32), [5, 5], [2, 1])),
}


class Deterministic(unittest.TestCase):
    def setUp(self):
        torch.manual_seed(0)
        self.addCleanup(torch.use_deterministic_algorithms, False)

    def alerts(self):
        return {text for kind, _, text in read_cuda_build(OPERATORS / "cuda_build.txt", RELEASE) if kind == "alert"}

    def test_all_that_cuda_refuses_is_refused(self):
        # Unpooling is refused by the CPU's kernels too, and not in the table.
        for text in (self.alerts() - OUT_FORMS - NEVER - {"cuBLAS"}) | {"max_unpooling2d_forward_out", "max_unpooling3d_forward_out"}:
            with self.subTest(text):
                torch.use_deterministic_algorithms(True)
                with self.assertRaisesRegex(RuntimeError, f"^{text} does not have a deterministic implementation"):
                    REFUSED[text]()
                torch.use_deterministic_algorithms(True, warn_only=True)
                with warnings.catch_warnings(record=True) as seen:
                    warnings.simplefilter("always")
                    REFUSED[text]()
                told = [str(warning.message).partition(" does not")[0] for warning in seen if "deterministic" in str(warning.message)]
                self.assertEqual(set(told), {text})
                torch.use_deterministic_algorithms(False)
                REFUSED[text]()

    def test_forms_with_out(self):
        torch.use_deterministic_algorithms(True)
        x = torch.rand(3, 4, device="cuda")
        values, indices = torch.empty(3, device="cuda"), torch.empty(3, device="cuda", dtype=torch.long)
        with self.assertRaisesRegex(RuntimeError, "^median CUDA with indices output does not"):
            torch.median(x, 1, out=(values, indices))
        with self.assertRaisesRegex(RuntimeError, "^_histc_cuda with floating point input does not"):
            torch.histc(x, 3, out=values)
        with self.assertRaisesRegex(RuntimeError, "^scatter_reduce_cuda_prod_ does not"):
            x.scatter_reduce_(0, integers(3, 3, 4), x.clone(), "prod")

    def test_what_has_a_deterministic_kernel_runs(self):
        torch.use_deterministic_algorithms(True)
        for name, program in ALLOWED.items():
            with self.subTest(name):
                program()

    def test_the_host_is_not_concerned(self):
        torch.use_deterministic_algorithms(True)
        torch.histc(torch.rand(6), 3)
        torch.rand(3, 4).median(1)


if __name__ == "__main__":
    unittest.main()
