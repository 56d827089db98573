"""Tells the runtime of the steps of Python's optimizers, so that it knows where a step of the main loop ends.

install() is called before the program imports torch, by devsan's sitecustomize. What it does waits until torch's
modules are there: torch's own hook for all optimizers says that one has stepped, and GradScaler.step, which leaves an
optimizer out where it finds an overflow, says that it would have.
"""

import functools
import importlib.abc
import importlib.util
import sys

from devsan import runtime
from devsan.after_import import AfterExec

_stepped = 0


def _tell(optimizer):
    global _stepped
    _stepped += 1
    functions = runtime.functions()
    if functions is not None:
        functions.optimizer_stepped(optimizer)


def _watch_optimizers(module):
    import torch

    def after_step(optimizer, args, kwargs):
        # A compiled step stays whole: it is not counted.
        if not torch.compiler.is_compiling():
            _tell(optimizer)

    module.register_optimizer_step_post_hook(after_step)


def _watch_scalers(module):
    real = module.GradScaler.step

    @functools.wraps(real)
    def step(self, optimizer, *args, **kwargs):
        before = _stepped
        result = real(self, optimizer, *args, **kwargs)
        if _stepped == before:
            _tell(optimizer)
        return result

    module.GradScaler.step = step


_WATCHED = {"torch.optim.optimizer": _watch_optimizers, "torch.amp.grad_scaler": _watch_scalers}


class _Finder(importlib.abc.MetaPathFinder):
    """Finds nothing itself; lets the others find, and acts after the module is there."""

    def __init__(self):
        self.searching = False

    def find_spec(self, name, path, target=None):
        if name not in _WATCHED or self.searching:
            return None
        self.searching = True
        try:
            spec = importlib.util.find_spec(name)
        finally:
            self.searching = False
        if spec is not None and spec.loader is not None:
            spec.loader = AfterExec(spec.loader, _guarded(_WATCHED[name]))
        return spec


def _guarded(action):
    def act(module):
        try:
            action(module)
        except Exception as error:  # the program must run on, as it would without us
            print(f"devsan: steps of {module.__name__} are not seen: {error!r}", file=sys.stderr)

    return act


def install():
    sys.meta_path.insert(0, _Finder())
