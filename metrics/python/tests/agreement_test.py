"""Collections, wrappers and trackers in Python give what those in C++ give, bit by bit: results, states, the best step."""

import copy
import os

import hypothesis
import hypothesis.strategies as st
import pytest
import torch

import devsan.metrics as lib
from common import CLASSES

torch.classes.load_library(os.environ["DEVSAN_AGREEMENT"])
Tracker = torch.classes.devsan_agreement.Tracker


def of_labels():
    return {
        "a": lib.MulticlassAccuracy(CLASSES),
        "b": lib.MulticlassF1Score(CLASSES),
        "c": lib.ClasswiseWrapper(lib.MulticlassRecall(CLASSES, average="none")),
        "d": lib.MinMaxMetric(lib.MulticlassPrecision(CLASSES)),
        "e": lib.Running(lib.MulticlassAccuracy(CLASSES), 3),
        "f": lib.BootStrapper(lib.MulticlassAccuracy(CLASSES), 4, quantile=0.3, raw=True),
        "g": lib.MulticlassConfusionMatrix(CLASSES),
        "h": lib.MulticlassAUROC(CLASSES),
        "i": lib.Running(lib.MulticlassAUROC(CLASSES), 2),
        "j": lib.MinMaxMetric(lib.Running(lib.MulticlassAccuracy(CLASSES), 2)),
    }


def of_numbers():
    return {
        "a": lib.MeanSquaredError(),
        "b": lib.PearsonCorrCoef(),
        "c": lib.MinMaxMetric(lib.PearsonCorrCoef(num_outputs=1)),
        "d": lib.Running(lib.PearsonCorrCoef(num_outputs=1), 2),
        "e": lib.Running(lib.MeanSquaredError(), 3),
        "f": lib.SpearmanCorrCoef(),
        "g": lib.BootStrapper(lib.MeanSquaredError(), 3, raw=True),
    }


METRICS = {"labels": of_labels, "numbers": of_numbers}


def batch(what, n, seed):
    generator = torch.Generator().manual_seed(seed)
    if what == "labels":
        return torch.rand(n, CLASSES, generator=generator).softmax(1), torch.randint(CLASSES, (n,), generator=generator)
    preds = torch.randn(n, generator=generator) * (seed % 3)  # constants have no correlation
    return preds, preds + torch.randn(n, generator=generator)


class Both:
    def __init__(self, what, maximize):
        self.what = what
        self.ours = lib.MetricTracker(lib.MetricCollection(METRICS[what]()), maximize)
        self.theirs = Tracker(what, maximize)
        self.increment()

    def increment(self):
        self.ours.increment()
        self.theirs.increment()
        self.empty = True

    def reset(self):
        self.ours.reset()
        self.theirs.reset()
        self.empty = True

    def update(self, *inputs):
        for tracker in (self.ours, self.theirs):
            torch.manual_seed(7)  # of which the bootstraps draw
            tracker.update(*inputs)
        self.empty = False

    def merge(self, *inputs):
        other = copy.deepcopy(self.ours._base_metric)
        torch.manual_seed(8)
        other.update(*inputs)
        other.compute()
        self.ours[-1].merge_state(other)
        torch.manual_seed(8)
        self.theirs.merge(*inputs)
        self.empty = False

    def reload(self):
        current = self.ours[-1]
        current.persistent(True)
        states = current.state_dict()
        current.reset()
        current.load_state_dict(states)
        self.theirs.reload()

    def check(self):
        same(list(self.ours.compute().values()), list(self.theirs.compute().values()))
        own, expected = self.ours[-1]._core.states(), dict(self.theirs.states().items())
        own = {name.replace("window.", "").replace("metrics.", ""): state for name, state in own.items()}
        for name, metric in self.ours[-1].items():
            if isinstance(metric, lib.MinMaxMetric):  # beside the states, as in TorchMetrics
                own |= {f"{name}.min_val": metric.min_val.double(), f"{name}.max_val": metric.max_val.double()}
        expected = {name.replace("base_metric.", ""): state for name, state in expected.items()}
        assert own.keys() == expected.keys()
        names = sorted(own)
        same([own[name] for name in names], [expected[name] for name in names])

    def check_steps(self):
        same(list(self.ours.compute_all().values()), list(self.theirs.compute_all().values()))
        best, steps = self.ours.best_metric(return_step=True)
        for value, step, (of_value, of_step) in zip(best.values(), steps.values(), self.theirs.best(), strict=True):
            if of_value.dim() == 0:  # else there is none in Python, as in TorchMetrics
                same([torch.tensor(value, dtype=of_value.dtype), torch.tensor(step)], [of_value, of_step])


def same(ours, theirs):
    torch.testing.assert_close(ours, theirs, rtol=0, atol=0, equal_nan=True)


STEPS = st.lists(
    st.tuples(st.sampled_from(("update", "update", "merge", "compute", "reload", "increment", "reset")), st.integers(0, 9), st.integers(0, 99)),
    min_size=1,
    max_size=14,
)


@pytest.mark.parametrize("what", METRICS)
@pytest.mark.filterwarnings("ignore")
@hypothesis.settings(max_examples=30, deadline=None, database=None, derandomize=True,
                     phases=[hypothesis.Phase.generate, hypothesis.Phase.shrink])  # fmt: skip
@hypothesis.given(steps=STEPS, maximize=st.booleans())
def test_any_sequence(what, steps, maximize):
    both = Both(what, maximize)
    for step, n, seed in (*steps, ("update", 5, 1)):
        if step in ("update", "merge"):
            getattr(both, step)(*batch(what, n, seed))
        elif step == "compute":
            if not both.empty:
                both.check()
        elif not both.empty:
            getattr(both, step)()
    both.check()
    both.check_steps()


@pytest.mark.parametrize("what", METRICS)
def test_groups(what):
    assert list(lib.MetricCollection(METRICS[what]()).compute_groups.values()) == Tracker(what, True).groups()
