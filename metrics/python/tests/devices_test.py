"""What is of devices alone, of every metric, on simulated ones (metrics.python.devices) or on a GPU: whether compute() waits is what the
page says; update() is part of a CUDA graph, where each replay adds a batch if states have a fixed size, and else one error says so."""

import copy
import sys
from pathlib import Path

import pytest
import torch

import devsan.metrics as ours
from common import EXACT, NAMES, arguments_of, assert_same, batch, kind_of, make, moved

sys.path.insert(0, str(Path(__file__).resolve().parents[1] / "reference"))
import ask

if not torch.cuda.is_available():
    pytest.skip("no CUDA device; `devsan run --sim=2` has some", allow_module_level=True)

DEVICE = torch.device("cuda", torch.cuda.device_count() - 1)


@pytest.fixture(autouse=True)
def current():
    stream = torch.cuda.current_stream(DEVICE)
    with torch.cuda.device(DEVICE):
        yield
        torch.cuda.set_stream(stream)  # which torch.cuda.graph leaves where a capture fails


def inputs_of(name, seed):
    return moved(batch(name, 6, torch.Generator().manual_seed(seed)), DEVICE)


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("name", [*NAMES, ask.FRECHET])
def test_whether_compute_waits(name):
    metric = ask.made(name)
    for seed in range(2):
        inputs = moved(ask.batch(name, 6, seed), DEVICE) if name != ask.FRECHET else (ask.batch(name, 6, seed)[0].to(DEVICE), seed == 0)
        torch.cuda.set_sync_debug_mode("error")
        try:
            metric.update(*inputs)
        finally:
            torch.cuda.set_sync_debug_mode("default")
    torch.cuda.set_sync_debug_mode("error")
    try:
        metric.compute()
        waits = False
    except RuntimeError as error:
        assert "synchron" in str(error)
        waits = True
    finally:
        torch.cuda.set_sync_debug_mode("default")
    assert waits == ask.on_device(name)[1]


def lists(name):
    """Whether the states grow."""
    short, long = make(name), make(name)
    short.update(*inputs_of(name, 0))
    long.update(*inputs_of(name, 0))
    long.update(*inputs_of(name, 1))
    return any(state.shape != long.metric_state[key].shape for key, state in short.metric_state.items())


def captured(update, *inputs):
    graph = torch.cuda.CUDAGraph()
    with torch.cuda.graph(graph):
        update(*inputs)
    return graph


def refused(metric, update, *inputs, why):
    """One error, and a capture in which nothing is."""
    before = copy.deepcopy(metric)
    with pytest.raises(RuntimeError, match=why) as raised:
        captured(update, *inputs)
    assert str(raised.value).startswith(type(metric).__name__ + ": ")
    assert_same(metric.metric_state, before.metric_state, 0, 0)


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("name", NAMES)
def test_update_in_a_graph(name):
    metric, plain = make(name), make(name)
    first, static = inputs_of(name, 0), inputs_of(name, 1)
    if lists(name):
        refused(metric, metric.update, *static, why="cannot be part of a CUDA graph.*its states grow")
        return
    refused(metric, metric.update, *static, why="no states yet.*call update\\(\\) once before the capture")
    metric.update(*first)
    plain.update(*first)
    graph = captured(metric.update, *static)
    assert_same(metric.compute(), plain.compute(), 0, 0)  # capturing computes nothing
    for seed in (1, 2, 3):
        for tensor, values in zip(static, inputs_of(name, seed)):
            tensor.copy_(values)
        graph.replay()
        plain.update(*inputs_of(name, seed))
        assert_same(metric.compute(), plain.compute(), 1e-6, 1e-7)
    # What is done beside the graph is of the same states.
    copied, states = metric.clone(), metric.metric_state
    value = copied.compute()
    for each in (metric, plain):
        each.update(*first)
        each.merge_state(copied)
    graph.replay()
    plain.update(*static)
    assert_same(metric.compute(), plain.compute(), 1e-6, 1e-7)
    assert_same(copied.compute(), value, 0, 0)
    assert_same(copied.metric_state, states, 0, 0)
    metric.reset()
    plain.reset()
    graph.replay()
    plain.update(*static)
    assert_same(metric.compute(), plain.compute(), 1e-6, 1e-7)
    loaded = make(name)
    loaded.persistent(True)
    loaded.update(*first)
    metric.load_state_dict(loaded.state_dict())
    graph.replay()
    loaded.update(*static)
    assert_same(metric.compute(), loaded.compute(), 1e-6, 1e-7)
    with pytest.raises(RuntimeError, match="belong to a CUDA graph; move a clone\\(\\)"):
        metric.to("cpu")


def test_captured_states_have_one_device():
    metric, inputs = make("MulticlassAccuracy"), inputs_of("MulticlassAccuracy", 0)
    metric.update(*inputs)
    captured(metric.update, *inputs)
    with pytest.raises(RuntimeError, match="MulticlassAccuracy: its states belong to a CUDA graph, on one device"):
        metric._core.set_device_policy("per_device")
    metric.clone()._core.set_device_policy("per_device")


def test_features():
    features = torch.rand(8, 4, device=DEVICE)
    metric, plain = ours.FrechetInceptionDistance(4), ours.FrechetInceptionDistance(4)
    for each in (metric, plain):
        each.update(features, True)
        each.update(features * 2, False)
    graph = captured(metric.update, features, True)
    graph.replay()
    plain.update(features, True)
    assert_same(metric.compute(), plain.compute(), 0, 0)


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("name", [name for name in NAMES if "validate" in arguments_of(kind_of(name)) and not name.endswith(EXACT)])
def test_looking_at_values(name):
    metric = make(name, validate="eager", **({"power": 1.0} if name == "TweedieDevianceScore" else {}))  # of 0 all is in range
    metric.update(*inputs_of(name, 0))
    refused(metric, metric.update, *inputs_of(name, 1), why="cannot be part of a CUDA graph")


def test_collections_and_wrappers():
    inputs = inputs_of("MulticlassAccuracy", 0)
    accuracy, f1 = make("MulticlassAccuracy"), make("MulticlassF1Score")
    both, plain = ours.MetricCollection(accuracy, f1), ours.MetricCollection(make("MulticlassAccuracy"), make("MulticlassF1Score"))
    extremes = ours.MinMaxMetric(make("MulticlassAccuracy"))
    for each in (both, plain, extremes):
        each.update(*inputs)
    graph = captured(both.update, *inputs)
    of_extremes = captured(extremes.update, *inputs)
    graph.replay(), of_extremes.replay()
    plain.update(*inputs)
    assert_same(both.compute(), plain.compute(), 0, 0)
    assert extremes.compute()["raw"] == plain.compute()["MulticlassAccuracy"]
    # All or none of a batch, also where states stay where they are.
    with pytest.raises(RuntimeError):
        both.update(inputs[0], inputs[1][:3])
    assert_same(both.compute(), plain.compute(), 0, 0)

    for wrapper, why in (
        (ours.Running(make("MulticlassAccuracy"), 3), "its window moves on"),
        (ours.BootStrapper(make("MulticlassAccuracy"), 3), "the host draws the samples"),
        (ours.MultioutputWrapper(make("MeanSquaredError"), 2), "it looks for NaN"),
    ):
        given = inputs if "Multioutput" not in type(wrapper).__name__ else (torch.rand(4, 2, device=DEVICE), torch.rand(4, 2, device=DEVICE))
        wrapper.update(*given)
        with pytest.raises(RuntimeError, match=f"{type(wrapper).__name__}: .*{why}"):
            captured(wrapper.update, *given)
