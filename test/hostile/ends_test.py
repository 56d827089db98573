"""Every command ends, within its time and memory, whatever it reads.

Two families. Each reader of a file by each kind of damage to that file: a file that has to be read and cannot be is named, with status 2;
what is only passed by changes nothing. And sources and scripts that double themselves, or nest, or never end: the file is named as not
analysed, and the one beside it has its finding.
"""

import contextlib
import json
import os
import resource
import socket
import subprocess
import time
import unittest
from pathlib import Path

from canary import DEVSAN, Canary, is_root, main

TORCH = """#pragma once
namespace at {
class Tensor {
public:
  Tensor cuda() const;
  Tensor operator+(const Tensor &other) const;
};
Tensor ones(int size);
} // namespace at
namespace torch {
using at::Tensor;
using at::ones;
} // namespace torch
"""
SOURCE = "#include <torch/torch.h>\ntorch::Tensor f(torch::Tensor x) { return x + torch::ones(2).cuda(); }\n"
FINDING = "[device-bare-cuda]"
REPORT = json.dumps({"schema": "devsan/1", "findings": [
    {"rule": "device-host-sync", "message": "waits", "locations": [{"file": "a.cpp", "line": 1, "column": 1, "function": "f"}]}],
    "summary": {"tool": "devsan run"}}) + "\n"
BASELINE = '{"schema": "devsan-baseline/1", "findings": []}\n'
RUN_FACTS = json.dumps({"schema": "devsan-run/1", "command": "x", "working_directory": "/", "wall_ns": 1, "ended_early": False})
SETUP = 'from torch.utils.cpp_extension import CppExtension\nsetup(ext_modules=[CppExtension("a", ["src/a.cpp"])])\n'
CHECK = ["check", "--no-cache", "--torch=../outside/torch", "src/a.cpp"]


class Reader:
    """A file that a command reads. `must`: the command cannot do its work without it."""

    def __init__(self, path, good, command=CHECK, must=True, others=(), name=None):
        self.path, self.good, self.command, self.must, self.others = path, good, command, must, others
        self.name = name or os.path.basename(path)  # that an error holds


def commands(sandbox, flags):
    return json.dumps([{"directory": sandbox.repo, "file": "src/a.cpp", "command": f"c++ {flags} -c src/a.cpp"}])


READERS = {
    "project file": Reader(".devsan.toml", "[check]\nstrict = false\n"),
    "compile_commands.json": Reader("build/compile_commands.json", lambda s: commands(s, "")),
    "compile_commands.json of -p": Reader("b/compile_commands.json", lambda s: commands(s, ""), [*CHECK, "-p", "b"]),
    "response file": Reader("flags.rsp", "-DX=1", others=[("compile_commands.json", lambda s: commands(s, "@flags.rsp"))]),
    "forced include": Reader("forced.h", "#define X 1\n", others=[("compile_commands.json", lambda s: commands(s, "-include forced.h"))], name="a.cpp"),
    "macros": Reader("macros.h", "#define X 1\n", others=[("compile_commands.json", lambda s: commands(s, "-imacros macros.h"))], name="a.cpp"),
    "setup.py": Reader("setup.py", SETUP),
    "CMakeLists.txt": Reader("CMakeLists.txt", "add_definitions(-DX=1)\n", others=[(".git/HEAD", "")]),
    "pyproject.toml": Reader("pyproject.toml", "[build-system]\n", must=False),
    "CMakeCache.txt": Reader("CMakeCache.txt", "X=1\n", must=False),
    ".git": Reader(".git", "gitdir: /nowhere\n", must=False),
    ".clang-tidy": Reader("src/.clang-tidy", "Checks: '-*'\n", must=False),
    ".clang-format": Reader("src/.clang-format", "BasedOnStyle: LLVM\n", must=False),
    "header": Reader("src/own.h", "inline int g() { return 1; }\n", others=[("src/a.cpp", '#include "own.h"\n' + SOURCE)], name="a.cpp"),
    "precompiled header": Reader("src/own.h.pch", "", must=False,
                                 others=[("src/own.h", "inline int g() { return 1; }\n"), ("src/a.cpp", '#include "own.h"\n' + SOURCE)]),
    "source": Reader("src/b.cpp", "int g() { return 1; }\n", [*CHECK, "src/b.cpp"]),
    "source in a folder": Reader("src/b.cpp", "int g() { return 1; }\n", [*CHECK[:-1], "src"], must=False),
    "other source of the project": Reader("src/b.cu", "void g() {}\n", must=False, others=[("pyproject.toml", "")]),
    "baseline": Reader("base.json", BASELINE, [*CHECK, "--baseline=base.json"]),
    "baseline of the project": Reader("base.json", BASELINE, others=[(".devsan.toml", '[check]\nbaseline = "base.json"\n')]),
    "suppressions": Reader("s.toml", 'device-host-sync = "x.cpp"\n', [*CHECK, "--suppressions=s.toml"]),
    "report": Reader("r.json", REPORT, ["report", "r.json"]),
    "report to merge": Reader("r.json", REPORT, ["report", "--merge", "good.json", "r.json"], others=[("good.json", REPORT)]),
    "report to compare": Reader("r.json", REPORT, ["report", "--compare", "good.json", "r.json"], others=[("good.json", REPORT)]),
    "baseline of a report": Reader("base.json", BASELINE, ["report", "good.json", "--baseline=base.json"], others=[("good.json", REPORT)]),
    "project file of a report": Reader(".devsan.toml", "[budgets]\n", ["report", "good.json"], others=[("good.json", REPORT)]),
    "source of a report": Reader("a.cpp", "int x;\n", ["report", "good.json"], must=False, others=[("good.json", REPORT)]),
    "facts of a run": Reader("logs/run.json", RUN_FACTS, ["report", "logs"], name="logs"),
}


def fifo(sandbox, path, good):
    sandbox.fifo(path)


def link_to(target):
    return lambda sandbox, path, good: sandbox.link(path, target)


def loop(sandbox, path, good):
    sandbox.link(path, os.path.basename(path))


def directory(sandbox, path, good):
    os.makedirs(sandbox.path(path))


def unix_socket(sandbox, path, good):
    os.makedirs(os.path.dirname(sandbox.path(path)), exist_ok=True)
    here = os.getcwd()
    os.chdir(os.path.dirname(sandbox.path(path)))  # their names are short
    try:
        with socket.socket(socket.AF_UNIX) as made:
            made.bind(os.path.basename(path))
    finally:
        os.chdir(here)


def content(change):
    return lambda sandbox, path, good: sandbox.write(path, change(good.encode()))


NO_FILES = {"pipe": fifo, "/dev/zero": link_to("/dev/zero"), "/dev/stdin": link_to("/dev/stdin"), "directory": directory,
            "socket": unix_socket, "loop of links": loop, "dangling link": link_to("nowhere")}
NESTED = 200_000
CONTENTS = {
    "empty": content(lambda good: b""),
    "NUL bytes": content(lambda good: good[: len(good) // 2] + b"\0" * 100 + good[len(good) // 2:]),
    "invalid UTF-8": content(lambda good: good + b"\xff\xfe\x80 \xc3("),
    "UTF-16": content(lambda good: good.decode().encode("utf-16")),
    "BOM": content(lambda good: b"\xef\xbb\xbf" + good),
    "cut off": content(lambda good: good[: len(good) // 2]),
    "sparse": lambda sandbox, path, good: sandbox.huge(path, 4 << 30),
    "long line": content(lambda good: good.rstrip() + b" " + b"a" * (1 << 20)),
    "nested lists": content(lambda good: b"[" * NESTED),
    "dotted keys": content(lambda good: b"[" + b"a." * NESTED + b"a]\n" + b"a." * NESTED + b"a = 1\n"),
    "many keys": content(lambda good: b"".join(b"k%d = %d\n" % (i, i) for i in range(20_000))),
}


class Ends(Canary):
    def run_in(self, sandbox, *arguments, **options):
        return sandbox.run(*arguments, env={"VIRTUAL_ENV": "/nowhere"}, **options)  # Python is not asked where torch is

    def place(self, sandbox, reader):
        sandbox.write("outside/torch/include/torch/csrc/api/include/torch/torch.h", TORCH)
        sandbox.write("repo/src/a.cpp", SOURCE)
        for path, good in reader.others:
            sandbox.write("repo/" + path, good(sandbox) if callable(good) else good)
        return reader.good(sandbox) if callable(reader.good) else reader.good


class Readers(Ends):
    def judge(self, done, reader, refused):
        """`refused`: True where the file has to be named, None where it may be taken."""
        finds = FINDING if reader.command[0] == "check" else "devsan"
        if refused or (refused is None and done.status == 2):
            self.assertSays(done, 2, reader.name)
        else:
            self.assertSays(done, (0, 1), "parsed in part" if "parsed in part" in done.out + done.err else finds)
        self.assertLess(done.seconds, 20, str(done))

    def run_family(self, damages, refused, readers=READERS):
        for reader_name, reader in readers.items():
            for damage_name, damage in damages.items():
                with self.subTest(reader=reader_name, damage=damage_name):
                    sandbox = self.sandbox()
                    good = self.place(sandbox, reader)
                    damage(sandbox, "repo/" + reader.path, good)
                    self.judge(self.run_in(sandbox, *reader.command), reader, refused(reader_name, reader, damage_name))

    def test_good_files(self):
        self.run_family({"none": content(lambda good: good)}, lambda *_: False)

    def test_no_files(self):
        def refused(name, reader, damage):
            # A link that leads nowhere is no file that is there, and a folder of that name no setup.
            looked_for = {"compile_commands.json", "setup.py", "CMakeLists.txt", "project file", "project file of a report",
                          "facts of a run", "response file"}
            if not reader.must:
                return None if name in ("source of a report",) else False
            if damage in ("loop of links", "dangling link") and name in looked_for:
                return None
            if damage == "/dev/stdin" and "--" in " ".join(reader.command):  # named, and nothing comes
                return None
            return None if damage in ("directory", "loop of links", "dangling link") else True

        self.run_family(NO_FILES, refused)

    def test_contents(self):
        def refused(name, reader, damage):
            if damage == "sparse" and reader.must:
                return True
            if damage in ("nested lists", "dotted keys") and reader.path.endswith((".json", ".toml")) and reader.must:
                return True
            return None

        self.run_family(CONTENTS, refused, {name: reader for name, reader in READERS.items() if reader.must})

    @unittest.skipUnless(is_root(), "needs root, to become another user")
    def test_files_of_others(self):
        def become_nobody():
            os.setgroups([])
            os.setgid(65534)
            os.setuid(65534)

        for name in ("project file", "compile_commands.json", "setup.py", "header", "source", "baseline", "suppressions", "report"):
            with self.subTest(reader=name):
                sandbox = self.sandbox()
                good = self.place(sandbox, READERS[name])
                path = sandbox.write("repo/" + READERS[name].path, good)
                os.chmod(path, 0)
                os.chmod(sandbox.root, 0o755)
                for folder in (sandbox.home, sandbox.tmp):
                    os.chmod(folder, 0o777)
                self.judge(self.run_in(sandbox, *READERS[name].command, limits=become_nobody), READERS[name], True)

    def test_what_the_user_names_may_be_a_pipe(self):
        sandbox = self.sandbox()
        self.place(sandbox, READERS["baseline"])
        self.assertSays(self.run_in(sandbox, *CHECK, "--baseline=/dev/stdin", stdin=BASELINE.encode()), 1, FINDING)
        self.assertSays(self.run_in(sandbox, *CHECK, "--suppressions=/dev/stdin", stdin=b'device-bare-cuda = "*"\n'), 0, "no findings")
        self.assertSays(self.run_in(sandbox, "report", "/dev/stdin", stdin=REPORT.encode()), 0, "1 finding")
        self.assertSays(self.run_in(sandbox, "report", "/dev/zero"), 2, "/dev/zero", "MB")
        self.assertSays(sandbox.run(command=["bash", "-c", '"$0" report <(cat)', DEVSAN], stdin=REPORT.encode()), 0, "1 finding")

    def test_what_a_project_names_may_not(self):
        sandbox = self.sandbox()
        self.place(sandbox, READERS["source"])
        open_pipe = os.open(sandbox.fifo("repo/base.json"), os.O_RDWR)  # somebody who says nothing
        for table, command in (("check", CHECK), ("run", ["run", "--", "true"])):
            with self.subTest(table):
                sandbox.write("repo/.devsan.toml", f'[{table}]\nbaseline = "base.json"\n')
                done = self.run_in(sandbox, *command, seconds=20)
                self.assertSays(done, 2, "base.json: it is a pipe, not a file")
        os.close(open_pipe)

    def test_large_reports(self):
        findings = '{"schema":"devsan/1","findings":['
        for what, text, status in (("of 300 MB", None, 2), ("of small findings", findings + '{"rule":"a"},' * 4_000_000 + '{"rule":"a"}]}', 2),
                                   ("of small places", findings + '{"rule":"a","locations":[' + "{}," * 8_000_000 + "{}]}]}", 2),
                                   ("of many keys", findings + "{" + ",".join(f'"{i}":0' for i in range(400_000)) + "}]}", 2),
                                   ("of many numbers", findings + '],"summary":{"ranks":[' + "0," * 4_000_000 + "0]}}", 0),
                                   ("that nest", findings + '],"x":' + "[" * 2_000_000 + "]" * 2_000_000 + "}", 2),
                                   ("of nested objects", findings + '],"x":' + '{"a":' * NESTED + "0" + "}" * NESTED + "}", 2)):
            with self.subTest(what):
                sandbox = self.sandbox()
                if text is None:
                    sandbox.huge("repo/r.json", 300 << 20)
                else:
                    sandbox.write("repo/r.json", text)
                done = self.run_in(sandbox, "report", "r.json")
                self.assertSays(done, status, "r.json" if status else "no findings")
                self.assertLess(done.seconds, 30, str(done))


def doubling(first, line, count, last):
    return first + "".join(line.format(i=i, j=i + 1) for i in range(count)) + last


# What ends them, by an option that makes the limit near.
MEMORY, TIME = ["--memory=300"], ["--timeout=1"]
EXTENSION = 'setup(ext_modules=[CppExtension("a", ["src/b.cpp"], include_dirs=x, define_macros=[("X", x)])])\n'
SOURCES = {
    "doubling macros": (MEMORY, doubling("#define A0 1 +\n", "#define A{j} A{i} A{i}\n", 40, "int x = A40 1;\n"), "--memory"),
    "doubling arguments": (MEMORY, "#define D(x) x x\nint x = " + "D(" * 40 + "1+" + ")" * 40 + "1;\n", "--memory"),
    "doubling templates": (MEMORY, "template <int N, long M> struct T { T<N - 1, 2 * M> a; T<N - 1, 2 * M + 1> b; };\n"
                                   "template <long M> struct T<0, M> {};\nT<40, 1> t;\n", "--memory"),
    "many declarations": (MEMORY, "".join(f"struct S{i} {{ int a, b, c; }};\n" for i in range(150_000)), "--memory"),
    "constant expressions": (TIME, "constexpr int s() { int r = 0; for (int i = 0; i < 300000; ++i) r ^= i; return r; }\n"
                                   "#define T(x) x x x x x x x x x x\nT(T(T(static_assert(s() >= 0);)))\n", "--timeout"),
    "nested parentheses": ([], "int x = " + "(" * NESTED + "1" + ")" * NESTED + ";\n", "not analysed"),
    "nested blocks": ([], "int f() " + "{" * NESTED + "}" * NESTED, "not analysed"),
    "a long sum": ([], "int x = " + "1 + " * NESTED + "1;\n", "not analysed"),
    "nested signs": ([], "int x = " + "- " * NESTED + "1;\n", "not analysed"),
    "nested conditions": ([], "#if 1\n" * NESTED + "#endif\n" * NESTED + "int x;\n", None),
    "nested scopes": ([], "".join(f"namespace n{i} {{\n" for i in range(5_000)) + "}" * 5_000, "not analysed"),
    "nested types": ([], "int " + "*" * NESTED + "x;\n", "not analysed"),
    "pipe": ([], '#include "pipe.h"\nint g() { return 1; }\n', "pipe.h is no regular file"),
    "/dev/zero": ([], '#include "/dev/zero"\nint g() { return 1; }\n', "/dev/zero is no regular file"),
    "/dev/stdin": ([], '#include "/dev/stdin"\nint g() { return 1; }\n', "/dev/stdin is no regular file"),
    "/dev/tty": ([], '#include "/dev/tty"\nint g() { return 1; }\n', "/dev/tty is no regular file"),
    "embedded device": ([], 'const char d[] = {\n#embed "/dev/zero"\n};\n', "/dev/zero is no regular file"),
    "huge header": ([], '#include "huge.h"\nint g() { return 1; }\n', "huge.h is larger than"),
    "itself": ([], '#include "b.cpp"\n#include "b.cpp"\nint g() { return 1; }\n', None),
    "itself without end": ([], '#include __FILE__\nint g() { return 1; }\n', None),
    "a tree of includes": ([], '#include "t0.h"\nint g() { return 1; }\n', "not analysed"),
    "a long name": ([], "int " + "a" * 2_000_000 + ";\n", None),
    "a long line": ([], "int g() { return 1; } " + "/* */ " * 200_000 + "\n", None),
    "a long string": ([], 'const char *s = "' + "x" * 2_000_000 + '";\n', None),
    "a long include": ([], '#include "' + "x/" * 100_000 + 'x.h"\nint g() { return 1; }\n', None),
    "an open comment": ([], "int g() { return 1; }\n/*" + " x" * 100_000, None),
    "an open string": ([], 'int g() { return 1; }\nR"(' + " x" * 100_000, None),
    "many chevrons": ([], "void g() { " + "<<< " * 5_000 + " }\n", None, "b.cu"),
    "NOLINT without end": ([], "// NOLINTBEGIN(device-*)\n" * 20_000 + "int g() { return 1; }\n", None),
    "many pragmas": ([], "#pragma pack(push, 1)\n" * 100_000 + "int g() { return 1; }\n", None),
}
SETUPS = {
    "doubling strings": doubling('x = "abc"\n', "x = x + x\n", 60, EXTENSION),
    "doubling formats": doubling('x = "abc"\n', 'x = f"{{x}}{{x}}"\n', 60, EXTENSION),
    "doubling literals": doubling('x = "abc"\n', 'x = f"{{x}}" f"{{x}}"\n', 60, EXTENSION),
    "doubling paths": doubling('x = "abc"\n', "x = os.path.join(x, x)\n", 60, EXTENSION),
    "doubling by /": doubling('x = Path("abc")\n', "x = x / x\n", 60, EXTENSION),
    "doubling lists": doubling('x = ["abc"]\n', "x = x + x\n", 60, EXTENSION),
    "doubling tables": doubling('x = {"a": "b"}\n', 'x = {{"a": x, "b": x}}\n', 60, EXTENSION),
    "growing by itself": doubling("x = []\n", "x.append(x)\n", 60, EXTENSION),
    "extending by itself": doubling("x = [1]\n", "x.extend(x)\n", 60, EXTENSION),
    "many long names": 'x = "' + "a" * 60_000 + '"\n' + "".join(f"y{i} = x\n" for i in range(50_000)),
    "many copies": "x = [" + '"a", ' * 9_000 + "]\n" + "".join(f"y{i} = x\n" for i in range(50_000)),
    "nested lists": "x = " + "[" * NESTED + "]" * NESTED + "\n" + EXTENSION,
    "open lists": "x[(;" * 100_000,
    "open calls": "Extension((;" * 100_000,
    "open comprehensions": "a[[x for;" * 100_000,
    "many members": 'x = "' + "a" * 60_000 + '"\ny = x' + ".parent" * 100_000 + "\n",
    "many extensions": "x = [" + '"a", ' * 9_000 + "]\n" + 'Extension("a", x)\n' * 20_000,
}
CMAKES = {
    "doubling variables": doubling("set(x abc)\n", "set(x ${{x}}${{x}})\n", 60, "add_definitions(-DX=${x})\n"),
    "doubling lists": doubling("set(x abc)\n", "set(x ${{x}};${{x}})\n", 60, "include_directories(${x})\n"),
    "doubling arguments": doubling("set(x abc)\n", "set(x ${{x}} ${{x}})\n", 60, "include_directories(${x})\n"),
    "a variable of itself": "set(x ${x} ${x})\n" * 10_000 + "add_definitions(${x})\n",
    "many variables": "set(x " + "a" * 60_000 + ")\n" + "".join(f"set(y{i} ${{x}})\n" for i in range(50_000)),
    "a large variable": doubling("set(x " + "a" * 60_000 + ")\nset(z " + "${x} " * 200 + ")\n", "set(y{i} ${{z}})\n", 50_000, ""),
    "many macros": "add_definitions(" + " ".join(f"-DX{i}=1" for i in range(200_000)) + ")\n",
    "many folders": "include_directories(" + " ".join(f"/x{i}" for i in range(200_000)) + ")\n",
    "nested references": "add_definitions(" + "${" * NESTED + "}" * NESTED + ")\n",
    "open brackets": "set(x [=" * 100_000,
    "open parentheses": "set((" * 100_000,
}


class Sources(Ends):
    def run_beside(self, sandbox, name, *options):
        return self.run_in(sandbox, *CHECK, f"src/{name}", "-j2", *options)

    def test_sources(self):
        for what, (options, text, says, *name) in SOURCES.items():
            with self.subTest(what):
                sandbox = self.sandbox()
                self.place(sandbox, READERS["source"])
                name = name[0] if name else "b.cpp"
                sandbox.write(f"repo/src/{name}", text)
                if what == "pipe":
                    sandbox.fifo("repo/src/pipe.h")
                if what == "huge header":
                    sandbox.huge("repo/src/huge.h", 4 << 30)
                for i in range(40 if what == "a tree of includes" else 0):
                    sandbox.write(f"repo/src/t{i}.h", f'#include "t{i + 1}.h"\n#include "t{i + 1}.h"\n' if i < 39 else "")
                done = self.run_beside(sandbox, name, *options)
                self.assertSays(done, 2 if says else (1, 2), FINDING, *([f"{name}: ", says] if says else []))

    def test_scripts(self):
        for script, texts in (("setup.py", SETUPS), ("CMakeLists.txt", CMAKES)):
            for what, text in texts.items():
                with self.subTest(script=script, what=what):
                    sandbox = self.sandbox()
                    self.place(sandbox, READERS[script])
                    sandbox.write("repo/" + script, text)
                    done = self.run_in(sandbox, *CHECK)
                    self.assertSays(done, 1, FINDING)
                    self.assertLess(done.seconds, 20, str(done))

    def test_response_files(self):
        for what, text in (("of themselves", "@flags.rsp @flags.rsp -DX"), ("by nvcc's option", "--options-file flags.rsp,flags.rsp"),
                           ("in quotes", '"@flags.rsp" \'@flags.rsp\''), ("wrapped", "-Xcompiler @flags.rsp,@flags.rsp"),
                           ("large and often", "-DX=1 " * 300_000 + "@flags.rsp @flags.rsp")):
            with self.subTest(what):
                sandbox = self.sandbox()
                self.place(sandbox, READERS["response file"])
                sandbox.write("repo/flags.rsp", text)
                done = self.run_in(sandbox, *CHECK)
                self.assertSays(done, 2 if what.startswith("large") else 1, "flags.rsp" if what.startswith("large") else FINDING)

    def test_compile_commands(self):
        entry = '{"directory": "/", "file": "/x.cpp", "command": "c++ -c /x.cpp"}'
        for what, text, status in (("nested lists", "[" * NESTED, 2), ("nested in an entry", '[{"a": ' + "[" * NESTED, 2),
                                   ("nested sequences of YAML", "[" + "- " * NESTED, 2), ("nested keys of YAML", "? " * NESTED, 2),
                                   ("tags of YAML", "!a " * NESTED, 2), ("anchors of YAML", "&a " * NESTED, 2),
                                   ("many entries", "[" + f"{entry}," * 20_000 + entry + "]", 1),
                                   ("a long command", '[{"directory": "/", "file": "/x.cpp", "command": "c++ ' + "-DX " * 500_000 + '"}]', 1),
                                   ("comments and commas", f"[ # all\n{entry},\n]", 1), ("a byte order mark", f"\ufeff[{entry}]", 1),
                                   ("numbers", "[" + entry.replace("}", ', "a": -1, "b": 2.5e-3, "c": 1E+9}') + "]", 2),
                                   ("a large list", "[" + entry + " " * (65 << 20) + "]", 1)):
            with self.subTest(what):
                sandbox = self.sandbox()
                self.place(sandbox, READERS["compile_commands.json"])
                sandbox.write("repo/compile_commands.json", text)
                says = "Unknown key" if what == "numbers" else "compile_commands.json"  # clang takes none but its own
                self.assertSays(self.run_in(sandbox, *CHECK), status, FINDING if status == 1 else says)

    def test_settings(self):
        for what, text in (("nested lists", "x = " + "[" * NESTED), ("nested tables", "x = " + "{a = " * NESTED),
                           ("a deep table", "[" + "a." * NESTED + "a]\n"), ("a deep key", "a." * NESTED + "a = 1\n"),
                           ("a deep key and an error", "[" + "a." * NESTED + "a]\n!"), ("a deep list of tables", "[[" + "a." * NESTED + "a]]\n"),
                           ("a deep key in a table", "x = {" + "a." * NESTED + "a = 1}\n"), ("a deep key of strings", "[" + '"a".' * NESTED + "a]\n"),
                           ("deep behind a string", 'x = """\n""" # "\n[' + "a." * NESTED + "a]\n"), ("many tables", "[check]\n" * 100_000),
                           ("many rules", "[suppressions]\ndevice-host-sync = [" + '"x.cpp",' * 300_000 + "]\n")):
            with self.subTest(what):
                sandbox = self.sandbox()
                self.place(sandbox, READERS["project file"])
                sandbox.write("repo/.devsan.toml", text)
                taken = what == "many rules"
                self.assertSays(self.run_in(sandbox, *CHECK), 1 if taken else 2, FINDING if taken else ".devsan.toml:")

    def test_one_limit_for_the_run(self):
        sandbox = self.sandbox()
        self.place(sandbox, READERS["source"])
        for i in range(8):
            sandbox.write(f"repo/src/b{i}.cpp", SOURCES["constant expressions"][1])
        done = self.run_in(sandbox, *CHECK[:-1], "src", "-j2", "--timeout=0", "--total-timeout=2")
        self.assertSays(done, 2, "b7.cpp: not analysed", "(--total-timeout)", "not all of the project was looked at")
        self.assertLess(done.seconds, 12, str(done))

    def test_headers_of_all_files(self):
        """What a file takes before its own first line is not spent twice."""
        sandbox = self.sandbox()
        self.place(sandbox, READERS["source"])
        sandbox.write("repo/include/torch/torch.h", SOURCES["constant expressions"][1])
        for i in range(4):
            sandbox.write(f"repo/src/b{i}.cpp", SOURCE)
        begin = time.monotonic()
        done = self.run_in(sandbox, "check", "--no-cache", "--torch=none", "-j2", "--timeout=1", "src", "--", f"-I{sandbox.repo}/include")
        self.assertSays(done, 2, "b3.cpp: not analysed", "(--timeout)")
        self.assertLess(time.monotonic() - begin, 15)

    def test_the_limit_of_a_file_is_none_of_those_that_serve_it(self):
        sandbox = self.sandbox()
        self.place(sandbox, READERS["source"])
        sandbox.write("repo/src/b.cpp", "#include <torch/torch.h>\n" + SOURCES["constant expressions"][1])
        command = [DEVSAN, *CHECK[:-1], "--timeout=1", "-j1", "src/b.cpp"]
        process = subprocess.Popen(command, cwd=sandbox.repo, env=sandbox.environment(), stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
        limits = []
        while limits[2:] != [1] and process.poll() is None:
            with contextlib.suppress(OSError):  # one of them has ended
                chain = [process.pid]
                while children := Path(f"/proc/{chain[-1]}/task/{chain[-1]}/children").read_text().split():
                    chain.append(int(children[-1]))  # the first one keeps the temporary folder
                limits = [resource.prlimit(pid, resource.RLIMIT_CPU)[0] for pid in chain]
        process.kill()
        process.wait()
        own = resource.getrlimit(resource.RLIMIT_CPU)[0]
        self.assertEqual(limits, [own, own, 1], "of the command, of the server of its headers, and of the file's process")

    def test_the_checker_itself(self):
        """Its own memory, not that of a file's analysis."""
        sandbox = self.sandbox()
        self.place(sandbox, READERS["source"])
        entry = '{"directory": "/", "file": "/x.cpp", "command": "c++ -c /x.cpp"}'
        sandbox.write("repo/compile_commands.json", "[" + f"{entry},\n" * 300_000 + entry + "]")
        self.assertSays(self.run_in(sandbox, *CHECK, "--memory=100"), 2, "100 MB of memory", "compile_commands.json")

    def test_folders(self):
        sandbox = self.sandbox()
        self.place(sandbox, READERS["source"])
        sandbox.link("repo/src/up", "..")
        sandbox.link("repo/src/self", ".")
        sandbox.link("repo/src/root", "/")
        sandbox.link("repo/src/loop.cpp", "loop.cpp")
        sandbox.fifo("repo/src/pipe.cpp")
        here = os.getcwd()
        os.chdir(sandbox.path("repo", "src"))
        for _ in range(300):  # far beyond the length of a path
            os.mkdir("d" * 30)
            os.chdir("d" * 30)
        os.chdir(here)
        done = self.run_in(sandbox, *CHECK[:-1], "src")
        self.assertSays(done, 1, FINDING, "1 file: 1 finding")


if __name__ == "__main__":
    main()
