"""Compiles a test program against LibTorch, as users do: with line tables and some optimisation.

LibTorch's headers are precompiled once for all tests: parsing them takes ten times as long as a test. What else is given goes to the compiler.
"""

import argparse
import fcntl
import os
import subprocess
import sys
from pathlib import Path

HEADER = "#include <torch/torch.h>\n"


def precompiled(arguments, flags):
    arguments.cache.mkdir(parents=True, exist_ok=True)
    header, output = arguments.cache / "torch.h", arguments.cache / "torch.pch"
    key, key_file = " ".join(flags), arguments.cache / "flags"
    with open(arguments.cache / "lock", "w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        torch_version = arguments.torch / "version.py"
        fresh = (output.exists() and key_file.exists() and key_file.read_text() == key
                 and output.stat().st_mtime > torch_version.stat().st_mtime)
        if not fresh:
            header.write_text(HEADER)
            partial = output.with_suffix(".partial")
            subprocess.run([*flags, "-fpch-instantiate-templates", "-x", "c++-header", header, "-o", partial], check=True)
            os.replace(partial, output)
            key_file.write_text(key)
    return output


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--cxx", required=True)
    parser.add_argument("--torch", type=Path, required=True)
    parser.add_argument("--include", type=Path, required=True)
    parser.add_argument("--cache", type=Path, required=True)
    parser.add_argument("source", type=Path)
    parser.add_argument("-o", dest="output", type=Path, required=True)
    arguments, more = parser.parse_known_args()
    include, lib = arguments.torch / "include", arguments.torch / "lib"
    flags = [arguments.cxx, "-std=c++20", "-O1", "-g", "-DNDEBUG", "-D_GLIBCXX_USE_CXX11_ABI=1", f"-I{arguments.include}",
             "-isystem", str(include), "-isystem", str(include / "torch/csrc/api/include")]
    header = precompiled(arguments, flags)
    done = subprocess.run([*flags, "-include-pch", header, arguments.source, "-o", arguments.output, "-fuse-ld=lld",
                           *more, lib / "libtorch_cpu.so", lib / "libc10.so", f"-Wl,-rpath,{lib}"])
    sys.exit(done.returncode)


if __name__ == "__main__":
    main()
