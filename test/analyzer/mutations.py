"""Feeds devsan-check what no compiler accepts: mutated test sources, mock headers, settings, databases and caches.

Nothing of it may crash the analysis or make it hang. A mutated source gives every file a result and status 0 or 1, or 2
where no function of a file could be parsed; a damaged cache changes no finding. What fails is kept, made smaller by
leaving out lines, and named with the command that repeats it. The same seed makes the same mutants.
"""

import argparse
import json
import os
import random
import re
import shutil
import subprocess
import sys
import time
from pathlib import Path

TOKEN = re.compile(r"\s+|[A-Za-z_]\w*|\d[\w.']*|\"(?:\\.|[^\"\\\n])*\"|<<<|>>>|::|->|//[^\n]*|.", re.DOTALL)
ODD = ["<<<", ">>>", "<<<1, 1>>>", "template <typename T>", "template <>", "typename", "co_await", "...", "auto", "decltype(x)",
       "[&]", "[=, this]", "{}", "()", "(", ")", "{", "}", ";", "::", "*", "&", "&&", "nullptr", "this", "0", "-1", "1ull << 63",
       "operator()", "constexpr", "static", "thread_local", "extern \"C\"", "goto out;", "out:", "throw", "try {", "catch (...) {}",
       "return", "if constexpr (sizeof(T))", "switch (x) {", "case 1:", "for (;;)", "while (true)", "do", "#include <torch/torch.h>",
       "#define x y", "#if 0", "#endif", "__global__", "__device__", "requires true", "sizeof...(T)", "noexcept(false)", "= default",
       "= delete", "friend", "virtual", "struct x;", "namespace at {", "using namespace c10;", "??=", "\\", "\"", "R\"(", "/*", "*/",
       "x.cuda()", "x.to(x)", "std::move(x)", "alignas(0)", "[[maybe_unused]]", "_Generic", "asm(\"\")", "union {", "x ? x : x"]
FLAGS = {
    ".cpp": [],
    ".cu": ["-x", "cuda", "--cuda-host-only", "-nocudalib", "-nocudainc", "-include", "cuda_runtime.h"],
}
BATCH = 16
LONGEST = 20  # seconds for one mutant
UNANALYSED = re.compile(r"not analysed, (?!no function in it could be parsed(?:, not found: [^;]+)?; \d+ errors?,)(.*)")


class Mutator:
    """Changes a text in one to four places, most often so that it still resembles code."""

    def __init__(self, chance, texts):
        self.chance = chance
        self.texts = texts
        self.words = sorted({token for text in texts for token in TOKEN.findall(text) if re.match(r"[A-Za-z_]", token)})
        self.ways = [self.replace_token] * 5 + [self.drop_tokens, self.double_tokens, self.swap_tokens] * 3 + [
            self.truncate, self.drop_lines, self.double_lines, self.swap_lines, self.splice, self.junk, self.nest]

    def __call__(self, text):
        # Mostly with the head as it is: the tests' few heads are precompiled once for all mutants.
        head = text.rfind("#include")
        if head >= 0 and self.chance.random() < 0.9:
            head = text.find("\n", head) + 1
            return text[:head] + self.change(text[head:])
        return self.change(text)

    def change(self, text):
        for _ in range(self.chance.randint(1, 4)):
            text = self.chance.choice(self.ways)(text)
        return text

    def span(self, parts, longest):
        start = self.chance.randrange(len(parts) + 1)
        return start, min(len(parts), start + self.chance.randint(1, longest))

    def replace_token(self, text):
        parts = TOKEN.findall(text)
        places = [i for i, part in enumerate(parts) if not part.isspace() and not part.startswith("//")]
        if places:
            parts[self.chance.choice(places)] = self.chance.choice(
                self.words if self.chance.random() < 0.5 else [parts[self.chance.choice(places)]] * 2 + ODD)
        return "".join(parts)

    def drop_tokens(self, text):
        parts = TOKEN.findall(text)
        start, end = self.span(parts, 8)
        return "".join(parts[:start] + parts[end:])

    def double_tokens(self, text):
        parts = TOKEN.findall(text)
        start, end = self.span(parts, 20)
        return "".join(parts[:end] + [" "] + parts[start:end] * self.chance.choice([1, 1, 2, 40]) + parts[end:])

    def swap_tokens(self, text):
        parts = TOKEN.findall(text)
        if len(parts) > 1:
            i, j = self.chance.randrange(len(parts)), self.chance.randrange(len(parts))
            parts[i], parts[j] = parts[j], parts[i]
        return "".join(parts)

    def truncate(self, text):
        return text[: self.chance.randrange(len(text) + 1)]

    def drop_lines(self, text):
        lines = text.splitlines(keepends=True)
        start, end = self.span(lines, 6)
        return "".join(lines[:start] + lines[end:])

    def double_lines(self, text):
        lines = text.splitlines(keepends=True)
        start, end = self.span(lines, 12)
        return "".join(lines[:end] + lines[start:])

    def swap_lines(self, text):
        lines = text.splitlines(keepends=True)
        if len(lines) > 1:
            i, j = self.chance.randrange(len(lines)), self.chance.randrange(len(lines))
            lines[i], lines[j] = lines[j], lines[i]
        return "".join(lines)

    def splice(self, text):
        other = self.chance.choice(self.texts)
        return text[: self.chance.randrange(len(text) + 1)] + other[self.chance.randrange(len(other) + 1):]

    def junk(self, text):
        place = self.chance.randrange(len(text) + 1)
        return text[:place] + self.chance.choice(["\0", "\x7f", "\ufeff", "\u202e", "é", "\r", "\x1a", "'" * 9]) + text[place:]

    def nest(self, text):
        place = self.chance.randrange(len(text) + 1)
        return text[:place] + self.chance.choice("({[<!-~*") * self.chance.choice([3, 60, 400]) + text[place:]


class Fuzzer:
    def __init__(self, arguments):
        self.root = arguments.root
        self.tool = arguments.build / "libexec/devsan-check"
        self.folder = arguments.build / "test/mutations"
        shutil.rmtree(self.folder, ignore_errors=True)
        self.folder.mkdir(parents=True)
        self.chance = random.Random(arguments.seed)
        self.seed = arguments.seed
        self.jobs = arguments.jobs
        self.end = time.monotonic() + arguments.seconds
        self.mock = self.root / "analyzer/testing/mock"
        self.stubs = self.root / "analyzer/cuda_stubs"
        folders = (self.root / "analyzer/checks", self.root / "analyzer/testing")  # others' tests are of whole projects
        sources = sorted(path for folder in folders for suffix in ("cpp", "cu") for path in folder.rglob(f"*.test.{suffix}"))
        # In generated code of 10^4 statements one lost brace keeps clang's own parser busy for minutes.
        self.seeds = [(path.suffix, path.read_text()) for path in sources
                      if path.name != "long_functions.test.cpp"]
        self.mutate = Mutator(self.chance, [text for _, text in self.seeds])
        self.environment = dict(os.environ, XDG_CACHE_HOME=str(self.folder / "cache"))
        self.failures = []
        self.counts = {"sources": 0, "headers": 0, "settings": 0, "caches": 0}

    def run(self, *arguments, seconds=LONGEST * BATCH):
        command = [str(self.tool), f"-j{self.jobs}", "--torch=none", *map(str, arguments)]
        try:
            result = subprocess.run(command, capture_output=True, timeout=seconds, env=self.environment)
            return result.returncode, result.stdout.decode(errors="replace"), result.stderr.decode(errors="replace")
        except subprocess.TimeoutExpired:
            return None, "", ""

    def flags(self, suffix, mock):
        return ["-std=c++20", "-isystem", str(mock), "-isystem", str(self.stubs), *FLAGS[suffix]]

    def crashed(self, path, mock):
        """What happened to one file: the words of the report, or nothing."""
        status, out, err = self.run(path, "--", *self.flags(path.suffix, mock), seconds=LONGEST)
        if status is None:
            return f"took more than {LONGEST} s"
        if match := UNANALYSED.search(out + err):
            return match.group(1)
        expected = (2,) if "not analysed" in out + err else (0, 1)
        return f"devsan-check ended with status {status}: {err.strip()}" if status not in expected else None

    def compiler_too(self, path, mock):
        """Whether clang itself, which parses for us, has the trouble."""
        command = ["clang++-22", "-fsyntax-only", "-w", *self.flags(path.suffix, mock), str(path)]
        try:
            status = subprocess.run(command, capture_output=True, timeout=LONGEST).returncode
            return status < 0 or status >= 128
        except subprocess.TimeoutExpired:
            return True

    def shrink(self, path, mock, what):
        """Leaves out lines as long as the same happens, for some seconds."""
        end = time.monotonic() + 30
        lines = path.read_text(errors="replace").splitlines(keepends=True)
        size = len(lines) // 2
        while size >= 1 and time.monotonic() < end:
            start = 0
            while start < len(lines) and time.monotonic() < end:
                less = lines[:start] + lines[start + size:]
                path.write_text("".join(less), errors="replace")
                if self.crashed(path, mock) == what:
                    lines = less
                else:
                    start += size
            size //= 2
        path.write_text("".join(lines), errors="replace")

    def keep(self, path, mock, what):
        kept = self.folder / f"failed-{len(self.failures)}{path.suffix}"
        shutil.copy(path, kept)
        whose = "clang's own parser has it too" if self.compiler_too(kept, mock) else "clang alone has none"
        if mock == self.mock:
            self.shrink(kept, mock, what)
        else:
            shutil.copytree(mock, self.folder / f"failed-{len(self.failures)}-headers")
            mock = self.folder / f"failed-{len(self.failures)}-headers"
        command = " ".join([str(self.tool), "--torch=none", str(kept), "--", *self.flags(path.suffix, mock)])
        if whose.startswith("clang's own"):
            print(f"note: {kept}: {what}; {whose}")
            return
        self.failures.append(f"{kept}: {what}; {whose}\n  {command}")

    def sources(self, headers=False):
        """A batch of mutants, analysed in one call."""
        folder = self.folder / "batch"
        shutil.rmtree(folder, ignore_errors=True)
        folder.mkdir()
        mock = self.mock
        if headers:
            mock = self.folder / "headers"
            shutil.rmtree(mock, ignore_errors=True)
            shutil.copytree(self.mock, mock)
            some = [path for path in sorted(mock.rglob("*.h"))]
            for path in self.chance.sample(some, self.chance.randint(1, 3)):
                path.write_text(self.mutate(path.read_text()), errors="replace")
        database = []
        for number in range(BATCH // 2 if headers else BATCH):
            suffix, text = self.chance.choice(self.seeds)
            path = folder / f"m{number}{suffix}"
            path.write_text(text if headers else self.mutate(text), errors="replace")
            database.append({"directory": str(folder), "file": str(path),
                             "arguments": ["clang++", *self.flags(suffix, mock), str(path)]})
        (folder / "compile_commands.json").write_text(json.dumps(database))
        fix = ["--fix"] if self.chance.random() < 0.2 else []
        status, out, err = self.run("-p", folder, *fix, *[entry["file"] for entry in database])
        self.counts["headers" if headers else "sources"] += len(database)
        if status in ((2,) if "not analysed" in out + err else (0, 1)) and not UNANALYSED.search(out + err):
            return
        found = False
        for entry in database:
            path = Path(entry["file"])
            if what := self.crashed(path, mock):
                self.keep(path, mock, what)
                found = True
        if not found:
            self.failures.append(f"a batch of mutants ended with status {status}, none of them alone does: {err.strip()}")

    def settings(self):
        """Databases and settings that are damaged: each is read or refused with one line."""
        folder = self.folder / "settings"
        shutil.rmtree(folder, ignore_errors=True)
        folder.mkdir()
        source = folder / "x.cpp"
        source.write_text("int x;\n")
        database = json.dumps([{"directory": str(folder), "file": str(source),
                                "arguments": ["clang++", "-Iinclude", "-DA=1", "-std=c++20", "-isystem", "x", str(source)]},
                               {"directory": ".", "file": "x.cpp", "command": "nvcc -c \"x.cpp\" -o x.o -Xcompiler -fPIC"}],
                              indent=1)
        toml = '[suppressions]\ndevice-bare-cuda = ["src/*", "x.cpp"]\ndevice-host-sync = "tools/**"\n\n[check]\nchecks = "device-*"\n'
        files = {"compile_commands.json": database, ".devsan.toml": toml}
        name = self.chance.choice(sorted(files))
        for other, text in files.items():
            (folder / other).write_text(self.mutate(text) if other == name else text, errors="replace")
        status, out, err = self.run(source, seconds=LONGEST)
        self.counts["settings"] += 1
        if status not in (0, 1, 2) or UNANALYSED.search(out + err) or (status == 2 and len(err.strip().splitlines()) > 8):
            kept = self.folder / f"failed-{len(self.failures)}-settings"
            shutil.copytree(folder, kept)
            self.failures.append(f"{kept}/{name}: status {status}: {err.strip()}\n  {self.tool} --torch=none {kept}/x.cpp")

    def caches(self):
        """Damages files of the cache between two runs, which have to report the same."""
        folder = self.folder / "cached"
        if not folder.exists():
            folder.mkdir()
            shutil.copy(self.root / "analyzer/checks/bare-cuda/flagged.test.cpp", folder / "x.cpp")
        environment = self.environment
        self.environment = dict(environment, XDG_CACHE_HOME=str(self.folder / "damaged-cache"))
        command = [folder / "x.cpp", "--", *self.flags(".cpp", self.mock)]
        status, expected, _ = self.run(*command)
        files = sorted(path for path in (self.folder / "damaged-cache").rglob("*") if path.is_file())
        for path in files:
            if self.chance.random() < 0.3 and len(files) > 1:
                continue
            data = bytearray(path.read_bytes())
            way = self.chance.randrange(4)
            if way == 0:
                data = data[: self.chance.randrange(len(data) + 1)]
            elif way == 1:
                data = bytearray(self.chance.randbytes(self.chance.randint(0, 64)))
            else:
                for _ in range(self.chance.choice([1, 8, 200])):
                    if data:
                        data[self.chance.randrange(len(data))] = self.chance.randrange(256)
            path.write_bytes(data)
        second, got, err = self.run(*command)
        self.environment = environment
        self.counts["caches"] += 1
        if (second, got) != (status, expected) or "not analysed" in got + err:
            self.failures.append(f"a damaged cache changed the report: status {second} instead of {status}: {err.strip()}")

    def all(self):
        while time.monotonic() < self.end and len(self.failures) < 8:
            way = self.chance.random()
            if way < 0.62:
                self.sources()
            elif way < 0.70:
                self.sources(headers=True)
            elif way < 0.96:
                self.settings()
            else:
                self.caches()


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--root", type=Path, default=Path(__file__).resolve().parents[2], help="the repository")
    parser.add_argument("--build", type=Path, help="build folder (default build/ of the repository)")
    parser.add_argument("--seconds", type=float, default=15, help="how long to go on (default 15)")
    parser.add_argument("--seed", type=int, default=1, help="what the mutants are made from (default 1)")
    parser.add_argument("-j", "--jobs", type=int, default=2, help="files at a time (default 2)")
    parser.add_argument("--no-caches", action="store_true", help="leave the cache alone")
    arguments = parser.parse_args()
    arguments.build = (arguments.build or arguments.root / "build").resolve()
    fuzzer = Fuzzer(arguments)
    if arguments.no_caches:
        fuzzer.caches = lambda: None
    fuzzer.all()
    counts = ", ".join(f"{count} {what}" for what, count in fuzzer.counts.items())
    print(f"mutations: seed {arguments.seed}: {counts}; {len(fuzzer.failures)} failures")
    for failure in fuzzer.failures:
        print(failure)
    return 1 if fuzzer.failures else 0


if __name__ == "__main__":
    sys.exit(main())
