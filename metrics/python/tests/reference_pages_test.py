"""The reference, docs/metrics/, against the classes. After a change: metrics/python/reference/pages.py writes it."""

import re
import sys
from pathlib import Path

import pytest
import torch

import devsan.metrics as ours
from common import EXACT, KINDS, NAMES, arguments_of, kind_of

sys.path.insert(0, str(Path(__file__).resolve().parents[1] / "reference"))
import ask
import known
import pages

TEXTS = {file.name: file.read_text(encoding="utf-8") for file in sorted(pages.FOLDER.glob("*.md"))}
ALL = "\n".join(TEXTS.values())
# With the default of thresholds.
DEFAULTS = [name + EXACT if "thresholds" in arguments_of(kind) else name for name, kind in KINDS.items()]


def rows_of(name):
    """{what: [text]} of the section that a metric stands in."""
    section = next(part for part in re.split(r"^## ", ALL, flags=re.M)[1:] if part.partition("\n")[0] == pages.base_of(kind_of(name)))
    rows = {}
    for what, text in re.findall(r"^\| ([^|]+) \| (.*) \|$", section, re.M):
        rows.setdefault(what, []).append(text)
    return rows


def said(name, what):
    """Of one metric, where the section says it of each."""
    (text,) = rows_of(name)[what]
    for part in text.split("; "):
        names, colon, value = part.partition(": ")
        if colon and pages.short(kind_of(name)) in names.split(", "):
            return value
    return text


RELEASE = re.search(r"on MPS in PyTorch ([\d.]+)", ALL)[1]


@pytest.mark.skipif(torch.__version__.partition("+")[0] != RELEASE, reason=f"the pages name what PyTorch {RELEASE} lacks on MPS")
def test_pages_are_what_the_classes_tell():
    written = pages.written()
    assert TEXTS.keys() == written.keys()
    for name, text in written.items():
        assert TEXTS[name] == text, f"docs/metrics/{name} is not what the classes tell; run metrics/python/reference/pages.py"


def test_every_class_has_a_section():
    headings = set(re.findall(r"^## (\w+)$", ALL, re.M))
    named = set(re.findall(r"`(\w+)`", " ".join(re.findall(r"^\| Classes \| (.*) \|$", ALL, re.M)))) | headings
    python = {name for name in ours.__all__ if isinstance(getattr(ours, name), type) and not issubclass(getattr(ours, name), (tuple, Exception))}
    cpp = {name for file in ask.METRICS.glob("**/*.h") for name in re.findall(r"^  DEVSAN_METRIC\((\w+)\)", file.read_text(), re.M)}
    families = {"Class", "Derived"}  # of a macro, and of templates that the names of the tasks make classes of
    assert python - {"Metric"} <= named
    assert cpp - families <= named and len(cpp) > 30
    assert set(known.METRICS) == {pages.base_of(kind) for kind in KINDS.values()}


@pytest.mark.parametrize("name", DEFAULTS)
def test_every_state_stands_there(name):
    states = " ".join(rows_of(name)["States"])
    for state, tensor in ask.seen(name).metric_state.items():
        assert f"`{state}` {ask.plain(tensor.dtype)} [" in states


@pytest.mark.parametrize("device", ["cpu", *(f"cuda:{i}" for i in range(torch.cuda.device_count()))])
@pytest.mark.parametrize("name", DEFAULTS)
def test_empty_input_gives_what_the_page_says(name, device):
    expected = said(name, "Empty input")
    assert ask.of_empty(name, device) == expected
    if device == "cpu" and not expected.startswith("an error"):
        assert ask.text_of(ask.made(name).compute()) == expected


@pytest.mark.parametrize("name", NAMES)
def test_graphs_are_of_states_that_do_not_grow(name):
    grows = any(state.size(0) != ask.seen(name, 9).metric_state[key].size(0) for key, state in ask.seen(name, 6).metric_state.items())
    of = said(name, "CUDA graph")
    assert of.startswith("no") == grows or ("thresholds" in of and not name.endswith(EXACT) and not grows)
