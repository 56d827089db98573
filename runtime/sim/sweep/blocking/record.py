"""Records what the host does in each operator of a CUDA build of PyTorch: which calls copy, and which wait for a device.

    record.py OUT.jsonl [ENTRY...]

Runs in the Python of the CUDA build, over the stand-ins for CUDA's driver, runtime and libraries; script/record-blocking
sets that up. PyTorch's own host code runs, kernels do nothing when they are launched. Each operator's results are then
computed by the CPU's kernel and put into the device's memory, so that the host reads right values between operators;
what it reads back within one is zero.
"""

import ctypes
import json
import signal
import subprocess
import sys
import warnings

import torch
from torch.utils._pytree import tree_map

import calls
from calls import DEVICE, on_a_device

SECONDS_PER_ENTRY = 120


class Driver:
    """What the stand-in's driver was asked to do since the last time."""

    def __init__(self):
        self._take = ctypes.CDLL("libcuda.so.1").devsan_standin_take_notes
        self._take.argtypes, self._take.restype = [ctypes.c_char_p, ctypes.c_size_t], ctypes.c_size_t
        self._buffer = ctypes.create_string_buffer(1 << 16)

    def __call__(self):
        size = self._take(self._buffer, len(self._buffer))
        return self._buffer.raw[:size].decode().splitlines()


def is_plain(tensor):
    return tensor.layout == torch.strided and not tensor.is_quantized and not tensor.is_nested


def on_host(tensor):
    """The same memory as a tensor of the CPU; a copy where it is not one block."""
    if not is_plain(tensor):
        return tensor.cpu()
    storage = tensor.untyped_storage()
    if storage.nbytes() == 0:
        return torch.empty_strided(tensor.size(), tensor.stride(), dtype=tensor.dtype)
    memory = torch.frombuffer((ctypes.c_char * storage.nbytes()).from_address(storage.data_ptr()), dtype=torch.uint8)
    host = torch.empty(0, dtype=tensor.dtype)
    host.set_(memory.untyped_storage(), tensor.storage_offset(), tensor.size(), tensor.stride())
    host = torch._conj(host) if tensor.is_conj() else host
    return torch._neg_view(host) if tensor.is_neg() else host


def on_device(value):
    if not isinstance(value, torch.Tensor):
        return value
    if not is_plain(value):
        return value.to(DEVICE)
    device = torch.empty_strided(value.size(), value.stride(), dtype=value.dtype, device=DEVICE)
    on_host(device).copy_(value)
    return device


def with_values(result, expected):
    """The device's result with the CPU's values, in the CPU's shape where kernels decide about it."""
    if not isinstance(expected, torch.Tensor):
        return expected
    if not on_a_device(result):
        return result if result is not None else on_device(expected)
    if is_plain(result) and is_plain(expected) and result.dtype == expected.dtype and result.size() == expected.size():
        on_host(result).copy_(expected)
        return result
    return on_device(expected)


class ValuedCalls(calls.Calls):
    """Gives each call the CPU's results; one without a CPU kernel keeps its own, zeros."""

    def finish(self, func, args, kwargs, result, error):
        aliases = [value.alias_info for value in func._schema.returns]
        is_view = aliases and all(alias is not None and not alias.is_write for alias in aliases)
        if is_view and not error:
            return result
        try:
            expected = func(*tree_map(self._argument, args), **tree_map(self._argument, kwargs))
        except Exception:
            return super().finish(func, args, kwargs, result, error)
        if any(alias is not None for alias in aliases):  # written through the arguments
            return args[0] if error else result
        if isinstance(expected, (list, tuple)):
            results = result if isinstance(result, (list, tuple)) else [None] * len(expected)
            return type(expected)(map(with_values, results, expected))
        return with_values(result, expected)

    @staticmethod
    def _argument(value):
        if isinstance(value, torch.device):
            return torch.device("cpu")
        return on_host(value) if on_a_device(value) else value


def work(names, out):
    """Records one entry after the other; each says first that it has begun."""
    warnings.simplefilter("ignore")
    torch.set_num_threads(1)
    torch._C._set_cudnn_enabled(False)
    driver = Driver()
    # What the first use of a device, of its random numbers and of a library costs is not an operator's.
    for index in range(torch.cuda.device_count()):
        torch.rand(2, 2, device=f"cuda:{index}") @ torch.ones(2, 2, device=f"cuda:{index}")

    def write(**row):
        out.write(json.dumps(row) + "\n")
        out.flush()

    for name, op in calls.entries().items():
        if name not in names:
            continue
        write(entry=name)
        signal.alarm(SECONDS_PER_ENTRY)
        recorder = ValuedCalls(driver, lambda op, key, did, error: write(op=op, key=key, did=did, error=str(error or "")[:200]))
        try:
            count, failures = calls.run(op, recorder)
            write(samples=count, failures=failures)
        except Exception as error:
            write(samples=0, failures=[f"{type(error).__name__}: {error}"])
        signal.alarm(0)


def supervise(names, out):
    """An entry that ends the process is left where it was, and the next ones get a new process."""
    while names:
        status = subprocess.run([sys.executable, "-B", __file__, "--work", out, *names], check=False).returncode
        with open(out) as file:
            begun = [json.loads(line)["entry"] for line in file if line.startswith('{"entry"')]
        names = [name for name in names if name not in begun]
        if status and not begun:
            sys.exit(f"record.py: nothing can be recorded: the recording process ended with status {status}")
        if status:
            with open(out, "a") as file:
                file.write("\n" + json.dumps({"ended": begun[-1], "status": status}) + "\n")


def main():
    if sys.argv[1] == "--work":
        with open(sys.argv[2], "a") as out:
            return work(set(sys.argv[3:]), out)
    open(sys.argv[1], "w").close()
    return supervise(sys.argv[2:] or list(calls.entries()), sys.argv[1])


if __name__ == "__main__":
    sys.exit(main())
