"""How the time of an update() grows with N and C, and that of a sync() with the ranks, as a plot. For bench/metrics.py."""

import metrics_ranks

SIZES = [2**power for power in range(4, 21, 2)]
CLASSES = [2**power for power in range(1, 13)]
RANKS = (1, 2, 4, 8)
OF_CLASSES = 1024  # samples, where the number of classes grows
SAMPLES = ("MeanSquaredError", "PearsonCorrCoef", "BinaryAUROC", "MulticlassAccuracy")
WIDE = ("MulticlassAccuracy", "MulticlassConfusionMatrix", "MulticlassAUROC", "MultilabelF1Score")


def growth(cases, measured):
    """{title: (label of the axis, {name: {"ours"/"theirs": [(x, seconds)]}})}. `measured` times a kind on inputs."""
    kinds = {kind.name: kind for kind in cases.kinds}

    def curves(names, points):
        found = {}
        for name in names:
            for n, classes in points:
                classes = classes if name.startswith("Multi") else None
                figures = measured(kinds[name], cases.inputs(kinds[name], n, classes or 10), classes or 10)
                for whose, way in (("ours", "cpp on"), ("theirs", "off")):
                    x = classes if points is by_class else n
                    found.setdefault(name, {}).setdefault(whose, []).append((x, figures[way]))
        return found

    by_size = [(n, 10) for n in SIZES]
    by_class = [(OF_CLASSES, classes) for classes in CLASSES]
    ranks = {"PearsonCorrCoef": {"ours": [], "theirs": []}}
    for world in RANKS:
        sync = metrics_ranks.measure(world, samples=1 << 12)["sync"]
        for whose, spent in sync.items():
            ranks["PearsonCorrCoef"][whose].append((world, spent))
    return {
        "update(), 10 classes": ("N", curves(SAMPLES, by_size)),
        f"update(), N = {OF_CLASSES}": ("C", curves(WIDE, by_class)),
        "sync() and unsync(), Gloo": ("ranks", ranks),
    }


def new_figure():
    """What draw() draws on; ends the program where there is no matplotlib."""
    try:
        from matplotlib.figure import Figure
    except ImportError:
        raise SystemExit("bench metrics --plot needs matplotlib: .venv/bin/pip install matplotlib") from None
    return Figure(figsize=(15, 5), layout="constrained")


def draw(figure, found, file):
    for axes, (title, (label, curves)) in zip(figure.subplots(1, len(found)), found.items()):
        for number, (name, by_whose) in enumerate(curves.items()):
            for whose, points in by_whose.items():
                style = "-" if whose == "ours" else ":"
                axes.loglog(*zip(*points), style, color=f"C{number}", label=name if whose == "ours" else None)
        axes.set(title=title, xlabel=label, ylabel="seconds")
        axes.grid(alpha=0.3)
        axes.legend(fontsize=8)
    figure.suptitle("solid: devsan (C++; sync() through Python), dotted: TorchMetrics")
    figure.savefig(file)
