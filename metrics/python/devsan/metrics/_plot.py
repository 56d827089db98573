"""What `plot()` draws. It needs matplotlib, which nothing else here does."""

import torch


def axes_of(ax):
    """Axes, of which there may be one or several, as those of a figure, in a list."""
    return [ax] if hasattr(ax, "plot") else list(getattr(ax, "flat", ax))


def _axes(ax, number=1):
    """A figure, and as many of its axes, new ones unless they are given."""
    try:
        from matplotlib import pyplot
    except ModuleNotFoundError:
        raise ModuleNotFoundError("plot() draws with matplotlib, which is not installed; pip install matplotlib") from None
    if ax is None:
        figure, axes = pyplot.subplots(1, number, squeeze=False, layout="constrained")
        return figure, list(axes[0])
    axes = axes_of(ax)
    if len(axes) != number:
        raise ValueError(f"plot(): ax has {len(axes)} axes; pass {number}")
    return axes[0].get_figure(), axes


def _is_curve(value):
    return "thresholds" in getattr(value, "_fields", ())


def _numbers(value, labels):
    """The numbers of a value by what a legend calls them."""
    if hasattr(value, "_asdict"):
        value = value._asdict()
    named = value if isinstance(value, dict) else {"": value}
    numbers = {}
    for name, result in named.items():
        result = torch.as_tensor(result).detach()
        of_classes = result.flatten().tolist()
        for i, number in enumerate(of_classes):
            label = "" if result.dim() == 0 else i if labels is None else labels[i]
            numbers[f"{name} {label}".strip()] = number
    return numbers


def _draw_curve(axis, curve, labels):
    across, up = ("recall", "precision") if "recall" in curve._fields else ("fpr", "tpr")
    xs, ys = getattr(curve, across), getattr(curve, up)
    several = isinstance(xs, list) or xs.dim() == 2
    for i, (x, y) in enumerate(zip(xs, ys) if several else [(xs, ys)]):
        axis.plot(x.detach().cpu(), y.detach().cpu(), label=(labels[i] if labels else i) if several else None)
    axis.set_xlabel(across)
    axis.set_ylabel(up)


def _draw_matrix(axis, matrix, labels):
    matrix = matrix.detach().cpu()
    image = axis.imshow(matrix)
    middle = (image.norm.vmin + image.norm.vmax) / 2
    for (row, column), number in zip(torch.cartesian_prod(*map(torch.arange, matrix.shape)).tolist(), matrix.flatten().tolist()):
        text = f"{number:.2f}" if matrix.is_floating_point() else str(number)
        axis.text(column, row, text, ha="center", va="center", color="black" if number > middle else "white")
    for ticks, size in ((axis.set_yticks, matrix.shape[0]), (axis.set_xticks, matrix.shape[1])):
        ticks(range(size), labels if labels is not None and len(labels) == size else range(size))
    axis.set_xlabel("prediction")
    axis.set_ylabel("target")


def draw(name, value, ax=None, labels=None):
    """A value of a metric, or a list of its values over steps: a curve, a matrix, or numbers."""
    steps = isinstance(value, (list, tuple)) and not hasattr(value, "_fields")
    if torch.is_tensor(value) and value.dim() == 3:  # a matrix for each label
        figure, axes = _axes(ax, len(value))
        for i, axis in enumerate(axes):
            _draw_matrix(axis, value[i], None)
            axis.set_title(labels[i] if labels else i)
        return figure, axes
    figure, (axis,) = _axes(ax)
    if _is_curve(value):
        _draw_curve(axis, value, labels)
    elif torch.is_tensor(value) and value.dim() == 2:
        _draw_matrix(axis, value, labels)
    elif steps:
        numbers = [_numbers(step, labels) for step in value]
        for label in numbers[0]:
            axis.plot([step[label] for step in numbers], "o-", label=label or None)
        axis.set_xlabel("step")
        axis.set_ylabel(name)
    else:
        for place, (label, number) in enumerate(_numbers(value, labels).items()):
            axis.plot([place], [number], "o", label=label or None)
        axis.set_xticks([])
        axis.set_ylabel(name)
    if axis.get_legend_handles_labels()[1]:
        axis.legend()
    return figure, axis
