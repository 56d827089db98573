"""CUDA graphs: torch.cuda.CUDAGraph over the library's graphs (runtime/sim/graphs), which C++ programs have too."""

import ctypes
import sys
import warnings
import weakref

_capturing = None  # the graph that Python captures now; CUDA allows one
_kept_of_others = []  # captured by C++
_by_number = weakref.WeakValueDictionary()


def provide_to_cuda_build(c):
    """PyTorch's own graphs hold kernels, which no device here runs; its streams know that they are captured."""
    for name in vars(c._CUDAGraph).keys() - set(dir(_CUDAGraph)):
        setattr(_CUDAGraph, name, lambda *args, name=name, **kwargs: _refuse(f"CUDAGraph.{name}"))
    c._CUDAGraph = _CUDAGraph


def functions(c, library):
    library.devsan_sim_is_capturing.argtypes = [ctypes.c_int64, ctypes.c_int]
    library.devsan_sim_is_capturing.restype = ctypes.c_bool

    def is_current_stream_capturing():
        device = c._accelerator_getDeviceIndex()
        return library.devsan_sim_is_capturing(c._accelerator_getStream(device).stream_id, device)

    return {
        "_CUDAGraph": _CUDAGraph,
        "_graph_pool_handle": lambda: tuple(_call("new_pool")),
        "_cuda_isCurrentStreamCapturing": is_current_stream_capturing,
    }


def is_capturing():
    return _call("captured") != 0


def keep_while_captured(thing):
    """What the operator that runs now needs at each replay."""
    if number := _call("captured"):
        graph = _by_number.get(number)
        (_kept_of_others if graph is None else graph._kept).append(thing)


def _torch():
    return sys.modules["torch"]


def fail_as_cuda(what):
    raise _torch().AcceleratorError(
        f"CUDA error: {what}\nCUDA kernel errors might be asynchronously reported at some other API call, so the "
        "stacktrace below might be incorrect.\nFor debugging consider passing CUDA_LAUNCH_BLOCKING=1\nCompile with "
        "`TORCH_USE_CUDA_DSA` to enable device-side assertions.\n"
    )


def _call(name, *args):
    """An operator of the library, past modes of the program."""
    torch = _torch()
    operator = getattr(torch.ops.devsan_sim, "graph_" + name).default._op
    if not torch._C._len_torch_dispatch_stack():
        return operator(*args)
    with torch.utils._python_dispatch._disable_current_modes():
        return operator(*args)


class _Graph:
    """The library's, for as long as this lives: torch.cuda.CUDAGraph has a __del__ that hides ours."""

    def __init__(self, keep_graph):
        self.number = _call("make", keep_graph)
        # The interpreter's end takes the module first.
        self._delete = _torch().ops.devsan_sim.graph_delete.default._op

    def __del__(self):
        self._delete(self.number)


class _CUDAGraph:
    """The base class of torch.cuda.CUDAGraph."""

    def __new__(cls, keep_graph=False):
        graph = super().__new__(cls)
        graph._graph = _Graph(keep_graph)
        graph._kept = []
        _by_number[graph._graph.number] = graph
        return graph

    def _call(self, name, *args):
        return _call(name, self._graph.number, *args)

    def register_generator_state(self, generator):
        self._call("register_generator", generator)

    def capture_begin(self, pool=None, capture_error_mode="global"):
        global _capturing
        if capture_error_mode not in ("global", "thread_local", "relaxed"):
            raise RuntimeError(
                f"Unknown capture error mode. Expected `global`, `thread_local`, or `relaxed`, got {capture_error_mode}"
            )
        self._call("begin_capture", pool or (0, 0))
        _capturing = self

    def capture_end(self):
        self.capture_end_pre()
        self.capture_end_post()

    # The halves of it, between which PyTorch instantiates the graph from 2.15 on.
    def capture_end_pre(self):
        global _capturing
        if _capturing is self:
            _capturing = None
        if not self._call("end_capture"):
            warnings.warn(
                "The CUDA Graph is empty. This usually means that the graph was attempted to be captured on wrong device "
                "or stream.",
                stacklevel=3,
            )

    def capture_end_post(self):
        self._call("instantiate_unless_kept")

    @property
    def _has_graph_exec(self):
        return self._call("is_instantiated")

    def instantiate(self):
        self._call("instantiate")

    def replay(self):
        self._call("replay")

    def reset(self):
        self._call("reset")
        self._kept = []

    def pool(self):
        return tuple(self._call("pool"))

    def pools(self):
        return [self.pool()]

    def _retain_pool(self, pool):
        """What is named here is no memory: that belongs to the tensors that the graph holds."""

    def enable_debug_mode(self):
        _call("enable_debugging")

    def debug_dump(self, debug_path):
        """The operators, one after the other, where a GPU has kernels."""
        text = self._call("dot")
        if text is None:
            warnings.warn("CUDA Graphs debug not enabled, set with [graph].enable_debug_mode()", stacklevel=3)
            return
        with open(debug_path, "w") as file:
            file.write(text)

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
