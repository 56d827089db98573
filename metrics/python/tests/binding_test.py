"""The module itself: one binary for each Python, chosen by the release of PyTorch, that leaves no references behind."""

import gc
import os
import re
import shutil
import subprocess
import sys
import weakref
from pathlib import Path

import pytest
import torch

import devsan.metrics as lib
from devsan.metrics import _metrics

MODULE = Path(_metrics.__file__)
PACKAGE = Path(lib.__file__).parent
ROUNDS = 10_000
# What the module may call of CPython: all in the stable ABI of 3.10.
STABLE = set(
    "PyArg_ParseTuple _PyArg_ParseTuple_SizeT PyBool_Type PyCFunction_NewEx PyCMethod_New PyCapsule_GetPointer PyCapsule_New PyDict_GetItemString PyDict_New PyDict_SetItemString "
    "PyErr_Clear PyErr_Fetch PyErr_NewExceptionWithDoc PyErr_Occurred PyErr_Print PyErr_Restore PyErr_SetString PyErr_WarnEx PyEval_RestoreThread "
    "PyEval_SaveThread PyExc_DeprecationWarning PyExc_ImportError PyExc_OverflowError PyExc_RuntimeError PyExc_TypeError PyExc_UserWarning "
    "PyExc_ValueError PyFloat_AsDouble PyFloat_FromDouble PyFloat_Type PyFrozenSet_Type PyGILState_Ensure PyGILState_Release "
    "PyImport_ImportModule PyIndex_Check PyIter_Next PyList_AsTuple PyList_New PyList_SetItem PyLong_AsLongLong PyLong_AsVoidPtr "
    "PyLong_FromLongLong PyModule_AddObjectRef PyModule_Create2 PyNumber_AsSsize_t PyObject_Call PyObject_CallFunctionObjArgs "
    "PyObject_ClearWeakRefs PyObject_Free PyObject_GetAttrString PyObject_GetItem PyObject_GetIter PyObject_IsInstance PyObject_Repr "
    "PyObject_Str PySequence_Check PySet_Type PyTuple_GetItem PyTuple_New PyTuple_Pack PyTuple_Size PyType_FromSpec PyType_FromSpecWithBases "
    "PyType_GenericAlloc PyType_GetFlags PyType_IsSubtype PyUnicode_AsUTF8AndSize PyUnicode_FromStringAndSize PyBool_FromLong Py_IncRef "
    "Py_DecRef _Py_Dealloc _Py_NoneStruct _Py_TrueStruct _Py_FalseStruct".split()
)
PROGRAM = """
import copy, pickle, sys, warnings
import torch
import devsan.metrics as lib
metric = lib.MulticlassAccuracy(num_classes=3, average="micro")
target = torch.tensor([0, 1, 2, 1])
for _ in range(100):
    metric.update(preds=torch.tensor([0, 1, 2, 2]), target=target)
for other in (metric, copy.deepcopy(metric), pickle.loads(pickle.dumps(metric))):
    assert other.compute() == 0.75 and other.device == torch.device("cpu")
error = lib.MeanSquaredError(squared=False, dtype=torch.float64)
error.update(torch.ones(3), torch.zeros(3))
assert error.compute() == 1 and error.compute().dtype == torch.float64
curve = lib.MulticlassROC(num_classes=3)
curve.update(torch.eye(3)[target], target)
assert [len(part) for part in curve.compute()] == [3, 3, 3]
try:
    metric.update(target, [1])
    sys.exit("no error")
except lib.MetricError as error:
    assert str(error).endswith("but got list"), error
with warnings.catch_warnings(record=True) as told:
    warnings.simplefilter("always")
    mean = lib.MeanMetric(nan_strategy="warn")
    mean.update(torch.tensor([1.0, float("nan")]))
assert [warning.category for warning in told] == [UserWarning], told
lib.MetricCollection([lib.MeanSquaredError(), lib.MeanAbsoluteError()]).update(torch.ones(3), torch.zeros(3))
print("works")
"""


def names(*options):
    listed = subprocess.run(["nm", "-D", *options, MODULE], capture_output=True, text=True, check=True).stdout
    return {line.split()[-1] for line in listed.splitlines()}


def test_only_what_every_python_has():
    used = {name for name in names("--undefined-only") if re.match("_?Py", name)}
    assert len(used) > 50
    assert not used - STABLE


def test_its_symbols_are_its_own():
    assert {name for name in names("--defined-only") if "devsan" in name or "Py" in name} == {"PyInit__metrics"}


def run(python, path, program=PROGRAM):
    environment = os.environ | {"PYTHONPATH": str(path), "PYTHONDONTWRITEBYTECODE": "1"}
    return subprocess.run([python, "-c", program], capture_output=True, text=True, env=environment)


def other_pythons():
    """With the PyTorch that the module is built for: those of DEVSAN_PYTHONS, and python3.N of PATH."""
    named = os.environ.get("DEVSAN_PYTHONS", "").split(os.pathsep)
    asked = "import sys, torch; print(sys.version_info[:2] != {}, torch.__version__.partition('+')[0])".format(tuple(sys.version_info[:2]))
    for python in filter(None, [*named, *(shutil.which(f"python3.{minor}") for minor in range(10, 20))]):
        told = subprocess.run([python, "-c", asked], capture_output=True, text=True).stdout.split()
        if told == ["True", MODULE.parent.name]:
            yield python


def test_another_python(tmp_path):
    pythons = list(other_pythons())
    if not pythons:
        pytest.skip(f"no other Python with PyTorch {MODULE.parent.name}; DEVSAN_PYTHONS=FILE:FILE names some")
    (tmp_path / "devsan").mkdir()
    (tmp_path / "devsan/metrics").symlink_to(PACKAGE)
    for python in pythons:
        result = run(python, tmp_path)
        assert result.stdout == "works\n", f"{python}: {result.stderr}"


@pytest.fixture
def builds(tmp_path):
    """The package, with an empty `_for`."""
    package = tmp_path / "devsan/metrics"
    shutil.copytree(PACKAGE, package, ignore=shutil.ignore_patterns("_for", "__pycache__", "*.so"))
    (package / "_for").mkdir()
    return package / "_for"


def refusal(builds):
    result = run(sys.executable, builds.parent.parent.parent)
    assert result.returncode == 1
    return result.stderr.splitlines()[-1]


def test_the_build_of_the_release_is_taken(builds):
    (builds / "2.8.0").mkdir()
    (builds / "2.8.0/_metrics.abi3.so").write_text("of another release")
    (builds / MODULE.parent.name).symlink_to(MODULE.parent)
    assert run(sys.executable, builds.parent.parent.parent).stdout == "works\n"


def test_another_release_is_refused_before_it_is_loaded(builds):
    for release in ("2.10.0", "2.8.0"):
        (builds / release).symlink_to(MODULE.parent)
    said = refusal(builds)
    assert said.startswith(f"ImportError: devsan.metrics is built for PyTorch 2.8.0, 2.10.0, and not for Python {sys.version.split()[0]} with PyTorch {torch.__version__}: ")
    assert "pip install torch==2.10.0" in said


def test_what_cannot_be_loaded_says_so(builds):
    (builds / MODULE.parent.name).mkdir()
    (builds / MODULE.parent.name / "_metrics.abi3.so").write_text("damaged")
    said = refusal(builds)
    assert "_metrics.abi3.so" in said and f"pip install torch=={MODULE.parent.name}" in said


def update_and_look(metric, preds, target):
    metric.update(preds, target)
    metric.update(target=target, preds=preds)
    metric._core.states()
    metric._core.compute()
    try:
        metric.update(preds, [target])
    except lib.MetricError:
        pass


def test_inputs_are_not_held():
    metric = lib.MulticlassAccuracy(num_classes=3, average="micro")
    preds, target = torch.tensor([0, 1, 2]), torch.tensor([0, 1, 1])
    update_and_look(metric, preds, target)
    watched = (preds, target, metric._core, lib.MetricError, None, torch.Tensor)
    before = [sys.getrefcount(item) for item in watched]
    for _ in range(ROUNDS):
        update_and_look(metric, preds, target)
    after = [sys.getrefcount(item) for item in watched]
    assert max(abs(b - a) for b, a in zip(before, after)) < 20, (before, after)
    held = weakref.ref(preds)
    del preds, watched
    assert held() is None


def resident():
    return int(Path("/proc/self/statm").read_text().split()[1]) * os.sysconf("SC_PAGE_SIZE")


@pytest.mark.parametrize("make", [
    lambda: lib.MeanSquaredError()._core.fresh(),
    lambda: lib.MulticlassConfusionMatrix(num_classes=3, normalize="true", ignore_index=-1),
    lambda: lib.MetricCollection({"a": lib.MeanMetric(), "b": lib.SumMetric()})._core.device,
    lambda: pytest.raises(lib.MetricError, lib.MulticlassAccuracy, num_classes="three"),
], ids=["core", "options", "collection", "error"])  # fmt: skip
def test_nothing_is_left(make):
    def rounds(count):
        for _ in range(count):
            make()
        gc.collect()
        return sys.getallocatedblocks(), resident()

    rounds(1000)
    blocks, size = rounds(100)
    more_blocks, more_size = rounds(ROUNDS)
    assert more_blocks - blocks < 1000
    assert more_size - size < 200 * ROUNDS  # of a handle that is kept there is more


def test_a_core_is_known_by_weak_references():
    core = lib.MeanSquaredError()._core
    held = weakref.ref(core)
    assert held() is core
    del core
    gc.collect()
    assert held() is None
