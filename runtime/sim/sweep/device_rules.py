"""What CUDA does with an ATen operator whose operands live on different devices, from ATen's own declarations.

Three sources, none of them the simulator: `device_check` in native_functions.yaml (torchgen writes the exact check into
each CUDA wrapper unless it says NoCheck), TensorIterator's rule on CPU scalars for operators that leave the check to
it, and the table FACTS for kernels that check by themselves, each entry read in the CUDA kernel's source. The file is read by
torchgen's own parser (which needs the PyPI package pyyaml), not by the script that makes the simulator's table.
"""

import dataclasses
import os

import torch
import torchgen
from torchgen.gen import parse_native_yaml
from torchgen.model import DeviceCheckType, DispatchKey

DECLARATIONS = os.path.join(os.path.dirname(torchgen.__file__), "packaged/ATen/native")


@dataclasses.dataclass
class Operator:
    has_cuda_kernel: bool
    checked_by_wrapper: bool
    left_to_iterator: bool


def comment_on_check(lines, first):
    """What stands beside `device_check` in the entry that begins there: no parser keeps it."""
    for line in lines[first:]:
        if line.startswith("- "):
            break
        if line.startswith("  device_check:"):
            return line.partition("#")[2]
    return ""


def read_operators():
    path = os.path.join(DECLARATIONS, "native_functions.yaml")
    parsed = parse_native_yaml(path, os.path.join(DECLARATIONS, "tags.yaml"))
    with open(path, encoding="utf-8") as file:
        lines = file.read().splitlines()
    cuda = parsed.backend_indices[DispatchKey.CUDA]
    return {
        str(function.func.name): Operator(
            cuda.has_kernel(function) or function.structured or function.structured_delegate is not None,
            function.device_check == DeviceCheckType.ExactSame,
            "TensorIterator" in comment_on_check(lines, function.loc.line),
        )
        for function in parsed.native_functions
    }


OPERATORS = read_operators()

ACCEPT, REFUSE, DELEGATES, UNKNOWN = "accepts", "refuses", "delegates", "unknown"


@dataclasses.dataclass
class Operand:
    name: str
    tensor: torch.Tensor
    is_out: bool
    checked: bool  # by a generated wrapper, which looks at outputs and positional arguments


def operands_of(func, arguments, keywords):
    found = []
    for position, argument in enumerate(func._schema.arguments):
        if position < len(arguments):
            value = arguments[position]
        elif argument.name in keywords:
            value = keywords[argument.name]
        else:
            continue
        is_out = argument.is_out or position == 0 and argument.name == "self" and argument.is_write
        for tensor in value if isinstance(value, (list, tuple)) else [value]:
            if isinstance(tensor, torch.Tensor):
                found.append(Operand(argument.name, tensor, is_out, argument.is_out or not argument.kwarg_only))
    # Outputs come first, in generated checks and in TensorIterator.
    return [o for o in found if o.is_out] + [o for o in found if not o.is_out]


def is_mixed(operands):
    return len({operand.tensor.device for operand in operands}) > 1


def is_cpu_scalar(operand):
    return operand.tensor.device.type == "cpu" and operand.tensor.dim() == 0


def common_device(operands):
    return next((o.tensor.device for o in operands if o.tensor.device.type != "cpu"), torch.device("cpu"))


def iterator_rule(operands, cpu_scalars):
    """TensorIteratorBase::compute_types: the first device that is not the CPU, and up to `cpu_scalars` CPU scalars."""
    common = common_device(operands)
    for operand in operands:
        if is_cpu_scalar(operand) and not operand.is_out and cpu_scalars:
            cpu_scalars -= 1
        elif operand.tensor.device != common:
            return REFUSE
    return ACCEPT


def named(operands, name):
    return [operand for operand in operands if operand.name == name]


def index_rule(operands):
    """index, index_put: indices on the CPU or beside the tensor; a 0-dim value moves to the tensor's device."""
    indexed = named(operands, "self")[0].tensor.device
    if any(o.tensor.device not in (indexed, torch.device("cpu")) for o in named(operands, "indices")):
        return REFUSE
    if any(o.tensor.device != indexed and o.tensor.dim() for o in named(operands, "values")):
        return REFUSE
    if any(o.tensor.device != indexed for o in named(operands, "out")):
        return REFUSE
    return ACCEPT


def where_rule(operands):
    """where.self: 0-dim operands move to the first device that is not the CPU."""
    device = common_device(operands)
    return ACCEPT if all(o.tensor.device == device or not o.tensor.dim() and not o.is_out for o in operands) else REFUSE


def fill_rule(operands):
    """fill_.Tensor, masked_fill_.Tensor, index_fill_.int_Tensor: the 0-dim value may be on any device."""
    return REFUSE if is_mixed([o for o in operands if o.name != "value"]) else ACCEPT


def masked_fill_rule(operands):
    """masked_fill__cuda: as fill_rule, but never into a host tensor."""
    if named(operands, "self")[0].tensor.device.type == "cpu":
        return REFUSE
    return fill_rule(operands)


def bernoulli_rule(operands):
    """bernoulli_.Tensor: CUDA's kernel moves the probabilities to the tensor that it fills."""
    return REFUSE if named(operands, "self")[0].tensor.device.type == "cpu" else ACCEPT


def binary_cross_entropy_rule(operands):
    """A loop without CPU scalars over input and target; the weight is multiplied in by mul_."""
    device = common_device(operands)
    bad = [o for o in operands if o.tensor.device != device and not (o.name == "weight" and is_cpu_scalar(o))]
    return REFUSE if bad else ACCEPT


def same_rule(operands):
    return REFUSE


def any_rule(operands):
    return ACCEPT


FACTS = {
    "copy_": any_rule,
    "copy_sparse_to_sparse_": any_rule,
    "is_same_size": any_rule,
    "is_set_to": any_rule,
    # they answer which library takes the operands, wherever these are
    "_use_cudnn_ctc_loss": any_rule,
    "_use_cudnn_ctc_loss.Tensor": any_rule,
    "_use_miopen_ctc_loss": any_rule,
    "_use_miopen_ctc_loss.Tensor": any_rule,
    # storage of another device cannot be set (checkSetStorage)
    "set_.source_Tensor": same_rule,
    "index.Tensor": index_rule,
    "index.Tensor_out": index_rule,
    "_index_put_impl_": index_rule,
    "where.self": where_rule,
    "where.self_out": where_rule,
    "fill_.Tensor": fill_rule,
    "index_fill_.int_Scalar": fill_rule,
    "index_fill_.int_Tensor": fill_rule,
    "masked_fill_.Scalar": masked_fill_rule,
    "masked_fill_.Tensor": masked_fill_rule,
    "bernoulli_.Tensor": bernoulli_rule,
    "binary_cross_entropy": binary_cross_entropy_rule,
    "binary_cross_entropy.out": binary_cross_entropy_rule,
}

# Operators over TensorIterator whose configuration does not set allow_cpu_scalars.
NO_CPU_SCALARS = {
    "addcdiv",
    "addcdiv_",
    "addcdiv.out",
    "binomial",
}


def rule_of(func, operands):
    """ACCEPT, REFUSE, DELEGATES (a composite: its inner operators decide), or UNKNOWN."""
    if not is_mixed(operands):
        return ACCEPT
    name = name_of(func)
    if name in FACTS:
        return FACTS[name](operands)
    operator = OPERATORS.get(name)
    if operator is None or func.namespace != "aten":
        return DELEGATES
    if not operator.has_cuda_kernel:
        return DELEGATES
    if operator.checked_by_wrapper:
        return REFUSE
    if name.startswith("_foreach"):
        return DELEGATES
    if operator.left_to_iterator or name.startswith("special_"):
        return iterator_rule(operands, 0 if name in NO_CPU_SCALARS else 1)
    return UNKNOWN


def name_of(func):
    name = func._schema.name.removeprefix("aten::")
    return f"{name}.{func._schema.overload_name}" if func._schema.overload_name else name


# What kernels that check by themselves say; others say that they found two devices.
TEXTS = {
    "masked_fill_.Scalar": "expected self and mask to be on same device, but got mask on",
    "masked_fill_.Tensor": "expected self and mask to be on same device, but got mask on|"
    "masked_fill_: Expected inputs to be on same device",
    "index_fill_.int_Scalar": "self and index value tensors should have same device type",
    "index_fill_.int_Tensor": "self and index value tensors should have same device type",
    "index.Tensor": "indices should be either on cpu or on the same device as the indexed tensor",
    "_index_put_impl_": "indices should be either on|expected device .* for value tensor|found at least two devices",
    "set_.source_Tensor": "Attempted to set the storage of a tensor on device",
}


# Arguments by keyword, which a generated wrapper does not look at.
UNCHECKED_TEXTS = {
    "searchsorted.Tensor sorter": "sorter and boundary tensors should have same device type",
    "searchsorted.Scalar sorter": "sorter and boundary tensors should have same device type",
    "segment_reduce lengths": r"Expected data.get_device\(\) == lengths_value.get_device\(\) to be true",
    "segment_reduce offsets": r"Expected data.get_device\(\) == offsets_value.get_device\(\) to be true",
}


def expected_text(func, operands):
    """The error of operands that are refused, as a regular expression; shape errors may come before."""
    name = name_of(func)
    if name in TEXTS:
        return TEXTS[name]
    operator = OPERATORS[name]
    if operator.checked_by_wrapper:
        common = operands[0].tensor.device
        odd = next(operand for operand in operands if operand.tensor.device != common)
        if not odd.checked:
            return UNCHECKED_TEXTS[f"{name} {odd.name}"]
        return (
            f"Expected all tensors to be on the same device, but got {odd.name} is on {odd.tensor.device}, "
            f"different from other tensors on {common} \\(when checking argument in method wrapper_CUDA_"
        )
    return "Expected all tensors to be on the same device, but found at least two devices, cuda:. and (cuda:.|cpu)!"
