"""Runs others' test files with pytest so that a crash or a hang costs one test: the outcome of each, which a file keeps.

A process runs the tests that have no outcome yet, and notes each when it begins and when it ends. Where the process dies or
notes nothing for too long, the test that it had begun has that as its outcome, and another process goes on behind it.
Loaded into those processes as pytest's plugin, too.
"""

import ast
import json
import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import missing_names

NOTES = "DEVSAN_UPSTREAM_NOTES"
FAILURES = ("failed", "crashed", "hung")
LOADING_LIMIT = 300  # seconds without a test: to import, to collect, to end
# How many characters of a failure's text are kept.
TEXT = 4000


class Notes:
    """What is known about each test, one line of JSON each: its name, an outcome or "begun", and the text of a failure."""

    def __init__(self, path):
        self.path = Path(path)
        self.outcomes = {}
        for line in self.path.read_text().splitlines() if self.path.exists() else []:
            name, outcome, text = json.loads(line)
            if self.outcomes.get(name, ("begun",))[0] not in FAILURES:
                self.outcomes[name] = outcome, text

    def add(self, name, outcome, text=""):
        with self.path.open("a") as notes:
            notes.write(json.dumps([name, outcome, text]) + "\n")

    def begun(self):
        return [name for name, (outcome, _) in self.outcomes.items() if outcome == "begun"]

    def forget(self, names):
        left = {name: known for name, known in self.outcomes.items() if name not in names}
        self.path.write_text("".join(json.dumps([name, *known]) + "\n" for name, known in left.items()))


def name_of(nodeid):
    """Class.test of pytest's FILE::Class::test."""
    file, _, test = nodeid.partition("::")
    return test.replace("::", ".") if "::" in test else f"{Path(file).stem}.{test}"


class _ZeroArgumentSuper(ast.NodeTransformer):
    """Of super(self.__class__, self), which calls itself without end in a class derived from the one that it stands in."""

    def visit_Call(self, node):
        self.generic_visit(node)
        if isinstance(node.func, ast.Name) and node.func.id == "super" and ast.unparse(node) == "super(self.__class__, self)":
            node.args = []
        return node


def pytest_configure():
    # Releases differ in how a test's class for a device comes from the test's own.
    from _pytest.assertion import rewrite

    asserts = rewrite.rewrite_asserts
    rewrite.rewrite_asserts = lambda tree, *rest, **named: asserts(_ZeroArgumentSuper().visit(tree), *rest, **named)


def pytest_collectstart(collector):
    if type(collector).__name__ == "Module":
        missing_names.supply(collector.path)


def pytest_collection_modifyitems(items):
    known = Notes(os.environ[NOTES]).outcomes
    items[:] = [item for item in items if name_of(item.nodeid) not in known]


def pytest_collection_finish():
    missing_names.running = True


def pytest_collectreport(report):
    if report.failed:
        Notes(os.environ[NOTES]).add(f"collecting {report.nodeid}", "failed", str(report.longrepr)[-TEXT:])


def pytest_runtest_logstart(nodeid):
    note(nodeid, "begun")


def pytest_runtest_logreport(report):
    if report.failed or report.skipped or report.when == "call":
        note(report.nodeid, report.outcome, str(report.longrepr or "")[-TEXT:])


def note(nodeid, outcome, text=""):
    with open(os.environ[NOTES], "a") as notes:
        notes.write(json.dumps([name_of(nodeid), outcome, text]) + "\n")


def run(prefix, folder, files, arguments, environment, notes, test_limit=300, limit=3600, conftest=False, python=sys.executable):
    """{Class.test: (outcome, text)} of the files in the folder, and whether all have come to an end within the limit."""
    command = [*prefix, python, "-B", "-m", "pytest", "-p", "upstream", "-p", "no:cacheprovider", *([] if conftest else ["--noconftest"]),
               "--quiet", "-c", os.devnull, f"--rootdir={folder}", *arguments, *files]
    paths = [str(Path(__file__).parent), environment.get("PYTHONPATH", "")]
    environment = environment | {NOTES: str(notes), "PYTHONPATH": os.pathsep.join(filter(None, paths))}
    output = Path(f"{notes}.log")
    deadline = time.monotonic() + limit
    while True:
        with output.open("w") as log:
            process = subprocess.Popen(command, cwd=folder, env=environment, stdin=subprocess.DEVNULL, stdout=log,
                                       stderr=subprocess.STDOUT, start_new_session=True)
            ended = wait(process, notes, test_limit, deadline)
        known = Notes(notes)
        if ended is None:
            known.forget(known.begun())
            return Notes(notes).outcomes, False
        lost = known.begun()
        for name in lost:
            known.add(name, "hung" if ended == "hung" else "crashed", output.read_text(errors="replace")[-TEXT:])
        if not lost:
            if ended == "hung" or process.returncode not in (0, 1, 2, 5):
                known.add(f"pytest {' '.join(files)}", "crashed", output.read_text(errors="replace")[-TEXT:])
            return Notes(notes).outcomes, True


def wait(process, notes, test_limit, deadline):
    """"ended", "hung" if nothing was noted for too long, or None at the deadline; the process and its children are gone."""
    size, since = -1, time.monotonic()
    try:
        while process.poll() is None:
            time.sleep(0.2)
            now = time.monotonic()
            if now > deadline:
                return None
            if (grown := notes.stat().st_size if notes.exists() else 0) != size:
                size, since = grown, now
            elif now - since > test_limit and (now - since > LOADING_LIMIT or Notes(notes).begun()):
                return "hung"
        return "ended"
    finally:
        try:
            os.killpg(process.pid, signal.SIGKILL)
        except ProcessLookupError:
            pass
        process.wait()
