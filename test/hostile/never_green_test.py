"""Never green without having looked: where sources cannot be analysed, the status is 2, and the remedy is told.

usage: never_green_test.py DEVSAN [unittest options]
"""

import json
import os
import shutil
import tempfile
import unittest

from canary import DEVSAN, HEADERS, Canary, main

SOURCE_ROOT = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
BUG = "#include <torch/torch.h>\nat::Tensor moved(at::Tensor x) {\n  return x.cpu().cuda();\n}\n"


class WithoutTorch(Canary):
    """The program where no LibTorch is near: away from its own environment, with a Python that has none."""

    @classmethod
    def setUpClass(cls):
        cls.folder = tempfile.mkdtemp(prefix="devsan-alone-")
        cls.addClassCleanup(shutil.rmtree, cls.folder)
        tree = os.path.dirname(os.path.dirname(DEVSAN))
        for name in ("bin/devsan", "libexec/devsan-check", "share/devsan/cuda_stubs"):
            source, target = os.path.join(tree, name), os.path.join(cls.folder, name)
            if name.startswith("share") and not os.path.exists(source):
                source = os.path.join(SOURCE_ROOT, "analyzer", "cuda_stubs")
            os.makedirs(os.path.dirname(target), exist_ok=True)
            (shutil.copytree if os.path.isdir(source) else shutil.copy2)(source, target)
        cls.program = os.path.join(cls.folder, "bin", "devsan")
        python = os.path.join(cls.folder, "path", "python3")
        os.makedirs(os.path.dirname(python))
        with open(python, "w", encoding="utf-8") as file:
            file.write("#!/bin/sh\necho\necho\n")
        os.chmod(python, 0o755)
        cls.path = os.path.dirname(python) + ":" + os.environ["PATH"]

    def check(self, sandbox, *arguments, env=None):
        return sandbox.run("check", "--checks=device-bare-cuda", "--no-cache", *arguments, command=[self.program],
                           env={"PATH": self.path, **(env or {})})

    def project(self):
        sandbox = self.sandbox()
        sandbox.write("repo/src/x.cpp", BUG)
        sandbox.write("repo/src/y.cpp", BUG.replace("moved", "other"))
        return sandbox

    def package(self, sandbox, folder):
        """A torch package."""
        sandbox.write(f"{folder}/torch/version.py", "__version__ = '2.13.0'\n")
        sandbox.link(f"{folder}/torch/include/torch/csrc/api/include", HEADERS)
        sandbox.link(f"{folder}/torch/include/c10", os.path.join(HEADERS, "c10"))
        os.mkdir(sandbox.path(f"{folder}/torch/include/ATen"))
        return sandbox.path(f"{folder}/torch")

    def test_nothing_is_there(self):
        sandbox = self.project()
        done = self.check(sandbox, "src")
        self.assertSays(done, 2, "2 files, 2 not analysed", "src/x.cpp: not analysed, LibTorch's headers are missing",
                        "--torch=DIR", "--python=FILE", "error: 2 of 2 files not analysed")
        self.assertSays(self.check(sandbox, "--format=json", "src"), 2, '"partial": true')
        self.assertSays(self.check(sandbox, "--no-strict", "src"), 0, "src/x.cpp: parsed in part")
        self.assertSays(self.check(sandbox, "--torch=none", "src"), 0, "src/x.cpp: parsed in part")

    def test_what_needs_no_torch_is_analysed(self):
        sandbox = self.sandbox()
        sandbox.write("repo/x.cpp", "int f() { return 1; }\n")
        self.assertSays(self.check(sandbox, "."), 0, "1 file: no findings")

    def test_a_header_of_another_release_is_missing(self):
        sandbox = self.project()
        package = self.package(sandbox, "outside/lib/python3.11/site-packages")
        sandbox.write("repo/src/x.cpp", "#include <torch/of_next_year.h>\n" + BUG)
        self.assertSays(self.check(sandbox, f"--torch={package}", "src"), 1,
                        "src/x.cpp: parsed in part, not found: torch/of_next_year.h", "x.cpp:4")

    def test_places_where_torch_is_found(self):
        for name, place, env in (
                ("virtual environment", "outside/env/lib/python3.11/site-packages", {"VIRTUAL_ENV": "{0}/outside/env"}),
                (".venv of the project", "repo/.venv/lib/python3.12/site-packages", {}),
                (".venv above", ".venv/lib/python3.10/site-packages", {}),
                ("Torch_DIR", "outside", {"Torch_DIR": "{0}/outside/torch/share/cmake/Torch"}),
                ("CMAKE_PREFIX_PATH", "outside", {"CMAKE_PREFIX_PATH": "/nowhere:{0}/outside/torch"})):
            with self.subTest(name):
                sandbox = self.project()
                self.package(sandbox, place)
                env = {key: value.format(sandbox.root) for key, value in env.items()}
                self.assertSays(self.check(sandbox, "src", env=env), 1, "x.cpp:3", "y.cpp:3")
        for cache, options in (("repo/build/CMakeCache.txt", ()), ("repo/CMakeCache.txt", ()),
                               ("outside/b/CMakeCache.txt", ("-p", "../outside/b"))):
            with self.subTest(cache):
                sandbox = self.project()
                package = self.package(sandbox, "outside")
                sandbox.write(cache, f"// found\nTorch_DIR:PATH={package}/share/cmake/Torch\n")
                if options:
                    sandbox.write("outside/b/compile_commands.json", "[]")
                self.assertSays(self.check(sandbox, *options, "src"), 1, "x.cpp:3", "y.cpp:3")

    def test_project_files_that_ask_for_green(self):
        sandbox = self.project()
        sandbox.write("repo/.devsan.toml", "[check]\nstrict = false\n")
        self.assertSays(self.check(sandbox, "src"), 2, "2 files, 2 not analysed", "LibTorch's headers are missing")
        sandbox.write("repo/src/x.cpp", "int f( {\n")
        self.assertSays(self.check(sandbox, "src/x.cpp"), 2, "src/x.cpp: not analysed, no function in it could be parsed")
        sandbox = self.project()
        flags = ("--", "-I" + HEADERS)
        for value in ('"none"', '["none"]'):
            sandbox.write("repo/.devsan.toml", f"[check]\nfail-on = {value}\n")
            self.assertSays(self.check(sandbox, "src", *flags), 2, ".devsan.toml:2: 'fail-on'", "--fail-on=none")
        sandbox.write("repo/.devsan.toml", "[check]\nfail-on = [\"error\"]\n")
        note = "'fail-on' of {0} lets 2 findings pass"
        self.assertSays(self.check(sandbox, "src", *flags), 0, note.format(sandbox.path("repo/.devsan.toml")))
        done = self.check(sandbox, "--fail-on=error", "src", *flags)
        self.assertSays(done, 0)
        self.assertNotIn("lets", done.out)

    def test_markers_that_hide_folders(self):
        """One file makes a folder a build or an environment; what is hidden so is named, and is none where git tracks it."""
        for marker in ("pyvenv.cfg", "CMakeCache.txt"):
            with self.subTest(marker):
                sandbox = self.project()
                sandbox.write("repo/other/y.cpp", "int f() { return 1; }\n")
                sandbox.write(f"repo/src/deep/{marker}")
                sandbox.write("repo/src/deep/er/pyvenv.cfg")
                os.rename(sandbox.path("repo/src/x.cpp"), sandbox.path("repo/src/deep/er/x.cpp"))
                sandbox.write("repo/src/y.cpp", "int f() { return 1; }\n")
                note = "src/deep: not analysed: it holds sources, but " + marker
                self.assertSays(self.check(sandbox, "."), 0, "2 files: no findings", note)
                sandbox.git("init", "-q")
                self.assertSays(self.check(sandbox, "."), 0, "2 files: no findings", note)
                sandbox.git("add", ".")
                self.assertSays(self.check(sandbox, "."), 2, note, f"src/deep/{marker}, which git tracks", "exclude")
                self.assertSays(self.check(sandbox, "--format=json", "src"), 2, '"partial": true')
                self.assertSays(self.check(sandbox, "--no-strict", "."), 0, note)
                self.assertSays(self.check(sandbox, "src/deep/er"), 2, "x.cpp: not analysed, LibTorch's headers")
                sandbox.write("repo/.devsan.toml", "[check]\nexclude = [\"src/deep\"]\n")
                done = self.check(sandbox, ".")
                self.assertSays(done, 0, "2 files: no findings")
                self.assertNotIn("not analysed", done.out)
        for folder in ("build", "_build/b", ".venv", "node_modules", "cmake-build-debug", "out/CMakeFiles"):
            for name, text in (("pyvenv.cfg", ""), ("CMakeCache.txt", ""), ("z.cpp", BUG)):
                sandbox.write(f"repo/{folder}/{name}", text)
        sandbox.write("repo/out/CMakeCache.txt")
        sandbox.write("repo/myenv/pyvenv.cfg")
        sandbox.write("repo/myenv/lib/python3.11/site-packages/torch/x.cpp", BUG)
        done = self.check(sandbox, ".")
        self.assertSays(done, 0, "2 files: no findings")
        self.assertNotIn("not analysed", done.out)

    def test_reports_that_cannot_be_written(self):
        """A full disk is no finding and no absence of findings."""
        sandbox = self.project()
        for options in ((), ("--fix=dry-run",), ("--print-commands",), ("--format=json",), ("--fail-on=none",)):
            with self.subTest(options):
                command = ["/bin/sh", "-c", 'exec "$0" check --checks=device-bare-cuda --no-cache "$@" >/dev/full', self.program]
                done = sandbox.run(*options, "src", "--", "-I" + HEADERS, command=command, env={"PATH": self.path})
                self.assertSays(done, 2, "stdout")

    def test_a_new_file_takes_torch_from_the_others(self):
        for option in ("-I", "-isystem ", "-isystem"):
            with self.subTest(option):
                sandbox = self.project()
                package = self.package(sandbox, "outside")
                include = f"{option}{package}/include {option}{package}/include/torch/csrc/api/include"
                entry = {"directory": sandbox.repo, "file": "src/x.cpp", "command": f"c++ {include} -c src/x.cpp"}
                sandbox.write("repo/build/compile_commands.json", json.dumps([entry]))
                done = self.check(sandbox, "-p", "build", "src")
                self.assertSays(done, 1, "x.cpp:3", "y.cpp:3", "src/y.cpp: not in compile_commands.json")

    def test_python_that_is_named(self):
        sandbox = self.project()
        done = self.check(sandbox, "--python=/bin/true", "src")
        self.assertSays(done, 2, "--python=/bin/true: it has no torch package", "--torch=DIR")
        package = self.package(sandbox, "outside")
        python = sandbox.write("outside/python", f"#!/bin/sh\necho {package}\necho /nowhere\n", 0o755)
        self.assertSays(self.check(sandbox, f"--python={python}", "src"), 1, "x.cpp:3", "y.cpp:3")


if __name__ == "__main__":
    main()
