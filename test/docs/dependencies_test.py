"""docs/dependencies.md names what script/bootstrap and script/docs install, and what comes into a program needs nothing else.

usage: dependencies_test.py BUILD [unittest options]
"""

import re
import subprocess
import sys
import unittest
from pathlib import Path

BUILD = Path(sys.argv.pop(1))
ROOT = Path(__file__).resolve().parents[2]
LIBC = {"libc.so.6", "libm.so.6", "ld-linux-x86-64.so.2", "libpthread.so.0", "libdl.so.2"}  # the last two apart before glibc 2.34
LIBTORCH = {"libtorch_cpu.so", "libc10.so"}
COMPILER = {"libstdc++.so.6", "libgcc_s.so.1"}


def words(script, variable):
    return re.search(rf"^{variable}=\((.*?)\)", script, re.M | re.S)[1].split()


def requirements(path):
    return [re.split("[=<>~]", line)[0] for line in (ROOT / path).read_text().split()]


def needed(path):
    dynamic = subprocess.run(["readelf", "-d", path], capture_output=True, text=True, check=True).stdout
    return set(re.findall(r"NEEDED.*\[(.*)\]", dynamic))


class Dependencies(unittest.TestCase):
    def test_the_page_names_what_is_installed(self):
        page = set(re.findall("`([^`]+)`", (ROOT / "docs/dependencies.md").read_text(encoding="utf-8")))
        bootstrap = (ROOT / "script/bootstrap").read_text(encoding="utf-8")
        installed = words(bootstrap, "PACKAGES") + words(bootstrap, "OPTIONAL_PACKAGES")
        installed += requirements("script/lib/pins/bootstrap.in") + requirements("script/lib/pins/docs.in")
        self.assertGreater(len(installed), 40)
        self.assertEqual([name for name in installed if name not in page], [])

    def test_what_comes_into_a_program_needs_its_libtorch_alone(self):
        self.assertLessEqual(needed(BUILD / "lib/libdevsan_preload.so"), LIBC)
        for name in ("runtime", "sim"):
            self.assertLessEqual(needed(BUILD / f"lib/libdevsan_{name}.so"), LIBC | LIBTORCH | COMPILER, name)

    def test_the_commands_need_libc_alone(self):
        for name in ("bin/devsan", "libexec/devsan-check", "libexec/devsan-symbolize"):
            self.assertLessEqual(needed(BUILD / name), LIBC, name)


if __name__ == "__main__":
    unittest.main()
