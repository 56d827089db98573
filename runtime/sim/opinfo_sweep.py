"""Runs PyTorch's own operator samples (OpInfo) on the CPU and on cuda:1 of two simulated devices, and compares.

usage: opinfo_sweep.py [--full] [--samples N] [--dtype NAME] [OP...]

Without arguments a fixed subset runs; --full takes every entry, --samples 0 every sample. An entry passes if, for each
sample, results and gradients are on cuda:1 and equal to the CPU's. It is skipped if the CPU cannot run it.
The status is 1 if an entry fails that is not in EXCEPTIONS, or one passes that is.
Needs DEVSAN_SIM_DEVICES=2, DEVSAN_LIBS and the package `devsan` on PYTHONPATH, as `devsan run --sim=2` sets them; and
the PyPI package expecttest, which PyTorch's samples import.
"""

import argparse
import collections
import sys
import warnings

from devsan import sim

sim.install()

import torch
from torch.testing._internal.common_methods_invocations import op_db

DEVICE = torch.device("cuda:1")

# Entry (with its variant, or a dtype after it) -> why it cannot give the CPU's result.
UNINITIALISED = "returns uninitialised memory"
NO_KERNEL = "CUDA has no kernel for it, so the simulated device refuses it"
EXCEPTIONS = {
    "empty": UNINITIALISED,
    "empty_like": UNINITIALISED,
    "empty_permuted": UNINITIALISED,
    "empty_strided": UNINITIALISED,
    "new_empty": UNINITIALISED,
    "new_empty_strided": UNINITIALISED,
    "histogram": NO_KERNEL,
    "histogramdd": NO_KERNEL,
    "sparse.mm.reduce": NO_KERNEL,
    "renorm complex64": "its backward accumulates in float on CUDA and in double on the CPU, where it gives nan",
    "tensor_split": "takes a tensor of indices on the CPU alone, on CUDA as well",
}

SUBSET = (
    "add sub mul div addmm mm bmm matmul einsum cat stack split chunk unbind where masked_fill masked_select nonzero "
    "index_select index_put index_add gather scatter scatter_add take sort topk unique cumsum cumprod sum mean var std "
    "amax argmax max min norm softmax log_softmax exp log sqrt rsqrt pow sigmoid tanh clamp sign floor logical_and eq gt "
    "zeros_like ones_like full_like arange linspace eye randn rand_like bernoulli multinomial normal "
    "nn.functional.conv1d nn.functional.conv2d nn.functional.conv_transpose2d nn.functional.batch_norm "
    "nn.functional.layer_norm nn.functional.group_norm nn.functional.linear nn.functional.embedding "
    "nn.functional.embedding_bag nn.functional.cross_entropy nn.functional.mse_loss nn.functional.binary_cross_entropy "
    "nn.functional.ctc_loss nn.functional.dropout nn.functional.gelu nn.functional.relu nn.functional.silu "
    "nn.functional.max_pool2d nn.functional.avg_pool2d nn.functional.adaptive_avg_pool2d nn.functional.interpolate "
    "nn.functional.grid_sample nn.functional.pad nn.functional.scaled_dot_product_attention nn.functional.one_hot "
    "linalg.inv linalg.svd linalg.qr linalg.cholesky linalg.solve linalg.eigh fft.fft fft.irfft as_strided view reshape "
    "permute transpose expand narrow diagonal unfold flip roll tril triu bincount searchsorted histc complex real conj "
    "view_as_real to clone contiguous resize_ item equal"
).split()

# Composites may take CUDA's path through an operator, which rounds in other places.
TOLERANCES = {torch.float16: (1e-2, 1e-2), torch.bfloat16: (2e-2, 2e-2)}
PREFERRED_DTYPES = (torch.float32, torch.int64, torch.complex64, torch.bool, torch.float16, torch.uint8)


class Mismatch(Exception):
    pass


def name_of(op):
    return f"{op.name}.{op.variant_test_name}" if op.variant_test_name else op.name


def tensor_to_device(tensor):
    if tensor.layout != torch.strided:
        moved = tensor.detach().to(DEVICE)
    else:
        # The whole storage, so that offset and strides mean the same: some operators look at them.
        storage = tensor.detach().untyped_storage().to(device=DEVICE)
        moved = torch.empty(0, dtype=tensor.dtype, device=DEVICE)
        moved.set_(storage, tensor.storage_offset(), tensor.size(), tensor.stride())
        if tensor.is_conj():
            moved = moved.conj()
        if tensor.is_neg():
            moved = torch._neg_view(moved)
    return moved.requires_grad_(tensor.requires_grad)


def tensor_on_cpu(tensor):
    return tensor.detach().requires_grad_(tensor.requires_grad)


def rebuild(value, make_tensor, device):
    """The sample's value with make_tensor applied to its tensors, and what names a device naming `device`."""
    if isinstance(value, torch.Tensor):
        return make_tensor(value)
    if isinstance(value, torch.device) or value == "cpu" and isinstance(value, str):
        return device
    if isinstance(value, tuple) and hasattr(value, "_fields"):
        return type(value)(*(rebuild(item, make_tensor, device) for item in value))
    if isinstance(value, (list, tuple)):
        return type(value)(rebuild(item, make_tensor, device) for item in value)
    if isinstance(value, dict):
        return {key: rebuild(item, make_tensor, device) for key, item in value.items()}
    return value


def tensors_in(value):
    if isinstance(value, torch.Tensor):
        return [value]
    if isinstance(value, dict):
        value = value.values()
    if isinstance(value, (list, tuple)) or isinstance(value, collections.abc.ValuesView):
        return [tensor for item in value for tensor in tensors_in(item)]
    return []


def run(op, arguments, keywords, backward):
    torch.manual_seed(0)
    result = op(*arguments, **keywords)
    gradients = []
    if backward:
        inputs = [t for t in tensors_in((arguments, keywords)) if t.requires_grad]
        outputs = [t for t in tensors_in(result) if t.requires_grad and t.numel()]
        if inputs and outputs:
            gradients = torch.autograd.grad(
                outputs, inputs, [torch.ones_like(t) for t in outputs], allow_unused=True
            )
    return result, gradients


def names_device(value):
    """Whether a sample says where its result lives; a factory without device= makes a CPU tensor."""
    if isinstance(value, dict):
        value = list(value.values())
    if isinstance(value, (list, tuple)):
        return any(names_device(item) for item in value)
    return isinstance(value, (torch.Tensor, torch.device)) or isinstance(value, str) and value.startswith("cuda")


def compare_gradients(host, device, what):
    # An input that a path does not reach has no gradient there, and zeros on a path that reaches it.
    pairs = [(h, d) for h, d in zip(host, device) if h is not None or d is not None]
    compare(
        [torch.zeros_like(d, device="cpu") if h is None else h for h, d in pairs],
        [torch.zeros_like(h, device=DEVICE) if d is None else d for h, d in pairs],
        what,
        DEVICE,
    )


def compare(host, device, what, where):
    host, device = tensors_in(host), tensors_in(device)
    if len(host) != len(device):
        raise Mismatch(f"{what}: {len(host)} tensors on the CPU, {len(device)} on {DEVICE}")
    for expected, actual in zip(host, device):
        if actual.device != where:
            raise Mismatch(f"{what}: a result is on {actual.device}")
        rtol, atol = TOLERANCES.get(expected.dtype, (1e-4, 2e-5) if expected.dtype.itemsize > 1 else (0, 0))
        try:
            torch.testing.assert_close(
                actual.detach().cpu(), expected.detach().cpu(), rtol=rtol, atol=atol, equal_nan=True, check_stride=False
            )
        except AssertionError as error:
            raise Mismatch(f"{what}: {' '.join(str(error).split())}") from error


def run_on_cpu(op, arguments, keywords, backward):
    """(whether gradients were taken, what run() gave), the latter None if the CPU cannot run the operator."""
    for differentiated in (True, False) if backward else (False,):
        try:
            return differentiated, run(op, arguments, keywords, differentiated)
        except Exception:
            continue
    return False, None


def sweep_entry(op, dtype, limit):
    """None if all samples agree, "skip" if the CPU runs none, otherwise what went wrong."""
    backward = op.supports_autograd and (dtype.is_floating_point or dtype.is_complex)
    ran = 0
    torch.manual_seed(0)
    for number, sample in enumerate(op.sample_inputs("cpu", dtype, requires_grad=backward)):
        if limit and number >= limit:
            break
        values = ((sample.input, *sample.args), sample.kwargs)
        device_arguments, device_keywords = rebuild(values, tensor_to_device, DEVICE)
        arguments, keywords = rebuild(values, tensor_on_cpu, torch.device("cpu"))
        differentiated, reference = run_on_cpu(op, arguments, keywords, backward)
        if reference is None:
            continue
        expected, expected_gradients = reference
        ran += 1
        try:
            actual, gradients = run(op, device_arguments, device_keywords, differentiated)
            where = DEVICE if names_device((device_arguments, device_keywords)) else torch.device("cpu")
            compare(expected, actual, f"sample {number}, result", where)
            compare_gradients(expected_gradients, gradients, f"sample {number}, gradient")
        except Exception as error:
            return f"{type(error).__name__}: {' '.join(str(error).split())[:300]}"
    return None if ran else "skip"


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--full", action="store_true", help="every OpInfo entry")
    parser.add_argument("--samples", type=int, default=4, help="samples per entry, 0 for all (default 4)")
    parser.add_argument("--dtype", help="only entries that take this dtype, for example int64")
    parser.add_argument("--list-skipped", action="store_true", help="name the entries that the CPU does not run")
    parser.add_argument("ops", nargs="*", metavar="OP", help="entries by name")
    options = parser.parse_args()
    wanted = set(options.ops or SUBSET)
    if not options.full and (unknown := wanted - {op.name for op in op_db} - {name_of(op) for op in op_db}):
        parser.error("no such OpInfo entry: " + ", ".join(sorted(unknown)))
    dtypes = (getattr(torch, options.dtype),) if options.dtype else PREFERRED_DTYPES

    # Some samples say device="cuda" where there is one.
    torch.cuda.set_device(DEVICE)
    warnings.simplefilter("ignore")
    counts = collections.Counter()
    problems = []
    for op in op_db:
        name = name_of(op)
        if not (options.full or op.name in wanted or name in wanted):
            continue
        dtype = next((d for d in dtypes if d in op.dtypes), None)
        if dtype is None and not options.dtype and op.dtypes:
            dtype = sorted(op.dtypes, key=str)[0]
        if dtype is None:
            counts["skipped"] += 1
            continue
        outcome = sweep_entry(op, dtype, options.samples)
        reason = EXCEPTIONS.get(name) or EXCEPTIONS.get(f"{name} {str(dtype).removeprefix('torch.')}")
        if outcome == "skip":
            counts["skipped"] += 1
            if options.list_skipped:
                print(f"{name}: not run on the CPU")
        elif outcome is None and reason not in (None, UNINITIALISED):
            counts["stale exceptions"] += 1
            problems.append(f"{name}: passes; take it off EXCEPTIONS")
        elif outcome is None:
            counts["equal"] += 1
        elif reason:
            counts["exceptions"] += 1
        else:
            counts["different"] += 1
            problems.append(f"{name} ({dtype}): {outcome}")
    for problem in problems:
        print(problem)
    print("opinfo: " + ", ".join(f"{count} {what}" for what, count in sorted(counts.items())))
    return 1 if problems else 0


if __name__ == "__main__":
    sys.exit(main())
