"""expect_same_device(): says which tensor of a model, a metric or a batch lives on another device than the rest."""

from collections.abc import Iterable, Iterator, Mapping
from typing import Any, Optional


class _Comparison:
    """Compares everything with the first tensor of the batch, or where there is none with the first parameter."""

    def __init__(self) -> None:
        self.expected: Any = None
        self.reference = ""
        self.position = 0

    def set_batch(self, tensor: Any) -> None:
        if self.expected is None:
            self.expected, self.reference = tensor.device, "the batch"

    def check_batch(self, tensor: Any) -> None:
        self.position += 1
        if tensor.device != self.expected:
            raise RuntimeError(f"tensor {self.position} of the batch is on {tensor.device}, {self.reference} on "
                               f'{self.expected}: call .to("{self.expected}") on it')

    def check_member(self, kind: str, name: str, tensor: Any, owner: str) -> None:
        if self.expected is None:
            self.expected, self.reference = tensor.device, f"{kind} '{name}'"
        elif tensor.device != self.expected:
            part = name.rpartition(".")[0] or owner
            raise RuntimeError(f"{kind} '{name}' is on {tensor.device}, {self.reference} on {self.expected}: "
                               f"call {part}.to(device)")


def _batch_tensors(argument: Any) -> Iterator[Any]:
    """The tensors of a batch: one, or a collection of them however deep."""
    import torch

    if isinstance(argument, torch.Tensor):
        yield argument
    elif isinstance(argument, Mapping):
        for value in argument.values():
            yield from _batch_tensors(value)
    elif isinstance(argument, (list, tuple)):
        for value in argument:
            yield from _batch_tensors(value)


def _states(metric: Any) -> Optional[Mapping]:
    """The states of a metric: TorchMetrics' own, which are no parameters, or those of a state_dict()."""
    states = getattr(metric, "metric_state", None)
    if isinstance(states, Mapping):
        return states
    return None if hasattr(metric, "named_parameters") else metric.state_dict()


def _check(comparison: _Comparison, argument: Any) -> None:
    if hasattr(argument, "named_parameters"):
        for name, tensor in argument.named_parameters():
            comparison.check_member("parameter", name, tensor, "model")
        for name, tensor in argument.named_buffers():
            comparison.check_member("buffer", name, tensor, "model")
    states = _states(argument)
    for name, value in (states or {}).items():
        for tensor in _batch_tensors(value):
            comparison.check_member("metric state", name, tensor, "metric")


def _is_batch(argument: Any) -> bool:
    import torch

    return isinstance(argument, (torch.Tensor, Mapping, list, tuple))


def expect_same_device(*arguments: Any) -> None:
    """Raises RuntimeError where the tensors of the arguments do not all live on one device, naming the odd one:

        parameter 'head.weight' is on cpu, the batch on cuda:1: call head.to(device)

    Arguments in any order: modules (their parameters and buffers), metrics (their states, as far as they exist yet),
    tensors and collections of tensors, which are the batch. The first tensor of the batch says which device is expected.
    Reads no tensor's data, and works without `devsan run`.
    """
    comparison = _Comparison()
    batches: Iterable[Any] = [argument for argument in arguments if _is_batch(argument)]
    for argument in batches:
        for tensor in _batch_tensors(argument):
            comparison.set_batch(tensor)
    for argument in arguments:
        if _is_batch(argument):
            for tensor in _batch_tensors(argument):
                comparison.check_batch(tensor)
        elif hasattr(argument, "named_parameters") or hasattr(argument, "state_dict"):
            _check(comparison, argument)
        else:
            raise TypeError(f"devsan.expect_same_device() takes modules, metrics, tensors and collections of tensors, "
                            f"not {type(argument).__name__}")
