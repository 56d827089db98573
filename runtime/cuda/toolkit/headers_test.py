"""Every CUDA header of LibTorch's wheel compiles with the toolkit, or headers_left_out.txt says why not.

usage: headers_test.py NVCC LIBTORCH
  LIBTORCH   the folder of the wheel's package torch
"""

import concurrent.futures
import os
import shutil
import subprocess
import sys
import sysconfig
import tempfile
from pathlib import Path

NVCC, TORCH = Path(sys.argv[1]).absolute(), Path(sys.argv[2]).resolve()
INCLUDE = TORCH / "include"
PLACES = ("c10/cuda", "ATen/cuda", "ATen/cudnn", "ATen/native/cuda", "torch/csrc/cuda", "torch/csrc/distributed/c10d/cuda",
          "torch/csrc/distributed/c10d/*NCCL*", "torch/csrc/inductor/aoti_runtime/utils_cuda.h")
# The last as PyTorch compiles its own kernels; its headers need it of CUB.
OPTIONS = ["-std=c++20", "-fsyntax-only", "-w", "-DNDEBUG", "-DCUB_WRAPPED_NAMESPACE=at_cuda_detail", f"-I{INCLUDE}", f"-I{INCLUDE}/torch/csrc/api/include",
           f"-I{sysconfig.get_path('include')}"]
COMPILERS = {
    "c++": ([shutil.which("g++") or "clang++", "-isystem", NVCC.parents[1] / "include"], "cpp", (".h", ".hpp")),
    "nvcc": ([NVCC, "-c"], "cu", (".h", ".hpp", ".cuh")),
}


def headers():
    found = set()
    for place in PLACES:
        for path in INCLUDE.glob(place):
            found |= set(path.rglob("*")) if path.is_dir() else {path}
    return sorted(str(path.relative_to(INCLUDE)) for path in found if path.suffix in (".h", ".hpp", ".cuh"))


def left_out():
    """The compilers by header."""
    lines = Path(__file__).with_name("headers_left_out.txt").read_text().splitlines()
    rows = [line.split(None, 2) for line in lines if line and not line.startswith("#")]
    assert all(len(row) == 3 for row in rows), "a line of headers_left_out.txt gives no reason"
    return {(name, path) for compiler, path, _ in rows for name in COMPILERS if compiler in (name, "both")}


def errors_of(job):
    """The first of them, where a program of this header does not compile."""
    compiler, name = job
    command, suffix, _ = COMPILERS[compiler]
    with tempfile.NamedTemporaryFile("w", suffix=f".{suffix}") as source:
        source.write(f"#include <ATen/ATen.h>\n#include <{name}>\n")
        source.flush()
        result = subprocess.run([*command, source.name, *OPTIONS], capture_output=True, text=True)
    if result.returncode == 0:
        return []
    return [line for line in result.stderr.splitlines() if "error" in line][:3] or [result.stderr]


def main():
    known = left_out()
    jobs = [(compiler, name) for compiler, (_, _, suffixes) in COMPILERS.items() for name in headers() if name.endswith(suffixes)]
    assert len(jobs) > 200, f"{INCLUDE} has only {len(jobs)} CUDA headers"
    wrong = known - set(jobs)
    for compiler, name in wrong:
        print(f"{compiler}: {name} stands in headers_left_out.txt, but LibTorch has it not")
    with concurrent.futures.ThreadPoolExecutor(os.cpu_count()) as pool:
        for job, errors in zip(jobs, pool.map(errors_of, jobs)):
            if bool(errors) != (job in known):
                wrong.add(job)
                what = "does not compile" if errors else "compiles, but stands in headers_left_out.txt"
                print(f"{job[0]}: {job[1]} {what}", *errors, sep="\n  ", flush=True)
    print(f"{len(jobs)} programs of one header each, {len(known)} of them known not to compile, {len(wrong)} not as known")
    return bool(wrong)


sys.exit(main())
