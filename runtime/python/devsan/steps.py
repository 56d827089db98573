"""Tells the runtime of the steps of Python's optimizers, so that it knows where a step of the main loop ends.

install() is called before the program imports torch, by devsan's sitecustomize. What it does waits until torch's
modules are there: torch's own hook for all optimizers says that one has stepped, and GradScaler.step, which leaves an
optimizer out where it finds an overflow, says that it would have.
"""

import functools

from devsan import runtime
from devsan.after_import import after_import

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


def install():
    watched = {"torch.optim.optimizer": _watch_optimizers, "torch.amp.grad_scaler": _watch_scalers}
    after_import(watched, "steps of {} are not seen")
