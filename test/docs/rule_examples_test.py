"""The examples of the rule pages are true: what is marked as flagged is found, and nothing else is.

usage: rule_examples_test.py --build BUILD_DIR --torch TORCH_DIR --cxx COMPILER

Every fenced block of cpp, cuda or python in a rule.md is an example. A comment that begins with `flagged` marks a line: there
the page's rule has a finding; on other lines there is none of any rule, notes aside. An example without such a line is the
fixed form. A page has at least one of each.

C++ and CUDA examples of rules that the analyzer knows are files for `devsan check`, those of other rules bodies of functions of
a program; that program and the Python examples run under `devsan run --sim=2`. All of one kind are looked at by one command.
What stands before an example is in prelude.*. With DEVSAN_TEST_RULE=RULE only that page is looked at.
"""

import argparse
import json
import os
import re
import subprocess
import sys
import tempfile
import unittest
from collections import defaultdict
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
HERE = Path(__file__).resolve().parent
sys.path.insert(0, str(ROOT / "core/finding"))
import generate_rule_table  # noqa: E402

FENCE = re.compile(r"^```(cpp|cuda|python)\n(.*?)^```$", re.M | re.S)
FLAGGED = re.compile(r"(//|#) flagged\b")
SUFFIX = {"cpp": "cpp", "cuda": "cu", "python": "py"}
arguments = None


class Example:
    """One fenced block, with the lines that it has in its page."""

    def __init__(self, rule, page, match, text):
        self.rule, self.page, self.language, self.code = rule["id"], page, match[1], match[2]
        self.first_line = text.count("\n", 0, match.start(2)) + 1
        self.kind = "python" if self.language == "python" else "check" if "static" in rule["origins"] else "program"
        self.flagged = {self.first_line + i for i, line in enumerate(self.code.splitlines()) if FLAGGED.search(line)}
        self.name = f"{page.relative_to(ROOT)}:{self.first_line}"
        self.stem = f"{page.parent.name.replace('-', '_')}_{self.first_line}"


def read_examples():
    pages = {}
    rule = os.environ.get("DEVSAN_TEST_RULE", "*")
    for page in sorted([*ROOT.glob(f"analyzer/checks/{rule}/rule.md"), *ROOT.glob(f"runtime/detectors/{rule}/rule.md")]):
        text = page.read_text(encoding="utf-8")
        rule = generate_rule_table.read(page)
        pages[page] = rule, [Example(rule, page, match, text) for match in FENCE.finditer(text)]
    return pages


def report(command, file, env=None):
    done = subprocess.run(list(map(str, command)), capture_output=True, text=True, env={**os.environ, **(env or {})})
    try:
        return json.loads(file.read_text()), done
    except (OSError, json.JSONDecodeError):
        raise AssertionError(f"no report; status {done.returncode} of {command}:\n{done.stdout}{done.stderr}") from None


class RuleExamples(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.pages = read_examples()
        assert cls.pages, "no page of a rule"
        cls.examples = [example for _, examples in cls.pages.values() for example in examples]
        cls.folder = tempfile.TemporaryDirectory(prefix="devsan-rule-examples-")
        cls.addClassCleanup(cls.folder.cleanup)
        cls.work = Path(cls.folder.name)
        # A project of its own: settings above the folder are none of the examples' business.
        (cls.work / ".devsan.toml").touch()
        cls.devsan = arguments.build / "bin/devsan"

    def test_pages_have_examples(self):
        for page, (_, examples) in self.pages.items():
            with self.subTest(page=str(page.relative_to(ROOT))):
                self.assertTrue(any(example.flagged for example in examples), "no example is flagged")
                self.assertTrue(any(not example.flagged for example in examples), "no example shows the fixed form")

    def of_kind(self, kind):
        chosen = [example for example in self.examples if example.kind == kind]
        if not chosen and "DEVSAN_TEST_RULE" in os.environ:
            self.skipTest(f"no examples of kind {kind}")
        self.assertTrue(chosen)
        return chosen

    def compare(self, examples, findings):
        """`findings`: of each example's stem, the (line in the page, rule, message) that were found."""
        for example in examples:
            with self.subTest(example=example.name):
                found = findings[example.stem]
                shown = "\n".join(f"{example.page.relative_to(ROOT)}:{line}: {message} [{rule}]" for line, rule, message in found)
                of_rule = {line for line, rule, _ in found if rule == example.rule}
                self.assertEqual(example.flagged, of_rule, f"lines flagged, and lines with {example.rule}:\n{shown}")
                elsewhere = {line for line, _, _ in found} - example.flagged
                self.assertFalse(elsewhere, f"findings on lines that are not flagged:\n{shown}")

    def found_in(self, document, examples, offset):
        stems = {example.stem: example for example in examples}
        findings = defaultdict(list)
        for finding in document["findings"]:
            if finding["severity"] == "note":
                continue
            self.assertTrue(finding["locations"], finding["message"])
            place = finding["locations"][0]
            stem = Path(place["file"]).stem
            self.assertIn(stem, stems, f"a finding outside of the examples: {place['file']}:{place['line']}: {finding['message']}")
            findings[stem].append((place["line"] - offset(stems[stem]), finding["rule"], finding["message"]))
        return findings

    def test_check(self):
        examples = self.of_kind("check")
        before = {"cpp": (HERE / "prelude.cpp").read_text()}
        before["cuda"] = before["cpp"] + (HERE / "prelude.cu").read_text()
        sources = self.work / "check"
        sources.mkdir()
        for example in examples:
            (sources / f"{example.stem}.{SUFFIX[example.language]}").write_text(before[example.language] + example.code)
        output = self.work / "check.json"
        # The cache of the analyzer's own tests holds LibTorch's headers.
        document, done = report([self.devsan, "check", "--strict", f"--torch={arguments.torch}", "--format=json", "-o", output, sources, "--",
                                 f"-I{ROOT / 'runtime/include'}"], output, {"XDG_CACHE_HOME": str(arguments.build / "test/cache")})
        # With --strict 2 is also an example that does not compile.
        self.assertEqual(done.returncode, 1, done.stdout + done.stderr)
        findings = self.found_in(document, examples, lambda example: before[example.language].count("\n") - example.first_line + 1)
        self.compare(examples, findings)

        fixable = {finding["rule"] for finding in document["findings"] if finding.get("fix")}
        for page, (rule, _) in self.pages.items():
            with self.subTest(page=str(page.relative_to(ROOT))):
                self.assertEqual(rule["fix"], rule["id"] in fixable, "fix = true, if an example that is flagged has a fix")

    def test_python(self):
        examples = self.of_kind("python")
        sources = self.work / "python"
        sources.mkdir()
        for example in examples:
            # With the lines of the page.
            (sources / f"{example.stem}.py").write_text("\n" * (example.first_line - 1) + example.code)
        output = self.work / "python.json"
        files = [sources / f"{example.stem}.py" for example in examples]
        document, done = report([self.devsan, "run", "--sim=2", "--fail-on=none", "--quiet", f"--report={output}", "--",
                                 sys.executable, HERE / "run_examples.py", *files], output, {"OMP_NUM_THREADS": "1"})
        # No Python example is a refusal.
        self.assertEqual(done.returncode, 0, done.stderr)
        self.compare(examples, self.found_in(document, examples, lambda _: 0))

    def test_program(self):
        examples = self.of_kind("program")
        source = (HERE / "prelude_run.cpp").read_text()
        for example in examples:
            source += f'#line {example.first_line - 1} "{self.work}/{example.stem}.cpp"\n'
            source += f"struct {example.stem} : Example {{ void run() override {{\n{example.code}}} }};\n"
        calls = "".join(f'  inChild<{example.stem}>("{example.stem}");\n' for example in examples)
        source += f'#line 1 "main.cpp"\nint main() {{\n{calls}}}\n'
        (self.work / "program.cpp").write_text(source)
        program = self.work / "program"
        subprocess.run([sys.executable, ROOT / "test/lit/runtime/compile.py", f"--cxx={arguments.cxx}", f"--torch={arguments.torch}",
                        f"--include={ROOT / 'runtime/include'}", f"--cache={arguments.build / 'test/lit/runtime-headers'}",
                        self.work / "program.cpp", "-o", program], check=True)
        output = self.work / "program.json"
        document, done = report([self.devsan, "run", "--sim=2", "--fail-on=none", "--quiet", f"--report={output}", "--", program],
                                output, {"OMP_NUM_THREADS": "1"})
        statuses = dict(re.findall(r"^(\w+): status (\d+)$", done.stderr, re.M))
        for example in examples:
            # ATen refuses what device-mismatch flags.
            refused = bool(example.flagged) and example.rule == "device-mismatch"
            self.assertEqual(statuses[example.stem], str(int(refused)), done.stderr)
        self.compare(examples, self.found_in(document, examples, lambda _: 0))


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--build", type=Path, required=True)
    parser.add_argument("--torch", type=Path, required=True)
    parser.add_argument("--cxx", required=True)
    arguments, rest = parser.parse_known_args()
    arguments.build, arguments.torch = arguments.build.resolve(), arguments.torch.resolve()
    unittest.main(argv=[sys.argv[0], *rest])
