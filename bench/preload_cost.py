"""What the preload shim costs a process that has nothing to do with LibTorch: `bash -c true` with and without it, taking
turns. Claim: at most 2 ms more. Usage: preload_cost.py [BUILD_DIR]"""

import os
import pathlib
import statistics
import subprocess
import sys
import time

ROUNDS = 300

root = pathlib.Path(__file__).resolve().parent.parent
library = pathlib.Path(sys.argv[1] if len(sys.argv) > 1 else root / "build") / "lib"
if not (library / "libdevsan_preload.so").exists():
    sys.exit(f"no libdevsan_preload.so in {library}: build first, or name the build directory")

plain = dict(os.environ)
shimmed = {**plain, "LD_PRELOAD": str(library / "libdevsan_preload.so"),
           "DEVSAN_LIBS": str(library / "libdevsan_runtime.so")}


def milliseconds(environment):
    begin = time.perf_counter()
    subprocess.run(["bash", "-c", "true"], env=environment, check=True)
    return (time.perf_counter() - begin) * 1e3


samples = [(milliseconds(plain), milliseconds(shimmed)) for _ in range(ROUNDS)]
without, with_shim = (statistics.median(column) for column in zip(*samples))
print(f"bash -c true: plain {without:.3f} ms, under the shim {with_shim:.3f} ms, "
      f"ratio {with_shim / without:.3f}, difference {with_shim - without:.3f} ms (median of {ROUNDS})")
