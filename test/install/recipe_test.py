"""The recipe of metrics/README.md for the metrics as a part of a user's build, and the example that does so by FetchContent, compile
with another compiler than ours.

usage: recipe_test.py SOURCE PYTHON COMPILER [--all]
  --all   every source; else the program, and those with extensions of the language, in which compilers differ
"""

import concurrent.futures
import json
import os
import re
import shlex
import subprocess
import sys
import tempfile
from pathlib import Path

SOURCE, PYTHON, COMPILER = Path(sys.argv[1]).resolve(), sys.argv[2], sys.argv[3]
PROGRAM = SOURCE / "examples/metrics/evaluation.cpp"
FETCHING = SOURCE / "examples/metrics/fetch_content"
PROJECT = """\
cmake_minimum_required(VERSION 3.25)
project(train LANGUAGES C CXX)
add_executable(train {program})
{recipe}
"""


def recipe():
    block = re.search(r"```cmake\n([^`]*add_subdirectory[^`]*)```", (SOURCE / "metrics/README.md").read_text(encoding="utf-8"))[1]
    for text, ours in (("path/to/devsan", f'"{SOURCE}" devsan'), ("/path/to/python/that/has/torch", f'"{PYTHON}"')):
        assert text in block, f"metrics/README.md's recipe has no {text}"
        block = block.replace(text, ours)
    return block


def run(command, folder):
    """What it said if it failed."""
    result = subprocess.run(command, cwd=folder, capture_output=True, text=True)
    return "" if result.returncode == 0 else f"{shlex.join(command)}\n{result.stdout}{result.stderr}"


def is_of_the_example(file):
    return file.parent == PROGRAM.parent


def is_chosen(file):
    return "--all" in sys.argv or file == PROGRAM or re.search("__attribute__|__builtin|#pragma (?!once)", file.read_text(encoding="utf-8"))


def check(folder, project, is_chosen):
    """Without making code, which takes most of the time."""
    folder.mkdir()
    failure = run(["cmake", "-S", str(project), "-B", "build", f"-DCMAKE_CXX_COMPILER={COMPILER}", "-DCCACHE=", f"-DDEVSAN_PYTHON={PYTHON}",
                   "-DCMAKE_EXPORT_COMPILE_COMMANDS=ON"], folder)  # fmt: skip
    if failure:
        return [failure]
    headers, sources = [], []
    for entry in json.loads((folder / "build/compile_commands.json").read_text()):
        command, directory, file = shlex.split(entry["command"]), Path(entry["directory"]), Path(entry["file"])
        place = command.index("-o")
        if "cmake_pch" in file.name:
            (directory / command[place + 1]).parent.mkdir(parents=True, exist_ok=True)
            headers.append((command, directory))
        elif is_chosen(file):
            sources.append((command[:place] + command[place + 2 :] + ["-fsyntax-only"], directory))
    assert len(headers) > 0 and sources, "the recipe builds no metrics"
    if is_chosen is is_of_the_example:
        headers = []  # of the metrics alone
    with concurrent.futures.ThreadPoolExecutor(os.cpu_count()) as pool:
        for commands in (headers, sources):
            failures = [failure for failure in pool.map(lambda command: run(*command), commands) if failure]
            if failures:
                return failures
    return []


with tempfile.TemporaryDirectory(prefix="devsan-recipe-") as place:
    project = Path(place) / "project"
    project.mkdir()
    (project / "CMakeLists.txt").write_text(PROJECT.format(program=PROGRAM, recipe=recipe()))
    messages = check(Path(place) / "recipe", project, is_chosen) + check(Path(place) / "fetching", FETCHING, is_of_the_example)
print("\n".join(messages))
sys.exit(bool(messages))
