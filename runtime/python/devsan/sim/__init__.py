"""Gives Python programs the simulated CUDA devices of libdevsan_sim.so.

A CPU build of PyTorch has the Python half of `torch.cuda` and lacks the C functions below it. install() provides them,
at the one moment that works: `torch.cuda` binds some of them, and derives classes from others, while it is imported,
which is while `import torch` runs. So an import hook acts when `torch._C` is about to be loaded (the library must be in
the process before LibTorch asks for CUDA), and again when `torch.cuda` is (then `torch._C` can be filled).

install() is called before the program imports torch, by devsan's sitecustomize.
"""

import ctypes
import importlib
import importlib.abc
import importlib.machinery
import importlib.util
import os
import sys

from ..after_import import AfterExec, after_import

_LIBRARY = "libdevsan_sim.so"
_finder = None


def library_path():
    """The simulator among the libraries that `devsan run` names, or None."""
    for path in os.environ.get("DEVSAN_LIBS", "").split(os.pathsep):
        if os.path.basename(path) == _LIBRARY:
            return path
    return None


def install():
    """Makes this process's `torch.cuda` simulated. Does nothing without DEVSAN_SIM_DEVICES or a second time."""
    if _finder is not None or "DEVSAN_SIM_DEVICES" not in os.environ:
        return
    if "torch" in sys.modules:
        raise RuntimeError("devsan: torch is already imported; the simulated devices must be installed before it")
    path = library_path()
    if path is None:
        raise RuntimeError(f"devsan: DEVSAN_SIM_DEVICES is set but DEVSAN_LIBS names no {_LIBRARY}; use devsan run --sim=N")
    _begin(path)


def _begin(path):
    global _finder
    _finder = _Finder(path)
    sys.meta_path.insert(0, _finder)
    # There is no device that runs what Triton compiles: its interpreter does, and ATen's operators run their own kernels.
    os.environ.update(TRITON_INTERPRET="1", TORCH_DISABLE_NATIVE_JIT="1")
    after_import(
        {
            "torch._dynamo.backends.cudagraphs": _later("inductor", "replace_cudagraphs"),
            "torch._dynamo.convert_frame": _later("inductor", "hide_tracing"),
            "torch._inductor": _later("inductor", "replace_packages"),
            "torch._inductor.compile_fx": _later("inductor", "install"),
            "triton.runtime.driver": _later("triton", "set_driver"),
            "triton.runtime.interpreter": _later("triton", "prepare_interpreter"),
        },
        "{} does not know simulated devices",
    )


def _later(module, function):
    return lambda imported: getattr(importlib.import_module(f"{__name__}.{module}"), function)(imported)


def install_late():
    """Called by libdevsan_sim.so as soon as it is loaded, which is while `torch._C` is: for Python that ran no
    sitecustomize (python -I, -E, -S). Does nothing after install()."""
    if _finder is None and "torch.cuda" not in sys.modules:
        _begin(None)


def _is_cuda_build(torch_path):
    """Whose `torch.cuda` is its own: the shim has brought what lies below it (runtime/preload/cuda_build.c)."""
    return os.path.exists(os.path.join(torch_path, "lib", "libtorch_cuda.so"))


class _Finder(importlib.abc.MetaPathFinder):
    """Finds nothing itself; lets the others find `torch._C` and `torch.cuda`, and acts before and after."""

    def __init__(self, path):
        self.path = path
        self.library = None
        self.searching = False

    def find_spec(self, name, path, target=None):
        if name not in ("torch._C", "torch.cuda") or self.searching:
            return None
        if _is_cuda_build(list(path)[0] if name == "torch._C" else os.path.dirname(sys.modules["torch._C"].__file__)):
            process = ctypes.CDLL(None)
            if name == "torch.cuda" and hasattr(process, "devsan_sim_finish_backward"):  # else it could not be loaded
                from . import torch_c

                torch_c.provide_to_cuda_build(sys.modules["torch._C"], process)
            return None
        if name == "torch._C":
            self.load(list(path)[0])
            return None
        if self.library is None:
            self.load(os.path.dirname(sys.modules["torch._C"].__file__))
        if self.library is None:
            return None
        from . import torch_c

        torch_c.provide(sys.modules["torch._C"], self.library)
        self.searching = True
        try:
            spec = importlib.util.find_spec(name)
        finally:
            self.searching = False
        spec.loader = AfterExec(spec.loader, lambda module: torch_c.after_torch_cuda(module, self.library))
        return spec

    def load(self, torch_path):
        # The preload shim has done this already under `devsan run`; loading again gives the same library.
        if self.library is not None:
            return
        libraries = os.path.join(torch_path, "lib")
        ctypes.CDLL(os.path.join(libraries, "libtorch_cpu.so"), ctypes.RTLD_GLOBAL)
        process = ctypes.CDLL(None)
        # The shim may have loaded another file than DEVSAN_LIBS names: one that was built for this LibTorch.
        if hasattr(process, "devsan_sim_device_count"):
            self.library = process
        elif not hasattr(process, "devsan_preload_answer_sigaction"):  # else it could not, and has said so
            self.library = ctypes.CDLL(self.path)
