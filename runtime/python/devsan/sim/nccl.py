"""torch.distributed's "nccl" back end (ProcessGroupNCCL) and torch.cuda.nccl on simulated devices.

The back end itself is C++ (runtime/sim/distributed): NCCL's rules on device tensors, carried by Gloo on host copies.
Here it gets the class that `torch.distributed` expects, on objects that C++ made.
"""

import copy
import ctypes
import datetime
import itertools
import sys

_VERSION = (2, 29, 3)  # of the NCCL whose behaviour is simulated
_DEFAULT_TIMEOUT = datetime.timedelta(minutes=10)


def functions(c, library):
    return {
        "_nccl_version": lambda: _VERSION[0] << 32 | _VERSION[1] << 16 | _VERSION[2],
        "_nccl_version_suffix": lambda: b"",
        "_nccl_unique_id": _refused("_nccl_unique_id"),
        "_nccl_init_rank": _refused("_nccl_init_rank"),
        **single_process_collectives(),
        **process_groups(c, library),
    }


def process_groups(c, library):
    """ProcessGroupNCCL, over that of a CUDA build where there is one, as soon as torch.distributed looks for it."""
    library.devsan_sim_make_nccl_backend.argtypes = [ctypes.c_char_p, ctypes.c_longlong, ctypes.c_int]
    library.devsan_sim_make_nccl_backend.restype = ctypes.c_char_p
    c10d_init = getattr(c, "_c10d_init", None)  # a build without torch.distributed has none
    if c10d_init is None:
        return {}

    def init():
        result = c10d_init()
        c10d = c._distributed_c10d
        for name, value in (("_DEFAULT_PG_NCCL_TIMEOUT", _DEFAULT_TIMEOUT), ("_hash_tensors", _hash_tensors)):
            if not hasattr(c10d, name):
                setattr(c10d, name, value)
        c10d.ProcessGroupNCCL = _process_group_class(c10d, library)
        return result

    return {"_c10d_init": init}


def _process_group_class(c10d, library):
    Backend = c10d.Backend
    numbers = itertools.count()
    # A Python object of a back end, and with it the class it was given here, lives no longer than somebody holds it.
    held = {}

    class NCCLConfig:
        def __init__(self):
            self.blocking = 1
            self.cga_cluster_size = 4
            self.min_ctas = 1
            self.max_ctas = 32
            self.net_name = None
            self.split_share = 0
            self.traffic_class = -1
            self.comm_name = None
            self.collnet_enable = 0
            self.cta_policy = 0
            self.shrink_share = 0
            self.nvls_ctas = -1
            self.unsafe_get_ptr = 0

    class Options(Backend.Options):
        def __init__(self, is_high_priority_stream=False):
            super().__init__("nccl", _DEFAULT_TIMEOUT)
            self.is_high_priority_stream = is_high_priority_stream
            self.config = NCCLConfig()
            self.split_from = None
            self.split_color = -1

        def __deepcopy__(self, memo):
            copied = type(self)(self.is_high_priority_stream)
            copied._timeout = self._timeout
            copied.group_name = self.group_name
            copied.global_ranks_in_group = list(self.global_ranks_in_group)
            copied.config = copy.copy(self.config)
            copied.split_from, copied.split_color = self.split_from, self.split_color
            return copied

    class _Record:
        def __init__(self, backend, options):
            self.backend = backend
            self.options = options
            self.uid = next(numbers)

    def record_of(backend):
        # split_group makes back ends in C++: they are met here for the first time.
        if id(backend) not in held:
            held[id(backend)] = _Record(backend, Options())
        return held[id(backend)]

    class _ByName(type(Backend)):
        def __instancecheck__(cls, instance):
            return isinstance(instance, Backend) and type(instance) is Backend and instance.name() == "nccl"

    class ProcessGroupNCCL(Backend, metaclass=_ByName):
        NCCL_CTA_POLICY_DEFAULT = 0
        NCCL_CTA_POLICY_EFFICIENCY = 1
        NCCL_CTA_POLICY_ZERO = 2

        def __new__(cls, store, rank, size, options=None, timeout=None):
            if not isinstance(options, Options):
                options = Options()
                if timeout is not None:
                    options._timeout = timeout
            group = c10d.ProcessGroup(store, rank, size)
            carrier = c10d.ProcessGroupGloo(
                c10d.PrefixStore("devsan_carrier", store), rank, size, timeout=options._timeout
            )
            group._register_backend(_torch().device("cpu"), c10d.ProcessGroup.BackendType.GLOO, carrier)
            ranks = options.global_ranks_in_group
            name = f"devsan_nccl_{next(numbers)}"
            c10d._register_process_group(name, group)
            try:
                milliseconds = int(options._timeout / datetime.timedelta(milliseconds=1))
                failure = library.devsan_sim_make_nccl_backend(
                    name.encode(), milliseconds, ranks[rank] if ranks else rank
                )
            finally:
                c10d._unregister_process_group(name)
            if failure:
                raise RuntimeError(failure.decode())
            backend = group._get_backend(_torch().device("cuda"))
            held[id(backend)] = _Record(backend, options)
            return backend

    def set_default_timeout(backend, timeout):
        record_of(backend).options._timeout = timeout
        backend.set_timeout(timeout)

    def refuse_mem_pool(backend, *args, **kwargs):
        raise NotImplementedError("not simulated: ProcessGroupNCCL.register_mem_pool; run this on a real GPU")

    def ending(end):
        def ended(backend):
            held.pop(id(backend), None)
            end(backend)

        return ended

    # What ProcessGroupNCCL has beyond Backend. It goes to Backend itself, of which the C++ objects are.
    for name, value in {
        "options": property(lambda backend: record_of(backend).options),
        "uid": property(lambda backend: record_of(backend).uid),
        "_set_default_timeout": set_default_timeout,
        "_add_ephemeral_timeout": lambda backend, timeout: None,
        "_is_initialized": lambda backend: True,
        "_group_start": lambda backend: None,
        "_group_end": lambda backend: None,
        "perform_nocolor_split": lambda backend, device: None,
        "comm_split_count": lambda backend: 0,
        "get_error": lambda backend: c10d.ErrorType.SUCCESS,
        "register_mem_pool": refuse_mem_pool,
        "deregister_mem_pool": refuse_mem_pool,
        "_shutdown": ending(Backend.shutdown),
    }.items():
        setattr(Backend, name, _OfNccl(value))
    Backend.shutdown = ending(Backend.shutdown)
    Backend.abort = ending(Backend.abort)
    ProcessGroupNCCL.Options = Options
    ProcessGroupNCCL.NCCLConfig = NCCLConfig
    return ProcessGroupNCCL


def _hash_tensors(tensors):
    """For the log lines of TORCH_DISTRIBUTED_DEBUG=DETAIL."""
    return hash(tuple(tensor.detach().cpu().contiguous().view(-1).numpy().tobytes() for tensor in tensors))


class _OfNccl:
    """An attribute that only "nccl" back ends have."""

    def __init__(self, value):
        self.value = value

    def __get__(self, backend, owner):
        if backend is None:
            return self
        if type(backend) is not owner or backend.name() != "nccl":
            raise AttributeError(f"'{type(backend).__name__}' object has no attribute of ProcessGroupNCCL")
        return self.value.__get__(backend, owner)


def _torch():
    return sys.modules["torch"]


def _refused(name):
    def refused(*args, **kwargs):
        raise NotImplementedError(f"not simulated: torch._C.{name}; use torch.distributed with the nccl back end")

    return refused


def single_process_collectives():
    """torch._C._nccl_*: collectives over tensors on several devices of this process."""

    def reduced(inputs, op):
        torch = _torch()
        total = inputs[0].clone()
        combine = {
            0: torch.Tensor.add_,
            1: torch.Tensor.mul_,
            2: lambda a, b: torch.maximum(a, b, out=a),
            3: lambda a, b: torch.minimum(a, b, out=a),
            4: torch.Tensor.add_,
        }[op]
        for tensor in inputs[1:]:
            combine(total, tensor.to(total.device))
        if op == 4:
            total = total / len(inputs) if total.is_floating_point() else total.div(len(inputs), rounding_mode="trunc")
        return total

    def check(inputs, outputs, input_multiplier=1, output_multiplier=1):
        # torch::cuda::nccl::detail::check_inputs
        if not inputs:
            raise RuntimeError("input sequence can't be empty")
        if len(inputs) != len(outputs):
            raise RuntimeError(
                f"inputs and outputs sequences have to be of the same length, but got input of length {len(inputs)} "
                f"and output of length {len(outputs)}"
            )
        devices = set()
        for source, result in zip(inputs, outputs):
            for tensor, role in ((source, "input"), (result, "output")):
                if not (tensor.is_cuda and not tensor.is_sparse):
                    raise RuntimeError(
                        f"expected {role} to be a dense CUDA tensor" if role == "output" else
                        "expected dense CUDA tensors as inputs"
                    )
            if source.get_device() in devices:
                raise RuntimeError("inputs must be on unique devices")
            devices.add(source.get_device())
            if source.get_device() != result.get_device():
                raise RuntimeError("input and output must be on the same device")
            if not (source.is_contiguous() and result.is_contiguous()):
                raise RuntimeError("all inputs and outputs must be contiguous")
            if source.dtype != inputs[0].dtype or result.dtype != inputs[0].dtype:
                raise RuntimeError("all inputs and outputs must be of the same Tensor type")
            if source.numel() != inputs[0].numel():
                raise RuntimeError("all inputs must have the same number of elements")
            if result.numel() * output_multiplier != source.numel() * input_multiplier:
                raise RuntimeError("output must be of size input_size * size_multiplier")

    def all_reduce(inputs, outputs, op, streams, comms):
        check(inputs, outputs)
        total = reduced(inputs, op)
        for output in outputs:
            output.copy_(total)

    def reduce(inputs, output, root, op, streams, comms):
        check(inputs, [output if i == root else tensor for i, tensor in enumerate(inputs)])
        output.copy_(reduced(inputs, op))

    def broadcast(inputs, root, streams, comms):
        check(inputs, inputs)
        for i, tensor in enumerate(inputs):
            if i != root:
                tensor.copy_(inputs[root])

    def all_gather(inputs, outputs, streams, comms):
        check(inputs, outputs, input_multiplier=len(inputs))
        for output in outputs:
            parts = output.view(-1).chunk(len(inputs))
            for part, tensor in zip(parts, inputs):
                part.copy_(tensor.view(-1))

    def reduce_scatter(inputs, outputs, op, streams, comms):
        check(inputs, outputs, output_multiplier=len(inputs))
        for part, output in zip(reduced(inputs, op).view(-1).chunk(len(inputs)), outputs):
            output.view(-1).copy_(part)

    return {
        "_nccl_all_reduce": all_reduce,
        "_nccl_reduce": reduce,
        "_nccl_broadcast": broadcast,
        "_nccl_all_gather": all_gather,
        "_nccl_reduce_scatter": reduce_scatter,
    }
