"""What update() costs, in C++ and through devsan.metrics, beside TorchMetrics 1.9.0: one thread, the same tensors in one
process, taking turns; times are the processor's, the least of the rounds. Both are timed with validate_args=False ("off") and,
for classification, with it ("on"). Outside of classification TorchMetrics has no such switch and counts as "off". The summary is of
each setting against the same one, and of ours with it, which is its default, against TorchMetrics without.

Speed-ups are given for each metric at N = 64, 1024 and 65536 and, where there are classes, C = 10 and 1000, with their
geometric means and the least one. At N = 65536 ours stands beside a plain read of the inputs' memory. Metrics that TorchMetrics has
not under that name are left out. In the end two and four ranks (Gloo) synchronise, beside TorchMetrics: support/metrics_ranks.py.

All cases take an hour. --results FILE keeps the figures of each as soon as it has them, and goes on where a run with the same file
ended; --only and --largest take a part of them.

--plot FILE.svg measures how the time grows with N, C and ranks instead, and needs matplotlib.
"""

import argparse
import ctypes
import gc
import json
import math
import re
import sys
import time
from pathlib import Path

SIZES = (64, 1024, 65536)
CLASSES = (10, 1000)
THRESHOLDS = 20
THINGS, STUFFS = [0, 1, 2, 3, 4, 5], [6, 7, 8, 9]  # categories
# TorchMetrics keeps their inputs and computes in the end, where ours is done in update(): timed with compute().
WITH_COMPUTE = ("CosineSimilarity", "BinaryCalibrationError", "MulticlassCalibrationError")
# At N = 65536, against a plain read.
READ_LIMITS = {"argmax": 3.0, "moment": 1.5}
MOMENTS = ("MeanMetric", "SumMetric", "MeanSquaredError", "MeanAbsoluteError", "PearsonCorrCoef", "R2Score", "ConcordanceCorrCoef",
           "ExplainedVariance")  # fmt: skip
ARGMAX = ("MulticlassAccuracy", "MulticlassF1Score", "MulticlassPrecision", "MulticlassRecall")


def task_of(name):
    return next((task for task in ("Binary", "Multiclass", "Multilabel") if name.startswith(task)), None)


class InCpp:
    """What bench/metrics_module.cpp times."""

    def __init__(self, folder):
        library = ctypes.CDLL(str(folder / "devsan_bench_metrics.so"))
        self._update, self._read = library.devsan_bench_update, library.devsan_bench_read
        self._update.restype = self._read.restype = ctypes.c_double

    @staticmethod
    def _passed(tensors):
        return (ctypes.c_void_p * len(tensors))(*(tensor._cdata for tensor in tensors)), len(tensors)

    def update(self, name, address, inputs, calls, with_compute):
        return self._update(name.encode(), ctypes.c_size_t(address), *self._passed(inputs), calls, with_compute)

    def read(self, inputs, calls):
        return self._read(*self._passed(inputs), calls)


class Cases:
    """The metrics, with options and inputs."""

    def __init__(self):
        import torch
        import torchmetrics
        import torchmetrics.classification
        import torchmetrics.image
        import torchmetrics.regression
        import torchmetrics.retrieval
        import torchmetrics.segmentation
        import torchmetrics.text

        from devsan.metrics import _metrics

        self.torch = torch
        # The package itself last, as its rankings are deprecated ones.
        domains = ("classification", "regression", "retrieval", "text", "image", "segmentation")
        self.theirs = [getattr(torchmetrics, name) for name in domains]
        self.theirs.append(torchmetrics)
        self.kinds = _metrics.kinds

    def their_class(self, name):
        if name == "FrechetInceptionDistance":  # of images, by a network
            return None
        return next((getattr(module, name) for module in self.theirs if hasattr(module, name)), None)

    def options(self, kind, classes):
        names = {argument.name for argument in kind.arguments}
        given = {"num_classes": classes or CLASSES[0], "input_format": "index", "num_labels": classes, "beta": 2.0, "min_precision": 0.4, "min_specificity": 0.4,
                 "thresholds": THRESHOLDS, "data_range": 1.0, "things": THINGS, "stuffs": STUFFS}  # fmt: skip
        return {name: value for name, value in given.items() if name in names}

    def inputs(self, kind, n, classes):
        torch = self.torch
        generator = torch.Generator().manual_seed(0)
        task = task_of(kind.name)
        if task == "Binary":
            return torch.rand(n, generator=generator), torch.randint(2, (n,), generator=generator)
        if task == "Multiclass":
            if kind.name == "MulticlassExactMatch":
                return tuple(torch.randint(classes, (n, 4), generator=generator) for _ in range(2))
            return torch.rand(n, classes, generator=generator).softmax(1), torch.randint(classes, (n,), generator=generator)
        if task == "Multilabel":
            return torch.rand(n, classes, generator=generator), torch.randint(2, (n, classes), generator=generator)
        if kind.domain == "aggregation":
            return (torch.rand(n, generator=generator),)
        if kind.domain == "retrieval":  # ten documents for each query
            indexes = torch.randint(n // 10, (n,), generator=generator)
            return torch.rand(n, generator=generator), torch.randint(2, (n,), generator=generator), indexes
        if kind.domain == "text":
            return torch.rand(n // 8, 8, 10, generator=generator), torch.randint(10, (n // 8, 8), generator=generator)
        if kind.domain == "image":  # one of n pixels
            side = int(n**0.5)
            return tuple(torch.rand(1, 1, side, side, generator=generator) for _ in range(2))
        if kind.domain == "segmentation":
            side = int(n**0.5)
            return tuple(torch.randint(CLASSES[0], (1, side, side), generator=generator) for _ in range(2))
        if kind.domain == "detection":  # n pixels, each of a category and an instance
            side = int(n**0.5)
            return tuple(torch.randint(len(THINGS + STUFFS), (1, side, side, 2), generator=generator) for _ in range(2))
        rows = kind.name in ("KLDivergence", "JensenShannonDivergence", "CosineSimilarity")
        sizes = (n, 10) if rows else (n,)
        return tuple(torch.rand(sizes, generator=generator) + 0.1 for _ in range(2))

    def __iter__(self):
        """Those with the same inputs behind one another, as these are large."""
        groups = {}
        for kind in self.kinds:
            if self.their_class(kind.name) is None:
                continue
            for classes in CLASSES if task_of(kind.name) in ("Multiclass", "Multilabel") else (None,):
                for n in SIZES:
                    if kind.name.startswith("MultiScale") and n < 65536:  # images are too small
                        continue
                    groups.setdefault((n, classes, task_of(kind.name)), []).append(kind)
        for (n, classes, _), kinds in sorted(groups.items(), key=lambda item: (item[0][0] * (item[0][1] or 1), str(item[0]))):
            for kind in kinds:
                yield kind, n, classes


def timed(update, calls):
    begin = time.thread_time()
    for _ in range(calls):
        update()
    return time.thread_time() - begin


def least_of(ways, budget, rounds, reset):
    """Seconds of one call in each way, each given about `budget` seconds in each round."""
    least, calls = {}, {}
    for name, way in ways.items():
        reset()
        calls[name] = 1
        spent = way(1)
        if spent < budget / 4:  # the first call makes the states
            spent = min(spent, way(1))
            calls[name] = max(1, min(500, int(budget / max(spent, 1e-7))))
        least[name] = spent
    for number in range(rounds):
        for name, way in ways.items():
            if least[name] > 100 * budget or (least[name] > 20 * budget and number):  # once, or once more, is enough
                continue
            reset()
            way(1)
            least[name] = min(least[name], way(calls[name]) / calls[name])
    return least


def measure(cases, bench, kind, inputs, classes, arguments):
    import devsan.metrics

    options = cases.options(kind, classes)
    our_class = getattr(devsan.metrics, kind.name)
    ours = {"on": our_class(**options)}
    ours["off"] = our_class(**options, validate="deferred") if any(a.name == "validate" for a in kind.arguments) else ours["on"]
    other = cases.their_class(kind.name)
    theirs = {"off": other(**options, validate_args=False)} if kind.domain == "classification" else {"off": other(**options)}
    if kind.domain == "classification":
        theirs["on"] = other(**options, validate_args=True)

    def reset():
        for metric in (*ours.values(), *theirs.values()):
            metric.reset()

    with_compute = kind.name in WITH_COMPUTE

    def in_cpp(metric):
        return lambda calls: bench.update(kind.name, metric._core.address, list(inputs), calls, with_compute)

    def whole(metric):
        metric.reset()
        metric.update(*inputs)
        metric.compute()

    def in_python(metric):
        call = (lambda: whole(metric)) if with_compute else (lambda: metric.update(*inputs))
        return lambda calls: timed(call, calls)

    ways = {}
    for validation, metric in ours.items():
        ways |= {f"cpp {validation}": in_cpp(metric), f"python {validation}": in_python(metric)}
    ways |= {validation: in_python(metric) for validation, metric in theirs.items()}
    if inputs[0].numel() % SIZES[-1] == 0:
        ways["read"] = lambda calls: bench.read([tensor.contiguous() for tensor in inputs], calls)
    return least_of(ways, arguments.budget, arguments.rounds, reset)


def print_row(row, figures):
    on = figures.get("on", float("nan"))
    print(f"{row:52} {figures['cpp off'] * 1e6:9.2f} {figures['cpp on'] * 1e6:9.2f} {figures['python off'] * 1e6:9.2f} "
          f"{figures['python on'] * 1e6:9.2f} {figures['off'] * 1e6:10.1f} {on * 1e6:10.1f} {figures['off'] / figures['cpp off']:8.1f} "
          f"{figures['off'] / figures['python off']:8.1f} {on / figures['cpp on']:8.1f} {on / figures['python on']:8.1f}", flush=True)  # fmt: skip


def geometric_mean(values):
    return math.exp(sum(map(math.log, values)) / len(values))


def summary(rows):
    for way, limit in (("cpp", 20), ("python", 8)):
        for own, against in (("off", "off"), ("on", "on"), ("on", "off")):
            ratios = {row: figures[against] / figures[f"{way} {own}"] for row, figures in rows.items() if against in figures}
            if not ratios:
                continue
            mean, least = geometric_mean(ratios.values()), min(ratios, key=ratios.get)
            below = sorted((ratio, row) for row, ratio in ratios.items() if ratio < 1.5)
            print(f"{'C++' if way == 'cpp' else 'Python':6}, validation {own:3} against {against:3} {len(ratios):4} cases: geometric mean {mean:7.1f}"
                  f" (at least {limit}: {'yes' if mean >= limit else 'NO'}); least {ratios[least]:6.2f}, {least}; below 1.5: {len(below)}")  # fmt: skip
            for ratio, row in below:
                print(f"    {ratio:5.2f} {row}")
    print("\nupdate() in C++ at N = 65536 as a multiple of a plain read of its inputs:")
    for what, names in (("moment", MOMENTS), ("argmax", ARGMAX)):
        for row, figures in rows.items():
            if row.split()[0] in names and "read" in figures:
                ratio = figures["cpp on"] / figures["read"]
                print(f"  {row:58} {ratio:6.2f}   at most {READ_LIMITS[what]}: {'yes' if ratio <= READ_LIMITS[what] else 'NO'}")


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--build", type=Path, required=True)
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--budget", type=float, default=0.01, help="seconds for each way in each round")
    parser.add_argument("--only", type=re.compile, default=re.compile(""), help="regular expression: of these metrics")
    parser.add_argument("--largest", type=int, default=65536 * 1000, help="no inputs with more scores than so many")
    parser.add_argument("--results", type=Path, metavar="FILE", help="keep the figures, and leave out cases that are there")
    parser.add_argument("--plot", type=Path, metavar="FILE", help="write the plot of the growth, and nothing else")
    arguments = parser.parse_args()
    for file in (arguments.results, arguments.plot):
        if file and not file.parent.is_dir():
            parser.error(f"{file}: there is no folder {file.parent}; make it, or name another file")
    sys.path[:0] = [str(arguments.build / "python"), str(Path(__file__).parent / "support")]
    import warnings

    import torch

    import metrics_ranks

    warnings.simplefilter("ignore")
    torch.set_num_threads(1)
    cases, in_cpp = Cases(), InCpp(arguments.build / "bench")
    if arguments.plot:
        import metrics_plot

        def measured(kind, inputs, classes):
            return measure(cases, in_cpp, kind, inputs, classes, arguments)

        figure = metrics_plot.new_figure()
        metrics_plot.draw(figure, metrics_plot.growth(cases, measured), arguments.plot)
        return
    rows, known = {}, {}
    if arguments.results and arguments.results.exists():
        known = dict(map(json.loads, arguments.results.read_text().splitlines()))
    held, inputs = None, None
    print(f"{'us a call':52} {'C++ off':>9} {'on':>9} {'Py off':>9} {'on':>9} {'theirs off':>10} {'on':>10} "
          f"{'C++ off':>8} {'Py off':>8} {'C++ on':>8} {'Py on':>8}")  # fmt: skip
    for kind, n, classes in cases:
        if not arguments.only.search(kind.name) or n * (classes or 1) > arguments.largest:
            continue
        row = f"{kind.name} N={n}" + (f" C={classes}" if classes else "")
        if row in known:
            rows[row] = known[row]
            print_row(row, rows[row])
            continue
        own = ("MulticlassExactMatch", "CosineSimilarity", "KLDivergence", "JensenShannonDivergence")
        shape = (n, classes, task_of(kind.name), kind.domain, kind.name if kind.name in own else "")
        if shape != held:
            inputs = None
            gc.collect()
            held, inputs = shape, cases.inputs(kind, n, classes)
        rows[row] = measure(cases, in_cpp, kind, inputs, classes, arguments)
        print_row(row, rows[row])
        if arguments.results:
            with arguments.results.open("a") as results:
                print(json.dumps([row, rows[row]]), file=results)
    print()
    if rows:
        summary(rows)
    if arguments.only.search(metrics_ranks.PEARSON):
        metrics_ranks.report()


if __name__ == "__main__":
    main()
