"""Metrics in a LightningModule: logged as objects, moved and saved with it, on one process and on two."""

import importlib.util
import os
import socket
import warnings

import pytest
import torch
import torchmetrics

import devsan.metrics as ours

NAME = next((name for name in ("lightning.pytorch", "pytorch_lightning") if importlib.util.find_spec(name.partition(".")[0])), None)
if NAME is None:
    pytest.skip("pip install lightning to try the metrics in a LightningModule", allow_module_level=True)
L = importlib.import_module(NAME)

CLASSES, SAMPLES = 3, 26  # uneven over two ranks and batches of four


class Seen(torchmetrics.Metric):
    """A program's own."""

    def __init__(self):
        super().__init__()
        self.add_state("number", torch.tensor(0), dist_reduce_fx="sum")

    def update(self, preds, target):
        self.number += len(target)

    def compute(self):
        return self.number


def data():
    generator = torch.Generator().manual_seed(0)
    return torch.randn(SAMPLES, 4, generator=generator), torch.randint(CLASSES, (SAMPLES,), generator=generator)


class Model(L.LightningModule):
    def __init__(self):
        super().__init__()
        torch.manual_seed(1)
        self.layer = torch.nn.Linear(4, CLASSES)
        self.accuracy = ours.MulticlassAccuracy(num_classes=CLASSES)
        self.loss_mean = ours.MeanMetric()
        self.validation = ours.MetricCollection({"f1": ours.MulticlassF1Score(num_classes=CLASSES), "recall": ours.MulticlassRecall(num_classes=CLASSES), "seen": Seen()}, prefix="val_")
        self.mixed = torchmetrics.MetricCollection({"ours": ours.MulticlassPrecision(num_classes=CLASSES), "theirs": Seen()}, compute_groups=False)
        self.accuracy.persistent(True)
        self.epochs = []

    def training_step(self, batch, index):
        scores = self.layer(batch[0])
        loss = torch.nn.functional.cross_entropy(scores, batch[1])
        self.accuracy(scores, batch[1])
        self.loss_mean(loss)
        self.log("accuracy", self.accuracy, on_step=True, on_epoch=True)
        self.log("loss", self.loss_mean, on_epoch=True, on_step=False)
        return loss

    def validation_step(self, batch, index):
        scores = self.layer(batch[0])
        self.validation.update(scores, batch[1])
        self.mixed.update(scores, batch[1])
        self.log_dict(self.validation, on_epoch=True)
        self.log_dict(self.mixed, on_epoch=True)

    def on_validation_epoch_end(self):
        assert (self.trainer.sanity_checking or self.validation["seen"].update_count > 0) and self.validation["f1"].update_count > 0

    def configure_optimizers(self):
        return torch.optim.SGD(self.parameters(), lr=0.0)  # so that an epoch is known


def trainer(folder, **more):
    given = {"accelerator": "cpu", "max_epochs": 2, "logger": False, "enable_progress_bar": False, "enable_model_summary": False,
             "num_sanity_val_steps": 1, "default_root_dir": str(folder)}  # fmt: skip
    return L.Trainer(**given | more)


def loader():
    return torch.utils.data.DataLoader(torch.utils.data.TensorDataset(*data()), batch_size=4)


def fit(folder, **more):
    model = Model()
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        run = trainer(folder, **more)
        run.fit(model, loader(), loader())
    return model, run, {name: float(value) for name, value in run.callback_metrics.items()}


def expected(model, samples=None):
    """Of all samples that an epoch has, at whichever rank."""
    inputs, target = data() if samples is None else samples
    with torch.no_grad():
        scores = model.layer(inputs)
    kinds = {"accuracy_epoch": ours.MulticlassAccuracy, "val_f1": ours.MulticlassF1Score, "val_recall": ours.MulticlassRecall, "ours": ours.MulticlassPrecision}
    return {name: float(kind(num_classes=CLASSES)(scores, target)) for name, kind in kinds.items()} | {"val_seen": len(target), "theirs": len(target)}


def test_logged_in_one_process(tmp_path):
    model, run, logged = fit(tmp_path)
    for name, value in expected(model).items():
        assert logged[name] == pytest.approx(value), name
    assert {"accuracy_step", "loss"} <= set(logged)


def test_checkpoints_hold_persistent_states(tmp_path):
    model, run, _ = fit(tmp_path, max_epochs=1)
    model.accuracy.update(torch.eye(CLASSES), torch.tensor([0, 1, 1]))
    run.save_checkpoint(tmp_path / "model.ckpt")
    saved = torch.load(tmp_path / "model.ckpt", weights_only=False)["state_dict"]
    assert any(name.startswith("accuracy.") for name in saved) and not any(name.startswith("validation.") for name in saved)
    loaded = Model.load_from_checkpoint(tmp_path / "model.ckpt")
    loaded.accuracy._core.updates = 1
    assert loaded.accuracy.compute() == model.accuracy.compute()


def test_attributes_move_with_the_module():
    model = Model()
    assert {name for name, part in model.named_children() if isinstance(part, torchmetrics.Metric)} == {"accuracy", "loss_mean"}
    model.to("meta")
    assert model.accuracy.device == torch.device("meta") and model.validation["f1"].device == torch.device("meta")


def rank(rank, port, folder, results):
    os.environ |= {"MASTER_ADDR": "127.0.0.1", "MASTER_PORT": str(port), "WORLD_SIZE": "2", "RANK": str(rank), "LOCAL_RANK": str(rank), "NODE_RANK": "0"}
    from importlib import import_module

    environments = import_module(NAME.replace("pytorch_lightning", "lightning_fabric").replace("lightning.pytorch", "lightning.fabric") + ".plugins.environments")
    strategies = import_module(NAME + ".strategies")
    strategy = strategies.DDPStrategy(process_group_backend="gloo", cluster_environment=environments.LightningEnvironment())
    model, run, logged = fit(folder, strategy=strategy, devices=2, max_epochs=1)
    results[rank] = logged | {"expected": expected(model)}


def test_logged_by_two_ranks(tmp_path):
    import torch.multiprocessing as multiprocessing

    with socket.create_server(("127.0.0.1", 0)) as free:
        port = free.getsockname()[1]
    results = multiprocessing.Manager().dict()
    multiprocessing.start_processes(rank, (port, str(tmp_path), results), nprocs=2, start_method="spawn")
    both = dict(results)
    for logged in both.values():
        for name, value in logged["expected"].items():
            assert logged[name] == pytest.approx(value), name
