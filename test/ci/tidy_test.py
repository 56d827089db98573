"""Our own sources pass our own .clang-tidy, with DevSan's checks among it.

usage: tidy_test.py SOURCE BUILD CLANG_TIDY PLUGIN [--all]

Sources that are compiled together are looked at together, as BUILD/compile_commands.json has them: the headers are then read once
for many. Without --all these are the parts that use neither LibTorch nor LLVM, whose headers take most of the time.
"""

import concurrent.futures
import json
import os
import re
import subprocess
import sys
from pathlib import Path

PRODUCTS = re.compile(r"(analyzer|command|core|metrics|runtime)/")
QUICK = re.compile(r"(command|core|runtime/(analysis|detectors|resolve))/")
OTHER = re.compile(r"[._]test\.|_test\.dir/|/testing/|cmake_pch|checks\d+\.dir/|\.(c|S)$")


def sources(root, build, everything):
    for entry in json.loads((build / "compile_commands.json").read_text()):
        path = Path(entry["file"])
        base = build if path.is_relative_to(build) else root
        if (PRODUCTS if everything else QUICK).match(str(path.relative_to(base))) and not OTHER.search(entry["file"]):
            yield entry["file"]


def main():
    everything = "--all" in sys.argv[1:]
    source, build, clang_tidy, plugin = (argument for argument in sys.argv[1:] if argument != "--all")
    files = sorted(set(sources(Path(source), Path(build), everything)))
    if not files:
        sys.exit(f"tidy_test.py: {build}/compile_commands.json names none of our sources")

    def tidy(*arguments):
        return subprocess.run([clang_tidy, "-load", plugin, "-p", build, *arguments], cwd=source, capture_output=True, text=True)

    # clang-tidy goes on without a plugin that it cannot load.
    if "device-host-sync" not in tidy("--list-checks", files[0]).stdout:
        sys.exit(f"tidy_test.py: {clang_tidy} does not have the checks of {plugin}")

    with concurrent.futures.ThreadPoolExecutor(os.cpu_count()) as pool:
        results = list(pool.map(lambda file: tidy("--quiet", file), files))
    found = {line for result in results for line in result.stdout.splitlines() if re.search(r": (warning|error): ", line)}
    for line in sorted(found):
        print(line.replace(f"{source}/", ""))
    broken = [f"{file}: {result.stderr.strip()}" for file, result in zip(files, results) if result.returncode and not result.stdout]
    print("\n".join(broken))
    print(f"{len(files)} sources, {len(found)} findings")
    sys.exit(bool(found or broken))


if __name__ == "__main__":
    main()
