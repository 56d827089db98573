"""Every CUDA header of LibTorch's wheel compiles with the toolkit, or headers_left_out.txt says why not.

usage: headers_test.py NVCC LIBTORCH [--each]
  LIBTORCH   the folder of the wheel's package torch
  --each     each header as a program of its own; else all of them as one for each compiler
"""

import concurrent.futures
import os
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path

NVCC, TORCH = Path(sys.argv[1]).absolute(), Path(sys.argv[2]).resolve()
INCLUDE = TORCH / "include"
PLACES = ("c10/cuda", "ATen/cuda", "ATen/cudnn", "ATen/native/cuda", "torch/csrc/cuda", "torch/csrc/distributed/c10d/cuda",
          "torch/csrc/distributed/c10d/*NCCL*", "torch/csrc/inductor/aoti_runtime/utils_cuda.h")
# The last as PyTorch compiles its own kernels; its headers need it of CUB.
OPTIONS = ["-std=c++20", "-fsyntax-only", "-w", "-DNDEBUG", "-DCUB_WRAPPED_NAMESPACE=at_cuda_detail", f"-I{INCLUDE}", f"-I{INCLUDE}/torch/csrc/api/include"]
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
    return {(compiler, path) for compiler, path, _ in rows} | {(name, path) for compiler, path, _ in rows if compiler == "both" for name in COMPILERS}


def compile_one(job):
    """The first errors."""
    compiler, names = job
    command, suffix, _ = COMPILERS[compiler]
    with tempfile.NamedTemporaryFile("w", suffix=f".{suffix}") as source:
        source.write("#include <ATen/ATen.h>\n" + "".join(f"#include <{name}>\n" for name in names))
        source.flush()
        result = subprocess.run([*command, source.name, *OPTIONS], capture_output=True, text=True)
    errors = [line for line in result.stderr.splitlines() if "error" in line]
    return errors[:10] or [result.stderr] if result.returncode else []


def main():
    known, jobs = left_out(), []
    for compiler, (_, _, suffixes) in COMPILERS.items():
        names = [name for name in headers() if name.endswith(suffixes)]
        assert len(names) > 100, f"{INCLUDE} has only {len(names)} CUDA headers"
        if "--each" in sys.argv:
            jobs += [(compiler, [name]) for name in names]
        else:
            jobs.append((compiler, [name for name in names if (compiler, name) not in known]))
    wrong = 0
    with concurrent.futures.ThreadPoolExecutor(os.cpu_count()) as pool:
        for (compiler, names), errors in zip(jobs, pool.map(compile_one, jobs)):
            is_known = len(names) == 1 and (compiler, names[0]) in known
            if bool(errors) != is_known:
                wrong += 1
                what = "does not compile" if errors else "compiles, but stands in headers_left_out.txt"
                print(f"{compiler}: {names[0] if len(names) == 1 else 'all headers together'} {what}", *errors, sep="\n  ")
    return bool(wrong)


sys.exit(main())
