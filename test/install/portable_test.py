"""The products ask for no younger symbols than manylinux_2_28 has, so that they run on old systems: glibc 2.28, GCC 8.

usage: portable_test.py READELF BUILD
"""

import re
import subprocess
import sys
import tempfile
import unittest
from pathlib import Path

READELF, BUILD = sys.argv[1], Path(sys.argv[2])
del sys.argv[1:]
LIMITS = {"GLIBC": (2, 28), "GLIBCXX": (3, 4, 24), "CXXABI": (1, 3, 11), "GCC": (7, 0, 0)}
UNDEFINED = re.compile(r" UND (\S+?)@([A-Z]+)_([\d.]+)", re.MULTILINE)


def products():
    found = [BUILD / "bin/devsan", *(BUILD / "libexec").iterdir(), *(BUILD / "lib").rglob("*.so*"), *(BUILD / "python").rglob("*.so")]
    return [path for path in found if path.is_file() and not path.is_symlink()]


class Portable(unittest.TestCase):
    def test_symbols(self):
        checked = 0
        for path in products():
            listed = subprocess.run([READELF, "-W", "--dyn-syms", path], capture_output=True, text=True, check=True).stdout
            needed = UNDEFINED.findall(listed)
            checked += len(needed)
            young = [f"{name}@{kind}_{number}" for name, kind, number in needed if tuple(map(int, number.split("."))) > LIMITS.get(kind, (999,))]
            with self.subTest(path.relative_to(BUILD)):
                self.assertEqual(young, [])
        self.assertGreater(len(products()), 10)
        self.assertGreater(checked, 700)

    def test_are_linked_again_with_other_stubs(self):
        if not (BUILD / "build.ninja").exists():
            self.skipTest("no build of Ninja's")
        for product in ("bin/devsan", "lib/libdevsan_sim.so", "lib/libdevsan_preload.so"):
            inputs = subprocess.run(["ninja", "-C", BUILD, "-t", "inputs", product], capture_output=True, text=True, check=True).stdout
            self.assertIn("portable/libc.so.6\n", inputs, product)

    def test_a_stub_is_one_that_was_linked(self):
        with tempfile.TemporaryDirectory(prefix="devsan-stubs-") as folder:
            library = subprocess.run(["cc", "-print-file-name=libm.so.6"], capture_output=True, text=True, check=True).stdout.strip()

            def make(compiler):
                script = Path(__file__).resolve().parents[2] / "cmake/portable/stubs.py"
                return subprocess.run([sys.executable, "-B", script, READELF, compiler, folder, f"libm.so.6={library}"], capture_output=True).returncode

            self.assertEqual(make("cc"), 0)
            time = (Path(folder) / "libm.so.6").stat().st_mtime_ns
            self.assertEqual(make("cc"), 0)
            self.assertEqual((Path(folder) / "libm.so.6").stat().st_mtime_ns, time)
            for _ in range(2):
                self.assertNotEqual(make("false"), 0)
                self.assertFalse((Path(folder) / "libm.so.6").exists())
            self.assertEqual(make("cc"), 0)
            self.assertEqual(sorted(path.name for path in Path(folder).iterdir()), ["libm.so.6", "libm.so.6.map", "libm.so.6.s"])

    def test_programs_start(self):
        """With their constructors run: options register themselves by these."""
        for path in (BUILD / "bin/devsan", BUILD / "libexec/devsan-check"):
            ended = subprocess.run([path, "--help"], capture_output=True, text=True, check=False)
            self.assertEqual(ended.returncode, 0, f"{path}: {ended.stderr}")
            self.assertIn("--", ended.stdout)


unittest.main()
