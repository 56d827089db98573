"""devsan_enable_checks() of cmake/DevSanChecks.cmake, on a small project with the mock of LibTorch's headers.

usage: enable_checks_test.py SOURCE BUILD [unittest options]
"""

import os
import shutil
import subprocess
import sys
import tempfile
import unittest
from pathlib import Path

SOURCE, BUILD = Path(sys.argv.pop(1)).resolve(), Path(sys.argv.pop(1)).resolve()
BUG = "x.cuda() * weight"
FIXED = "x.to(weight.device()) * weight"
CODE = """\
#include <torch/torch.h>
#include "generated.h"
torch::Tensor scale(torch::Tensor x, const torch::Tensor &weight) {
  return %s;
}
"""
PROJECT = """\
cmake_minimum_required(VERSION 3.25)
project(example LANGUAGES C CXX)
include("%s/cmake/DevSanChecks.cmake")
add_custom_command(OUTPUT generated.h COMMAND "${CMAKE_COMMAND}" -E touch generated.h)
add_library(scale OBJECT plain.c "${CMAKE_CURRENT_BINARY_DIR}/generated.h")
target_sources(scale PRIVATE "$<1:src/scale.cpp>")
target_compile_features(scale PRIVATE cxx_std_20)
target_include_directories(scale SYSTEM PRIVATE "%s/analyzer/testing/mock")
target_include_directories(scale PRIVATE "${CMAKE_CURRENT_BINARY_DIR}")
%%s
""" % (SOURCE, SOURCE)
TIDY = shutil.which("clang-tidy-22", path=os.environ["PATH"] + ":/usr/lib/llvm-22/bin")
COMPILER = shutil.which("clang++-22", path=os.environ["PATH"] + ":/usr/lib/llvm-22/bin") or "c++"


class EnableChecks(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        folder = tempfile.TemporaryDirectory(prefix="devsan-enable-checks-")
        cls.addClassCleanup(folder.cleanup)
        cls.folder = Path(folder.name).resolve()
        (cls.folder / "src").mkdir()
        (cls.folder / "plain.c").write_text("int plain;\n")
        (cls.folder / ".devsan.toml").touch()  # what paths in baselines are relative to
        cls.source = cls.folder / "src/scale.cpp"
        cls.environment = {**os.environ, "XDG_CACHE_HOME": str(cls.folder / "cache")}
        cls.environment.pop("CLICOLOR_FORCE", None)

    def setUp(self):
        self.source.write_text(CODE % BUG)

    def cmake(self, *arguments, status=0):
        result = subprocess.run(["cmake", *map(str, arguments)], cwd=self.folder, env=self.environment, text=True,
                                stdout=subprocess.PIPE, stderr=subprocess.STDOUT, timeout=300)
        self.assertEqual(result.returncode != 0, status != 0, result.stdout)
        return result.stdout

    def configure(self, call, *options, generator="Ninja", status=0, devsan=BUILD / "bin/devsan"):
        self.build_folder = generator.replace(" ", "-")  # each asks what the compiler can once
        (self.folder / "CMakeLists.txt").write_text(PROJECT % call)
        text = self.cmake("-S", ".", "-B", self.build_folder, "-G", generator, f"-DCMAKE_CXX_COMPILER={COMPILER}",
                          f"-DDEVSAN_EXECUTABLE={devsan}", "-DCMAKE_COLOR_DIAGNOSTICS=OFF", *options, status=status)
        return " ".join(text.split())  # CMake breaks the lines of its errors

    def build(self, target="all", status=0):
        return self.cmake("--build", self.build_folder, "--target", target, status=status)

    def test_a_finding_breaks_the_check_and_fixed_code_passes(self):
        self.configure("devsan_enable_checks(scale)")
        self.build()  # without the check
        for target in ("scale_devsan_check", "all_devsan_check"):
            text = self.build(target, status=1)
            self.assertIn(f"{self.source}:4:12: warning: 'x' goes to the current cuda device", text)
            self.assertIn("[device-bare-cuda]", text)
            self.assertIn("device bugs in scale", text)
            self.assertIn("devsan check: failed because of 1 warning: 1 file: 1 finding", text)
            self.assertNotIn("parsed in part", text)  # the header was generated
            self.assertNotIn("not in compile_commands.json", text)
        self.source.write_text(CODE % FIXED)
        self.assertIn("devsan check: passed: 1 file: no findings", self.build("all_devsan_check"))

    def test_the_check_is_part_of_every_build_with_all(self):
        self.configure("devsan_enable_checks(scale ALL)", generator="Unix Makefiles")
        self.assertIn("[device-bare-cuda]", self.build(status=1))
        self.source.write_text(CODE % FIXED)
        self.build()

    def test_options_are_those_of_the_check(self):
        self.configure("devsan_enable_checks(scale FAIL_ON error device-host-sync)")
        self.assertIn("[device-bare-cuda]", self.build("all_devsan_check"))
        self.configure("devsan_enable_checks(scale FAIL_ON device-bare-cuda)")
        self.build("all_devsan_check", status=1)
        self.configure("devsan_enable_checks(scale CHECKS device-* -device-bare-cuda)")
        self.assertIn("no findings", self.build("all_devsan_check"))
        (self.folder / "known.toml").write_text('device-bare-cuda = "function:scale"\n')
        self.configure("devsan_enable_checks(scale SUPPRESSIONS known.toml)")
        self.assertIn("no findings, 1 suppressed", self.build("all_devsan_check"))
        subprocess.run([BUILD / "bin/devsan", "check", "-p", "Ninja", "--baseline=known.json", "--update-baseline", self.source],
                       cwd=self.folder, env=self.environment, capture_output=True, timeout=60)
        self.configure("devsan_enable_checks(scale BASELINE known.json)")
        self.assertIn("1 known from the baseline", self.build("all_devsan_check"))
        self.source.write_text("#include <no/such/header.h>\n" + CODE % FIXED)
        self.configure("devsan_enable_checks(scale STRICT)\n"
                       "set_source_files_properties(src/scale.cpp PROPERTIES HEADER_FILE_ONLY ON)")
        self.assertIn("ended with 2", self.build("all_devsan_check", status=1))

    def test_each_folder_may_include_it(self):
        for name in "ab":
            (self.folder / name).mkdir()
            (self.folder / name / "scale.cpp").write_text((CODE % BUG).replace('#include "generated.h"', ""))
            (self.folder / name / "CMakeLists.txt").write_text(
                f'include("{SOURCE}/cmake/DevSanChecks.cmake")\nadd_library({name} OBJECT scale.cpp)\n'
                f'target_include_directories({name} SYSTEM PRIVATE "{SOURCE}/analyzer/testing/mock")\n'
                f"devsan_enable_checks({name})\n")
        self.configure("add_subdirectory(a)\nadd_subdirectory(b)")
        for name in "ab":
            self.assertIn("[device-bare-cuda]", self.build(f"{name}_devsan_check", status=1))

    def test_devsan_may_be_part_of_the_build(self):
        self.configure(f'add_executable(devsan IMPORTED)\nset_target_properties(devsan PROPERTIES IMPORTED_LOCATION "{BUILD}/bin/devsan")\n'
                       "devsan_enable_checks(scale)", devsan="")
        self.assertIn("[device-bare-cuda]", self.build("scale_devsan_check", status=1))

    def test_colours_are_those_that_cmake_is_told(self):
        self.configure("devsan_enable_checks(scale)", "-DCMAKE_COLOR_DIAGNOSTICS=ON")
        self.assertIn("\x1b[1m", self.build("all_devsan_check", status=1))

    def test_what_is_wrong_is_named(self):
        for call, message in (
                ("devsan_enable_checks()", "name the targets to check"),
                ("devsan_enable_checks(scale FAIL_ON)", "FAIL_ON needs a value"),
                ("devsan_enable_checks(scales)", "'scales' is neither a target nor an option; valid options: ALL, CHECKS"),
                ("devsan_enable_checks(scale CLANG_TIDY x)", "CLANG_TIDY is for PLUGIN only"),
                ("devsan_enable_checks(scale PLUGIN BASELINE x)", "BASELINE is not for PLUGIN"),
                ("devsan_enable_checks(scale scale)", "scale is checked already"),
                ("add_library(i INTERFACE)\ndevsan_enable_checks(i)", "nothing of i is compiled here"),
                ("add_library(a ALIAS scale)\ndevsan_enable_checks(a)", "a is an alias; write scale"),
                ("devsan_enable_checks(scale PLUGIN FAIL_ON warning)", "with PLUGIN name rules, or none"),
                ("devsan_enable_checks(scale PLUGIN CLANG_TIDY /no/tidy)", "CLANG_TIDY /no/tidy: not found"),
                ("devsan_enable_checks(scale PLUGIN CLANG_TIDY true)", "names no release of LLVM: is it clang-tidy?")):
            with self.subTest(call=call):
                if "warning" in call and not TIDY:
                    continue
                self.assertIn(message, self.configure(call, status=1))
        self.assertIn("/no/devsan does not exist", self.configure("devsan_enable_checks(scale)", devsan="/no/devsan", status=1))
        lone = self.folder / "bin/devsan"
        lone.parent.mkdir()
        shutil.copy(BUILD / "bin/devsan", lone)
        self.assertRegex(self.configure("devsan_enable_checks(scale)", devsan=lone, status=1),
                         r"check` does not work \(2\): .*cannot execute .*devsan-check")

    def test_a_lost_database_is_named(self):
        self.configure("devsan_enable_checks(scale)")
        (self.folder / "Ninja/compile_commands.json").unlink()
        self.assertIn("no compile_commands.json", " ".join(self.build("all_devsan_check", status=1).split()))

    @unittest.skipUnless(TIDY and (BUILD / "lib/libDevSanTidy.so").exists(), "needs clang-tidy-22 and its plugin")
    def test_plugin(self):
        tidy = self.folder / ".clang-tidy"
        self.addCleanup(tidy.unlink)
        tidy.write_text("Checks: '-*,misc-unused-parameters'\n")
        self.configure(f'devsan_enable_checks(scale PLUGIN CLANG_TIDY "{TIDY}")')
        self.assertIn("[device-bare-cuda,-warnings-as-errors]", self.build(status=1))
        self.configure("devsan_enable_checks(scale PLUGIN FAIL_ON none)")
        self.assertIn("[device-bare-cuda]", self.build())
        # A clang-tidy of the project's own keeps its checks.
        self.source.write_text(CODE % BUG + "int f(int unused) { return 1; }\n")
        self.configure(f'set_target_properties(scale PROPERTIES CXX_CLANG_TIDY "{TIDY};--quiet")\n'
                       f'devsan_enable_checks(scale PLUGIN FAIL_ON none CLANG_TIDY "{TIDY}")')
        text = self.build()
        self.assertIn("[device-bare-cuda]", text)
        self.assertIn("[misc-unused-parameters]", text)
        own = "--checks=-*,misc-unused-parameters;--warnings-as-errors=misc-*"
        self.configure(f'set_target_properties(scale PROPERTIES CXX_CLANG_TIDY "{TIDY};{own}")\n'
                       f'devsan_enable_checks(scale PLUGIN FAIL_ON device-host-sync CLANG_TIDY "{TIDY}")')
        text = self.build(status=1)
        self.assertIn("[device-bare-cuda]", text)
        self.assertIn("[misc-unused-parameters,-warnings-as-errors]", text)
        self.source.write_text(CODE % FIXED)
        self.assertNotIn("warning:", self.build())


if __name__ == "__main__":
    unittest.main()
