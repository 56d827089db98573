"""Random sequences of what can be done with a metric: the value is always that of all samples seen."""

import copy
import pickle

import hypothesis
import hypothesis.strategies as st
import pytest
import torch
import torch.distributed as dist

from common import NAMES, assert_same, batch, joined, make

STEPS = st.lists(
    st.one_of(
        st.tuples(st.sampled_from(("update", "forward", "merge")), st.integers(0, 1), st.integers(1, 9)),
        st.tuples(st.sampled_from(("reset", "copy", "pickle", "load", "compute", "merge_other", "sync")), st.integers(0, 1), st.just(0)),
    ),
    min_size=1,
    max_size=12,
)


@pytest.fixture(scope="module", autouse=True)
def group():
    """Of this process alone; more ranks are in ranks_test.py."""
    dist.init_process_group("gloo", store=dist.HashStore(), rank=0, world_size=1)
    yield
    dist.destroy_process_group()


class Model:
    """A metric, and what it must have seen."""

    def __init__(self, name):
        self.name, self.metric, self.batches = name, make(name), []

    def check(self):
        if not self.batches:
            for of_all_ranks in (True, False):
                with pytest.raises(RuntimeError, match=type(self.metric).__name__ + ": .* before .*first update"):
                    with self.metric.sync_context(should_sync=of_all_ranks):
                        self.metric.compute()
            return
        whole = make(self.name)
        whole.update(*joined(self.batches))
        # Sums in another order.
        assert_same(self.metric.compute(), whole.compute(), 1e-5, 1e-6)


def run(name, steps, seed):
    generator = torch.Generator().manual_seed(seed)
    models = Model(name), Model(name)
    for step, which, n in steps:
        model, other = models[which], models[1 - which]
        if step in ("update", "forward"):
            inputs = batch(name, n, generator)
            model.batches.append(inputs)
            getattr(model.metric, step)(*inputs)
        elif step == "merge":
            inputs = batch(name, n, generator)
            part = make(name)
            part.update(*inputs)
            model.metric.merge_state(part)
            model.batches.append(inputs)
        elif step == "merge_other":
            model.metric.merge_state(other.metric)
            model.batches += other.batches
        elif step == "reset":
            model.metric.reset()
            model.batches = []
        elif step == "copy":
            model.metric = copy.deepcopy(model.metric)
        elif step == "pickle":
            model.metric = pickle.loads(pickle.dumps(model.metric))
        elif step == "load":
            model.metric.persistent(True)
            loaded = make(name)
            loaded.load_state_dict(model.metric.state_dict())
            model.metric = loaded
        elif step == "sync" and model.batches:
            model.metric.sync()
            model.check()
            model.metric.unsync()
        elif step == "compute" and model.batches:
            model.metric.compute()
    for model in models:
        model.check()


# Windows have their own order, and their own tests.
@pytest.mark.parametrize("name", [name for name in NAMES if not name.startswith("Running")])
@hypothesis.settings(max_examples=8, deadline=None, database=None, derandomize=True,
                     phases=[hypothesis.Phase.generate, hypothesis.Phase.shrink])  # fmt: skip
@hypothesis.given(steps=STEPS, seed=st.integers(0, 2**31))
def test_any_sequence(name, steps, seed):
    run(name, steps, seed)
