"""A metric for each of several outputs."""

from typing import Any

import torch
from torch import Tensor

from devsan.metrics.metric import Metric
from devsan.metrics.wrappers._wrapper import OfSeveral


class MultioutputWrapper(OfSeveral):
    """A metric of one output for each of several. `compute()` gives their values, [num_outputs, ...].

    Args:
        base_metric: of which each output has a copy.
        num_outputs: how many outputs there are.
        output_dim: the dimension of the inputs that they lie in.
        remove_nans: of each output, samples are left out (the first dimension) where an input is NaN. How many these are has to be
            known: inputs on another device than the CPU are waited for. False: nothing is looked at.
        squeeze_outputs: whether the metric gets its inputs without that dimension, or with it, of size 1.
    """

    def __init__(
        self,
        base_metric: Metric,
        num_outputs: int,
        output_dim: int = -1,
        remove_nans: bool = True,
        squeeze_outputs: bool = True,
    ) -> None:
        if not isinstance(num_outputs, int) or num_outputs < 1:
            raise ValueError(f"MultioutputWrapper: num_outputs is {num_outputs!r}; pass a positive number")
        super().__init__(base_metric, num_outputs)
        self.num_outputs, self.output_dim = num_outputs, output_dim
        self.remove_nans, self.squeeze_outputs = remove_nans, squeeze_outputs

    def _of_output(self, output, inputs):
        """The tensors of `inputs`, by their names, of one output."""
        dim = self.output_dim
        chosen = {name: given.narrow(dim, output, 1) for name, given in inputs.items()}
        if self.remove_nans:
            nan = torch.stack([given.isnan().flatten(1).any(1) for given in chosen.values()]).any(0)
            if nan.any():
                chosen = {name: given[~nan] for name, given in chosen.items()}
        return {name: given.squeeze(dim) for name, given in chosen.items()} if self.squeeze_outputs else chosen

    def update(self, *args: Any, **kwargs: Any) -> None:
        """As that of the metric, of inputs with a dimension for the outputs."""
        given = dict(enumerate(args)) | kwargs
        inputs = {name: value for name, value in given.items() if torch.is_tensor(value)}
        if self.remove_nans:
            self._check_not_captured(inputs.values(), "it looks for NaN, unless remove_nans=False")
        if not inputs:
            raise ValueError("MultioutputWrapper: no input is a tensor, so that there are no outputs; pass tensors")
        for name, value in inputs.items():
            dims = value.dim()
            if dims < 2 or not -dims <= self.output_dim < dims or value.size(self.output_dim) != self.num_outputs:
                raise ValueError(
                    f"MultioutputWrapper: input {name!r} has shape {tuple(value.shape)}; pass samples, and {self.num_outputs} outputs "
                    f"in dimension {self.output_dim}"
                )

        def each():
            for output, metric in enumerate(self.metrics):
                of_one = given | self._of_output(output, inputs)
                metric.update(*(of_one[i] for i in range(len(args))), **{name: of_one[name] for name in kwargs})

        self._core.all_or_nothing(each, self.num_outputs - 1)

    def _value(self) -> Tensor:
        values = [metric.compute() for metric in self.metrics]
        if not torch.is_tensor(values[0]):
            raise RuntimeError(f"MultioutputWrapper: {type(self.metrics[0]).__name__} has several results; pass a metric of one")
        return torch.stack(values)
