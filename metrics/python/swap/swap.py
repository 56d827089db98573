"""pytest's plugin of script/swap-torchmetrics: TorchMetrics' tests, a sample of them, with the classes and functions of
devsan.metrics where these have the same names.

They are put into every module of TorchMetrics before a test file imports from it. Each test begins with a seed of its own, so
that it draws the same numbers with and without the exchange, whatever ran before.
"""

import functools
import hashlib
import importlib
import inspect
import json
import os
import pkgutil
import random
import sys
import warnings

import pytest

import upstream
from reasons import NOT_SWAPPED

# In the environment: JSON of seed, sample and swapped; and the file that gets the names of the tests that used what was put in.
SETTINGS = "DEVSAN_SWAP"
USED = "DEVSAN_SWAP_USED"

settings = json.loads(os.environ[SETTINGS])
seed = settings["seed"]
upstream.name_of = str  # the same test stands in several files
_running = None


def _used():
    global _running
    if _running is not None:
        with open(os.environ[USED], "a") as used:
            used.write(_running + "\n")
        _running = None


def _noticed(function):
    """`function`, whose calls are use of what was put in."""

    @functools.wraps(function)
    def call(*args, **kwargs):
        _used()
        return function(*args, **kwargs)

    return call


def _notice_instances(of_class):
    made = of_class.__new__

    def new(cls, *args, **kwargs):
        _used()
        return made(cls) if made is object.__new__ else made(cls, *args, **kwargs)

    of_class.__new__ = new


def _theirs():
    """All modules of TorchMetrics that can be imported here."""
    import torchmetrics

    for found in pkgutil.walk_packages(torchmetrics.__path__, "torchmetrics.", onerror=lambda name: None):
        try:
            importlib.import_module(found.name)
        except Exception:  # what it needs is not installed
            pass
    return [module for name, module in list(sys.modules.items()) if name.partition(".")[0] == "torchmetrics" and module]


def _same_kind(ours, theirs):
    return inspect.isclass(ours) == inspect.isclass(theirs) and getattr(theirs, "__module__", "").startswith("torchmetrics")


def swap(modules):
    """Puts ours in the place of theirs in the modules; gives the names of the classes and of the functions that were exchanged."""
    import devsan.metrics

    offered = {name: getattr(devsan.metrics, name) for name in devsan.metrics.__all__ if name not in NOT_SWAPPED}
    classes = {name: ours for name, ours in offered.items() if inspect.isclass(ours)}
    functions = {name: _noticed(getattr(devsan.metrics.functional, name)) for name in devsan.metrics.functional.__all__}
    swapped = {"classes": set(), "functions": set()}
    for module in modules:
        for kind, offered in (("classes", classes), ("functions", functions)):
            for name, ours in offered.items():
                if _same_kind(ours, vars(module).get(name)):
                    setattr(module, name, ours)
                    swapped[kind].add(name)
    bases = [of_class for of_class in classes.values() if not issubclass(of_class, devsan.metrics.Metric)]
    for of_class in [devsan.metrics.Metric, *bases]:
        _notice_instances(of_class)
    return {kind: sorted(names) for kind, names in swapped.items()}


def _leave_out_scripting():
    """The tests' helper compiles every metric by torch.jit.script, without a look at the result; ours refuse that."""
    import devsan.metrics
    import torch

    script = torch.jit.script

    ours = (devsan.metrics.Metric, devsan.metrics.MetricCollection)

    def scripted(metric, *args, **kwargs):
        parts = metric.modules() if isinstance(metric, torch.nn.Module) else ()
        return metric if any(isinstance(part, ours) for part in parts) else script(metric, *args, **kwargs)

    torch.jit.script = scripted


def _seed_all(number):
    import numpy
    import torch

    random.seed(number)
    numpy.random.seed(number % 2**32)
    torch.manual_seed(number)


def _draw_other_inputs():
    """Test files draw their inputs by a seed of their own while they are loaded."""
    helpers = importlib.import_module("unittests._helpers")
    helpers.seed_all = lambda number: _seed_all(number + seed)


@pytest.hookimpl(trylast=True)
def pytest_configure(config):
    swapped = {"classes": [], "functions": []}
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        modules = _theirs()
        if settings["swapped"]:
            swapped = swap(modules)
            _leave_out_scripting()
    import torchmetrics

    with open(f"{os.environ[USED]}.swapped", "w") as file:
        json.dump(swapped | {"version": torchmetrics.__version__}, file)
    _draw_other_inputs()


def _drawn_by_seed(name):
    return hashlib.sha256(f"{seed} {name}".encode()).digest()


def _drawn(items):
    """Of each test function as many as the sample says, by the seed."""
    if not settings["sample"]:
        return items
    by_function = {}
    for item in items:
        by_function.setdefault(item.nodeid.partition("[")[0], []).append(item)

    chosen = {id(item) for group in by_function.values()
              for item in sorted(group, key=lambda item: _drawn_by_seed(item.nodeid))[: settings["sample"]]}
    return [item for item in items if id(item) in chosen]


@pytest.hookimpl(tryfirst=True)
def pytest_collection_modifyitems(items):
    items[:] = _drawn(items)


@pytest.hookimpl(tryfirst=True)
def pytest_runtest_setup(item):
    global _running
    _running = item.nodeid
    _seed_all(int.from_bytes(_drawn_by_seed(item.nodeid)[:4], "big"))


@pytest.hookimpl(trylast=True)
def pytest_runtest_teardown(item):
    """What a test that fails leaves behind is not the next one's."""
    global _running
    _running = None
    import torch

    torch.set_default_dtype(torch.float32)
    for given in getattr(getattr(item, "callspec", None), "params", {}).values():
        for tensor in given if isinstance(given, (tuple, list)) else [given]:
            if torch.is_tensor(tensor) and tensor.is_leaf:
                tensor.requires_grad_(False)
