"""Guarantee 1: checking executes nothing of the checked tree or what lies above it.

usage: executes_nothing_test.py DEVSAN [unittest options]
"""

import json
import os
import shutil
import signal
import subprocess
import sys
import time

from canary import DEVSAN, HEADERS, Canary, main

COMPILER = shutil.which("cc") or shutil.which("clang") or shutil.which("clang-22")

BUG = """#include <torch/torch.h>
at::Tensor moved(at::Tensor x) {
  return x.cpu().cuda();
}
"""
FOUND = "[device-bare-cuda]"
CHECK = ("check", "--checks=device-bare-cuda", "--no-cache")
WITH_HEADERS = ("--", "-I" + HEADERS)


class Checking(Canary):
    def repository(self):
        sandbox = self.sandbox()
        sandbox.write("repo/x.cpp", BUG)
        return sandbox

    def library(self, sandbox, name):
        """A shared library that leaves a canary where anybody loads it."""
        if not COMPILER:
            self.skipTest("no C compiler: install one to try libraries")
        source = sandbox.write("library.c", f"""
            #include <fcntl.h>
            #include <unistd.h>
            __attribute__((constructor)) static void loaded(void) {{
              close(open("{sandbox.canary(name)}", O_CREAT | O_WRONLY, 0600));
            }}""")
        path = sandbox.path(name)
        os.makedirs(os.path.dirname(path), exist_ok=True)
        subprocess.run([COMPILER, "-shared", "-fPIC", "-o", path, source], check=True)
        return path

    def test_the_traps_work(self):
        sandbox = self.repository()
        sandbox.trap("repo/tool")
        with self.assertRaisesRegex(AssertionError, "was executed"):
            sandbox.run(command=[sandbox.path("repo/tool")])
        sandbox = self.repository()
        library = self.library(sandbox, "repo/evil.so")
        with self.assertRaisesRegex(AssertionError, "was executed"):
            sandbox.run(command=["/bin/true"], env={"LD_PRELOAD": library})

    def test_environments_of_the_repository(self):
        """Whatever lies where an interpreter could lie, with and without --torch, from inside and from above."""
        for place, cwd in (("repo", "repo"), ("repo", "."), ("repo/src/deep", "repo/src/deep"), (".", "repo")):
            with self.subTest(place=place, cwd=cwd):
                sandbox = self.sandbox()
                file = sandbox.write(f"{place if place != '.' else 'repo'}/x.cpp", BUG)
                for folder in (".venv", "venv", "env", ".tox/py311", "build/.venv"):
                    for name in ("python", "python3", "python3.11"):
                        sandbox.trap(f"{place}/{folder}/bin/{name}", then="exit 1")
                    sandbox.write(f"{place}/{folder}/pyvenv.cfg", "home = /usr/bin\n")
                done = sandbox.run("check", "--torch=" + HEADERS, file, cwd=sandbox.path(cwd))
                self.assertSays(done, 2, "--torch=")  # it lacks a package's folders
                done = sandbox.run(*CHECK, file, *WITH_HEADERS, cwd=sandbox.path(cwd))
                self.assertSays(done, 1, FOUND)

    def test_genuine_interpreters_of_the_repository(self):
        """A link to the system's Python runs the .pth files beside the link."""
        for options in ((), ("--no-cache",)):
            with self.subTest(options=options):
                sandbox = self.repository()
                sandbox.link("repo/.venv/bin/python", os.path.realpath(sys.executable))
                sandbox.link("repo/.venv/bin/python3", "python")
                sandbox.write("repo/.venv/pyvenv.cfg", f"home = {os.path.dirname(os.path.realpath(sys.executable))}\n")
                library = f"repo/.venv/lib/python{sys.version_info[0]}.{sys.version_info[1]}/site-packages"
                sandbox.write(f"{library}/evil.pth", f"import os; os.system('touch {sandbox.canary('pth')}')\n")
                sandbox.write(f"{library}/sitecustomize.py", f"open('{sandbox.canary('site')}', 'w')\n")
                done = sandbox.run("check", "--checks=device-bare-cuda", *options, "x.cpp", *WITH_HEADERS)
                self.assertSays(done, 1, FOUND)

    def test_modules_of_the_repository(self):
        """What Python would import from the current folder or from $PYTHONPATH."""
        modules = ("sitecustomize.py", "usercustomize.py", "site.py", "sysconfig.py", "importlib/__init__.py",
                   "importlib/util.py", "torch/__init__.py", "torch.py", "sys.py", "encodings/__init__.py", "setup.py",
                   "conftest.py", "noxfile.py", "devsan/__init__.py", "devsan.py", "__init__.py")
        for env in ({}, {"PYTHONPATH": "."}, {"PYTHONPATH": ""}, {"PYTHONSTARTUP": "setup.py"}, {"PYTHONHOME": "."},
                    {"PYTHONUSERBASE": "."}):
            with self.subTest(env=env):
                sandbox = self.repository()
                for name in modules:
                    sandbox.snare(f"repo/{name}", "open('{canary}', 'w')\n")
                self.assertSays(sandbox.run(*CHECK, "x.cpp", *WITH_HEADERS, env=env), 1, FOUND)

    def test_folders_of_path(self):
        """An entry of PATH that depends on where one stands is not a place to start programs from."""
        for path in (".", "", ":", "bin", "./bin", ".:{0}", ":{0}", "bin:{0}", "../repo/bin:{0}", "{0}:"):
            with self.subTest(path=path):
                sandbox = self.repository()
                for name in ("python3", "python", "git", "clang", "clang++", "nvcc", "c++", "ld", "addr2line", "gdb"):
                    sandbox.trap(f"repo/{name}", then="exit 1")
                    sandbox.trap(f"repo/bin/{name}", then="exit 1")
                env = {"PATH": path.format(os.environ["PATH"])}
                self.assertSays(sandbox.run(*CHECK, "x.cpp", *WITH_HEADERS, env=env), 1, FOUND)

    def test_version_managers(self):
        """What stands for python3 on PATH (asdf, pyenv) runs what files of the current folder name."""
        sandbox = self.repository()
        sandbox.trap("repo/evil", then="exit 1")
        sandbox.write("repo/.tool-versions", "evil\n")
        os.makedirs(sandbox.path("repo/src"))
        for name in ("python3", "git"):
            sandbox.write(f"outside/{name}", f"""#!/bin/sh
                for folder in . .. "$PWD" "$PWD/.." "$OLDPWD"; do
                  [ -f "$folder/.tool-versions" ] && exec "$folder/$(cat "$folder/.tool-versions")" "$@"
                done
                exec '{shutil.which(name)}' "$@"
                """, 0o755)
        env = {"PATH": sandbox.path("outside") + ":" + os.environ["PATH"], "OLDPWD": sandbox.repo}
        self.assertSays(sandbox.run(*CHECK, "x.cpp", *WITH_HEADERS, env=env), 1, FOUND)
        self.assertSays(sandbox.run(*CHECK, "../x.cpp", *WITH_HEADERS, cwd=sandbox.path("repo/src"), env=env), 1, FOUND)
        sandbox.run("check", "--print-commands", "x.cpp", env=env)
        sandbox.run("doctor", env=env)

    def test_scripts_of_builds(self):
        """They are read, and what they say is data."""
        for name, text in (
                ("setup.py", "import os; os.system('touch {0}')\nfrom setuptools import setup\nsetup()\n"),
                ("setup.py", "__import__('os').system('touch {0}')\nExtension('x', ['x.cpp'], include_dirs=[open('{0}', 'w')])\n"),
                ("setup.py", "Extension('x', ['x.cpp'], extra_compile_args=[f'''{{__import__('os').system('touch {0}')}}'''])\n"),
                ("setup.py", "x = `touch {0}`\nCUDAExtension('x', glob.glob('$(touch {0})'))\n"),
                ("CMakeLists.txt", "execute_process(COMMAND touch {0})\nadd_executable(x x.cpp)\n"),
                ("CMakeLists.txt", "include_directories($ENV{{SHELL}} `touch {0}` \"$(touch {0})\")\nadd_library(x x.cpp)\n"),
                ("pyproject.toml", "[build-system]\nrequires = []\nbuild-backend = 'x'\nbackend-path = ['.']\n"),
                ("Makefile", "x := $(shell touch {0})\n"),
                ("meson.build", "run_command('touch', '{0}')\n"),
                ("BUILD", "genrule(cmd = 'touch {0}')\n")):
            with self.subTest(name=name, text=text):
                sandbox = self.repository()
                sandbox.write(f"repo/{name}", text.format(sandbox.canary(name)))
                sandbox.write("repo/x.py", f"open('{sandbox.canary('backend')}', 'w')\n")
                self.assertSays(sandbox.run(*CHECK, "x.cpp", *WITH_HEADERS), 1, FOUND)
                self.assertSays(sandbox.run(*CHECK, "--no-strict", "--torch=none", "x.cpp"), (0, 1))

    def test_flags_of_commands(self):
        """Flags by which a compiler loads or starts something, wherever a repository can give flags."""
        sandbox = self.repository()
        library = self.library(sandbox, "repo/evil.so")
        trap = sandbox.trap("repo/tool")
        sandbox.write("repo/response", f"-fplugin={library} -fpass-plugin={library}")
        sandbox.write("repo/evil.cfg", f"-fplugin={library}\n")
        for name in ("clang++.cfg", "x86_64-pc-linux-gnu-clang++.cfg", "clang.cfg", "x86_64-pc-linux-gnu.cfg"):
            sandbox.write(f"repo/{name}", f"-fplugin={library}\n")
        kinds = ([f"-fplugin={library}"], ["-Xclang", "-load", "-Xclang", library], [f"-fpass-plugin={library}"],
                 ["-Xclang", f"-fpass-plugin={library}"], ["-mllvm", f"-load={library}"], ["-B", sandbox.repo],
                 ["-wrapper", trap], ["-ccbin", trap], [f"--compiler-bindir={trap}"], [f"-specs={trap}"],
                 [f"-fuse-ld={trap}"], [f"--ld-path={trap}"], ["@response"], ["--options-file", "response"],
                 ["-optf", "response"], ["--config", "evil.cfg"], ["--config=evil.cfg"], ["--config-user-dir=."],
                 ["-Xcompiler", f"-fplugin={library}"], [f"--compiler-options=-fplugin={library}"],
                 ["-cc1", "-load", library], ["-Xarch_host", f"-fplugin={library}"], ["-no-integrated-cpp"],
                 ["-fno-integrated-as"], ["-save-temps"], ["-o", "written.o"], ["-MD", "-MF", "written.d"],
                 ["-MJ", "written.json"], ["-ftime-trace=written"], ["--serialize-diagnostics", "written"],
                 ["-fcrash-diagnostics-dir=."], ["-gen-reproducer"], ["-fproc-stat-report=written"],
                 ["-index-store-path", "."], ["-fdiagnostics-format=sarif-file"], ["-dependency-file", "written"],
                 ["-emit-pch"], ["-fmodules", "-fmodules-cache-path=."], ["-D", f"X=-fplugin={library}"],
                 ["-I", f"-fplugin={library}"], ["-isystem", f"-fplugin={library}"],
                 ["-std=c++20 -fplugin=" + library], ["-x", "ir"], ["-analyze"], ["--analyze"],
                 ["-Xanalyzer", "-load", "-Xanalyzer", library], ["-D", "-include", "-DX"], ["-U", "-include", "x.h"], ["-D-include", "-I", "-include"], ["-imacros", "-include"], ["-include", "-include-pch"], ["-plugin", library], ["-include", library])
        entries = []
        for i, flags in enumerate(kinds):
            sandbox.write(f"repo/x{i}.cpp", BUG)
            entries.append({"directory": sandbox.repo, "file": f"x{i}.cpp",
                            "arguments": ["clang++", "-I" + HEADERS, *flags, "-c", f"x{i}.cpp"]})
        sandbox.write("repo/compile_commands.json", json.dumps(entries))
        done = sandbox.run(*CHECK, ".")
        for i, flags in enumerate(kinds):
            with self.subTest(flags):
                self.assertRegex(done.out, rf"x{i}.cpp:3:|x{i}.cpp: not analysed")
        os.unlink(sandbox.path("repo/compile_commands.json"))
        words = [word for flags in kinds for word in flags]
        sandbox.write("repo/setup.py", f"Extension('x', ['x.cpp'], extra_compile_args={json.dumps(words)})\n")
        self.assertSays(sandbox.run(*CHECK, "--no-strict", "x.cpp"), (0, 1, 2))
        for flags in kinds[:12]:
            with self.subTest(flags):
                sandbox.write("repo/.devsan.toml", f"[check]\nextra-flags = {json.dumps(flags)}\n")
                self.assertSays(sandbox.run(*CHECK, "x.cpp", *WITH_HEADERS), (1, 2))

    def test_precompiled_headers_of_the_repository(self):
        """Clang's driver takes NAME.pch for a forced include, from the current folder too."""
        for name in ("cuda_runtime.h.pch", "cuda_runtime.h.gch", "cuda_runtime.h", "forced.h.pch", "forced.h.gch",
                     "torch/torch.h.pch", "x.cu.pch", "x.pch", "module.modulemap", "cuda_runtime.h.pch/x"):
            with self.subTest(name):
                sandbox = self.sandbox()
                sandbox.write("repo/x.cu", BUG)
                sandbox.write(f"repo/{name}", b"CPCH" + bytes(1000) if "." in name else "")
                sandbox.write("repo/forced.h", "")
                if name == "cuda_runtime.h":
                    sandbox.write("repo/cuda_runtime.h", "#define cuda cpu\n")
                entry = {"directory": sandbox.repo, "file": "x.cu",
                         "arguments": ["nvcc", "-I" + HEADERS, "-include", "forced.h", "-c", "x.cu"]}
                sandbox.write("repo/compile_commands.json", json.dumps([entry]))
                self.assertSays(sandbox.run(*CHECK, "x.cu"), 1, FOUND)

    def test_clang_s_own_pragmas(self):
        """They end or stop the compiler: the file is not analysed, and the next one is."""
        pragmas = ("clang __debug crash", "clang __debug llvm_fatal_error", "clang __debug llvm_unreachable",
                   "clang __debug assert", "clang __debug overflow_stack", "clang __debug parser_crash",
                   "clang __debug sleep", "clang module import x", "clang module load x", "clang module build x",
                   "GCC pch_preprocess \"/etc/passwd\"", "GCC dependency \"/etc/passwd\"", "push_macro(\"cuda\")",
                   "comment(lib, \"/tmp/evil\")", "omp parallel", "clang system_header", "once")
        sandbox = self.repository()
        for i, pragma in enumerate(pragmas):
            sandbox.write(f"repo/pragma{i}.cpp", f"#pragma {pragma}\n{BUG}")
        done = sandbox.run(*CHECK, ".", *WITH_HEADERS)
        self.assertSays(done, (1, 2), "x.cpp:3", FOUND)
        for i, pragma in enumerate(pragmas):
            with self.subTest(pragma):
                self.assertRegex(done.out, rf"pragma{i}.cpp:4:|pragma{i}.cpp: not analysed")

    def test_what_a_source_says_of_itself(self):
        """No file makes itself a system header, whose code is not looked at."""
        heads = ("# 1 \"/usr/include/x.h\" 1 3", "# 1 \"/usr/include/x.h\" 3 4", "#line 1 \"/usr/include/x.h\"",
                 "#pragma GCC system_header", "#pragma clang system_header", "_Pragma(\"GCC system_header\")",
                 "#line 4294967295", "# 1 \"\" 2")
        sandbox = self.repository()
        for i, head in enumerate(heads):
            sandbox.write(f"repo/source{i}.cpp", f"{head}\n{BUG}")
            sandbox.write(f"repo/header{i}.h", f"{head}\n{BUG.replace('moved', f'moved{i}')}")
            sandbox.write(f"repo/includes{i}.cpp", f'#include "header{i}.h"\n')
        done = sandbox.run(*CHECK, ".", *WITH_HEADERS)
        for i, head in enumerate(heads):
            with self.subTest(head):
                self.assertIn(f"source{i}.cpp:4:", done.out)
                self.assertIn(f"header{i}.h:4:", done.out)

    def test_commands_in_a_hostile_folder(self):
        """The commands that look around in their folder, where everything that they could start is a trap."""
        sandbox = self.repository()
        for name in ("clang-tidy", "clang-tidy-22"):  # of the user's, and they do not end
            sandbox.write(f"outside/{name}", "#!/bin/sh\nexec yes\n", 0o755)
        done = sandbox.run("doctor", env={"PATH": sandbox.path("outside") + ":" + os.environ["PATH"]})
        self.assertSays(done, (0, 1), "clang-tidy of release 0: no plugin for it")
        for arguments, statuses in ((("doctor",), (0, 1, 2)), (("rules",), (0,)), (("--version",), (0,)),
                                    (("--help",), (0,)), (("report", "missing.json"), (2,)), (("check", "--help"), (0,)),
                                    (("completion", "bash"), (0, 2))):
            for path in ("{0}", ".:{0}", "bin:{0}"):
                with self.subTest(arguments=arguments, path=path):
                    sandbox = self.repository()
                    for folder in ("repo", "repo/bin", "repo/.venv/bin"):
                        for name in ("python3", "python", "git", "addr2line", "gdb", "nvidia-smi", "c++", "g++", "clang++",
                                     "cmake", "ninja", "less", "more", "pager", "ldd", "file", "nvcc", "devsan-check",
                                     "devsan-symbolize", "clang-tidy", "clang-tidy-22", "clang-tidy-19"):
                            sandbox.trap(f"{folder}/{name}", then="exit 1")
                    env = {"PATH": path.format(os.environ["PATH"])}
                    self.assertSays(sandbox.run(*arguments, env=env, seconds=90), statuses)


class Differences(Canary):
    """--diff asks git about a repository whose configuration, attributes and hooks name commands."""

    def repository(self):
        sandbox = self.sandbox()
        sandbox.git("init", "-q")
        sandbox.write("repo/x.cpp", BUG)
        sandbox.write("repo/old.cpp", BUG.replace("moved", "old"))
        sandbox.git("add", ".")
        sandbox.git("commit", "-qm", "first")
        sandbox.write("repo/x.cpp", BUG.replace("return", "return  "))
        sandbox.write("repo/new.cpp", BUG.replace("moved", "fresh"))
        return sandbox

    def check(self, sandbox, *options, cwd=None, **arguments):
        """Finds what changed, and nothing else."""
        done = sandbox.run(*CHECK, "--diff=HEAD", *options, ".", *WITH_HEADERS, cwd=cwd, **arguments)
        self.assertSays(done, 1, FOUND, "x.cpp:3", "new.cpp:3")
        self.assertNotIn("old.cpp:3", done.out, str(done))
        return done

    def test_settings_that_are_commands(self):
        settings = (
            ("core.fsmonitor", ""), ("core.hooksPath", ""), ("core.pager", ""), ("core.editor", ""),
            ("core.sshCommand", ""), ("core.askPass", ""), ("core.gitProxy", ""), ("core.alternateRefsCommand", ""),
            ("diff.external", ""), ("pager.diff", ""), ("alias.diff", ""), ("alias.merge-base", ""),
            ("alias.ls-files", ""), ("credential.helper", ""), ("gpg.program", ""), ("interactive.diffFilter", ""),
            ("diff.t.textconv", "*.cpp diff=t\n"), ("diff.t.command", "*.cpp diff=t\n"),
            ("filter.f.clean", "*.cpp filter=f\n"), ("filter.f.smudge", "*.cpp filter=f\n"),
            ("filter.f.process", "*.cpp filter=f\n"), ("filter.a.b=c.clean", "*.cpp filter=a.b=c\n"),
            ("merge.m.driver", "*.cpp merge=m\n"), ("uploadpack.packObjectsHook", ""), ("sequence.editor", ""),
            ("trace2.normalTarget", ""), ("core.attributesFile", ""), ("core.excludesFile", ""))
        for where in (".git/info/attributes", ".gitattributes", "attributes of the settings"):
            with self.subTest(where):
                sandbox = self.repository()
                lines = [line for _, line in settings]
                for i, (setting, line) in enumerate(settings):
                    trap = sandbox.trap(f"repo/.git/tool{i}", then="cat; exit 0")
                    sandbox.git("config", setting, "!" + trap if setting.startswith("alias.") else trap)
                sandbox.git("config", "filter.f.required", "true")
                if "of the settings" in where:
                    sandbox.git("config", "core.attributesFile", sandbox.write("outside/attributes", "".join(lines)))
                for line in lines:  # each of which the last one would win
                    if line:
                        sandbox.write(f"repo/{where}" if where[0] == "." else "outside/attributes", line)
                        self.check(sandbox)

    def test_hooks(self):
        sandbox = self.repository()
        for name in ("post-index-change", "pre-commit", "post-checkout", "fsmonitor-watchman", "reference-transaction",
                     "pre-auto-gc", "post-rewrite", "query-watchman"):
            sandbox.trap(f"repo/.git/hooks/{name}")
        sandbox.git("config", "core.fsmonitor", ".git/hooks/fsmonitor-watchman")
        os.utime(sandbox.path("repo/old.cpp"))  # so that the index could be refreshed
        self.check(sandbox)

    def test_remotes_that_would_be_asked(self):
        """In a partial clone git fetches what is missing, by whatever the remote's address says."""
        for address in ("ext::{0}", "ssh://-oProxyCommand={0}/x", "file://{0}", "foo::x"):
            with self.subTest(address):
                sandbox = self.repository()
                trap = sandbox.trap("repo/.git/tool")
                for name, value in (("core.repositoryformatversion", "1"), ("extensions.partialClone", "origin"),
                                    ("remote.origin.promisor", "true"), ("remote.origin.url", address.format(trap)),
                                    ("remote.origin.uploadpack", trap), ("protocol.allow", "always"),
                                    ("core.sshCommand", trap)):
                    sandbox.git("config", name, value)
                head = subprocess.run(["git", "rev-parse", "HEAD:x.cpp"], cwd=sandbox.repo, capture_output=True, text=True,
                                      env=sandbox.environment()).stdout.strip()
                os.unlink(sandbox.path("repo/.git/objects", head[:2], head[2:]))
                done = sandbox.run(*CHECK, "--diff=HEAD", ".", *WITH_HEADERS)
                self.assertSays(done, 2, "--diff=HEAD: git says: ")

    def test_settings_of_the_user(self):
        """Common ones, by which git would start what lies in the checkout, or write the index."""
        filters = "[filter \"lfs\"]\n\tclean = ./tool %f\n\tprocess = ./tool\n\trequired = true\n"
        for where, name in (("home/.gitconfig", None), ("home/.config/git/config", None), ("home/named", "GIT_CONFIG_GLOBAL"),
                            ("home/named", "GIT_CONFIG_SYSTEM")):
            with self.subTest(where=where, name=name):
                sandbox = self.repository()
                sandbox.trap("repo/tool", then="cat")
                sandbox.trap("repo/.githooks/post-index-change")
                sandbox.trap("repo/.githooks/fsmonitor")
                sandbox.write("repo/.git/info/exclude", "tool\n.githooks\n")
                sandbox.write("repo/.git/info/attributes", "*.cpp filter=lfs diff=t\n")
                sandbox.write(where, "[core]\n\thooksPath = .githooks\n\tfsmonitor = .githooks/fsmonitor\n\texcludesFile = "
                              "~/ignored\n\tautocrlf = true\n[diff]\n\texternal = ./tool\n\tautoRefreshIndex = true\n"
                              "[diff \"t\"]\n\ttextconv = ./tool\n" + filters)
                sandbox.write("home/ignored", "ignored.cpp\n")
                sandbox.write("repo/ignored.cpp", BUG)
                sandbox.write("repo/old.cpp", BUG.replace("moved", "old").replace("\n", "\r\n"))
                os.utime(sandbox.path("repo/old.cpp"), (1, 1))
                index = sandbox.read("repo/.git/index")
                done = self.check(sandbox, env={name: sandbox.path(where)} if name else {})
                self.assertNotIn("ignored.cpp", done.out)
                self.assertEqual(sandbox.read("repo/.git/index"), index, "the index was written")
        sandbox = self.repository()
        sandbox.write("home/.config/git/ignore", "ignored.cpp\n")
        sandbox.write("repo/ignored.cpp", BUG)
        self.assertNotIn("ignored.cpp", self.check(sandbox).out)

    def test_files_that_git_takes_for_binary(self):
        """By the attributes or the bytes of a pull request."""
        for name, text in ((".gitattributes", "*.cpp binary\n"), (".gitattributes", "*.cpp -diff\n"),
                           (".git/info/attributes", "*.cpp -diff\n"), ("x.cpp", f"{BUG}// \0\n"),
                           ("x.cpp", f"{BUG}// {chr(0) * 9000}\n")):
            with self.subTest(name=name, text=text[-20:]):
                sandbox = self.repository()
                sandbox.write(f"repo/{name}", text)
                self.check(sandbox)
                sandbox.git("add", ".")
                sandbox.git("commit", "-qm", "second")
                done = sandbox.run(*CHECK, "--diff=HEAD~1", ".", *WITH_HEADERS)
                self.assertSays(done, 1, "x.cpp:3", "new.cpp:3")
        sandbox = self.repository()  # a mode alone is no change
        sandbox.git("checkout", "x.cpp")
        os.chmod(sandbox.path("repo/x.cpp"), 0o755)
        os.unlink(sandbox.path("repo/new.cpp"))
        self.assertSays(sandbox.run(*CHECK, "--diff=HEAD", ".", *WITH_HEADERS), 0, "no findings")

    def test_large_files_of_other_kinds(self):
        """They are not compared; where a source includes one, it counts as changed."""
        sandbox = self.repository()
        sandbox.write("repo/data.json", "0\n" * 10)
        sandbox.git("add", ".")
        sandbox.git("commit", "-qm", "second")
        sandbox.write("repo/data.json", "1234567\n" * (9 << 20))
        sandbox.write("repo/part.inc", BUG.replace("moved", "part"))
        sandbox.write("repo/x.cpp", '#include "part.inc"\n')
        done = sandbox.run(*CHECK, "--diff=HEAD", ".", *WITH_HEADERS)
        self.assertSays(done, 1, "part.inc:3")

    def test_files_that_git_is_told_to_pass_over(self):
        for bit in ("--skip-worktree", "--assume-unchanged"):
            with self.subTest(bit):
                sandbox = self.repository()
                sandbox.git("update-index", bit, "x.cpp")
                self.check(sandbox)

    def test_commits_that_stand_for_others(self):
        sandbox = self.repository()
        sandbox.git("add", "x.cpp")
        sandbox.git("commit", "-qm", "second")
        sandbox.git("replace", "HEAD~1", "HEAD")
        self.assertSays(sandbox.run(*CHECK, "--diff=HEAD~1", ".", *WITH_HEADERS), 1, "x.cpp:3", "new.cpp:3")

    def test_what_git_cannot_list(self):
        """A file that git does not know may be the one with the bug."""
        sandbox = self.repository()
        sandbox.write("outside/git", f"""#!/bin/sh
            case "$*" in *--others*) echo 'no end' >&2; exit 3 ;; esac
            exec '{shutil.which("git")}' "$@"
            """, 0o755)
        env = {"PATH": sandbox.path("outside") + ":" + os.environ["PATH"]}
        self.assertSays(sandbox.run(*CHECK, "--diff=HEAD", ".", *WITH_HEADERS, env=env), 2, "which files are new is not known", "no end")

    def test_an_endless_index(self):
        sandbox = self.repository()
        os.remove(sandbox.path("repo/.git/index"))
        sandbox.huge("repo/.git/index")
        self.assertSays(sandbox.run(*CHECK, "--diff=HEAD", ".", *WITH_HEADERS), 2, ".git/index", "over 1024 MB")

    def test_repositories_inside_and_beside(self):
        sandbox = self.sandbox()
        for place in ("outside", "repo/aaa", "repo"):
            sandbox.write(f"{place}/src/z.cpp", BUG)
            sandbox.write(f"{place}/src/old.cpp", BUG)
            for arguments in (("init", "-q"), ("add", "src"), ("commit", "-qm", "first")):
                sandbox.git("-C", sandbox.path(place), *arguments)
            sandbox.write(f"{place}/src/z.cpp", BUG.replace("return", "return  "))
        done = sandbox.run(*CHECK, "--diff=HEAD", ".", "../outside/src", *WITH_HEADERS)
        self.assertSays(done, 1, "3 files of 6", "aaa/src/z.cpp:3", "\nsrc/z.cpp:3", "outside/src/z.cpp:3")
        self.assertNotIn("old.cpp:3", done.out)
        file = sandbox.write("lone.cpp", BUG)
        done = sandbox.run(*CHECK, "--diff=HEAD", ".", file, *WITH_HEADERS)
        self.assertSays(done, 2, f"--diff=HEAD: {file} lies in no repository of git")

    def test_revisions(self):
        """What git finds by its settings and its folders is found."""
        for revision, prepare in (
                ("@{upstream}", ()), ("@{u}", ()), ("main@{upstream}", ()), ("HEAD@{0}", ()), ("@{1 second ago}", ()),
                ("refs/bisect/bad", ("update-ref", "refs/bisect/bad", "HEAD"))):
            for in_worktree in (False, True):
                with self.subTest(revision=revision, in_worktree=in_worktree):
                    sandbox = self.repository()
                    sandbox.git("remote", "add", "origin", "ext::false")
                    sandbox.git("update-ref", "refs/remotes/origin/main", "HEAD")
                    sandbox.git("config", "branch.main.remote", "origin")
                    sandbox.git("config", "branch.main.merge", "refs/heads/main")
                    sandbox.git("config", "branch.a\"b\\c.merge", "refs/heads/d\"e\\f\n[core]\n")
                    place = sandbox.repo
                    if in_worktree:
                        place = sandbox.path("tree")
                        sandbox.git("checkout", "-qf", "--detach")
                        sandbox.git("worktree", "add", "-q", place, "main")
                        for name in ("x.cpp", "new.cpp"):
                            shutil.copy(sandbox.path("repo", name), place)
                    if prepare:
                        sandbox.git("-C", place, *prepare)
                    done = sandbox.run(*CHECK, f"--diff={revision}", ".", *WITH_HEADERS, cwd=place)
                    self.assertSays(done, 1, "new.cpp:3")
                    self.assertNotIn("old.cpp:3", done.out, str(done))

    def test_temporary_folders(self):
        """They are the user's alone, and gone however the run ends."""
        sandbox = self.repository()
        git = sandbox.write("outside/bin/git", '#!/bin/sh\nstat -c %a "$GIT_DIR" >"$HOME/mode"\n[ -z "$END" ] || kill -"$END" '
                            f'"$PPID"\nexec {shutil.which("git")} "$@"\n', 0o755)
        env = {"PATH": os.path.dirname(git) + ":" + os.environ["PATH"]}
        self.check(sandbox, env=env, limits=lambda: os.umask(0))
        self.assertEqual(sandbox.read("home/mode"), b"700\n")
        os.mkdir(sandbox.path("repo/t"))
        self.check(sandbox, env={"TMPDIR": "t"})
        self.assertEqual(os.listdir(sandbox.path("repo/t")), [])
        for name in ("INT", "TERM", "HUP", "ALRM", "KILL"):
            with self.subTest(name):
                done = sandbox.run(*CHECK, "--diff=HEAD", ".", *WITH_HEADERS, env={**env, "END": name}, may_be_killed=True)
                self.assertNotIn(done.status, (0, 1))
                process = subprocess.Popen([DEVSAN, *CHECK, ".", *WITH_HEADERS], cwd=sandbox.repo, env=sandbox.environment(),
                                           stdout=subprocess.PIPE, stderr=subprocess.STDOUT)
                end = time.monotonic() + 20
                while not os.listdir(sandbox.tmp) and time.monotonic() < end:
                    time.sleep(0.001)
                self.assertNotEqual(os.listdir(sandbox.tmp), [])
                process.send_signal(signal.Signals["SIG" + name])
                process.communicate()
                self.assertEqual(os.listdir(sandbox.tmp), [])

    def test_other_places_of_the_repository(self):
        """Worktrees, submodules, .git files: changes are found there, too."""
        sandbox = self.repository()
        trap = sandbox.trap("repo/.git/tool", then="cat")
        for name in ("core.fsmonitor", "filter.f.clean"):
            sandbox.git("config", name, trap)
        sandbox.write("repo/.git/info/attributes", "*.cpp filter=f\n")
        sandbox.git("-c", "core.fsmonitor=false", "-c", "filter.f.clean=cat", "worktree", "add", "-q", "tree", "HEAD")
        os.unlink(sandbox.canary("repo/.git/tool")) if os.path.exists(sandbox.canary("repo/.git/tool")) else None
        sandbox.write("repo/tree/x.cpp", BUG.replace("return", "return  "))
        sandbox.write("repo/tree/new.cpp", BUG.replace("moved", "fresh"))
        self.check(sandbox, cwd=sandbox.path("repo/tree"))

        sandbox = self.repository()
        os.rename(sandbox.path("repo/.git"), sandbox.path("moved"))
        sandbox.write("repo/.git", "gitdir: ../moved\n")
        sandbox.write("moved/hooks/post-index-change", f"#!/bin/sh\ntouch {sandbox.canary('hook')}\n", 0o755)
        self.check(sandbox)

    def test_damaged_repositories(self):
        """One error that names the repository, and an end."""
        def config_fifo(sandbox):
            os.unlink(sandbox.path("repo/.git/config"))
            sandbox.fifo("repo/.git/config")

        def head_fifo(sandbox):
            os.unlink(sandbox.path("repo/.git/HEAD"))
            sandbox.fifo("repo/.git/HEAD")

        def index_fifo(sandbox):
            os.unlink(sandbox.path("repo/.git/index"))
            sandbox.fifo("repo/.git/index")

        def index_damaged(sandbox):
            sandbox.write("repo/.git/index", b"DIRC" + bytes(100))

        def no_objects(sandbox):
            shutil.rmtree(sandbox.path("repo/.git/objects"))

        def empty_git_file(sandbox):
            shutil.rmtree(sandbox.path("repo/.git"))
            sandbox.write("repo/.git", "")

        def loop(sandbox):
            shutil.rmtree(sandbox.path("repo/.git"))
            sandbox.link("repo/.git", ".git")

        def points_to_itself(sandbox):
            shutil.rmtree(sandbox.path("repo/.git"))
            sandbox.write("repo/.git", "gitdir: .git\n")

        def fifo(sandbox):
            shutil.rmtree(sandbox.path("repo/.git"))
            sandbox.fifo("repo/.git")

        for damage in (head_fifo, index_damaged, no_objects, empty_git_file, loop, points_to_itself, fifo):
            with self.subTest(damage.__name__):
                sandbox = self.repository()
                damage(sandbox)
                self.assertSays(sandbox.run(*CHECK, "--diff=HEAD", ".", *WITH_HEADERS), 2, "--diff=HEAD")
        for damage in (config_fifo, index_fifo):  # the rest says what is needed
            with self.subTest(damage.__name__):
                sandbox = self.repository()
                damage(sandbox)
                self.assertSays(sandbox.run(*CHECK, "--diff=HEAD", ".", *WITH_HEADERS), (1, 2))

    def test_line_ends_are_compared_as_git_does(self):
        sandbox = self.repository()
        sandbox.git("config", "core.autocrlf", "true")
        sandbox.write("repo/old.cpp", BUG.replace("moved", "old").replace("\n", "\r\n"))
        self.check(sandbox)

    def test_a_repository_of_somebody_else_s(self):
        if os.geteuid() != 0:
            self.skipTest("only root can give files away: run it as root")
        sandbox = self.repository()
        trap = sandbox.trap("repo/.git/tool")
        sandbox.git("config", "core.fsmonitor", trap)
        for folder, folders, files in os.walk(sandbox.repo):
            for name in (*folders, *files):
                os.chown(os.path.join(folder, name), 65534, 65534)
        os.chown(sandbox.repo, 65534, 65534)
        self.check(sandbox)

    def test_a_shallow_clone_names_the_remedy(self):
        sandbox = self.repository()
        sandbox.write("repo/.git/shallow", "")
        done = sandbox.run(*CHECK, "--diff=origin/main", ".", *WITH_HEADERS)
        self.assertSays(done, 2, "--diff=origin/main: git says: ", "fetch-depth: 0")


if __name__ == "__main__":
    main()
