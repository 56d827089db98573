"""What the preload shim costs a process that does not use LibTorch: `bash -c true` with and without it, in turn."""

import argparse
import os
import statistics
import subprocess
import time
from pathlib import Path


def seconds(environment):
    start = time.perf_counter()
    subprocess.run(["bash", "-c", "true"], env=environment, check=True)
    return time.perf_counter() - start


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--build", type=Path, required=True)
    parser.add_argument("--runs", type=int, default=200)
    arguments = parser.parse_args()
    lib = arguments.build.resolve() / "lib"
    plain = dict(os.environ)
    shim = {
        **plain,
        "LD_PRELOAD": str(lib / "libdevsan_preload.so"),
        "DEVSAN_LIBS": f"{lib / 'libdevsan_sim.so'}:{lib / 'libdevsan_runtime.so'}",
        "DEVSAN_LOG_DIR": os.devnull,
        "DEVSAN_SIM_DEVICES": "2",
    }
    pairs = [(seconds(plain), seconds(shim)) for _ in range(arguments.runs + 5)][5:]
    a, b = (statistics.median(column) * 1e3 for column in zip(*pairs))
    difference = statistics.median(with_shim - without for without, with_shim in pairs) * 1e3
    print(f"bash -c true, {arguments.runs} pairs: plain {a:.2f} ms, shim {b:.2f} ms, ratio {b / a:.3f}, "
          f"median difference {difference:.2f} ms")


if __name__ == "__main__":
    main()
