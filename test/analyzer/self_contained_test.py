"""devsan-check runs where no LLVM is: an installed tree, the files of every LLVM on the machine hidden from it. Where there is no C++
library either, it says so.

usage: self_contained_test.py --build BUILD_DIR
"""

import re
import subprocess
import sys
import tempfile
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
# What every Linux program may ask for.
ALLOWED = {"linux-vdso.so.1", "libc.so.6", "libm.so.6", "libpthread.so.0", "libdl.so.2", "librt.so.1", "ld-linux-x86-64.so.2",
           "ld-linux-aarch64.so.1"}
HIDE = """
mkdir "$2/empty"
for folder in /usr/lib/llvm-*; do mount --bind "$2/empty" "$folder" || exit 77; done
for file in /usr/lib/*-linux-gnu/libLLVM*.so* /usr/lib/*-linux-gnu/libclang*.so*; do
  [ ! -f "$file" ] || [ -L "$file" ] || mount --bind /dev/null "$file" || exit 77
done
"$1" --torch=none --checks=device-bare-cuda "$3" -- -std=c++20 -isystem "$4"
status=$?
for folder in /usr/include/c++ /usr/include/*-linux-gnu/c++; do [ ! -d "$folder" ] || mount --bind "$2/empty" "$folder" || exit 77; done
echo '#include <vector>' > "$2/library.cpp"
"$1" --torch=none "$2/library.cpp"
exit $status
"""
NO_LIBRARY = "note: no C++ standard library found: install g++"


def main():
    build = Path(sys.argv[2]).resolve()
    tool = build / "libexec/devsan-check"
    if "DEVSAN_STATIC_LLVM:BOOL=ON" not in (build / "CMakeCache.txt").read_text():
        print("devsan-check loads LLVM's shared libraries in this build; LLVM's static libraries, libzstd.a and libz.a change that")
        return 77
    listed = subprocess.run(["ldd", tool], capture_output=True, text=True, check=True).stdout
    needed = {Path(word).name for word in re.findall(r"^\s*(\S+)", listed, re.M)}
    assert needed <= ALLOWED, f"devsan-check needs {sorted(needed - ALLOWED)}"

    with tempfile.TemporaryDirectory() as folder:
        subprocess.run(["cmake", "--install", build / "analyzer", "--prefix", folder], check=True, capture_output=True)
        command = ["bash", "-c", HIDE, "hide", Path(folder, "libexec/devsan-check"), folder,
                   ROOT / "analyzer/checks/bare-cuda/flagged.test.cpp", ROOT / "analyzer/testing/mock"]
        for unshare in (["unshare", "-m"], ["unshare", "-rm"]):
            result = subprocess.run([*unshare, *command], capture_output=True, text=True)
            if result.returncode == 1 and "[device-bare-cuda]" in result.stdout and result.stdout.count(NO_LIBRARY) == 1:
                print(f"needs {', '.join(sorted(needed))}; reports without any LLVM on the machine")
                return 0
            if result.returncode not in (1, 77):
                break
        if result.returncode == 77 or "unshare" in result.stderr:
            print("the kernel lets this user hide no folders (unshare -rm); ldd alone was checked")
            return 0
        print(result.stdout, result.stderr)
        return 1


if __name__ == "__main__":
    sys.exit(main())
