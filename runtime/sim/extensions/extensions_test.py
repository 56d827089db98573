"""The extension of the CUDA builds' tests, compiled for the simulated devices of a CPU build as users compile theirs: by
torch.utils.cpp_extension under `devsan run --sim=N`. Then the same tests on it.

usage: extensions_test.py DEVSAN FOLDER [unittest's arguments]
  FOLDER   where it is built, and found by the next run"""

import os
import subprocess
import sys
from pathlib import Path

DEVSAN, FOLDER = os.path.abspath(sys.argv[1]), Path(sys.argv[2]).resolve()
TESTING = Path(__file__).resolve().parents[1] / "cuda_build" / "testing"
BUILD = """
import sys
from torch.utils.cpp_extension import load
load("scale", [sys.argv[1]], build_directory=sys.argv[2], is_python_module=False, extra_cuda_cflags=["-O1", "-g1"])
"""


def main():
    FOLDER.mkdir(parents=True, exist_ok=True)
    (FOLDER / "build.py").write_text(BUILD)
    subprocess.run([DEVSAN, "run", "--sim=1", "--quiet", "--", sys.executable, FOLDER / "build.py",
                    TESTING / "extension" / "scale.cu", FOLDER], check=True, env=os.environ | {"TORCH_CUDA_ARCH_LIST": "8.0"})
    tests = sys.argv[3:] or ["Extensions"]
    os.execv(sys.executable, [sys.executable, "-B", str(TESTING / "cuda_build_test.py"), DEVSAN,
                              f"--extension={FOLDER / 'scale.so'}", *tests])


if __name__ == "__main__":
    main()
