"""CUDA graphs: operators are recorded while a stream is captured, and run again over the same memory at each replay.

A dispatch mode sees every operator of the capturing thread, and of the backward passes that it starts, below autograd and
autocast: what a GPU would see as kernels. As on a GPU, capturing computes nothing that lasts: memory that existed before
has its content back when the capture ends, random generators their state, and what was made during the capture holds
nothing until a replay fills it. What waits for the device cannot be captured, and invalidates the capture.

What is made during a capture lies in the graph's pool, and the graph knows it by address alone: memory that is freed there
is given to what is captured later, in this graph or in another one that shares the pool, and a replay writes to it whoever
has it then. Memory from elsewhere is kept alive by the graph, which a GPU would not do.
"""

import ctypes
import functools
import itertools
import json
import sys
import warnings
import weakref

_NOT_PERMITTED = "operation not permitted when stream is capturing"
_INVALIDATED = "operation failed due to a previous error during capture"
# Operators that read a result on the host, for the shape of another one or for the program.
_WAITING = frozenset(
    "aten::_local_scalar_dense aten::nonzero aten::masked_select aten::_unique2 aten::unique_dim aten::unique_consecutive "
    "aten::equal aten::is_nonzero aten::_assert_async_host".split()
)
_COMPUTING_NOTHING = frozenset(
    "aten::empty aten::empty_like aten::empty_permuted aten::empty_strided aten::new_empty aten::new_empty_strided".split()
)

_capturing = None  # the graph that this process captures now; CUDA allows one
_handle = None  # the library's name for the current stream
_pools = itertools.count(1)
_has_pools = False  # PyTorch's own allocator, of a CUDA build, takes part in no capture of ours: the graph keeps all memory
_library = None


def _use(library, handle):
    global _library, _handle
    _library, _handle = library, handle
    library.devsan_sim_begin_capture.argtypes = [ctypes.c_int64, ctypes.c_int]
    library.devsan_sim_begin_capture.restype = None
    library.devsan_sim_end_capture.restype = ctypes.c_bool
    library.devsan_sim_note_accesses.argtypes, library.devsan_sim_note_accesses.restype = [ctypes.c_bool], None


def provide_to_cuda_build(c, library):
    """PyTorch's own graphs hold kernels, which no device here runs; its streams know that they are captured."""
    _use(library, lambda: _torch().cuda.current_stream().cuda_stream)
    for name in vars(c._CUDAGraph).keys() - set(dir(_CUDAGraph)):
        setattr(_CUDAGraph, name, lambda *args, name=name, **kwargs: _refuse(f"CUDAGraph.{name}"))
    c._CUDAGraph = _CUDAGraph


def functions(c, library):
    global _has_pools
    _has_pools = True
    _use(library, _stream)
    for function in (library.devsan_sim_capture_into_pool, library.devsan_sim_release_pool):
        function.argtypes, function.restype = [ctypes.c_uint64], None
    for function in (library.devsan_sim_pool_of, library.devsan_sim_generator_state):
        function.argtypes, function.restype = [ctypes.c_void_p], ctypes.c_uint64
    library.devsan_sim_is_capturing.argtypes = [ctypes.c_int64, ctypes.c_int]
    library.devsan_sim_is_capturing.restype = ctypes.c_bool

    def is_current_stream_capturing():
        return _capturing is not None and library.devsan_sim_is_capturing(_stream(), _torch()._C._cuda_getDevice())

    def graph_pool_handle():
        return (0, next(_pools))

    return {
        "_CUDAGraph": _CUDAGraph,
        "_graph_pool_handle": graph_pool_handle,
        "_cuda_isCurrentStreamCapturing": is_current_stream_capturing,
    }


def refuse_while_capturing():
    """Called where the host waits for a device."""
    if _capturing is not None:
        _capturing._invalid = True
        fail_as_cuda(_NOT_PERMITTED)


def is_capturing():
    return _capturing is not None


def keep_while_captured(thing):
    """What the operator that runs now needs at each replay."""
    if _capturing is not None:
        _capturing._kept.append(thing)


def _torch():
    return sys.modules["torch"]


def fail_as_cuda(what):
    raise _torch().AcceleratorError(
        f"CUDA error: {what}\nCUDA kernel errors might be asynchronously reported at some other API call, so the "
        "stacktrace below might be incorrect.\nFor debugging consider passing CUDA_LAUNCH_BLOCKING=1\nCompile with "
        "`TORCH_USE_CUDA_DSA` to enable device-side assertions.\n"
    )


def _stream():
    torch = _torch()
    return torch._C._cuda_getCurrentStream(torch._C._cuda_getDevice())[0]


def _tensors(values):
    torch = _torch()
    return [value for value in torch.utils._pytree.tree_leaves(values) if isinstance(value, torch.Tensor)]


def _storage(tensor):
    """Of tensors that have one: sparse ones have not, and a graph holds no operator on them."""
    torch = _torch()
    if tensor.layout is not torch.strided:
        raise NotImplementedError(f"not simulated: tensors of layout {tensor.layout} in a CUDA graph; run this on a real GPU")
    return tensor.untyped_storage()


class _Operator:
    """A recorded call, and the results that its replay fills again."""

    def __init__(self, graph, function, arguments, keywords, results):
        torch = _torch()
        given = {_storage(tensor)._cdata for tensor in _tensors((arguments, keywords))}
        outputs = _tensors(results)
        self.fills = [index for index, tensor in enumerate(outputs) if _storage(tensor)._cdata not in given]
        graph._made.update(_storage(outputs[index])._cdata for index in self.fills)
        self.results = [graph._as_it_is(tensor) for tensor in outputs]
        self.function = function
        # A generator may be given other states later, and a tensor other memory and another shape.
        self.arguments, self.keywords = torch.utils._pytree.tree_map(graph._as_it_is, (arguments, keywords))

    def replay(self):
        again = _tensors(self.function(*self.arguments, **self.keywords))
        for index in self.fills:
            self.results[index].copy_(again[index])


def _is_changed(argument):
    # Batch norms change their running statistics without saying so.
    written = argument.alias_info is not None and argument.alias_info.is_write
    return written or argument.name in ("running_mean", "running_var")


def _changes(function):
    return any(map(_is_changed, function._schema.arguments))


def _is_view(function):
    returns = function._schema.returns
    return bool(returns) and not _changes(function) and all(value.alias_info is not None for value in returns)


def _waits(function, arguments, keywords):
    """Whether CUDA's host code waits in this operator: to read a number, or for pageable memory."""
    torch = _torch()
    name = function._schema.name
    if name in _WAITING:
        return any(tensor.is_cuda for tensor in _tensors((arguments, keywords)))
    if name == "aten::copy_":
        to, source = arguments[0], arguments[1]
        host = to if source.is_cuda else source
        return to.is_cuda != source.is_cuda and not host.is_pinned()
    if name == "aten::_to_copy":
        source, device = arguments[0], keywords.get("device")
        if device is None or torch.device(device).type == source.device.type:
            return False
        return not (source.is_pinned() if source.is_cpu else keywords.get("pin_memory"))
    return False


@functools.cache
def _recorder_class():
    from torch.utils._python_dispatch import TorchDispatchMode

    class Recorder(TorchDispatchMode):
        def __init__(self, graph):
            super().__init__()
            self.graph = graph

        def __torch_dispatch__(self, function, types, args=(), kwargs=None):
            kwargs = kwargs or {}
            if _waits(function, args, kwargs):
                refuse_while_capturing()
            if _changes(function):
                self.graph._keep_content(function, args, kwargs)
            results = function(*args, **kwargs)
            if not _is_view(function) and any(tensor.is_cuda for tensor in _tensors((args, kwargs, results))):
                operator = _Operator(self.graph, function, args, kwargs, results)
                if function._schema.name not in _COMPUTING_NOTHING:
                    self.graph._operators.append(operator)
            return results

    return Recorder


class _HeldPool:
    """The next capture's, for as long as this lives: torch.cuda.CUDAGraph has a __del__ that hides ours."""

    def __init__(self, pool):
        self._pool, self._release = pool, _library.devsan_sim_release_pool
        _library.devsan_sim_capture_into_pool(pool)

    def __del__(self):
        self._release(self._pool)


class _SeedAndOffset:
    """What graphs need in memory of the state of a generator: all of them the same, until the last one is gone."""

    _of_states = weakref.WeakValueDictionary()

    @classmethod
    def of(cls, generator):
        state = _library.devsan_sim_generator_state(generator._cdata)
        held = cls._of_states.get(state)
        if held is None:
            held = cls._of_states[state] = cls()
            held._state = generator.graphsafe_get_state()  # its address is given to no other
            held._numbers = [_torch().empty(1, dtype=_torch().int64, device="cuda") for _ in range(2)]
        return held


class _CUDAGraph:
    """The base class of torch.cuda.CUDAGraph."""

    _is_debugged = False

    def __new__(cls, keep_graph=False):
        graph = super().__new__(cls)
        graph._keep_graph = keep_graph
        graph._generators = []
        graph._seeds_and_offsets = set()
        graph._forget()
        return graph

    def _forget(self):
        self._operators = []
        self._made = set()  # storages that came into being during the capture
        self._content = {}  # of older storages, before the capture changed them
        self._kept = []
        self._pool = self._held_pool = self._mode = None
        self._captured = self._instantiated = self._invalid = False

    def register_generator_state(self, generator):
        self._generators.append(generator)
        self._hold_seed_and_offset(generator)

    def _hold_seed_and_offset(self, generator):
        if _has_pools:
            self._seeds_and_offsets.add(_SeedAndOffset.of(generator))

    def capture_begin(self, pool=None, capture_error_mode="global"):
        global _capturing
        torch = _torch()
        if capture_error_mode not in ("global", "thread_local", "relaxed"):
            raise RuntimeError(
                f"Unknown capture error mode. Expected `global`, `thread_local`, or `relaxed`, got {capture_error_mode}"
            )
        if self._captured:
            raise RuntimeError(
                "This CUDAGraph instance already owns a captured graph. To capture a new graph, create a new instance."
            )
        if _stream() == 0:
            raise RuntimeError(
                "CUDA graphs must be captured on a non-default stream. (However, after capture, it's ok to replay them "
                "on the default stream.)"
            )
        refuse_while_capturing()
        self._hold_seed_and_offset(torch.cuda.default_generators[torch._C._cuda_getDevice()])
        self._pool = pool or (0, next(_pools))
        self._held_pool = _HeldPool(self._pool[1]) if _has_pools else None
        self._device, self._stream = torch._C._cuda_getDevice(), _stream()
        self._states = [(g, g.get_state()) for g in (*torch.cuda.default_generators, *self._generators)]
        self._mode = _recorder_class()(self)
        _capturing = self
        _library.devsan_sim_begin_capture(_handle(), self._device)
        self._mode.__enter__()

    def capture_end(self):
        self.capture_end_pre()
        self.capture_end_post()

    # The halves of it, between which PyTorch instantiates the graph from 2.15 on.
    def capture_end_pre(self):
        global _capturing
        if self._mode is None:
            fail_as_cuda("operation not permitted")
        mode, self._mode, _capturing = self._mode, None, None
        self._invalid |= not _library.devsan_sim_end_capture()
        mode.__exit__(None, None, None)
        _library.devsan_sim_note_accesses(False)
        try:
            self._restore()
        finally:
            _library.devsan_sim_note_accesses(True)
        if self._invalid:
            self._forget()
            fail_as_cuda(_INVALIDATED)
        if _stream() != self._stream:
            raise RuntimeError("Capture must end on the same stream it began on.")
        if not self._operators:
            warnings.warn(
                "The CUDA Graph is empty. This usually means that the graph was attempted to be captured on wrong device "
                "or stream.",
                stacklevel=3,
            )
        self._captured = True

    def capture_end_post(self):
        self._instantiated |= not self._keep_graph

    @property
    def _has_graph_exec(self):
        return self._instantiated

    def _owns(self, storage):
        return _library.devsan_sim_pool_of(storage.data_ptr()) == self._pool[1]

    def _as_it_is(self, value):
        """What a recorded call holds of an argument or result: nothing that the program changes later."""
        torch = _torch()
        if isinstance(value, torch.Generator):
            return value.graphsafe_get_state() if value.device.type == "cuda" else value
        if type(value) not in (torch.Tensor, torch.nn.Parameter):
            return value
        storage = value.untyped_storage()
        if not value.is_cuda or value.is_quantized or not _has_pools or not self._owns(storage):
            return value.detach()
        known = torch._C._construct_storage_from_data_pointer(storage.data_ptr(), storage.device, storage.nbytes())
        tensor = torch.empty(0, dtype=value.dtype, device=value.device)
        tensor.set_(known, value.storage_offset(), value.size(), value.stride())
        tensor = tensor.conj() if value.is_conj() else tensor
        return torch._neg_view(tensor) if value.is_neg() else tensor

    def _keep_content(self, function, args, kwargs):
        for position, argument in enumerate(function._schema.arguments):
            if not _is_changed(argument):
                continue
            value = args[position] if position < len(args) else kwargs.get(argument.name)
            for tensor in _tensors(value):
                storage = _storage(tensor)
                if storage._cdata not in self._made and storage._cdata not in self._content:
                    self._content[storage._cdata] = (storage, storage.clone())

    def _restore(self):
        """Nothing has been computed yet."""
        torch = _torch()
        for storage, content in self._content.values():
            storage.copy_(content)
        self._content = {}
        for generator, state in self._states:
            generator.set_state(state)
        del self._states
        for operator in self._operators:
            for index in operator.fills:
                result = operator.results[index].data  # leaves the version of what autograd saved
                if result.is_cuda:
                    # Indices stay valid: the capture of a backward pass reads them.
                    result.fill_(float("nan") if result.is_floating_point() or result.is_complex() else 0)

    def instantiate(self):
        if not self._captured:
            raise RuntimeError("capture_end() must have been called before calling instantiate")
        if not self._keep_graph and self._instantiated:
            raise RuntimeError("instantiate() is intended to be called by the user only when keep_graph=true")
        self._instantiated = True

    def replay(self):
        torch = _torch()
        if not self._captured:
            raise RuntimeError("Called CUDAGraph::replay without a preceding successful capture.")
        refuse_while_capturing()
        self._instantiated = True
        # A replay is invisible to autograd (no graph, no version counters), to autocast and to modes.
        passed = torch._C._dispatch_tls_local_exclude_set()
        for key in ("ADInplaceOrView", "AutogradCPU", "AutogradCUDA", "AutogradOther", "AutocastCPU", "AutocastCUDA"):
            passed = passed | torch._C.DispatchKeySet(getattr(torch._C.DispatchKey, key))
        with torch.cuda.device(self._device), torch._C._ExcludeDispatchKeyGuard(passed):
            with torch.utils._python_dispatch._disable_current_modes():
                for operator in self._operators:
                    operator.replay()

    def reset(self):
        self._forget()

    def pool(self):
        if not self._captured:
            raise RuntimeError("Called CUDAGraph::pool() without a preceding successful capture.")
        return self._pool

    def pools(self):
        return [self.pool()]

    def _retain_pool(self, pool):
        """What is named here is no memory: that belongs to the tensors that the graph holds."""

    def enable_debug_mode(self):
        _CUDAGraph._is_debugged = True

    def debug_dump(self, debug_path):
        """The operators, one after the other, where a GPU has kernels."""
        if not (_CUDAGraph._is_debugged or self._keep_graph):
            warnings.warn("CUDA Graphs debug not enabled, set with [graph].enable_debug_mode()", stacklevel=3)
            return
        names = [str(operator.function) for operator in self._operators]
        nodes = "".join(f"node_{index} [label={json.dumps(name)}];\n" for index, name in enumerate(names))
        edges = " -> ".join(f"node_{index}" for index in range(len(names)))
        with open(debug_path, "w") as file:
            file.write(f"digraph cuda_graph {{\n{nodes}{edges}\n}}\n")

    def raw_cuda_graph(self):
        _refuse("CUDAGraph.raw_cuda_graph")

    def raw_cuda_graph_exec(self):
        _refuse("CUDAGraph.raw_cuda_graph_exec")

    def begin_capture_to_if_node(self, scalar_cuda_pred_tensor):
        _refuse("CUDAGraph.begin_capture_to_if_node")

    def end_capture_to_conditional_node(self):
        _refuse("CUDAGraph.end_capture_to_conditional_node")

    @staticmethod
    def get_currently_capturing_graph():
        if _capturing is None:
            raise RuntimeError("There is no graph being captured on the current stream")
        return _capturing


def _refuse(name):
    raise NotImplementedError(f"not simulated: torch.cuda.{name}; run this on a real GPU")
