"""What the tests of the binding share: every metric that is bound, with options and batches for it."""

import torch
from torch.utils._python_dispatch import TorchDispatchMode
from torch.utils._pytree import tree_map

import devsan.metrics
from devsan.metrics import _metrics

CLASSES = 5
# The minima are no ratio of small counts, which TorchMetrics' float32 would put on either side of them.
REQUIRED = {"num_classes": CLASSES, "num_labels": CLASSES, "beta": 2.0, "min_precision": 0.4137, "min_specificity": 0.4137}
# Not that of a batch, and not more scales than small images have.
REQUIRED |= {"data_range": 1.0, "sigma": 0.5, "betas": (0.4, 0.6)}
REQUIRED |= {"things": [1, 4], "stuffs": [2]}
KINDS = {kind.name: kind for kind in _metrics.kinds}
EXACT = " exact"  # after a name: with all scores as thresholds


def arguments_of(kind):
    return {argument.name for argument in kind.arguments}


# The Frechet distance is of two sets, and has tests of its own.
NAMES = sorted([*(set(KINDS) - {"FrechetInceptionDistance"}), *(name + EXACT for name, kind in KINDS.items() if "thresholds" in arguments_of(kind))])


def kind_of(name):
    return KINDS[name.removesuffix(EXACT)]


def metric_class(name):
    return getattr(devsan.metrics, kind_of(name).name)


def options(name):
    """That a metric of this name needs to be made."""
    arguments = arguments_of(kind_of(name))
    given = {argument: value for argument, value in REQUIRED.items() if argument in arguments}
    return given | ({"thresholds": 11} if "thresholds" in arguments and not name.endswith(EXACT) else {})


def make(name, **more):
    return metric_class(name)(**(options(name) | more))


def batch(name, n, generator, dtype=torch.float32):
    """Inputs of update(): n samples, on the CPU."""

    def uniform(*sizes):
        return torch.rand(*sizes, generator=generator, dtype=torch.float64).to(dtype)

    def labels(high, *sizes):
        return torch.randint(high, sizes, generator=generator)

    def image(found):
        number = 3
        corner = torch.arange(2 * number).view(number, 2) * 20 + 3 * uniform(number, 2)
        boxes = {"boxes": torch.cat([corner, corner + 10 + 3 * uniform(number, 2)], 1), "labels": labels(2, number)}
        return boxes | ({"scores": uniform(number)} if found else {})

    if name.startswith("Binary"):
        return uniform(n), labels(2, n)
    if name.startswith("Multiclass"):
        # Two dimensions for the exact match, which is of samples of several parts.
        if name == "MulticlassExactMatch":
            return labels(CLASSES, n, 2), labels(CLASSES, n, 2)
        return uniform(n, CLASSES).softmax(1), labels(CLASSES, n)
    if name.startswith("Multilabel"):
        return uniform(n, CLASSES), labels(2, n, CLASSES)
    if kind_of(name).domain == "aggregation":
        return (uniform(n), uniform(n)) if "weight" in kind_of(name).inputs else (uniform(n),)
    if kind_of(name).domain == "retrieval":
        return uniform(n), labels(2, n), labels(3, n)
    if kind_of(name).domain == "image":
        return uniform(n, 2, 16, 16), uniform(n, 2, 16, 16)
    if name == "MeanAveragePrecision":
        return [image(True) for _ in range(n)], [image(False) for _ in range(n)]
    if kind_of(name).domain == "detection":
        category = torch.tensor([1, 2, 4])[labels(3, n, 3, 1, 1)]  # things and stuff
        return tuple(torch.stack([category, labels(3, n, 3, 1)[..., None]], -1).expand(n, 3, 4, 1, 2) for _ in range(2))
    if name == "MeanIoU":
        return labels(2, n, CLASSES, 4), labels(2, n, CLASSES, 4)
    if name == "Perplexity":
        return uniform(n, 3, CLASSES), labels(CLASSES, n, 3)
    if name in ("KLDivergence", "JensenShannonDivergence"):
        return uniform(n, 4) + 0.1, uniform(n, 4) + 0.1
    if name == "CosineSimilarity":
        return uniform(n, 4), uniform(n, 4)
    target = uniform(n) + 0.1
    return target + 0.3 * uniform(n), target


def joined(batches):
    """One batch of several."""
    return tuple(sum(inputs, []) if isinstance(inputs[0], list) else torch.cat(inputs) for inputs in zip(*batches))


class Operators(TorchDispatchMode):
    """The operators that are called meanwhile."""

    VIEWS = ("alias detach as_strided expand narrow permute select slice split squeeze t transpose unbind unsqueeze view _unsafe_view "
             "_reshape_alias empty empty_like").split()  # fmt: skip

    def __init__(self):
        super().__init__()
        self.names = []

    def __torch_dispatch__(self, operator, types, args=(), kwargs=None):
        self.names.append(str(operator).removeprefix("aten."))
        return operator(*args, **(kwargs or {}))

    def work(self):
        """Of these, those that a device has something to do for."""
        return [name for name in self.names if name.partition(".")[0] not in self.VIEWS]


def moved(inputs, *to):
    """The inputs on a device."""
    return tree_map(lambda tensor: tensor.to(*to), inputs)


def tensors(value):
    """All of a result, of which curves of several classes may be lists."""
    if isinstance(value, dict):
        return list(value.values())
    parts = value if isinstance(value, (tuple, list)) else [value]
    return [tensor for part in parts for tensor in (part if isinstance(part, list) else [part])]


def assert_same(actual, expected, rtol=1e-6, atol=1e-6):
    actual, expected = tensors(actual), tensors(expected)
    assert len(actual) == len(expected)
    for a, b in zip(actual, expected):
        torch.testing.assert_close(a, b, rtol=rtol, atol=atol, equal_nan=True, check_dtype=False)
