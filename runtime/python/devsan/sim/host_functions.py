"""Python functions that compute on CPU tensors and stand for work of a simulated device.

They run inside an operator (runtime/sim/ops/run_on_host.cpp), so what they get are CPU tensors over the memory of the
device's tensors, what they make lies in the device's memory, and streams and generators see one kernel.
"""

import itertools
import weakref

import torch

from . import graphs

_functions = weakref.WeakValueDictionary()
_numbers = itertools.count()


def _run(device, read, written, numbers, number):
    return _functions[number].function(read, written, numbers)


_library = torch.library.Library("devsan_sim", "FRAGMENT")
for _name in ("run_on_host", "run_on_host.random"):
    _library.impl(_name, _run, "CPU")


class HostFunction:
    """`function(read, written, numbers)` returns a list of tensors: new ones, its arguments, or views of them. With
    `draws`, it draws from the default generator."""

    def __init__(self, function, draws=False):
        self.function = function
        self._operator = torch.ops.devsan_sim.run_on_host.random if draws else torch.ops.devsan_sim.run_on_host.default
        self._number = next(_numbers)
        _functions[self._number] = self

    def __call__(self, device, read, written=(), numbers=()):
        graphs.keep_while_captured(self)
        with torch._C._AutoDispatchBelowAutograd():
            return self._operator(torch.empty(0, device=device), read, written, numbers, self._number)
