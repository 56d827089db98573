"""usage: run_check.py mock|torch|tidy TEST [ARG...]

Runs the analyzer on one test with the rule that the test's folder names: checks/bare-cuda/x.test.cpp is for
device-bare-cuda. Tests elsewhere get every rule. ARGs go to the program, before its compiler flags.
"""

import os
import sys
from pathlib import Path


def main():
    mode, test, *extra = sys.argv[1:]
    source = Path(os.environ["DEVSAN_TEST_SOURCE"])
    build = Path(os.environ["DEVSAN_TEST_BUILD"])
    folder = Path(test).parent
    rule = f"device-{folder.name}" if folder.parent.name == "checks" else "device-*"
    flags = ["-std=c++20", "-isystem", str(source / "analyzer/testing/mock")]
    if test.endswith(".cu"):
        flags += ["-isystem", str(source / "analyzer/cuda_stubs")]
        flags += ["-x", "cuda", "--cuda-host-only", "-nocudalib", "-nocudainc", "-Wno-unknown-cuda-version"]
        flags += ["-include", "cuda_runtime.h"]
    else:
        flags += ["-isystem", str(source / "analyzer/cuda_stubs")]
    check = str(build / "libexec/devsan-check")
    if mode == "mock":
        checks = [] if any(arg.startswith("--checks=") for arg in extra) else [f"--checks={rule}"]
        command = [check, "--alone", *checks, "--torch=none", *extra, test, "--", *flags]
    elif mode == "torch":
        command = [check, "--alone", f"--checks={rule}", f"--torch={os.environ['DEVSAN_TEST_TORCH']}", *extra, test, "--"]
    elif mode == "tidy":
        plugin = str(build / "lib/libDevSanTidy.so")
        command = ["clang-tidy-22", f"--load={plugin}", f"--checks=-*,{rule}", "--warnings-as-errors=*", "--quiet"]
        command += [*extra, test, "--", *flags]
    else:
        sys.exit(f"unknown mode {mode}")
    os.execvp(command[0], command)


if __name__ == "__main__":
    main()
