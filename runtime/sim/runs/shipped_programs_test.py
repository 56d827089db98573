"""The compiled tests that LibTorch's wheel itself brings (torch/test): each ends on simulated devices as without DevSan.

usage: shipped_programs_test.py DEVSAN [PROGRAM...]"""

import json
import os
import subprocess
import sys
import tempfile
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import torch

PROGRAMS = Path(torch.__file__).parent / "test"
LIMIT = 600  # seconds
# What ends otherwise, and why.
EXCEPTIONS = {
    "StorageUtils_test StorageUtilsTest.shm_storage_refcount":
        "counts weak references to a storage; where a tensor was made is kept with one (DEVSAN_OPTIONS=origins=off keeps none)",
    "op_registration_test OperatorRegistrationTest.whenRegisteringBackendFallbackKernelForWrongBackend_thenCannotBeCalled":
        "registers a fallback for the key CUDA, where the simulated devices have theirs",
}


def results(command, program):
    """The result of each of its tests, and how it ended."""
    with tempfile.TemporaryDirectory() as folder:
        output = Path(folder, "results.json")
        environment = os.environ | {"GTEST_OUTPUT": f"json:{output}", "OMP_NUM_THREADS": "1"}
        try:
            done = subprocess.run([*command, program], cwd=folder, env=environment, stdin=subprocess.DEVNULL,
                                  capture_output=True, text=True, errors="replace", timeout=LIMIT)
            status, said = done.returncode, done.stdout + done.stderr
        except subprocess.TimeoutExpired:
            status, said = f"more than {LIMIT} s", ""
        found = {"": status}
        if output.exists():
            for suite in json.loads(output.read_text())["testsuites"]:
                for test in suite["testsuite"]:
                    found[f"{suite['name']}.{test['name']}"] = "failed" if test.get("failures") else test["result"]
        return found, said


def main():
    devsan, *names = sys.argv[1:]
    programs = [PROGRAMS / name for name in names] or sorted(
        file for file in PROGRAMS.iterdir() if file.is_file() and os.access(file, os.X_OK))
    if not programs:
        print(f"no programs in {PROGRAMS}: this LibTorch ships none")
        return 77
    simulated = [str(Path(devsan).resolve()), "run", "--sim=2", "--fail-on=none", "--"]
    tests, differing, excepted = 0, 0, 0

    def both(program):
        return program, results([], program), results(simulated, program)

    with ThreadPoolExecutor(2) as pool:
        for program, (plain, _), (found, said) in pool.map(both, programs):
            tests += len(plain) - 1
            differences = {name for name in plain.keys() | found.keys() if plain.get(name) != found.get(name)}
            known = {name for name in differences if f"{program.name} {name}" in EXCEPTIONS}
            excepted += len(known)
            # A program whose tests differ ends otherwise, too.
            differences -= known | ({""} if known and not differences - known - {""} else set())
            differing += len(differences)
            for name in sorted(differences):
                print(f"{program.name} {name}: {found.get(name)}, without DevSan {plain.get(name)}")
            if differences:
                print(said[-3000:])
    print(f"{len(programs)} programs, {tests} tests: {differing} end otherwise than without DevSan, {excepted} with a reason")
    return differing != 0


if __name__ == "__main__":
    sys.exit(main())
