"""Writes the reference of the metrics, docs/metrics/: a section for each, from what its class tells (ask.py) and what it cannot (known.py).

usage: pages.py [FOLDER], with build/python and metrics/python/tests on PYTHONPATH
"""

import inspect
import sys
from pathlib import Path

import ask
import common
import torch
from known import METRICS, relative_error

import devsan.metrics as ours
from devsan.metrics._catalog import _EVERY, _EVERY_FIXED, ARGUMENTS, _base, _inputs, _option_parameters, _task

FOLDER = Path(__file__).resolve().parents[3] / "docs/metrics"
TITLES = {
    "aggregation": "Metrics of plain values",
    "classification": "Classification by counts",
    "curves": "Classification by scores: curves, losses, calibration",
    "detection": "Boxes and segments",
    "image": "Images",
    "regression": "Regression",
    "retrieval": "Rankings",
    "segmentation": "Masks",
    "text": "Text",
    "wrappers": "Several metrics, and metrics of metrics",
}
NOTE = "Written by `metrics/python/reference/pages.py`, which asks the classes. What holds for all: [reference](reference.md).\n"
REFERENCE = f"""# Reference of the metrics

A section for each metric: {{pages}}.

`metrics/python/reference/pages.py` writes these pages. Arguments, states, results, devices and empty input are what the classes tell when they are asked; formulas,
sources and errors stand in `metrics/python/reference/known.py`. `metrics/python/tests/reference_pages_test.py` fails where a page and a class differ.

**Arguments.** The line of Python is the class's. In C++ they are methods of its options: `MulticlassAccuracy(MulticlassAccuracyOptions(10).top_k(5))`. Of all
classes in Python: {{every}}.

**States.** Each has a kind, by which the states of two disjoint sets of samples combine: they are added, the larger or smaller one stays, or lists are concatenated.
Means and central moments combine together with the others (Chan, Golub, LeVeque 1979). Before anything is seen they are 0, -inf, inf and empty. N is the number of all rows so far. A float64 state [1, ...] is float32 [2, ...], the sum of two numbers,
where a device has no float64 (MPS, XPU) or `accumulation="float_pair"` says so. An argument that no line names does not change the states.

**Devices.** States follow the first input. `update()` never waits, unless `validate="eager"` asks for it; on the CPU most of it is one pass over the inputs, on others the number
of operators that is given, whatever the values (of a second batch with the arguments of the line; views not counted). Where `compute()` waits, the section says so. Operators that have no
kernel on MPS in PyTorch {torch.__version__.partition("+")[0]}, where they run on the CPU if PYTORCH_ENABLE_MPS_FALLBACK is set, are named. Where states have a fixed size, `update()` can be part of a CUDA graph: call it once
before the capture. Else it is an error that says so before anything is captured.

**Ranks.** Any number of them, each with any number of samples, none included. All get the same bits: those of one process up to the order of sums. Up to 2 KiB of states on the
host, without lists, take one collective; others two, and more than four lists three, the last for their shapes.

**Empty input.** What `compute()` gives after a batch without samples; in Python without any batch, too. In C++ a metric that has seen no batch throws, unless `make_states()` has made states of nothing.

**Exactness.** The relative error against the reference, computed in float64 from the same float64 inputs: at most {{float64:g}} where the result is float64, and {{float32:g}} where it is float32, which
is rounded once. `metrics/python/tests/exactness_test.py` holds each section's figure.
"""


def base_of(kind):
    return _base(kind.name)


def page_of(kind):
    scores = kind.of_scores or "thresholds" in common.arguments_of(kind)
    return "curves" if kind.domain == "classification" and scores else kind.domain


def variant(kind):
    """With the default of thresholds, not that of the tests."""
    return kind.name + (common.EXACT if "thresholds" in common.arguments_of(kind) else "")


def groups():
    """Of each page, the kinds of each metric."""
    pages = {}
    for kind in common.KINDS.values():
        pages.setdefault(page_of(kind), {}).setdefault(base_of(kind), []).append(kind)
    return pages


def signature(function, name):
    parameters = [item for item in inspect.signature(function).parameters.values()
                  if item.name not in ("self", "cls", *_EVERY, *_EVERY_FIXED)]  # fmt: skip
    star = next((i for i, item in enumerate(parameters) if item.kind is item.KEYWORD_ONLY), None)
    texts = [str(item.replace(annotation=item.empty)) for item in parameters]
    if star is not None:
        texts.insert(star, "*")
    return f"{name}({', '.join(texts)})"


def by_value(kinds, ask_one):
    """What all kinds have in common once, else of each."""
    values = {}
    for kind in kinds:
        values.setdefault(ask_one(kind), []).append(short(kind))
    if len(values) == 1:
        return next(iter(values))
    return "; ".join(f"{', '.join(names)}: {value}" for value, names in values.items())


def devices(kind):
    number, waits, fallback = ask.on_device(variant(kind))
    text = f"`update()` {number} operators" if number else "`update()` keeps its inputs"
    if "thresholds" in common.arguments_of(kind):
        text += f" ({ask.on_device(kind.name)[0]} with `thresholds`)"
    if "accumulation" in common.arguments_of(kind):
        text += f" ({ask.on_device(kind.name, accumulation='float_pair')[0]} of float32 pairs)"
    text += "; `compute()` " + ("waits" if waits else "does not wait")
    return text + (f"; no MPS kernel: {', '.join(f'`{name}`' for name in fallback)}" if fallback else "")


def grows(kind):
    """Whether it keeps lists."""
    return any(how == "concatenated" for *_, how in ask.states_of(variant(kind), {}))


def graphs(kind):
    if not grows(kind):
        return "yes"
    return "no, its states grow" + (" (with `thresholds`: yes)" if "thresholds" in common.arguments_of(kind) else "")


def exactness(kind):
    dtypes = []
    for dtype in (torch.float64, torch.float32) if "dtype" in common.arguments_of(kind) else (None,):
        found = common.tensors(ask.seen(variant(kind), **({"dtype": dtype} if dtype else {})).compute())
        dtypes += [tensor.dtype for tensor in found]
    errors = {dtype: relative_error(dtype) for dtype in dtypes}
    return ", ".join(f"{error:g} of {ask.plain(dtype)}" for dtype, error in errors.items())


def short(kind):
    """Within its section."""
    return _task(kind.name) or kind.name


def states_rows(kinds):
    rows = {}
    for kind in kinds:
        for when, states in ask.states(variant(kind)):
            text = ", ".join(f"`{name}` {dtype} {shape} {how}" for name, dtype, shape, how in states)
            rows.setdefault(text, {}).setdefault(", ".join(when), []).append(short(kind) if len(kinds) > 1 else "")
    for text, of in rows.items():
        yield "States", "; ".join(", ".join(filter(None, [*names, when])) for when, names in of.items()) + ": " + text


def cell(text):
    return text.replace("|", "\\|")


def section(base, kinds, shared):
    formula, source = METRICS[base]
    names = [kind.name for kind in kinds]
    functions = [kind.function for kind in kinds if kind.function]
    classes = [f"`{name}`" for name in names] + ([f"`{base}(task, ...)` in Python"] if _task(kinds[0].name) else [])
    headers = dict.fromkeys(ask.headers()[name] for name in names)
    rows = [
        ("Formula", f"`{formula}`"),
        ("Source", source),
        ("Classes", f"{', '.join(classes)}; {', '.join(f'`{header}`' for header in headers)}"),
    ]
    if functions:
        rows.append(("Functions", ", ".join(f"`{name}()`" for name in functions)))
    rows += [
        ("Result", by_value(kinds, lambda kind: ask.value(variant(kind)))),
        ("Device", by_value(kinds, devices)),
        ("CUDA graph", by_value(kinds, graphs)),
        ("Ranks", by_value(kinds, ranks)),
        ("Empty input", by_value(kinds, lambda kind: ask.of_empty(variant(kind)))),
        ("Relative error", by_value(kinds, exactness)),
    ]
    made = [signature(common.metric_class(name).__init__, name) for name in names]
    rows += [("Input", text) for kind in kinds for text in inputs_of(kind) if text not in shared]
    rows += states_rows(kinds)
    return ["", f"## {base}", "", kinds[-1].summary.partition("\n\ncompute():")[0].replace("\n\n", " ").replace("\n", " "), "", "```python", *made, "```", "",
            "| | |", "| --- | --- |", *(f"| {what} | {cell(text)} |" for what, text in rows)]  # fmt: skip


def inputs_of(kind):
    """One entry for each, whose text may go on in the next line."""
    entries = []
    for line in _inputs(kind).split("\n"):
        head = line.partition(":")[0]
        if entries and not all(word.strip().isidentifier() for word in head.split(",")):
            entries[-1] += " " + line
        else:
            entries.append(line)
    return entries


def shared_inputs(metrics):
    """Those of several metrics of a page, which are said once: text, and the tasks or metrics that they are of."""
    found = {}
    for base, kinds in metrics.items():
        for kind in kinds:
            for text in inputs_of(kind):
                found.setdefault(text, {}).setdefault(base, []).append(_task(kind.name))
    return {
        text: list(dict.fromkeys(f"{task}..." if task else base for base, tasks in of.items() for task in tasks))
        for text, of in found.items() if len(of) > 2
    }  # fmt: skip


def ranks(kind):
    state = ask.seen(variant(kind)).metric_state
    lists = grows(kind)
    if kind.name == "CatMetric":
        what = "lists in the order of the ranks"
    else:
        what = "the last updates of each rank" if "window" in common.arguments_of(kind) else "as one process"
    if lists:
        collectives = "three collectives" if len(state) > 4 else "two collectives"
    else:  # 2 KiB travel with the header
        size = sum(tensor.numel() * tensor.element_size() for tensor in state.values())
        collectives = "one collective" if size <= 2048 else "two collectives"
    return f"{what}; {collectives}"


def arguments(kinds):
    """What they mean, once for the page."""
    lines = ["", "## Arguments", "", "| Argument | Type | Meaning |", "| --- | --- | --- |"]
    found = {}
    for kind in kinds:
        for item in _option_parameters(kind):
            name = "curve_average" if item.name == "average" and item.default is None else item.name
            places = (f"{kind.name}.{name}", f"{kind.domain}.{name}", name)
            text = next(filter(None, map(ARGUMENTS.get, places)))
            found.setdefault((item.name, text), []).append((item.annotation, kind.name))
    of_name = {}
    for name, text in found:
        of_name.setdefault(name, []).append(text)
    for (name, text), where in sorted(found.items()):
        annotations = list(dict.fromkeys(annotation for annotation, _ in where))
        kinds_of = list(dict.fromkeys(_base(kind) for _, kind in where))
        of = f" ({', '.join(kinds_of)})" if len(of_name[name]) > 1 else ""
        lines.append(f"| `{name}`{of} | {cell(' or '.join(f'`{each}`' for each in annotations))} | {cell(text)} |")
    return lines


def wrappers():
    lines = [f"# {TITLES['wrappers']}", "", NOTE, "Their states are those of the metrics that they hold, and so are devices, ranks, empty input and errors."]
    for name in ("MetricCollection", *ours.wrappers.__all__, "Checked"):
        wrapper = getattr(ours, name)
        text = inspect.cleandoc(wrapper.__doc__)
        header = ask.headers().get(name)
        lines += ["", f"## {name}", "", "```python", signature(wrapper.__init__, name), "```", "",
                  f"C++: `{header}`." if header else "In Python alone.", "", "```text", text, "```"]  # fmt: skip
    return lines


def written():
    """{file: text}"""
    pages = {}
    for page, metrics in groups().items():
        lines = [f"# {TITLES[page]}", "", NOTE.rstrip()]
        every_kind = [kind for kinds in metrics.values() for kind in kinds]
        shared = shared_inputs(metrics)
        for base, kinds in metrics.items():
            lines += section(base, kinds, shared)
        if shared:
            lines += ["", "## Inputs of update()", "", "| Input | Of |", "| --- | --- |"]
            lines += [f"| {cell(text)} | {', '.join(f'`{name}`' for name in names)} |" for text, names in shared.items()]
        lines += arguments(every_kind)
        pages[f"{page}.md"] = "\n".join(lines) + "\n"
    pages["wrappers.md"] = "\n".join(wrappers()) + "\n"
    links = ", ".join(f"[{TITLES[name.removesuffix('.md')][0].lower()}{TITLES[name.removesuffix('.md')][1:]}]({name})" for name in pages)
    every = ", ".join(f"`{name}={default!r}`" for name, (default, _) in _EVERY.items())
    pages["reference.md"] = REFERENCE.format(pages=links, every=every, float64=relative_error(torch.float64), float32=relative_error(torch.float32))
    return pages


def main(folder):
    folder.mkdir(exist_ok=True)
    for name, text in written().items():
        (folder / name).write_text(text, encoding="utf-8")


if __name__ == "__main__":
    main(Path(sys.argv[1]) if len(sys.argv) > 1 else FOLDER)
