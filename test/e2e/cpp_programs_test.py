"""C++ programs run simulated however they are built: the same output and status, and no wait of theirs is missed.

usage: cpp_programs_test.py DEVSAN LIBTORCH
  LIBTORCH   the folder of the wheel's package torch
"""

import concurrent.futures
import json
import os
import shutil
import subprocess
import sys
import tempfile
import unittest
from pathlib import Path

DEVSAN, TORCH = (os.path.abspath(path) for path in sys.argv[1:3])
SOURCE = Path(__file__).with_name("cpp_program.cpp")
INCLUDES = ["-isystem", f"{TORCH}/include", "-isystem", f"{TORCH}/include/torch/csrc/api/include"]
LIBRARIES = [f"-L{TORCH}/lib", f"-Wl,-rpath,{TORCH}/lib", "-ltorch", "-ltorch_cpu", "-lc10"]
LOADER = r"""
#include <dlfcn.h>
#include <stdio.h>
int main(int count, char **arguments) {
  void *library = dlopen(arguments[1], RTLD_NOW | RTLD_LOCAL);
  if (!library) { puts(dlerror()); return 99; }
  return ((int (*)(const char *))dlsym(library, "runProgram"))(arguments[2]);
}
"""
# By name: the compilers, of which the first that is there counts, and how the program is compiled and linked.
GCC, CLANG = ["g++-11", "g++-12", "g++"], ["clang++-22", "clang++"]
WAYS = {
    "as g++ does it": (GCC, ["-O2"], []),
    "stripped": (GCC, ["-O2"], ["-s"]),
    "with its own C++ library": (GCC, ["-O2"], ["-static-libstdc++", "-static-libgcc"]),
    "for debugging": (GCC, ["-O0", "-g"], []),
    "at a fixed address": (GCC, ["-O3", "-fno-pie"], ["-no-pie"]),
    "a library that is opened": (GCC, ["-O2", "-g", "-fPIC"], ["-shared"]),
    "as clang does it, with lines alone": (CLANG, ["-O2", "-g1"], []),
    "stripped by clang": (CLANG, ["-O2", "-g1"], ["-s"]),
}
WAITS = {"train": 5, "threads": 12, "serve": 6, "script": 4}
STEPS = {"train": 5}
STATUS = {"serve": 3}  # a program that fails is told as one whose end was not seen


def compiler_of(names):
    return next(filter(None, map(shutil.which, names)))


class CppPrograms(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        folder = tempfile.TemporaryDirectory()
        cls.addClassCleanup(folder.cleanup)
        cls.folder = Path(folder.name)
        cls.loader = cls.folder / "loader"
        (cls.folder / "loader.c").write_text(LOADER)
        subprocess.run(["cc", cls.folder / "loader.c", "-ldl", "-o", cls.loader], check=True)
        ways = {name: ((compiler_of(names), *options), links) for name, (names, options, links) in WAYS.items()}
        compiled = {way for way, _ in ways.values()}
        with concurrent.futures.ThreadPoolExecutor(os.cpu_count()) as pool:
            objects = dict(zip(compiled, pool.map(cls.compile, compiled, range(len(compiled)))))
        cls.programs = {name: cls.link(name, way[0], objects[way], links) for name, (way, links) in ways.items()}

    @classmethod
    def compile(cls, way, number):
        made = cls.folder / f"{number}.o"
        subprocess.run([*way, "-std=c++20", "-w", *INCLUDES, "-c", SOURCE, "-o", made], check=True)
        return made

    @classmethod
    def link(cls, name, compiler, made, links):
        program = cls.folder / name.replace(" ", "_")
        subprocess.run([compiler, made, *links, *LIBRARIES, "-pthread", "-o", program], check=True)
        return [cls.loader, program] if "-shared" in links else [program]

    def run_simulated(self, program, what):
        report = self.folder / "report.json"
        result = subprocess.run([DEVSAN, "run", "--sim=2", "--fail-on=none", "--quiet", f"--report={report}", "--", *program, what],
                                capture_output=True, text=True, timeout=300)
        return result, json.loads(report.read_text())

    def test_each_program_built_in_each_way(self):
        for way, program in self.programs.items():
            for what, waits in WAITS.items():
                with self.subTest(way=way, what=what):
                    plain = subprocess.run([*program, what], capture_output=True, text=True, timeout=300)
                    self.assertEqual(plain.returncode, STATUS.get(what, 0), plain.stderr)
                    result, report = self.run_simulated(program, what)
                    self.assertEqual((result.stdout, result.returncode), (plain.stdout, plain.returncode), result.stderr)
                    self.assertEqual(report["summary"]["partial"], what in STATUS, report["summary"])
                    found = [finding for finding in report["findings"] if finding["rule"] == "device-host-sync"]
                    self.assertEqual(sum(finding["count"] for finding in found), waits, found)
                    self.assertEqual(report["summary"]["cost"]["steps"], STEPS.get(what, 0))


if __name__ == "__main__":
    unittest.main(argv=sys.argv[:1] + sys.argv[3:])
