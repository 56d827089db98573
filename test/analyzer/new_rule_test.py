"""script/new-rule: what it makes touches one folder, builds, loads, is documented, and has a failing test to start from.

Tried in a copy of the sources. Of the build only what a new check changes is compiled and linked again, with the build's
own commands.

usage: new_rule_test.py --build BUILD_DIR --lit LIT
"""

import json
import os
import re
import shlex
import shutil
import sys
import tempfile
import unittest
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[1] / "support"))
from commands import run

ROOT = Path(__file__).resolve().parents[2]
BUILD = LIT = None


def contents(folder):
    return {path.relative_to(folder): path.read_bytes() for path in folder.rglob("*") if path.is_file()}


class NewRule(unittest.TestCase):
    def setUp(self):
        self.folder = Path(tempfile.mkdtemp(prefix="devsan-new-rule-"))
        self.addCleanup(shutil.rmtree, self.folder)
        self.root = self.folder / "source"
        for part in ("analyzer", "core", "script", "test/lit"):
            shutil.copytree(ROOT / part, self.root / part)
        shutil.copytree(ROOT / "runtime", self.root / "runtime", ignore=shutil.ignore_patterns("sim", "python", "standin"))
        self.before = contents(self.root)

    def new_rule(self, *arguments, status=0):
        return run(sys.executable, self.root / "script/new-rule", *arguments, status=status)

    def touched(self):
        after = contents(self.root)
        self.assertEqual(self.before, {path: after.get(path) for path in self.before})
        return {path.parent for path in after.keys() - self.before.keys()}

    def test_refuses(self):
        for name in ("Late-Copy", "late_copy", "late--copy", "-late", "2late", "../late", "late-copy/", ""):
            self.assertIn("is no rule's name", self.new_rule("--", name, status=1), name)
        self.assertIn("exists already", self.new_rule("device-bare-cuda", status=1))
        self.assertIn("exists already", self.new_rule("--runtime", "extra-context", status=1))
        self.assertIn("usage:", self.new_rule("--help"))
        self.assertEqual(self.touched(), set())

    def test_one_page_for_both_sides(self):
        out = self.new_rule("--static", "extra-context")
        self.assertIn('add "static" to the origins there', out)
        self.assertNotIn(Path("analyzer/checks/extra-context/rule.md"), contents(self.root))

    def test_a_detector(self):
        self.new_rule("--runtime", "late-copy")
        self.assertEqual(self.touched(), {Path("runtime/detectors/late-copy")})
        for file in ("detector.cpp", "detector_test.cpp"):
            run("clang++-22", "-std=c++20", "-fsyntax-only", "-Wall", "-Wextra", "-Werror", "-Wno-unused-parameter", "-I", self.root,
                self.root / "runtime/detectors/late-copy" / file)
        self.rule_table()

    def rule_table(self):
        table = self.folder / "rule_table.inc"
        run(sys.executable, self.root / "core/finding/generate_rule_table.py", table,
            *self.root.glob("analyzer/checks/*/rule.md"), *self.root.glob("runtime/detectors/*/rule.md"))
        self.assertIn('"device-late-copy"', table.read_text())

    def compile(self, source, like):
        """Compiles a file of the copy as the build compiles `like`."""
        entry = next(entry for entry in json.loads((BUILD / "compile_commands.json").read_text())
                     if entry["file"] == str(ROOT / like) and not re.search(r"_checks\d+\.dir", entry["command"]))
        words = shlex.split(entry["command"])
        words[words.index("-o") + 1] = str(self.folder / (source.replace("/", "-") + ".o"))
        words[words.index("-c") + 1] = str(self.root / source)
        generated = [f"-I{self.folder}", f"-I{self.root}"]
        run(*words[:1], *([words[1], *generated, *words[2:]] if "ccache" in words[0] else [*generated, *words[1:]]),
            cwd=entry["directory"])
        return self.folder / (source.replace("/", "-") + ".o")

    def test_a_check(self):
        self.new_rule("late-copy")
        self.assertEqual(self.touched(), {Path("analyzer/checks/late-copy")})
        self.rule_table()
        (self.folder / "checks.inc").write_text('DEVSAN_FACTS_RULE("device-late-copy", late_copy)\n')
        check = self.compile("analyzer/checks/late-copy/rule.cpp", "analyzer/module.cpp")
        module = self.compile("analyzer/module.cpp", "analyzer/module.cpp")
        rules = self.compile("core/finding/rule_table.cpp", "core/finding/rule_table.cpp")

        fresh = self.folder / "build"
        for part in ("lib", "libexec", "share"):
            (fresh / part).mkdir(parents=True)
        (fresh / "share/devsan").symlink_to(BUILD / "share/devsan")
        for target, result in (("devsan_tidy", fresh / "lib/libDevSanTidy.so"), ("devsan_check", fresh / "libexec/devsan-check")):
            line = run("ninja", "-C", BUILD, "-t", "commands", target).splitlines()[-1]
            line = re.sub(r"\S*module\.cpp\.o", f"{module} {check} {rules if target == 'devsan_check' else ''}", line)
            line = re.sub(r" -o \S+", f" -o {result}", line)
            run("bash", "-c", line, cwd=BUILD)

        self.assertIn("device-late-copy", run("clang-tidy-22", f"--load={fresh / 'lib/libDevSanTidy.so'}",
                                              "--checks=-*,device-*", "--list-checks"))
        out = run(LIT, "-v", f"-Dsource_dir={self.root}", f"-Dbuild_dir={fresh}", f"-Dpython={sys.executable}", "-Dcxx=clang++-22",
                  self.root / "test/lit/analyzer", "--filter", "late-copy", status=1)
        self.assertIn("FAIL: analyzer :: checks/late-copy/flagged.test.cpp", out)
        self.assertIn("PASS: analyzer :: checks/late-copy/silent.test.cpp", out)
        self.assertIn("PASS: analyzer :: checks/late-copy/suppressed.test.cpp", out)

        # The test passes as soon as the check does something.
        file = self.root / "analyzer/checks/late-copy/rule.cpp"
        text = file.read_text()
        changed = text.replace("isLateCopy(const Operation &) {\n  return false;",
                               "isLateCopy(const Operation &operation) {\n  return operation.kind == Operation::Kind::kMove;")
        self.assertNotEqual(text, changed)
        file.write_text(changed)
        self.compile("analyzer/checks/late-copy/rule.cpp", "analyzer/module.cpp")
        run("bash", "-c", line, cwd=BUILD)
        run(LIT, "-v", f"-Dsource_dir={self.root}", f"-Dbuild_dir={fresh}", f"-Dpython={sys.executable}", "-Dcxx=clang++-22",
            self.root / "test/lit/analyzer", "--filter", "late-copy/(flagged|suppressed)")


if __name__ == "__main__":
    BUILD, LIT = Path(sys.argv[2]).resolve(), sys.argv[4]
    os.environ["PATH"] += os.pathsep + "/usr/lib/llvm-22/bin"
    del sys.argv[1:5]
    unittest.main()
