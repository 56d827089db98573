"""Runs PyTorch's own module and optimizer samples on the CPU and on cuda:1 of two simulated devices, and compares.

usage: modules.py [--full] [--verbose] [NAME...]

Modules (module_db): outputs, gradients of inputs and parameters, and buffers, in training and in evaluation; their
error inputs. Optimizers (optim_db): parameters after five steps, for every configuration that CUDA offers (loop,
foreach, fused, capturable), and their state, against the CPU's plain loop. Without --full, float32 and a few of each.
The status is 1 if one differs or nothing was compared.
"""

import argparse
import collections
import copy
import re
import sys
import time
import warnings

from devsan import sim

sim.install()

import torch
from torch.testing._internal.common_modules import ModuleErrorEnum, module_db
from torch.testing._internal.common_optimizers import (
    OptimizerErrorEnum,
    _get_optim_inputs_including_global_cliquey_kwargs as optimizer_inputs,
    optim_db,
)

from values import (
    CPU,
    REDUCED,
    Mismatch,
    brief,
    compare,
    compare_gradients,
    compare_gradients_with_float,
    compare_with_float,
    on,
    tensors_in,
    widened,
)

DEVICE = torch.device("cuda:1")
SUBSET = set(
    "nn_Linear nn_Conv2d nn_BatchNorm2d nn_LayerNorm nn_LSTM nn_GRU nn_Embedding nn_CrossEntropyLoss nn_Dropout "
    "nn_MultiheadAttention nn_TransformerEncoderLayer nn_MaxPool2d Adam AdamW SGD LBFGS Adagrad".split()
)
MODULE_DTYPES = (torch.float32, torch.float64, torch.bfloat16, torch.float16)
STEPS = 5

# cuDNN keeps nothing for a backward pass in evaluation, and says so.
NO_BACKWARD_IN_EVALUATION = {"nn_RNN", "nn_LSTM", "nn_GRU"}
CUDNN_REFUSAL = "cudnn RNN backward can only be called in training mode"


def run_module(module, arguments, keywords, backward=True):
    torch.manual_seed(1)
    output = module(*arguments, **keywords)
    if not backward:
        return output, []
    inputs = [t for t in tensors_in((arguments, keywords)) if t.requires_grad]
    parameters = [p for p in module.parameters() if p.requires_grad]
    outputs = [t for t in tensors_in(output) if t.requires_grad and t.numel()]
    gradients = []
    if outputs and inputs + parameters:
        gradients = torch.autograd.grad(
            outputs, inputs + parameters, [torch.ones_like(t) for t in outputs], allow_unused=True
        )
    return output, gradients


def expect_refused_backward(module, given):
    try:
        run_module(module, *given)
    except RuntimeError as error:
        if CUDNN_REFUSAL in str(error):
            return
        raise
    raise Mismatch("backward in evaluation is accepted; cuDNN refuses it")


def check_module(info, dtype, training):
    """How many inputs agreed; raises Mismatch at the first that does not."""
    agreed = 0
    torch.manual_seed(0)
    for sample in info.module_inputs_func(info, device="cpu", dtype=dtype, requires_grad=True, training=training):
        if sample.forward_input is None:
            continue
        constructor = sample.constructor_input
        torch.manual_seed(0)
        host = info.module_cls(*constructor.args, **constructor.kwargs).to(dtype).train(training)
        given = (sample.forward_input.args, sample.forward_input.kwargs)
        if info.is_lazy:
            torch.manual_seed(0)
            arguments, keywords = on(CPU, given)
            with torch.no_grad():
                host(*arguments, **keywords)
        device = copy.deepcopy(host).to(DEVICE)
        try:
            expected, expected_gradients = run_module(host, *on(CPU, given))
        except Exception:
            continue
        what = f"{dtype} {'training' if training else 'evaluation'} {sample.desc or constructor}"[:160]
        if not training and info.formatted_name in NO_BACKWARD_IN_EVALUATION:
            expect_refused_backward(device, on(DEVICE, given))
            expected_gradients = []
        try:
            actual, gradients = run_module(device, *on(DEVICE, given), backward=bool(expected_gradients))
        except Exception as error:
            raise Mismatch(f"{what}: {brief(error)}") from error
        # The layout of results may follow CUDA's kernels (cuDNN's RNN gives other strides).
        try:
            compare(expected, actual, f"{what}, output", DEVICE, strides=False)
            compare_gradients(expected_gradients, gradients, f"{what}, gradient", DEVICE)
        except Mismatch:
            if dtype not in REDUCED:
                raise
            exact = run_module(copy.deepcopy(host).to(torch.float32), *on(CPU, widened(given, dtype)))
            compare_with_float(exact[0], expected, actual, dtype, f"{what}, output", DEVICE, strides=False)
            if expected_gradients:
                compare_gradients_with_float(
                    exact[1], expected_gradients, gradients, dtype, f"{what}, gradient", DEVICE
                )
        compare(list(host.buffers()), list(device.buffers()), f"{what}, buffers", DEVICE, strides=False)
        agreed += 1
    return agreed


def check_module_errors(info):
    ran = 0
    for error_input in info.module_error_inputs_func(
        info, device=str(DEVICE), dtype=torch.float32, requires_grad=False, training=False
    ):
        sample = error_input.module_error_input
        constructor, forward = sample.constructor_input, sample.forward_input
        ran += 1
        try:
            module = info.module_cls(*constructor.args, **constructor.kwargs).to(DEVICE)
            if error_input.error_on == ModuleErrorEnum.FORWARD_ERROR:
                module(*forward.args, **forward.kwargs)
        except error_input.error_type as error:
            if not re.search(error_input.error_regex, str(error)):
                raise Mismatch(f"error input says {brief(error)}, expected /{error_input.error_regex}/") from error
        else:
            raise Mismatch(f"error input raises nothing, expected /{error_input.error_regex}/")
    return ran


def training_data(info, dtype):
    torch.manual_seed(0)
    # Muon takes matrices alone.
    shapes = ((4, 3), (3, 4)) if info.optim_cls.__name__ == "Muon" else ((4, 3), (4,), (2, 3, 2))
    parameters = [torch.randn(shape, dtype=dtype) for shape in shapes]
    gradients = [[torch.randn(shape, dtype=dtype) for shape in shapes] for _ in range(STEPS)]
    return parameters, gradients


def train(info, keywords, device, dtype):
    """Parameters after STEPS steps, and the optimizer's state."""
    values, gradients = training_data(info, dtype)
    parameters = [v.to(device).requires_grad_() for v in values]
    optimizer = info.optim_cls(parameters, **on(device, keywords))
    for step in gradients:
        for parameter, gradient in zip(parameters, step):
            gradient = gradient.to(device)
            parameter.grad = gradient.to_sparse() if info.only_supports_sparse_grads else gradient

        def closure():
            return sum((p * p.grad).sum() for p in parameters).detach().abs()

        optimizer.step(closure if info.step_requires_closure else None)
    return parameters, state_of(optimizer, parameters)


def state_of(optimizer, parameters):
    """What the optimizer keeps for each parameter, by name: step counts live on the host or the device, as configured."""
    if len(optimizer.state) == 1 < len(parameters):  # LBFGS keeps everything with the first one
        return [dict(next(iter(optimizer.state.values())))]
    return [dict(optimizer.state[parameter]) for parameter in parameters]


def compare_states(expected, actual, what):
    if len(expected) != len(actual):
        raise Mismatch(f"{what}: state for {len(actual)} parameters, on the CPU for {len(expected)}")
    for index, (host, device) in enumerate(zip(expected, actual, strict=True)):
        if host.keys() != device.keys():
            raise Mismatch(f"{what}, state {index}: {sorted(device)}, on the CPU {sorted(host)}")
        for name, value in host.items():
            label = f"{what}, state {index}, {name}"
            if is_number(value):
                # a number in some configurations and a 0-d tensor of the host or the device in others
                compare(torch.tensor(float(value)), torch.tensor(float(device[name])), label, CPU)
            else:
                compare(value, device[name], label, DEVICE)


def is_number(value):
    return isinstance(value, (int, float)) or isinstance(value, torch.Tensor) and value.dim() == 0


def plain_keywords(keywords):
    """The same configuration in the CPU's plain loop."""
    return {key: value for key, value in keywords.items() if key not in ("foreach", "fused", "capturable")}


def check_optimizer(info, dtype):
    agreed = 0
    for configuration in optimizer_inputs(str(DEVICE), dtype, info, skip=("differentiable",)):
        what = f"{dtype} {configuration.desc} {configuration.kwargs}"
        try:
            expected = train(info, plain_keywords(configuration.kwargs), CPU, dtype)
        except Exception as error:
            raise Mismatch(f"{what}: the CPU refuses it: {brief(error)}") from error
        try:
            actual = train(info, configuration.kwargs, DEVICE, dtype)
        except Exception as error:
            raise Mismatch(f"{what}: {brief(error)}") from error
        compare(expected[0], actual[0], what, DEVICE)
        compare_states(expected[1], actual[1], what)
        agreed += 1
    return agreed


def check_optimizer_errors(info):
    ran = 0
    for error_input in info.optim_error_inputs_func(str(DEVICE), torch.float32):
        sample = error_input.optimizer_error_input
        ran += 1
        try:
            optimizer = info.optim_cls(sample.params, **sample.kwargs)
            if error_input.error_on == OptimizerErrorEnum.STEP_ERROR:
                optimizer.step()
        except error_input.error_type as error:
            if not re.search(error_input.error_regex, str(error)):
                raise Mismatch(f"error input says {brief(error)}, expected /{error_input.error_regex}/") from error
        else:
            raise Mismatch(f"error input {sample.desc} raises nothing, expected /{error_input.error_regex}/")
    return ran


def module_checks(info, full):
    for dtype in MODULE_DTYPES if full else MODULE_DTYPES[:1]:
        for training in (True, False):
            yield f"{dtype} {'training' if training else 'evaluation'}", lambda: check_module(info, dtype, training)
    if info.module_error_inputs_func:
        yield "errors", lambda: check_module_errors(info)


def optimizer_checks(info, full):
    for dtype in (torch.float32, torch.float64) if full else (torch.float32,):
        yield str(dtype), lambda: check_optimizer(info, dtype)
    if info.optim_error_inputs_func:
        yield "errors", lambda: check_optimizer_errors(info)


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--full", action="store_true", help="every module, optimizer and dtype")
    parser.add_argument("--verbose", action="store_true", help="a line for each")
    parser.add_argument("names", nargs="*", metavar="NAME", help="modules (nn_Linear) and optimizers (Adam)")
    options = parser.parse_args()
    wanted = set(options.names) or SUBSET
    torch.set_num_threads(1)
    torch.cuda.set_device(DEVICE)
    warnings.simplefilter("ignore")
    counts, problems = collections.Counter(), []
    started = time.perf_counter()
    entries = [("modules", i.formatted_name, module_checks(i, options.full or options.names)) for i in module_db]
    entries += [
        ("optimizers", i.optim_cls.__name__, optimizer_checks(i, options.full or options.names)) for i in optim_db
    ]
    if unknown := set(options.names) - {name for _, name, _ in entries}:
        sys.exit("no such module or optimizer: " + ", ".join(sorted(unknown)))
    for kind, name, checks in entries:
        if not (options.full and not options.names) and name not in wanted:
            continue
        for what, check in checks:
            try:
                agreed = check()
            except Exception as error:
                problems.append(f"{name} {what}: {brief(error, 400)}")
                counts[f"different ({kind})"] += 1
            else:
                counts[f"equal ({kind})" if agreed else f"without inputs ({kind})"] += 1
                counts["inputs"] += agreed
                if options.verbose:
                    print(f"{name} {what}: {agreed}", flush=True)
    if not counts["inputs"]:
        problems.append("nothing was compared")
    print("\n".join(problems))
    print(
        "modules: " + ", ".join(f"{count} {what}" for what, count in sorted(counts.items())),
        f"in {time.perf_counter() - started:.0f} s",
    )
    return 1 if problems else 0


if __name__ == "__main__":
    sys.exit(main())
