"""Generates what a program that is built for simulated devices is linked with: a definition of each function of LibTorch's CUDA
libraries and of CUDA's other libraries that jumps to the one of the simulator, which comes into the process later.

    generate_imports.py NAMES HEADERS OUT
      NAMES     library_names.txt
      HEADERS   the folder of the stand-ins for CUDA's headers
      OUT       DEVSAN_IMPORT(number, name) of each, for imports.S
"""

import re
import sys
from pathlib import Path

LIBRARIES = ("cublas_v2.h", "cublasLt.h", "cudnn.h", "cufft.h", "cufftXt.h", "curand.h", "cusolverDn.h", "cusolver_common.h", "cusparse.h", "nccl.h", "nvml.h", "nvrtc.h")
FUNCTION = re.compile(r"^(?:(?:const|unsigned) )?\w+[ *]+((?:cublas|cudnn|cufft|curand|cusolver|cusparse|nccl|nvml|nvrtc)\w+)\(", re.M)


def main():
    names_file, headers, out = map(Path, sys.argv[1:])
    names = [line for line in names_file.read_text().splitlines() if not line.startswith("#")]
    for header in LIBRARIES:
        names += FUNCTION.findall((headers / header).read_text())
    # Defined by imports.cpp: it answers without a simulator, too.
    names = sorted(set(names) - {"_ZN3c104cuda12device_countEv"})
    out.write_text("".join(f"DEVSAN_IMPORT({index}, {name})\n" for index, name in enumerate(names)))


main()
