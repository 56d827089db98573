"""clang-tidy with DevSan's checks. The package holds a plugin for each release of clang-tidy; this takes the one that fits.

usage: devsan-clang-tidy [clang-tidy's options and files]     clang-tidy with the plugin loaded
       devsan-clang-tidy --plugin [RELEASE]                   the plugin's path, for `clang-tidy --load=`

It is the first of clang-tidy, clang-tidy-23, clang-tidy-22, ... on PATH that has a plugin, or CLANG_TIDY.
"""

import os
import re
import shutil
import subprocess
import sys

PLUGINS = {}
for name in os.listdir(os.path.join(os.path.dirname(os.path.abspath(__file__)), "lib")):
    if match := re.fullmatch(r"libDevSanTidy(\d+)\.so", name):
        PLUGINS[int(match[1])] = os.path.join(os.path.dirname(os.path.abspath(__file__)), "lib", name)


def fail(message):
    sys.exit(f"devsan-clang-tidy: error: {message}; there are plugins for clang-tidy {', '.join(map(str, sorted(PLUGINS)))}")


def release_of(program):
    """None where it does not run."""
    try:
        told = subprocess.run([program, "--version"], capture_output=True, text=True, timeout=60)
    except (OSError, subprocess.TimeoutExpired):
        return None
    match = re.search(r"version (\d+)\.", told.stdout)
    return int(match[1]) if match else None


def find():
    """A clang-tidy that has a plugin, and its release."""
    wanted = os.environ.get("CLANG_TIDY")
    seen = []
    for name in [wanted] if wanted else ["clang-tidy", *(f"clang-tidy-{release}" for release in sorted(PLUGINS, reverse=True))]:
        program = shutil.which(name)
        release = release_of(program) if program else None
        if release in PLUGINS:
            return program, release
        seen += [f"{name} is of release {release}"] if release else []
    return fail(", ".join(seen) or f"no {wanted or 'clang-tidy'} on PATH")


def main():
    if sys.argv[1:2] == ["--plugin"]:
        release = int(sys.argv[2]) if sys.argv[2:] and sys.argv[2].isdigit() else None if sys.argv[2:] else find()[1]
        print(PLUGINS[release] if release in PLUGINS else fail(f"none for {sys.argv[2]}"))
    else:
        program, release = find()
        os.execv(program, [program, f"--load={PLUGINS[release]}", *sys.argv[1:]])
