"""Test files of PyTorch and of TorchMetrics, from checkouts, on two simulated devices of a CUDA build: the counts, and for each
test that fails its reason, without which this fails too.

usage: upstream_test.py DEVSAN [--pytorch=FOLDER] [--torchmetrics=FOLDER]"""

import argparse
import collections
import os
import subprocess
import sys
import tempfile
import xml.etree.ElementTree as ElementTree
from pathlib import Path

# TorchMetrics' tests take one of the devices at random, those marked DDP processes on the CPU.
SUITES = {
    "pytorch": ("test", ["test_cuda_multigpu.py", "distributed/test_data_parallel.py"], []),
    "torchmetrics": ("tests", ["unittests/bases", "unittests/wrappers/test_running.py"], ["-m", "not DDP", "-k", "not ddp"]),
}
EXCEPTIONS = {
    "TestDataParallel.test_data_parallel_complex":
        "files of PyTorch 2.6 expect replicas with pairs of reals for complex parameters, which later releases have no more",
    "test_metric.test_merge_state_feature_for_different_metrics[BinaryAccuracy-<lambda>-<lambda>]":
        "it draws without a seed, and two accuracies of its hundred labels may be equal; as on the CPU",
}


def run(devsan, checkout, name):
    """The outcome of each test, by the class and name."""
    folder, files, arguments = SUITES[name]
    with tempfile.TemporaryDirectory() as temporary:
        results = Path(temporary, "results.xml")
        command = [devsan, "run", "--sim=2", "--fail-on=none", "--quiet", f"--report={temporary}/report.json", "--",
                   sys.executable, "-m", "pytest", "--quiet", "--tb=line", "-p", "no:cacheprovider", "-c", os.devnull,
                   f"--rootdir={checkout / folder}", f"--junit-xml={results}", *arguments, *files]
        environment = os.environ | {"OMP_NUM_THREADS": "1", "PYTHONPATH": str(checkout / "src")}
        output = subprocess.run(command, cwd=checkout / folder, env=environment, capture_output=True, text=True, timeout=3000)
        if not results.exists():
            sys.exit(f"upstream_test.py: error: {name}: pytest gave no results\n{output.stdout}{output.stderr}")
        outcomes = {}
        for case in ElementTree.parse(results).iter("testcase"):
            kinds = {child.tag for child in case}
            kind = "failed" if kinds & {"failure", "error"} else "skipped" if "skipped" in kinds else "passed"
            outcomes[f"{case.get('classname').rpartition('.')[2]}.{case.get('name')}"] = kind
        return outcomes, output.stdout


def main():
    parser = argparse.ArgumentParser(usage=__doc__.partition("usage: ")[2])
    parser.add_argument("devsan", type=os.path.abspath)
    for name in SUITES:
        parser.add_argument(f"--{name}", type=Path)
    options = parser.parse_args()
    status = 0
    for name in SUITES:
        checkout = getattr(options, name)
        if checkout is None:
            continue
        outcomes, output = run(options.devsan, checkout.resolve(), name)
        count = collections.Counter(outcomes.values())
        unexpected = sorted(test for test, outcome in outcomes.items() if outcome == "failed" and test not in EXCEPTIONS)
        print(f"{name}: {count['passed']} passed, {count['failed']} failed, {count['skipped']} skipped")
        for test, reason in EXCEPTIONS.items():
            if outcomes.get(test) == "failed":
                print(f"  {test}: {reason}")
        if unexpected or not count["passed"]:
            status = 1
            print(f"not explained: {', '.join(unexpected) or 'no test passed'}\n{output}")
    return status


if __name__ == "__main__":
    sys.exit(main())
