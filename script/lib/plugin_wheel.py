"""Packs the plugins for clang-tidy that a build folder holds into a wheel of their own, devsan-clang-tidy, for any Python.

usage: plugin_wheel.py --build FOLDER --out FOLDER

The wheel's tag is the plain one of Linux; auditwheel gives it that of the oldest systems that the plugins run on. SOURCE_DATE_EPOCH is the
time that its files bear.
"""

import argparse
import base64
import hashlib
import os
import re
import subprocess
import tempfile
import time
import zipfile
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]


def plugins(build):
    """Each library, by the name that it has in the wheel."""
    own = re.search(r"^LLVM_DIR:PATH=.*/llvm-(\d+)/", (build / "CMakeCache.txt").read_text(encoding="utf-8"), re.M)[1]
    found = {f"libDevSanTidy{library.stem.removeprefix('libDevSanTidy') or own}.so": library for library in sorted(build.glob("lib/libDevSanTidy*.so"))}
    if not found:
        raise SystemExit(f"plugin_wheel: error: {build} has no plugins; build devsan_products")
    return found


def stripped(library):
    with tempfile.TemporaryDirectory(prefix="devsan-plugin-") as folder:
        out = Path(folder, library.name)
        subprocess.run(["strip", "--strip-unneeded", "-o", out, library], check=True)
        return out.read_bytes()


def main():
    parser = argparse.ArgumentParser(prog="plugin_wheel.py")
    for option in ("--build", "--out"):
        parser.add_argument(option, type=Path, required=True)
    arguments = parser.parse_args()
    version = re.search(r"project\(DevSan VERSION ([0-9.]+)", (ROOT / "CMakeLists.txt").read_text(encoding="utf-8"))[1]
    info = f"devsan_clang_tidy-{version}.dist-info"
    files = {"devsan_clang_tidy/__init__.py": (ROOT / "cmake/wheel/devsan_clang_tidy.py").read_bytes()}
    for name, library in plugins(arguments.build).items():
        files[f"devsan_clang_tidy/lib/{name}"] = stripped(library)
    files |= {
        f"{info}/METADATA": f"Metadata-Version: 2.1\nName: devsan-clang-tidy\nVersion: {version}\nRequires-Python: >=3.10\n"
                            "Summary: DevSan's checks as plugins for clang-tidy\nDescription-Content-Type: text/markdown\n\n".encode()
                            + (ROOT / "docs/clang-tidy.md").read_bytes(),
        f"{info}/WHEEL": b"Wheel-Version: 1.0\nGenerator: devsan\nRoot-Is-Purelib: false\nTag: py3-none-linux_x86_64\n",
        f"{info}/entry_points.txt": b"[console_scripts]\ndevsan-clang-tidy = devsan_clang_tidy:main\n",
    }
    digests = [f"{name},sha256={base64.urlsafe_b64encode(hashlib.sha256(data).digest()).rstrip(b'=').decode()},{len(data)}" for name, data in files.items()]
    files[f"{info}/RECORD"] = "\n".join([*digests, f"{info}/RECORD,,", ""]).encode()
    arguments.out.mkdir(parents=True, exist_ok=True)
    date = time.gmtime(max(int(os.environ.get("SOURCE_DATE_EPOCH", "0")), 315532800))[:6]  # zip begins in 1980
    with zipfile.ZipFile(arguments.out / f"devsan_clang_tidy-{version}-py3-none-linux_x86_64.whl", "w", zipfile.ZIP_DEFLATED) as wheel:
        for name, data in files.items():
            entry = zipfile.ZipInfo(name, date)
            entry.external_attr = (0o100755 if name.endswith(".so") else 0o100644) << 16
            entry.compress_type = zipfile.ZIP_DEFLATED
            wheel.writestr(entry, data)


if __name__ == "__main__":
    main()
