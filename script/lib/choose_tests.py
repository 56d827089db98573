"""Which tests belong to parts, rules and files, and what has to be built for them.

usage: choose_tests.py --root ROOT --build BUILD [--full] [--changed REV] [NAME...]

A NAME is a part (a folder with tests that cmake/DevSanParts.cmake knows by a short name), a rule, or a file or folder. Prints a line
of targets, then a line for each run of ctest: an expression for the tests' names, a tab, and variables for their environment.

A file is tested by the unit tests of its part, by the tests that lie beside it, and by those with a label `for:FOLDER`
above it; by its whole part where that names no test but units.
"""

import argparse
import json
import re
import subprocess
import sys
from collections import defaultdict
from pathlib import Path

RULE = re.compile(r"[a-z][a-z0-9]*(-[a-z0-9]+)*")
LIT_TEST = re.compile(r"\.test\.(cpp|cu|py)$")
FOR = "for:"


def stop(message, remedy):
    sys.exit(f"test: error: {message}\ntest: remedy: {remedy}")


class Tests:
    """What CMake configured: the tests, their labels and commands, and the parts' folders."""

    def __init__(self, root, build, full):
        self.root = root
        shown = subprocess.run(["ctest", "--test-dir", build, "--show-only=json-v1"], capture_output=True, text=True, check=True)
        self.labels, self.arguments = {}, {}
        for test in json.loads(shown.stdout)["tests"]:
            properties = {entry["name"]: entry["value"] for entry in test["properties"]}
            if not full and "full" in properties.get("LABELS", []):
                continue
            folder = Path(properties.get("WORKING_DIRECTORY", root))
            self.labels[test["name"]] = set(properties.get("LABELS", []))
            # Files of the sources, relative to their root.
            self.arguments[test["name"]] = [
                path.relative_to(root).as_posix() for path in (folder / word for word in test.get("command", []))
                if path.is_relative_to(root) and not path.is_relative_to(build) and path.is_file()]
        self.folders = {}
        for line in (build / "test-parts.txt").read_text().splitlines():
            folder, part = line.split()
            self.folders[folder] = part
        self.parts = sorted(set(self.folders.values()))

    def of_part(self, part):
        return {name for name, labels in self.labels.items() if part in labels}

    def part_of(self, path):
        for folder in [path, *Path(path).parents]:
            if part := self.folders.get(str(folder)):
                return part
        return None

    def beside(self, path, part):
        """Tests whose program is `path` or lies in its folder, and those that are for a folder above it."""
        folder = Path(path) if (self.root / path).is_dir() else Path(path).parent
        above = {FOR + str(place) for place in [folder, *folder.parents]}
        is_test = path.endswith("_test.py")
        return {name for name, labels in self.labels.items()
                if path in self.arguments[name] or (not is_test and labels & above)
                or (not is_test and part in labels and any(Path(file).parent == folder for file in self.arguments[name]))}


class Plan:
    def __init__(self, tests):
        self.tests = tests
        self.targets = set()
        self.names = defaultdict(set)  # by environment

    def part(self, part):
        self.targets.add(f"test_{part}")
        self.names[""] |= self.tests.of_part(part)

    def rule(self, rule):
        for folder, suite, part in (("analyzer/checks", "lit.analyzer", "analyzer"), ("runtime/detectors", "lit.detectors", "detectors")):
            place = self.tests.root / folder / rule
            if place.is_dir():
                self.targets.add(f"test_{part}")
                if any(LIT_TEST.search(file.name) for file in place.iterdir()):
                    self.names[f"LIT_FILTER=[\\ /]{rule}/"].add(suite)
                if f"{part}.units" in self.tests.labels:
                    self.names[""].add(f"{part}.units")
        self.targets |= {"devsan_checker", "devsan_watcher"}
        self.names[f"DEVSAN_TEST_RULE={rule}"].add("docs.rule_examples")

    def file(self, path):
        """Whether any test is for it."""
        match = re.match(r"(?:analyzer/checks|runtime/detectors)/([a-z0-9-]+)(?:/|$)", path)
        if match and is_rule(self.tests.root, match[1]):
            self.rule(match[1])
            return True
        part = self.tests.part_of(path)
        found = self.tests.beside(path, part)
        folder = path if (self.tests.root / path).is_dir() else str(Path(path).parent)
        for suite, top in (("lit.analyzer", "analyzer"), ("lit.runtime", "runtime")):
            below = Path(folder).relative_to(top).as_posix() if Path(folder).is_relative_to(top) and folder != top else None
            if below and LIT_TEST.search(path):
                self.names[f"LIT_FILTER=\\ {below}/{re.escape(Path(path).name)}$"].add(suite)
            elif below and any(LIT_TEST.search(file.name) for file in (self.tests.root / folder).iterdir()):
                self.names[f"LIT_FILTER=\\ {below}/"].add(suite)
            else:
                continue
            found.add(suite)
        if not part and not found:
            return False
        units = {name for name in self.tests.of_part(part) if name.endswith(".units")}
        if not found and not path.endswith("_test.cpp"):
            self.part(part)
            return True
        self.targets |= {f"test_{label}" for name in found | units for label in self.tests.labels[name] & set(self.tests.parts)}
        self.names[""] |= (found - {"lit.analyzer", "lit.runtime"}) | units
        return True


def is_rule(root, name):
    """A folder with a check or a detector."""
    return bool(RULE.fullmatch(name)) and ((root / "analyzer/checks" / name / "rule.cpp").is_file()
                                           or (root / "runtime/detectors" / name / "detector.cpp").is_file())


def changed(root, revision):
    def git(*arguments):
        done = subprocess.run(["git", "-c", "core.quotePath=off", *arguments], cwd=root, capture_output=True, text=True)
        if done.returncode:
            stop(f"git {arguments[0]} failed: {done.stderr.strip()}", "name a revision that git knows: script/test --changed=REV")
        return done.stdout.splitlines()

    return sorted({*git("diff", "--name-only", revision, "--"), *git("ls-files", "--others", "--exclude-standard")})


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--root", type=Path, required=True)
    parser.add_argument("--build", type=Path, required=True)
    parser.add_argument("--full", action="store_true")
    parser.add_argument("--changed")
    parser.add_argument("names", nargs="*")
    arguments = parser.parse_args()
    root = arguments.root.resolve()
    tests = Tests(root, arguments.build.resolve(), arguments.full)
    plan = Plan(tests)
    for name in arguments.names:
        rule = name.removeprefix("device-").rstrip("/")
        path = Path(name).resolve()
        if name in tests.parts:
            plan.part(name)
        elif is_rule(root, rule):
            plan.rule(rule)
        elif not path.exists() or not path.is_relative_to(root):
            stop(f"'{name}' is no part, no rule and no file here", f"the parts are {', '.join(tests.parts)}; rules are the folders of "
                 "analyzer/checks and runtime/detectors")
        elif not plan.file(path.relative_to(root).as_posix()):
            stop(f"no part has tests of {name}", f"name a part: {', '.join(tests.parts)}")
    if arguments.changed:
        # One that is gone is tested by what is left beside it.
        files = {next(str(place) for place in [Path(file), *Path(file).parents] if (root / place).exists())
                 for file in changed(root, arguments.changed)}
        without = [file for file in sorted(files) if not plan.file(file)]
        if without:
            print(f"test: note: no tests are for {', '.join(without)}", file=sys.stderr)
    # A run of a suite as a whole has its parts in it.
    for environment in [key for key in plan.names if key]:
        plan.names[environment] -= plan.names[""]
    print(" ".join(sorted(plan.targets)))
    for environment, names in sorted(plan.names.items()):
        if names:
            print(f"^({'|'.join(map(re.escape, sorted(names)))})$\t{environment}")


if __name__ == "__main__":
    main()
