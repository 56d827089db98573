"""script/swap-torchmetrics, of a checkout with few metrics and tests."""

import os
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[3]
BUILD = Path(next(path for path in os.environ["PYTHONPATH"].split(os.pathsep) if path)).parent

FILES = {
    "src/torchmetrics/__init__.py": """
__version__ = "0.1"
from torchmetrics.metrics import BinaryAccuracy, Metric, Other, binary_accuracy
from torchmetrics import functional
""",
    "src/torchmetrics/functional.py": "from torchmetrics.metrics import binary_accuracy\n",
    "src/torchmetrics/metrics.py": """
import torch

class Metric(torch.nn.Module):
    pass

class BinaryAccuracy(Metric):
    def update(self, preds, target):
        self.right = ((preds > 0.5) == target.bool()).float().mean()

    def compute(self):
        return self.right

class Other(Metric):
    pass

def binary_accuracy(preds, target, only_theirs=1):
    return ((preds > 0.5) == target.bool()).float().mean()
""",
    "tests/unittests/__init__.py": "",
    "tests/unittests/_helpers/__init__.py": "def seed_all(number):\n    pass\n",
    "tests/unittests/classification/__init__.py": "",
    "tests/unittests/classification/test_few.py": """
import pytest
import torch
from torchmetrics import BinaryAccuracy, Metric, Other
from torchmetrics.functional import binary_accuracy

@pytest.mark.parametrize("n", range(9))
def test_same(n):
    metric = BinaryAccuracy()
    metric.update(torch.tensor([0.2, 0.8]), torch.tensor([1, 1]))
    assert metric.compute() == 0.5
    assert isinstance(metric, torch.nn.Module)

@pytest.mark.parametrize("n", range(9))
def test_other_argument(n):
    assert binary_accuracy(torch.tensor([0.2, 0.8]), torch.tensor([1, 1]), only_theirs=2) == 0.5

def test_of_nothing_exchanged():
    assert Other() and Metric() and torch.rand(1) != torch.rand(1)

def test_that_fails_as_it_is():
    assert not BinaryAccuracy()
""",
}


@pytest.fixture
def checkout(tmp_path):
    for name, text in FILES.items():
        path = tmp_path / "checkout" / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text)
    return tmp_path / "checkout"


def swap(checkout, *arguments):
    command = [sys.executable, ROOT / "script/swap-torchmetrics", checkout, f"--results={checkout}/results", f"--build={BUILD}",
               f"--python={sys.executable}", "--jobs=1", *arguments]  # fmt: skip
    return subprocess.run(command, capture_output=True, text=True, env=os.environ | {"VIRTUAL_ENV": sys.prefix})


def test_counts_what_passes_before_and_after(checkout):
    ended = swap(checkout)
    assert ended.returncode == 1, ended.stderr
    assert "TorchMetrics 0.1: 1 classes and 1 functions exchanged" in ended.stdout
    assert " ".join(ended.stdout.split()).count("all 8 4 4 50.00 %") == 1, ended.stdout
    assert "1 more passed and used nothing of devsan.metrics" in ended.stdout
    assert "Failed, without a reason: 4\n      4  devsan.metrics.MetricError: binary_accuracy: got an unexpected keyword argument 'only_theirs'" in ended.stdout


def test_all_variants(checkout):
    assert "18         9         9   50.00 %" in swap(checkout, "--all", "-k", "same or other_argument").stdout


def test_the_seed_draws_the_sample(checkout):
    drawn = {seed: swap(checkout, "--sample=2", f"--seed={seed}", "-k", "other_argument").stdout.split("without a reason")[1] for seed in (1, 2, 3)}
    assert len(set(drawn.values())) > 1


def test_all_pass(checkout):
    ended = swap(checkout, "classification/test_few.py", "-k", "same")
    assert ended.returncode == 0 and "100.00 %" in ended.stdout, ended.stdout + ended.stderr


@pytest.mark.parametrize("arguments, message", [
    (["classification/test_none.py"], "no test files in"),
    (["--sample=0"], "--sample and --jobs are positive"),
    (["-k", "no_such_test"], "no test passes as it is: none was found"),
])  # fmt: skip
def test_errors_name_the_remedy(checkout, arguments, message):
    ended = swap(checkout, *arguments)
    assert ended.returncode == 2 and message in ended.stderr and "remedy: " in ended.stderr, ended.stderr


def test_no_checkout(tmp_path):
    ended = swap(tmp_path)
    assert ended.returncode == 2 and "name a checkout of TorchMetrics" in ended.stderr
