"""DevSan's checks as a plugin of clang-tidy, on a small project with the mock of LibTorch's headers: settings in
.clang-tidy, NOLINT, --fix, clang-tidy-diff, run-clang-tidy, CMake, and a plugin that is not loaded. Each is tried with
every clang-tidy that is installed and has a plugin.
"""

import json
import os
import re
import shutil
import subprocess
import sys
import tempfile
import unittest
import zipfile
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
BUILD = ROOT / "build"
PATH = os.pathsep.join([os.environ["PATH"], "/usr/lib/llvm-22/bin"])
SOURCE = """#include <torch/torch.h>

torch::Tensor scale(torch::Tensor x, const torch::Tensor &weight) {
  return x.cuda() * weight;
}
torch::Tensor meant(torch::Tensor x, const torch::Tensor &weight) {
  return x.cuda() * weight; // NOLINT(device-bare-cuda): one GPU per process
}
double total(const std::vector<torch::Tensor> &parts) {
  double sum = 0;
  for (const torch::Tensor &part : parts)
    sum += part.item<double>();
  return sum;
}
"""


def releases():
    for library in sorted((BUILD / "lib").glob("libDevSanTidy*.so")):
        release = library.stem.removeprefix("libDevSanTidy") or "22"
        if program := shutil.which(f"clang-tidy-{release}", path=PATH):
            yield release, program, library


class ClangTidy(unittest.TestCase):
    def setUp(self):
        self.folder = Path(tempfile.mkdtemp(prefix="devsan-clang-tidy-"))
        self.addCleanup(shutil.rmtree, self.folder)
        self.source = self.folder / "scale.cpp"
        self.source.write_text(SOURCE)
        (self.folder / ".clang-tidy").write_text("Checks: '-*,device-*,-device-host-sync'\n")
        self.flags = ["-std=c++20", "-isystem", str(ROOT / "analyzer/testing/mock")]
        database = [{"directory": str(self.folder), "file": str(self.source),
                     "arguments": ["clang++", *self.flags, "-c", str(self.source)]}]
        (self.folder / "compile_commands.json").write_text(json.dumps(database))

    def run_command(self, *command, text=None):
        result = subprocess.run(list(map(str, command)), cwd=self.folder, input=text, capture_output=True, text=True,
                                env=dict(os.environ, PATH=PATH), timeout=300)
        return result.returncode, result.stdout + result.stderr

    def each(self):
        for release, program, library in releases():
            with self.subTest(release=release):
                self.setUp()
                yield release, program, library

    def test_settings_and_nolint(self):
        for _, program, library in self.each():
            status, out = self.run_command(program, f"--load={library}", "-p", self.folder, self.source)
            self.assertEqual(status, 0, out)
            self.assertIn("scale.cpp:4:12: warning: 'x' goes to the current cuda device", out)
            self.assertEqual(out.count("[device-"), 1, out)  # neither the rule that is off nor the place with NOLINT
            (self.folder / ".clang-tidy").write_text("Checks: '-*,device-host-sync'\nWarningsAsErrors: 'device-*'\n")
            status, out = self.run_command(program, f"--load={library}", "-p", self.folder, self.source)
            self.assertNotEqual(status, 0, out)
            self.assertIn("scale.cpp:12:17: error:", out)
            self.assertIn("[device-host-sync,-warnings-as-errors]", out)
            self.assertEqual(out.count("[device-"), 1, out)

    def test_fix(self):
        for _, program, library in self.each():
            self.run_command(program, f"--load={library}", "-p", self.folder, "--fix", self.source)
            text = self.source.read_text()
            self.assertIn("  return x.to(weight.device()) * weight;\n", text)
            self.assertIn("  return x.cuda() * weight; // NOLINT", text)

    def test_only_what_a_change_touches(self):
        for release, program, library in self.each():
            script = shutil.which(f"clang-tidy-diff-{release}.py", path=PATH)
            if not script:
                self.skipTest("clang-tidy-diff is not installed (apt-get install clang-tidy)")
            diff = "--- a/scale.cpp\n+++ b/scale.cpp\n@@ -{0},0 +{0},1 @@\n+{1}\n"
            for line, count in ((4, 1), (1, 0)):
                text = diff.format(line, SOURCE.splitlines()[line - 1])
                _, out = self.run_command(sys.executable, script, "-p1", "-path", self.folder, "-clang-tidy-binary", program,
                                          "-load", library, text=text)
                self.assertEqual(out.count("[device-bare-cuda]"), count, out)

    def test_whole_database(self):
        for release, program, library in self.each():
            script = shutil.which(f"run-clang-tidy-{release}", path=PATH)
            if not script:
                self.skipTest("run-clang-tidy is not installed (apt-get install clang-tidy)")
            _, out = self.run_command(sys.executable, os.path.realpath(script), "-p", self.folder, "-quiet",
                                      "-clang-tidy-binary", program, "-load", library)
            self.assertEqual(out.count("[device-bare-cuda]"), 1, out)

    def test_one_line_of_cmake(self):
        for _, program, library in self.each():
            self.try_cmake(f'set(CMAKE_CXX_CLANG_TIDY "{program};--load={library}")')

    def try_cmake(self, line):
        (self.folder / "CMakeLists.txt").write_text(
            "cmake_minimum_required(VERSION 3.25)\nproject(example LANGUAGES CXX)\nset(CMAKE_CXX_STANDARD 20)\n"
            f"{line}\n"
            "add_library(scale OBJECT scale.cpp)\n"
            f'target_include_directories(scale SYSTEM PRIVATE "{ROOT}/analyzer/testing/mock")\n')
        status, out = self.run_command("cmake", "-S", ".", "-B", "build", "-G", "Ninja",
                                       "-DCMAKE_CXX_COMPILER=clang++-22")
        self.assertEqual(status, 0, out)
        status, out = self.run_command("cmake", "--build", "build")
        self.assertEqual(status, 0, out)
        self.assertEqual(out.count("[device-bare-cuda]"), 1, out)

    def test_commands_of_the_page(self):
        """As docs/clang-tidy.md has them, in a project without .clang-tidy."""
        page = (ROOT / "docs/clang-tidy.md").read_text()
        commands = [command.replace("\\|", "|") for command in re.findall(r"`([^`\n]*(?:-tidy-diff-22|run-clang-tidy-22)[^`\n]*)`", page)]
        commands += [command.strip() for command in re.findall(r"^    ((?:run-|devsan-)?clang-tidy\S* .*)$", page, re.M)]
        self.assertEqual(len(commands), 7, commands)
        cmake = re.search(r"`(set\(CMAKE_CXX_CLANG_TIDY .*?)`", page)[1]
        for release, program, library in self.each():
            if not shutil.which(f"clang-tidy-diff-{release}.py", path=PATH) or not shutil.which(f"run-clang-tidy-{release}", path=PATH):
                self.skipTest("clang-tidy's scripts are not installed (apt-get install clang-tidy)")
            (self.folder / ".clang-tidy").unlink()
            (self.folder / "build").mkdir()
            shutil.move(self.folder / "compile_commands.json", self.folder / "build")
            (self.folder / "src").symlink_to(".")
            (self.folder / "bin").mkdir()
            self.package(self.folder / "bin", program)
            for words in (["init", "-q"], ["add", "-A"], ["commit", "-qm", "1"], ["commit", "-qm", "2", "--allow-empty"]):
                self.run_command("git", "-c", "user.name=a", "-c", "user.email=a@b", *words)
                if words[-1] == "1":
                    self.source.write_text(SOURCE.replace("  return x.cuda() * weight;\n", "  return x.cuda() + weight;\n"))
                    self.run_command("git", "add", "-A")
            # The page is about release 22.
            for name, tool in (("clang-tidy-22", program), ("run-clang-tidy-22", f"{sys.executable} {shutil.which(f'run-clang-tidy-{release}', path=PATH)}"),
                               ("clang-tidy-diff-22.py", f"{sys.executable} {shutil.which(f'clang-tidy-diff-{release}.py', path=PATH)}")):
                (self.folder / "bin" / name).write_text(f'#!/bin/sh\nexec {tool} "$@"\n')
                (self.folder / "bin" / name).chmod(0o755)
            for command in commands:
                command = command.replace("/path/to/lib/libDevSanTidy.so", str(library))
                status, out = self.run_command("bash", "-c", f"PATH={self.folder}/bin:$PATH\n{command}")
                wanted = "device-bare-cuda" if "--verify-config" not in command else "No config errors"
                self.assertIn(wanted, out, command)
                self.assertNotIn("no checks enabled", out, command)
            self.try_cmake(cmake.replace("/path/to/lib/libDevSanTidy.so", str(library)).replace("clang-tidy-22", program))

    def package(self, folder, program):
        """The command of the wheel, in `folder`, for this clang-tidy."""
        made = self.folder / "package"
        subprocess.run([sys.executable, "-B", ROOT / "script/lib/plugin_wheel.py", "--build", BUILD, "--out", made], check=True)
        [wheel] = made.glob("*.whl")
        with zipfile.ZipFile(wheel) as archive:
            archive.extractall(made)
        command = folder / "devsan-clang-tidy"
        command.write_text(f"#!/bin/sh\nCLANG_TIDY={program} PYTHONPATH={made} exec {sys.executable} -Bc 'import devsan_clang_tidy; "
                           "devsan_clang_tidy.main()' \"$@\"\n")
        command.chmod(0o755)

    def test_the_package(self):
        releases_ = list(releases())
        for release, program, _ in self.each():
            self.package(self.folder, program)
            status, out = self.run_command(self.folder / "devsan-clang-tidy", "-p", self.folder, self.source)
            self.assertEqual((status, out.count("[device-bare-cuda]")), (0, 1), out)
            _, out = self.run_command(self.folder / "devsan-clang-tidy", "--plugin")
            self.assertTrue(out.strip().endswith(f"/libDevSanTidy{release}.so"), out)
            for other, _, _ in releases_:
                _, out = self.run_command(self.folder / "devsan-clang-tidy", "--plugin", other)
                self.assertTrue(os.path.exists(out.strip()), out)
            self.assertIn("error: none for 3; there are plugins for clang-tidy ", self.run_command(self.folder / "devsan-clang-tidy", "--plugin", 3)[1])
        fake = self.folder / "clang-tidy-3"
        fake.write_text("#!/bin/sh\necho LLVM version 3.1.4\n")
        fake.chmod(0o755)
        self.package(self.folder, fake)
        status, out = self.run_command(self.folder / "devsan-clang-tidy", self.source)
        self.assertEqual(status, 1)
        self.assertIn(f"error: {fake} is of release 3; there are plugins for clang-tidy ", out)

    def test_a_plugin_that_does_not_load_is_noticed(self):
        programs = list(releases())
        for release, program, library in self.each():
            _, out = self.run_command(program, f"--load={library}", "--verify-config")
            self.assertNotIn("unknown check", out)
            _, out = self.run_command(program, "--load=/nowhere.so", "--verify-config")
            self.assertIn("load request ignored", out)
            self.assertIn("unknown check", out)
            # A plugin of another release would crash; it refuses.
            for other_release, _, other in programs:
                if other_release != release:
                    status, out = self.run_command(program, f"--load={other}", "--checks=-*,device-*", "--list-checks")
                    self.assertEqual(status, 1, out)
                    self.assertIn(f"is for clang-tidy {other_release}", out)

    def test_doctor_asks_each(self):
        devsan = BUILD / "bin/devsan"
        _, out = self.run_command(devsan, "doctor")
        for release, _, library in releases():
            self.assertRegex(out, rf"clang-tidy +ok +clang-tidy-{release} of release {release} lists \d+ checks of {library.name}")


if __name__ == "__main__":
    if len(sys.argv) > 2 and sys.argv[1] == "--build":
        BUILD = Path(sys.argv[2])
        del sys.argv[1:3]
    if not list(releases()):
        print("no clang-tidy with a plugin is installed; apt-get install clang-tidy-22, then build again")
        sys.exit(77)
    unittest.main()
