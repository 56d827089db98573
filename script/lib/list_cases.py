"""Prints each test case: of ctest's tests the cases in GoogleTest programs, lit suites, and Python's test modules.

usage: list_cases.py --build BUILD     lines `TEST: CASE`, with [full] where only --full runs it
"""

import argparse
import ast
import json
import re
import subprocess
from pathlib import Path


def output(command, folder, environment=()):
    return subprocess.run(["env", *environment, *command], cwd=folder, capture_output=True, text=True).stdout


def of_googletest(command, folder, environment):
    suite = ""
    for line in output([*command, "--gtest_list_tests"], folder, environment).splitlines():
        line = line.split("  #")[0].rstrip()
        if re.fullmatch(r"\S+\.", line):
            suite = line
        elif suite and line.startswith("  "):
            yield suite + line.strip()


def of_unittest(file):
    tree = ast.parse(file.read_text(encoding="utf-8"))
    for node in tree.body:
        if isinstance(node, ast.ClassDef):
            for member in node.body:
                if isinstance(member, ast.FunctionDef) and member.name.startswith("test"):
                    yield f"{node.name}.{member.name}"


def cases(test):
    properties = {entry["name"]: entry["value"] for entry in test["properties"]}
    command, folder = test.get("command", []), properties.get("WORKING_DIRECTORY", ".")
    if not command:
        return
    environment = properties.get("ENVIRONMENT", [])
    if Path(command[0]).name.startswith("lit"):
        for line in output([*command, "--show-tests"], folder).splitlines():
            if " :: " in line:
                yield line.strip().split(" :: ")[1]
    elif command[1:3] == ["-m", "pytest"]:
        for line in output([*command, "--collect-only"], folder, environment).splitlines():
            if "::" in line:
                yield line
    elif "python" in Path(command[0]).name:
        for word in command[1:]:
            if word.endswith("_test.py"):
                yield from of_unittest(Path(folder) / word)
    elif Path(command[0]).exists() and b"gtest_list_tests" in Path(command[0]).read_bytes():
        yield from of_googletest(command, folder, environment)


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--build", type=Path, required=True)
    build = parser.parse_args().build.resolve()
    shown = subprocess.run(["ctest", "--test-dir", build, "--show-only=json-v1"], capture_output=True, text=True, check=True)
    for test in json.loads(shown.stdout)["tests"]:
        labels = next((entry["value"] for entry in test["properties"] if entry["name"] == "LABELS"), [])
        mark = " [full]" if "full" in labels else ""
        found = list(cases(test))
        for case in found or ["the whole"]:
            print(f"{test['name']}: {case}{mark}")


if __name__ == "__main__":
    main()
