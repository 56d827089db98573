"""A metric as TorchMetrics' are used: called, copied, pickled, saved, and held by a module."""

import copy
import io
import itertools
import pickle
import threading
import time

import pytest
import torch
import torchmetrics.classification

import devsan.metrics
from common import CLASSES, NAMES, assert_same, batch, joined, kind_of, make, moved, tensors
from devsan.metrics import MulticlassAccuracy


def seen(name, generator, updates=2, **more):
    metric = make(name, **more)
    for _ in range(updates):
        metric.update(*batch(name, 7, generator))
    return metric


def saved_and_loaded(value):
    file = io.BytesIO()
    torch.save(value, file)
    file.seek(0)
    return torch.load(file, weights_only=False)


COPIES = {
    "clone": lambda metric: metric.clone(),
    "deepcopy": copy.deepcopy,
    "pickle": lambda metric: pickle.loads(pickle.dumps(metric)),
    "torch.save": saved_and_loaded,
}


@pytest.mark.parametrize("name", NAMES)
def test_copies_go_on_alone(name):
    generator = torch.Generator().manual_seed(1)
    for how, copied in COPIES.items():
        metric = seen(name, generator)
        other = copied(metric)
        assert type(other) is type(metric) and repr(other) == repr(metric) and other.update_count == 2, how
        assert_same(other.compute(), metric.compute(), 0, 0)
        before = metric.compute()
        more = batch(name, 7, generator)
        other.update(*more)
        assert_same(metric.compute(), before, 0, 0)
        metric.update(*more)
        assert_same(other.compute(), metric.compute(), 0, 0)
        empty = copied(make(name))
        assert not empty.update_called and not empty.metric_state and empty.device is None


@pytest.mark.parametrize("name", NAMES)
def test_forward_gives_the_batch_and_accumulates(name):
    generator = torch.Generator().manual_seed(2)
    batches = [batch(name, n, generator) for n in (5, 9)]
    metric = make(name)
    for inputs in batches:
        alone = make(name)
        alone.update(*inputs)
        assert_same(metric(*inputs), alone.compute(), 0, 0)
    updated = make(name)
    for inputs in batches:
        updated.update(*inputs)
    assert metric.update_count == 2
    assert_same(metric.compute(), updated.compute(), 0, 0)


@pytest.mark.parametrize("name", NAMES)
def test_merging_is_seeing_both(name):
    generator = torch.Generator().manual_seed(3)
    batches = [batch(name, n, generator) for n in (8, 3, 6)]
    if name.startswith("Running"):  # merged windows are of the last updates of each
        return
    parts = [make(name) for _ in batches]
    for part, inputs in zip(parts, batches):
        part.update(*inputs)
    whole = make(name)
    whole.update(*joined(batches))
    total = make(name)
    total.merge_state(parts[0])
    total.merge_state(parts[1].metric_state)
    total.merge_state(parts[2])
    assert_same(total.compute(), whole.compute())
    assert_same(parts[0].compute(), batch_value(name, batches[0]), 0, 0)


def batch_value(name, inputs):
    metric = make(name)
    metric.update(*inputs)
    return metric.compute()


def test_merging_what_cannot_be():
    metric = seen("MulticlassAccuracy", torch.Generator())
    with pytest.raises(RuntimeError, match="cannot merge MulticlassRecall"):
        metric.merge_state(make("MulticlassRecall"))
    with pytest.raises(TypeError, match="MulticlassAccuracy: incoming_state is of type int"):
        metric.merge_state(3)
    with pytest.raises(RuntimeError, match="of which 0 belong here"):
        metric.merge_state({"a": torch.ones(1), "b": torch.ones(1)})
    with pytest.raises(TypeError, match="state `counts` is of type int"):
        metric.merge_state({"counts": 1})
    before = metric.metric_state["counts"].sum()
    metric.merge_state(metric)  # seen twice
    assert metric.metric_state["counts"].sum() == 2 * before


@pytest.mark.parametrize("name", NAMES)
def test_checkpoints(name):
    generator = torch.Generator().manual_seed(4)
    metric = seen(name, generator)
    assert metric.state_dict() == {}  # as in TorchMetrics
    metric.persistent(True)
    checkpoint = saved_and_loaded(metric.state_dict())
    assert list(checkpoint) == list(metric.metric_state)
    other = make(name)
    other.load_state_dict(checkpoint)
    assert_same(other.compute(), metric.compute(), 0, 0)
    metric.update(*batch(name, 7, generator))
    assert_same(other.compute(), make_loaded(name, checkpoint), 0, 0)


def make_loaded(name, checkpoint):
    metric = make(name)
    metric.load_state_dict(checkpoint)
    return metric.compute()


def test_damaged_checkpoints():
    metric = seen("MulticlassAccuracy", torch.Generator())
    before = metric.compute()
    for states, text in (
        ({"counts": torch.zeros(2, 2).long(), "out_of_range": torch.zeros(1).long()}, "state `counts` is Long of shape"),
        ({"counts": torch.zeros(3, CLASSES).long()}, "holds 1 states, not 2"),
        ({"counts": 3, "out_of_range": 1}, "is of type int"),
    ):
        with pytest.raises(RuntimeError, match=text):
            metric.load_state_dict(states)
        assert metric.compute() == before


@pytest.mark.parametrize("name", NAMES)
def test_damaged_lists(name):
    metric = seen(name, torch.Generator())
    lists = [state for state, tensor in metric.metric_state.items() if tensor.dim() and tensor.size(0) > 3]
    before = metric.compute()
    metric.persistent(True)
    good = metric.state_dict()
    for state in lists:
        for damaged in (good[state].to_sparse(), good[state][:2] if len(lists) > 1 else good[state].to("meta")):
            with pytest.raises(RuntimeError, match=kind_of(name).name + ": "):
                metric.load_state_dict(good | {state: damaged})
            assert_same(metric.compute(), before, 0, 0)


class Model(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.layer = torch.nn.Linear(3, CLASSES)
        self.accuracy = MulticlassAccuracy(CLASSES)
        self.metrics = torch.nn.ModuleList([devsan.metrics.MeanMetric(), devsan.metrics.SpearmanCorrCoef()])


def test_a_module_holds_metrics():
    model, other = Model(), Model()
    x, y = torch.randn(6, 3), torch.randint(CLASSES, (6,))
    model.accuracy(model.layer(x), y)
    model.metrics[1].update(torch.rand(6), torch.rand(6))
    assert set(model.state_dict()) == {"layer.weight", "layer.bias"}
    assert {type(module) for module in model.modules()} >= {MulticlassAccuracy, devsan.metrics.MeanMetric}
    other.load_state_dict(model.state_dict())

    model.accuracy.persistent(True)
    model.metrics[1].persistent(True)
    states = model.state_dict()
    assert "accuracy.counts" in states and "metrics.1.preds" in states
    other.load_state_dict(states)
    assert other.accuracy.compute() == model.accuracy.compute()
    assert_same(other.metrics[1].compute(), model.metrics[1].compute(), 0, 0)
    with pytest.raises(RuntimeError, match="Unexpected key.*other"):
        other.load_state_dict(states | {"other.counts": torch.zeros(1)})

    half = copy.deepcopy(model).half()  # dtypes of states stay
    assert half.layer.weight.dtype == torch.float16 and half.accuracy.compute() == model.accuracy.compute()
    assert half.accuracy.metric_state["counts"].dtype == torch.int64
    assert not list(model.accuracy.parameters()) and not list(model.accuracy.buffers())


def test_devices():
    metric = make("MulticlassAccuracy")
    assert metric.device is None
    model = torch.nn.ModuleDict({"accuracy": metric, "mean": make("MeanMetric")}).to("meta")
    assert metric.device == torch.device("meta") == model["mean"].device
    metric.update(*(tensor.to("meta") for tensor in batch("MulticlassAccuracy", 4, torch.Generator())))
    assert metric.compute().is_meta
    with pytest.raises(RuntimeError, match="`preds` lies on cpu, but the metric's states lie on meta"):
        metric.update(*batch("MulticlassAccuracy", 4, torch.Generator()))
    metric.reset()
    assert metric.device == torch.device("meta")  # it was moved there

    pinned = make("MeanMetric").to("cpu")
    assert pinned.device == torch.device("cpu") and copy.deepcopy(pinned).device == torch.device("cpu")
    followed = seen("MeanMetric", torch.Generator())
    followed.reset()
    assert followed.device is None and followed.half().double().cpu().device is None


@pytest.mark.parametrize("name", NAMES)
def test_every_metric_runs_without_data(name):
    inputs = moved(batch(name, 6, torch.Generator()), "meta")
    metric = make(name)
    metric.update(*inputs)
    metric.update(*inputs)
    assert metric.device == torch.device("meta") and metric.update_count == 2


def test_values_are_kept_until_something_changes():
    generator = torch.Generator()
    metric = seen("MulticlassAccuracy", generator)
    first = metric.compute()
    assert metric.compute() is first
    for change in (
        lambda: metric.update(*batch("MulticlassAccuracy", 7, generator)),
        lambda: metric.merge_state(seen("MulticlassAccuracy", generator)),
        lambda: metric(*batch("MulticlassAccuracy", 7, generator)),
    ):
        before = metric.compute()
        change()
        fresh = metric.clone().compute()
        assert metric.compute() is not before and torch.equal(metric.compute(), fresh)
    metric.reset()
    with pytest.warns(UserWarning, match="before the ``update`` method"):
        metric.compute()
    assert metric.update_count == 0
    uncached = seen("MulticlassAccuracy", generator, compute_with_cache=False)
    assert uncached.compute() is not uncached.compute()


def test_subclasses_may_override():
    class Error(MulticlassAccuracy):
        """Of scores whose classes come last, as 1 - accuracy."""

        def __init__(self, number):
            super().__init__(num_classes=number, average="micro")
            self.register_buffer("shift", torch.zeros(1))

        def update(self, preds, target):
            super().update(preds.movedim(-1, 1) + self.shift, target=target)

        def compute(self):
            return 1 - super().compute()

    globals()["Error"] = Error  # so that it can be pickled
    Error.__qualname__ = "Error"
    generator = torch.Generator().manual_seed(5)
    preds, target = torch.rand(4, 2, CLASSES, generator=generator), torch.randint(CLASSES, (4, 2), generator=generator)
    metric, plain = Error(CLASSES), MulticlassAccuracy(CLASSES, average="micro")
    expected = 1 - plain(preds.movedim(-1, 1), target)
    assert metric(preds, target) == expected == metric.compute()
    assert pickle.loads(pickle.dumps(metric)).compute() == expected
    metric.persistent(True)
    other = Error(CLASSES)
    other.load_state_dict(metric.state_dict())
    assert other.compute() == expected and set(metric.state_dict()) == {"shift", "counts", "out_of_range"}
    metric.clone().shift.add_(1)
    assert metric.shift == 0


def test_threads_share_a_metric():
    metric = make("MulticlassConfusionMatrix")
    inputs = batch("MulticlassConfusionMatrix", 300, torch.Generator())
    errors = []

    def work():
        try:
            for _ in range(100):
                metric.update(*inputs)
                metric.metric_state
                metric.compute()
        except Exception as error:
            errors.append(error)

    threads = [threading.Thread(target=work) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert not errors and metric.update_count == 400 and metric.metric_state["counts"].sum() == 400 * 300


def test_cpp_runs_without_the_interpreter_lock():
    metric = make("MulticlassAccuracy")
    inputs = torch.rand(2_000_000, CLASSES), torch.zeros(2_000_000, dtype=torch.long)
    ticks, done = [], threading.Event()

    def tick():
        while not done.is_set():
            ticks.append(time.perf_counter())
            time.sleep(0.0005)

    thread = threading.Thread(target=tick)
    thread.start()
    try:
        for _ in range(20):  # with the lock held, a tick could stand at the ends of a call only
            begin = time.perf_counter()
            metric.update(*inputs)
            end = time.perf_counter()
            middle = [at for at in ticks if begin + (end - begin) / 4 < at < end - (end - begin) / 4]
            if middle:
                break
    finally:
        done.set()
        thread.join()
    assert middle


@pytest.mark.parametrize("name", NAMES)
def test_results_are_of_the_default_dtype_or_counts_unless_said(name):
    generator = torch.Generator().manual_seed(2)
    for inputs, default in itertools.product((torch.bfloat16, torch.float32), (torch.float32, torch.float64)):
        torch.set_default_dtype(default)
        try:
            metric = make(name)
            metric.update(*batch(name, 7, generator, inputs))
            results = {tensor.dtype for tensor in tensors(metric.compute())}
        finally:
            torch.set_default_dtype(torch.float32)
        # Those that have the option are of the default dtype.
        real = default if "dtype" in metric._options else torch.float64 if name.endswith("PanopticQuality") else torch.float32
        assert results <= {real, torch.int64} or name == "CatMetric" and results == {inputs}


def test_nothing_carries_a_graph_or_an_inference_tensor():
    preds = torch.rand(6, CLASSES, requires_grad=True)
    target = torch.randint(CLASSES, (6,))
    metric = make("MulticlassAccuracy")
    assert not metric(preds, target).requires_grad
    with torch.inference_mode():
        metric.update(torch.rand(6, CLASSES), torch.randint(CLASSES, (6,)))
    assert not metric.compute().is_inference()
    with torch.autocast("cpu", dtype=torch.bfloat16):
        mean = make("MeanSquaredError")
        mean.update(torch.rand(6), torch.rand(6))
        assert mean.compute().dtype == torch.float32
    assert torch.is_grad_enabled()


def test_deferred_validation_is_told():
    metric = make("MulticlassAccuracy", validate="deferred")
    metric.update(torch.tensor([0, 1]), torch.tensor([0, 9]))
    with pytest.raises(RuntimeError, match="1 samples had a target"):
        metric.check_valid()
    aggregator = make("SumMetric", nan_strategy="error", validate="deferred")
    aggregator.update(torch.tensor([1.0, float("nan")]))
    with pytest.raises(RuntimeError, match="SumMetric: Encountered `nan` values in tensor: 1 values"):
        aggregator.check_valid()
    make("CatMetric").check_valid()
    with pytest.raises(RuntimeError, match="1 samples had a target"):
        metric(torch.tensor([0, 1]), torch.tensor([0, 9]))
    assert metric.update_count == 1  # a batch without a value is not seen


def test_attributes_of_torchmetrics_metrics_are_there():
    metric = make("MulticlassAccuracy")
    other = torchmetrics.classification.MulticlassAccuracy(CLASSES)
    for attribute in (
        "update forward compute reset clone merge_state sync unsync sync_context persistent state_dict load_state_dict to cpu "
        "cuda device metric_state update_called update_count is_differentiable higher_is_better full_state_update half double "
        "process_group sync_on_compute dist_sync_on_step compute_with_cache distributed_available_fn"
    ).split():
        assert hasattr(other, attribute) and hasattr(metric, attribute), attribute
    assert len({metric, metric.clone()}) == 2 and hash(metric) == hash(metric)
