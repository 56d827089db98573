"""Tests of `devsan run`, end to end: *.test.cpp and *.test.py anywhere below runtime/, on simulated devices. The
parameter `folder` names a folder to take instead of runtime/; that of the detectors is a suite of its own.

%devsan         the command
%sim            `devsan run` on two simulated devices
%python         Python with torch
%cxx_torch      compiles a program against LibTorch: %cxx_torch %s -o %t
%cuda           adds the stand-in for CUDA's runtime to such a compilation
%cudart         the stand-in's library
%status N       the command after it has to end with status N
%file_check     FileCheck on the test's own comments; every printed finding has to be expected
"""

import os
import sys

import lit.formats

source_dir = lit_config.params["source_dir"]
build_dir = lit_config.params["build_dir"]
tools = os.path.dirname(__file__)

folder = lit_config.params.get("folder") or "runtime"

config.name = os.path.basename(folder)
config.suffixes = [".test.cpp", ".test.py"]
config.test_format = lit.formats.ShTest(execute_external=False)
config.test_source_root = os.path.join(source_dir, folder)
config.test_exec_root = os.path.join(build_dir, "test", "lit", folder)
if folder == "runtime":
    config.excludes = ["detectors"]  # a suite of their own

config.environment["PATH"] = os.pathsep.join(["/usr/lib/llvm-22/bin", os.environ["PATH"]])
config.environment["OMP_NUM_THREADS"] = "1"
for name in ("HOME", "TMPDIR", "CCACHE_DIR"):
    if name in os.environ:
        config.environment[name] = os.environ[name]

devsan = os.path.join(build_dir, "bin", "devsan")
compile_command = (
    f"{sys.executable} {os.path.join(tools, 'compile.py')} --cxx={lit_config.params['cxx']}"
    f" --torch={lit_config.params['torch_dir']} --include={os.path.join(source_dir, 'runtime', 'include')}"
    f" --cache={os.path.join(build_dir, 'test', 'lit', 'runtime-headers')}"
)
cuda_dir = os.path.join(build_dir, "runtime", "cuda")
cudart_dir = os.path.join(build_dir, "lib", "cuda", "13")
cudart = os.path.join(cudart_dir, "libcudart.so.13")
config.substitutions += [
    ("%cudart", cudart),
    ("%cuda", f"-I{cuda_dir} -I{source_dir} {cudart} -Wl,-rpath,{cudart_dir}"),
    ("%devsan", devsan),
    ("%sim", f"{devsan} run --sim=2"),
    ("%python", lit_config.params["python"]),
    ("%cxx_torch", compile_command),
    ("%cxx", lit_config.params["cxx"]),  # after the one that begins like it
    ("%status", f"{sys.executable} {os.path.join(tools, 'status.py')}"),
    ("%file_check", "FileCheck %s --implicit-check-not='[device-'"),
]
