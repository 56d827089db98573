"""What building and testing cost, and whether that is within the budget.

usage: costs.py measure --costs FILE NAME COMMAND...   runs the command, and adds its wall and CPU time to the file
       costs.py report --costs FILE --build BUILD      tells them with the dearest steps; status 1 where a budget is exceeded
       costs.py --help

CPU time is told in compilations of .ci/reference.cpp, measured before and after in the same run with all processors busy,
since machines differ by a factor of two. .ci/budget.json holds what each phase may take; a phase may exceed it by a tenth, as
that much is noise. A change that costs more raises the number in the same commit, and so tells it to who reads the commit.
"""

import argparse
import json
import os
import resource
import statistics
import subprocess
import sys
import time
import xml.etree.ElementTree as ElementTree
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
BUDGET = ROOT / ".ci/budget.json"
TOLERANCE = 1.10
SHOWN = 10


def cpu_seconds():
    used = resource.getrusage(resource.RUSAGE_CHILDREN)
    return used.ru_utime + used.ru_stime


def reference_seconds():
    """CPU seconds of one compilation of the reference, with as many at once as there are processors."""
    before = cpu_seconds()
    command = ["clang++-22", "-std=c++20", "-O2", "-c", ROOT / ".ci/reference.cpp", "-o", os.devnull]
    running = [subprocess.Popen(command) for _ in range(os.cpu_count())]
    if any([process.wait() for process in running]):
        sys.exit("costs: error: .ci/reference.cpp does not compile")
    return (cpu_seconds() - before) / len(running)


def measure(arguments):
    costs = json.loads(arguments.costs.read_text()) if arguments.costs.exists() else {"reference": [], "phases": {}}
    costs["reference"].append(reference_seconds())
    begin, before = time.monotonic(), cpu_seconds()
    status = subprocess.run(arguments.command).returncode
    costs["phases"][arguments.name] = {"wall": time.monotonic() - begin, "cpu": cpu_seconds() - before}
    costs["reference"].append(reference_seconds())
    arguments.costs.parent.mkdir(parents=True, exist_ok=True)
    arguments.costs.write_text(json.dumps(costs))
    sys.exit(status)


def build_steps(build):
    """Of each step that ninja took the seconds and the output. A step with several outputs is logged once for each."""
    steps = {}
    for line in (build / ".ninja_log").read_text().splitlines()[1:]:
        begin, end, _, output, command = line.split("\t")
        steps[command, end] = (int(end) - int(begin)) / 1000, output
    return sorted(steps.values(), reverse=True)


def tests(build):
    """Of each test that ctest ran the seconds and the name."""
    suite = ElementTree.parse(build / "tests.xml").getroot()
    return sorted(((float(case.get("time")), case.get("name")) for case in suite.iter("testcase")), reverse=True)


def report(arguments):
    costs, budget = json.loads(arguments.costs.read_text()), json.loads(BUDGET.read_text())
    reference = statistics.median(costs["reference"])
    print(f"costs: one compilation of .ci/reference.cpp takes {reference:.2f} s of CPU time "
          f"({min(costs['reference']):.2f} to {max(costs['reference']):.2f})")
    counted = {"build": build_steps(arguments.build), "test": tests(arguments.build)}
    exceeded = []
    for phase, cost in costs["phases"].items():
        measured = {"references": cost["cpu"] / reference}
        if phase in counted:
            measured["steps"] = len(counted[phase])
        print(f"costs: {phase}: {cost['wall']:.0f} s, {cost['cpu']:.0f} s of CPU time, "
              + ", ".join(f"{value:.0f} {name} (budget {budget[phase][name]})" for name, value in measured.items()))
        for seconds, name in counted.get(phase, [])[:SHOWN]:
            print(f"costs:   {seconds:6.1f} s  {name}")
        exceeded += [f"{phase}: {value:.0f} {name}, the budget is {budget[phase][name]}"
                     for name, value in measured.items() if value > budget[phase][name] * TOLERANCE]
    for line in exceeded:
        print(f"costs: error: {line}; make it cheaper, or raise the number in .ci/budget.json in the commit that needs it")
    sys.exit(bool(exceeded))


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    commands = parser.add_subparsers(required=True)
    measuring = commands.add_parser("measure")
    measuring.set_defaults(run=measure)
    measuring.add_argument("name")
    measuring.add_argument("command", nargs=argparse.REMAINDER)
    reporting = commands.add_parser("report")
    reporting.set_defaults(run=report)
    reporting.add_argument("--build", type=Path, required=True)
    for command in (measuring, reporting):
        command.add_argument("--costs", type=Path, required=True)
    arguments = parser.parse_args()
    arguments.run(arguments)


if __name__ == "__main__":
    main()
