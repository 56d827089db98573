"""torch.compile on simulated devices: Inductor compiles for the CPU what it is asked to compile for a device.

Dynamo, AOTAutograd and Inductor's passes before code generation see CUDA. What they hand on, one graph for each direction,
is compiled here: a copy of the graph whose devices are the CPU's goes to Inductor's C++ back end, and what comes out
runs over the memory of the device's tensors (host_functions.py). Operators that must see the device, such as those that only
CUDA has, stay calls of their own between two compiled pieces. A graph that cannot be compiled runs operator by operator.

Of PyTorch's internals it takes `compile_fx`, its argument `inner_compile`, and FX.
"""

import copy
import functools
import operator
import os
import tempfile
import threading
import zipfile

import torch
from torch._subclasses.fake_tensor import FakeTensor, unset_fake_temporarily
from torch.utils import _pytree as pytree

from ..notes import note_once
from ..runtime import unobserved
from .host_functions import HostFunction

_CPU = torch.device("cpu")

# Settings of Inductor that change how a GPU works and not what it computes.
_ONLY_FOR_GPUS = {
    "triton.cudagraphs": "CUDA graphs are",
    "max_autotune": "autotuning is",
    "max_autotune_gemm": "autotuning is",
    "max_autotune_pointwise": "autotuning is",
    "coordinate_descent_tuning": "autotuning is",
    "cpp_wrapper": "the C++ wrapper is",
    "fx_wrapper": "the FX wrapper is",
}


def install(module):
    """`module` is torch._inductor.compile_fx."""
    if not hasattr(module, "compile_fx") or not hasattr(module, "compile_fx_inner"):
        note_once("torch.compile runs eagerly on simulated devices: this release of PyTorch is not known")
        return
    compile_fx, usual_inner = module.compile_fx, module.compile_fx_inner

    @functools.wraps(usual_inner)
    def compile_inner(gm, example_inputs, *args, **kwargs):
        if not any(map(_is_on_device, [*example_inputs, *_values(gm)])):
            return usual_inner(gm, example_inputs, *args, **kwargs)
        from torch._inductor.virtualized import V

        if getattr(V, "aot_compilation", False):
            raise NotImplementedError(
                "not simulated: a library that AOTInductor compiles for a GPU; torch._inductor.aoti_compile_and_package() and "
                "aoti_load_package() work, and run the exported program"
            )
        with unobserved():
            return _compile(gm, example_inputs, functools.partial(usual_inner, *args), kwargs)

    @functools.wraps(compile_fx)
    def compile_unobserved(model, example_inputs, inner_compile=compile_inner, *args, **kwargs):
        with unobserved():
            return compile_fx(model, example_inputs, inner_compile, *args, **kwargs)

    module.compile_fx_inner, module.compile_fx = compile_inner, compile_unobserved


def hide_tracing(module):
    """`module` is torch._dynamo.convert_frame. Tracing a program copies constants."""
    if hasattr(module, "_compile"):
        trace = module._compile

        @functools.wraps(trace)
        def trace_unobserved(*args, **kwargs):
            with unobserved():
                return trace(*args, **kwargs)

        module._compile = trace_unobserved


def replace_cudagraphs(module):
    """`module` is torch._dynamo.backends.cudagraphs: a back end that records what runs eagerly."""

    def call_eagerly(model, inputs, **kwargs):
        note_once('torch.compile: CUDA graphs are not simulated; backend="cudagraphs" runs eagerly')
        return model.forward

    module.cudagraphs = call_eagerly


def replace_packages(module):
    """`module` is torch._inductor. AOTInductor's packages for devices hold the exported program, which runs eagerly."""
    compile_package, load_package = module.aoti_compile_and_package, module.aoti_load_package

    @functools.wraps(compile_package)
    def compile_and_package(exported_program, *args, package_path=None, **kwargs):
        values = [*exported_program.state_dict.values(), *exported_program.constants.values()]
        if not any(map(_is_on_device, [*values, *_values(exported_program.graph_module)])):
            return compile_package(exported_program, *args, package_path=package_path, **kwargs)
        note_once("AOTInductor is not simulated; its packages run the exported program eagerly")
        if package_path is None:
            package_path = os.path.join(tempfile.mkdtemp(), "model.pt2")
        with unobserved():
            torch.export.save(exported_program, package_path)
        return package_path

    @functools.wraps(load_package)
    def load(path, *args, **kwargs):
        with zipfile.ZipFile(path) as package:
            is_compiled = any("aotinductor" in name for name in package.namelist())
        if hasattr(path, "seek"):
            path.seek(0)
        if is_compiled:
            return load_package(path, *args, **kwargs)
        with unobserved():
            return torch.no_grad()(torch.export.load(path).module().forward)

    module.aoti_compile_and_package, module.aoti_load_package = compile_and_package, load


def _is_on_device(value):
    return isinstance(value, torch.Tensor) and value.is_cuda


def _values(gm):
    return pytree.tree_leaves([node.meta.get("val") for node in gm.graph.nodes])


def _compile(gm, example_inputs, inner, keywords):
    from torch._inductor import config

    asked = {name: what for name, what in _ONLY_FOR_GPUS.items() if _setting(config, name)}
    for what in asked.values():
        note_once(f"torch.compile: {what} not simulated; compiled as in the default mode")
    keywords = {name: value for name, value in keywords.items() if name not in ("cpp_wrapper", "fx_wrapper")}
    if keywords.get("cudagraphs") is not None:
        keywords["cudagraphs"] = type(keywords["cudagraphs"])(False)
    try:
        with config.patch({name: False for name in asked}):
            return _compiled(gm, example_inputs, functools.partial(inner, **keywords))
    except Exception as error:
        reason = (str(error).strip().splitlines() or [""])[0]
        note_once(f"torch.compile: a graph runs eagerly, as Inductor cannot compile it for this CPU: {type(error).__name__}: {reason}")
        return _boxed(gm.forward)


def _setting(config, name):
    try:
        return functools.reduce(getattr, name.split("."), config)
    except AttributeError:
        return False


def _boxed(function):
    def run(args):
        given = list(args)
        args.clear()
        # What a compiled graph does between devices the program has not written where it happens.
        with unobserved():
            return function(*given)

    run._boxed_call = True
    return run


def _compiled(gm, example_inputs, inner):
    places = _places(gm)
    devices = set(places.values()) - {None}
    if len(devices) == 1 and _EAGER not in devices:
        return _DeviceGraph(gm, example_inputs, devices.pop(), inner)
    # Strides that Inductor reports are those of one graph; of several, each result gets those that it had.
    context = torch._guards.TracingContext.try_get()
    reported = getattr(context, "output_strides", None)
    try:
        if reported is not None:
            context.output_strides = None
        return _boxed(_split(gm, places, inner).forward)
    finally:
        if reported is not None:
            context.output_strides = reported


_EAGER = "eager"  # the place of nodes that are called one by one


def _places(gm):
    """Where each node is to be computed: the device that a piece is compiled for, or _EAGER; None where it is no matter."""
    places = {}
    for node in gm.graph.nodes:
        if node.op in ("placeholder", "output", "get_attr"):
            continue
        if node.target is operator.getitem:
            places[node] = places.get(node.args[0])
            continue
        devices = {tensor.device for tensor in _tensors(node.meta.get("val"))}
        if _needs_device(node) or len(devices) > 1 or any(device.type != "cuda" for device in devices):
            places[node] = _EAGER
        else:
            places[node] = devices.pop() if devices else None
    return places


def _tensors(values):
    return [value for value in pytree.tree_leaves(values) if isinstance(value, torch.Tensor)]


def _needs_device(node):
    """Whether the node must see tensors of the device: the CPU does something else, or nothing."""
    target = node.target
    if node.op != "call_function" or isinstance(target, torch._ops.HigherOrderOperator):
        return True
    if not isinstance(target, torch._ops.OpOverload):
        return False  # arithmetic of sizes
    if target.namespace not in ("aten", "prims", "inductor_prims"):
        return True  # an operator of the program may have another kernel for CUDA
    if target.namespace == "aten" and not _has_cpu_kernel(target.name()):
        return True
    # From another device, or from the host: not the same as from the CPU to the CPU.
    inputs = _tensors([argument.meta.get("val") for argument in node.all_input_nodes])
    named = [value for value in (*node.args, *node.kwargs.values()) if isinstance(value, torch.device)]
    return bool(inputs) and len({tensor.device for tensor in inputs if tensor.dim() > 0} | set(named)) > 1


@functools.cache
def _has_cpu_kernel(name):
    return torch._C._dispatch_has_computed_kernel_for_dispatch_key(name, "CPU")


def _split(gm, places, inner):
    """`gm` as a module that calls pieces of it one after the other: compiled ones, and those that are called eagerly."""
    from torch.fx.passes.split_module import split_module

    pieces, current, pieces_of = [], None, {}
    for node, place in places.items():
        if node.target is operator.getitem:
            pieces_of[node.name] = pieces_of[node.args[0].name]
            continue
        if place is not None and place != current:
            # What comes before the first place is known belongs to the first piece.
            pieces.append(current := place)
        pieces_of[node.name] = max(len(pieces) - 1, 0)
    graph = torch.fx.GraphModule(gm, copy.deepcopy(gm.graph))
    split = split_module(graph, graph, lambda node: pieces_of[node.name], keep_original_order=True)
    for number, place in enumerate(pieces):
        name = f"submod_{number}"
        piece = getattr(split, name)
        single = isinstance(_output(piece).args[0], torch.fx.Node)
        results = pytree.tree_leaves(_output(piece).args[0])
        orders = [_order(result.meta["val"]) for result in results]
        run = piece
        if place != _EAGER:
            if single:
                _output(piece).args = (tuple(results),)
            _output(piece).meta["user_visible_output_idxs"] = list(range(len(results)))
            examples = [node.meta["val"] for node in _placeholders(piece)]
            run = _DeviceGraph(piece, examples, place, inner)
        setattr(split, name, _Piece(run, place, single, orders))
    return split


class _Piece(torch.nn.Module):
    """A part of a graph. Its results have the strides that the other parts expect."""

    def __init__(self, run, place, single, orders):
        super().__init__()
        self._run, self._is_eager, self._single, self._orders = (run,), place == _EAGER, single, orders

    def forward(self, *args):
        (run,) = self._run
        results = run(*args) if self._is_eager else run(list(args))
        if self._single and self._is_eager:
            return _in_order(results, self._orders[0])
        results = [_in_order(result, order) for result, order in zip(results, self._orders, strict=True)]
        return results[0] if self._single else results


def _order(value):
    """The dimensions of a tensor without gaps, from the outermost in memory to the innermost."""
    if not isinstance(value, torch.Tensor):
        return None
    order = sorted(range(value.dim()), key=value.stride, reverse=True)
    return order if value.permute(order).is_contiguous() else None


def _in_order(value, order):
    if order is None or value.permute(order).is_contiguous():
        return value
    return torch.empty_permuted(value.size(), order, dtype=value.dtype, device=value.device).copy_(value)


class _DeviceGraph:
    """A graph on one device, compiled. Called as AOTAutograd calls compiled graphs: with a list that it empties."""

    def __init__(self, gm, example_inputs, device, inner):
        self._boxed_call = True
        written = _written(gm)
        self._read, self._write, self._numbers = [], [], []
        for index, (example, node) in enumerate(zip(example_inputs, _placeholders(gm), strict=True)):
            if isinstance(example, torch.Tensor):
                (self._write if node in written else self._read).append(index)
            elif isinstance(example, (int, float, torch.SymInt, torch.SymFloat)):
                self._numbers.append(index)
            else:
                raise TypeError(f"a graph has an argument of type {type(example).__name__}")
        results = _output(gm).args[0]
        self._are_tensors = [isinstance(r, torch.fx.Node) and isinstance(r.meta["val"], torch.Tensor) for r in results]
        self._device = device
        self._function = HostFunction(self._run, draws=any(map(_draws, gm.graph.nodes)))
        self._compiled = inner(*_for_host(gm, example_inputs))
        self._other_results = threading.local()

    def __call__(self, args):
        read, write, numbers = ([args[i] for i in indices] for indices in (self._read, self._write, self._numbers))
        args.clear()
        tensors = iter(self._function(self._device, read, write, numbers))
        others = iter(self._other_results.values)
        return [next(tensors if is_tensor else others) for is_tensor in self._are_tensors]

    def _run(self, read, write, numbers):
        args = [None] * (len(read) + len(write) + len(numbers))
        for indices, values in ((self._read, read), (self._write, write), (self._numbers, numbers)):
            for index, value in zip(indices, values):
                args[index] = value
        del read, write
        results = self._compiled(args)
        self._other_results.values = [r for r, is_tensor in zip(results, self._are_tensors) if not is_tensor]
        return [r for r, is_tensor in zip(results, self._are_tensors) if is_tensor]


def _placeholders(gm):
    return [node for node in gm.graph.nodes if node.op == "placeholder"]


def _output(gm):
    return next(node for node in reversed(gm.graph.nodes) if node.op == "output")


def _draws(node):
    return isinstance(node.target, torch._ops.OpOverload) and (
        torch.Tag.nondeterministic_seeded in node.target.tags or node.target.namespace == "inductor_prims"
    )


def _written(gm):
    """The placeholders whose memory the graph changes."""
    storages = set()
    for node in gm.graph.nodes:
        if isinstance(node.target, torch._ops.OpOverload) and node.target._schema.is_mutable:
            for position, argument in enumerate(node.target._schema.arguments):
                if argument.alias_info is not None and argument.alias_info.is_write:
                    value = node.args[position] if position < len(node.args) else node.kwargs.get(argument.name)
                    nodes = [n for n in pytree.tree_leaves(value) if isinstance(n, torch.fx.Node)]
                    storages.update(map(_storage, _tensors([n.meta.get("val") for n in nodes])))
    return {node for node in _placeholders(gm) if any(_storage(t) in storages for t in _tensors(node.meta.get("val")))}


def _storage(tensor):
    return tensor.untyped_storage()._cdata


def _for_host(gm, example_inputs):
    """A copy of the graph, and its inputs, where every device is the CPU."""
    host = torch.fx.GraphModule(gm, copy.deepcopy(gm.graph))
    host.meta = gm.meta
    for index, node in enumerate(host.graph.nodes):
        node.args = torch.fx.node.map_aggregate(node.args, _host_device)
        node.kwargs = torch.fx.node.map_aggregate(node.kwargs, _host_device)
        node.meta = dict(node.meta)
        if "val" in node.meta:
            node.meta["val"] = pytree.tree_map(_on_host, node.meta["val"])
        if node.op == "get_attr":
            value = functools.reduce(getattr, node.target.split("."), host)
            node.target = f"_devsan_constant_{index}"
            host.register_buffer(node.target, _on_host(value))
    host.recompile()
    return host, [_on_host(example) for example in example_inputs]


def _host_device(value):
    return _CPU if isinstance(value, torch.device) and value.type == "cuda" else value


def _on_host(value):
    if not _is_on_device(value):
        return value
    if isinstance(value, FakeTensor):
        with value.fake_mode:
            return torch.empty_strided(value.size(), value.stride(), dtype=value.dtype, device=_CPU)
    with unset_fake_temporarily():
        return value.detach().cpu()
