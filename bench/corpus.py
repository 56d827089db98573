"""How many known device bugs `devsan check` finds, and how often it speaks up where there is none.

A table of places in public repositories, each read and judged "bug" or "clean", is compared with what the analyzer says
about checkouts of those commits. A place counts as reported when a finding of its rule lies in the same function and at
most five lines away. The checkouts lie under DIR, one folder for each commit, whose path names repository and commit:
DIR/OWNER/NAME/COMMIT, DIR/OWNER+NAME@COMMIT and the like, the commit by at least seven digits.
"""

import argparse
import collections
import concurrent.futures
import json
import os
import re
import subprocess
import sys
import tempfile
import time
from pathlib import Path

RULES = {
    "wrong-stream": ["device-wrong-stream"],
    "missing-device-guard": ["device-missing-guard"],
    "guard-order-or-wrong-device": ["device-missing-guard"],
    "worker-thread-device-or-stream": ["device-missing-guard"],
    "host-sync": ["device-host-sync"],
    "hardcoded-cuda-device": ["device-bare-cuda"],
    "input-not-moved-to-model-device": ["device-bare-cuda"],
    "static-per-process-cuda-state": ["device-static-state"],
    "raw-cuda-device-api": ["device-raw-set-device"],
    "device-index-lost": ["device-index-lost"],
    "device0-property-query": ["device-zero-properties"],
    "unregistered-module-state": ["device-unregistered-state"],
    "cpu-factory-mixed": ["device-missing-device"],
    "async-copy-or-stream-lifetime": ["device-async-copy-race", "device-stream-lifetime"],
    "host-deref-maybe-cuda": ["device-host-access"],
    "collective-autograd": ["device-collective-drops-grad"],
}
LINES = 5
TOKENS = re.compile(
    r'//[^\n]*|/\*.*?\*/|R"(?P<tag>[^(\s]*)\(.*?\)(?P=tag)"|"(?:\\.|[^"\\\n])*"|\'(?:\\.|[^\'\\\n])*\'', re.DOTALL)
TRANSPARENT = re.compile(r'\b(namespace|class|struct|union|enum|extern\s*""?)\b[^;(){}]*$')


def checkouts(folder):
    """Every folder below `folder` whose path could name a commit, three levels deep."""
    found = []
    for depth in ("*", "*/*", "*/*/*"):
        found += [path for path in folder.glob(depth) if path.is_dir() and re.search(r"[0-9a-f]{7}", path.name)]
    return found


def checkout_of(row, folder, candidates):
    name = row["repo"].split("/")[1].lower()
    for path in candidates:
        words = re.findall(r"[0-9a-f]{7,40}", path.name)
        if name in str(path.relative_to(folder)).lower() and any(row["ref"].startswith(word) for word in words):
            if (path / row["file"]).is_file():
                return path
    return None


def functions(text):
    """The lines of each outermost block of code that is no namespace, class or extern "C", its head included."""
    text = TOKENS.sub(lambda match: '""' + "\n" * match[0].count("\n"), text)
    text = re.sub(r"^[ \t]*#(?:\\\n|[^\n])*", lambda match: "\n" * match[0].count("\n"), text, flags=re.MULTILINE)
    blocks, stack, line, head, head_line = [], [], 1, "", 1
    for character in text:
        inside = any(kind == "code" for kind, _ in stack)
        if character == "\n":
            line += 1
        if inside:
            if character in "{}":
                if character == "{":
                    stack.append(("code", line))
                else:
                    _, start = stack.pop()
                    if not any(kind == "code" for kind, _ in stack):
                        blocks.append((start, line))
                        head = ""
            continue
        if character == "{":
            transparent = TRANSPARENT.search(head) is not None
            stack.append(("open", line) if transparent else ("code", head_line))
            head = ""
        elif character == "}":
            if stack:
                stack.pop()
            head = ""
        elif character == ";":
            head = ""
        else:
            if not head.strip():
                head_line = line
            head += character
    return blocks


def reports(row, findings, source):
    """The findings of the row's rules that are at its place."""
    blocks = functions(source.read_text(errors="replace"))
    own = [block for block in blocks if block[0] <= row["line"] <= block[1]]
    for finding in findings:
        place = finding["locations"][0]
        near = abs(place["line"] - row["line"]) <= LINES
        same = not own or any(start <= place["line"] <= end for start, end in own)
        if finding["rule"] in RULES[row["class"]] and near and same:
            yield finding


def analyse(devsan, root, files, checks, *options):
    """The findings of each file, the notes on it, and the time all took."""
    with tempfile.TemporaryDirectory() as folder:
        report = Path(folder) / "report.json"
        command = [devsan, "check", "--format=json", "-j", "1", "-o", report]
        command += [f"--checks={checks}"] if checks else []
        command += options
        start = time.perf_counter()
        ended = subprocess.run([*command, *files], cwd=root, capture_output=True, text=True, check=False)
        seconds = time.perf_counter() - start
        # Status 2 with a report: some files could not be analysed, and its notes name them.
        if not report.exists():
            return [], [f"status {ended.returncode}: {ended.stderr.strip()}"], seconds
        result = json.loads(report.read_text())
        return result["findings"], result["summary"].get("notes", []), seconds


def main():
    parser = argparse.ArgumentParser(prog="script/bench corpus", description=__doc__,
                                     formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--build", type=Path, required=True, help=argparse.SUPPRESS)
    parser.add_argument("folder", type=Path, metavar="DIR", help="holds the checkouts")
    parser.add_argument("--table", type=Path, help="JSON lines with id, repo, ref, file, line, class, kind "
                        "(default: shared/reference/device_bugs.jsonl beside the repository)")
    parser.add_argument("--rule", action="append", default=[], help="only places of this rule; may be repeated")
    parser.add_argument("--id", action="append", default=[], help="only this place; may be repeated")
    parser.add_argument("--json", type=Path, help="also write every place and the findings at it to this file")
    parser.add_argument("--notes", action="store_true", help="print what did not parse")
    parser.add_argument("-j", "--jobs", type=int, default=os.cpu_count())
    arguments = parser.parse_args()
    table = arguments.table or Path(__file__).resolve().parents[2] / "shared/reference/device_bugs.jsonl"
    for path in (arguments.folder, table):
        if not path.exists():
            sys.exit(f"script/bench corpus: {path}: not there")
    rows = [json.loads(line) for line in table.read_text().splitlines() if line.strip()]
    rows = [row for row in rows if not arguments.id or row["id"] in arguments.id]
    rows = [row for row in rows if not arguments.rule or set(arguments.rule) & set(RULES[row["class"]])]

    folder = arguments.folder.resolve()
    candidates = checkouts(folder)
    absent, wanted = [], collections.defaultdict(set)
    for row in rows:
        row["root"] = checkout_of(row, folder, candidates)
        if row["root"]:
            wanted[row["root"]].add(row["file"])
        else:
            absent.append(row)
    checks = ",".join(sorted({rule for row in rows for rule in RULES[row["class"]]})) if arguments.rule else ""
    results = {}
    with concurrent.futures.ThreadPoolExecutor(arguments.jobs) as pool:
        pending = {pool.submit(analyse, (arguments.build / "bin/devsan").resolve(), root, sorted(files), checks): root
                   for root, files in sorted(wanted.items())}
        for number, done in enumerate(concurrent.futures.as_completed(pending), 1):
            results[pending[done]] = done.result()
            if sys.stderr.isatty():
                print(f"\r[{number}/{len(pending)}] {pending[done].relative_to(folder)}\x1b[K", end="", file=sys.stderr)
        if sys.stderr.isatty():
            print("\r\x1b[K", end="", file=sys.stderr)

    counts = collections.defaultdict(collections.Counter)
    missed, wrong, records = [], [], []
    for row in rows:
        if not row["root"]:
            continue
        found = list(reports(row, results[row["root"]][0], row["root"] / row["file"])
                     if row["root"] in results else [])
        found = [f for f in found if (row["root"] / f["locations"][0]["file"]).resolve()
                 == (row["root"] / row["file"]).resolve()]
        good = bool(found) == (row["kind"] == "bug")
        counts["/".join(RULES[row["class"]])][row["kind"], good] += 1
        if not good:
            (missed if row["kind"] == "bug" else wrong).append(row)
        records.append({**{key: str(value) for key, value in row.items()}, "good": good, "findings": found})

    def line(name, count):
        bugs, clean = ((count[kind, True], count[kind, True] + count[kind, False]) for kind in ("bug", "clean"))
        def share(part):
            return f"{part[0]:3}/{part[1]:<3}" + (f" {part[0] / part[1]:4.0%}" if part[1] else "     ")
        print(f"{name:<48} {share(bugs)}    {share(clean)}")

    print(f"{'rule':<48} bugs reported   clean silent")
    for rule in sorted(counts):
        line(rule, counts[rule])
    line("all", sum(counts.values(), collections.Counter()))
    for title, list_ in (("not reported", missed), ("reported though clean", wrong), ("no checkout", absent)):
        for row in list_:
            print(f"{title}: {row['id']} {row['class']} {row['repo']}@{row['ref'][:10]} {row['file']}:{row['line']}")
    if arguments.notes:
        for root, (_, notes, _) in sorted(results.items()):
            for note in notes:
                print(f"note: {root.relative_to(folder)}: {note}")
    print(f"{sum(map(len, wanted.values()))} files, {sum(seconds for _, _, seconds in results.values()):.0f} s of analysis")
    if arguments.json:
        arguments.json.write_text(json.dumps(records, indent=1))


if __name__ == "__main__":
    main()
