"""Tests of the checks and of devsan-check: *.test.cpp and *.test.cu anywhere below analyzer/.

%check_mock    devsan-check on the mock headers, with the rule of the test's folder only
%check_torch   the same on the real LibTorch headers
%tidy          clang-tidy with the plugin: same rule, mock headers
%devsan_check  devsan-check itself
%plugin        the clang-tidy plugin
%torch_dir     the folder of the torch package
%python        the Python that the build uses
%file_check    FileCheck on the test's own comments; every printed finding has to be expected

A test with findings says `// RUN: not %check_mock | %file_check`, a silent one `// RUN: %check_mock | %file_check
--allow-empty`: so the exit status is tested too.
"""

import os
import sys

import lit.formats

source_dir = lit_config.params["source_dir"]
build_dir = lit_config.params["build_dir"]

config.name = "analyzer"
config.suffixes = [".test.cpp", ".test.cu"]
config.excludes = ["mock", "cuda_stubs", "Inputs"]
config.test_format = lit.formats.ShTest(execute_external=False)
config.test_source_root = os.path.join(source_dir, "analyzer")
config.test_exec_root = os.path.join(build_dir, "test", "lit", "analyzer")

# A cache of its own: the tests neither use nor fill the user's.
config.environment["XDG_CACHE_HOME"] = os.path.join(build_dir, "test", "cache")
config.environment["PATH"] = os.pathsep.join(["/usr/lib/llvm-22/bin", os.environ["PATH"]])
config.environment["DEVSAN_TEST_SOURCE"] = source_dir
config.environment["DEVSAN_TEST_BUILD"] = build_dir
config.environment["DEVSAN_TEST_TORCH"] = lit_config.params.get("torch_dir", "")

run_check = f"{sys.executable} {os.path.join(os.path.dirname(__file__), 'run_check.py')}"
config.substitutions += [
    ("%check_mock", f"{run_check} mock %s"),
    ("%check_torch", f"{run_check} torch %s"),
    ("%tidy", f"{run_check} tidy %s"),
    ("%plugin", os.path.join(build_dir, "lib", "libDevSanTidy.so")),
    ("%devsan_check", os.path.join(build_dir, "libexec", "devsan-check")),
    ("%file_check", "FileCheck %s --implicit-check-not='[device-'"),
    ("%python", lit_config.params.get("python", sys.executable)),
    ("%torch_dir", lit_config.params.get("torch_dir", "")),
    ("%mock", os.path.join(source_dir, "analyzer", "testing", "mock")),
    ("%cuda_stubs", os.path.join(source_dir, "analyzer", "cuda_stubs")),
]
