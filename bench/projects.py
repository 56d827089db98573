"""What `devsan check` says about real extension projects, and how much of it has been judged right.

The projects' source archives come from the package index that pip is configured for; nothing of them is built or run.
Every finding has been read: projects_judged.jsonl keeps, by its fingerprint, whether it is "true" (a bug on some machine),
"useful" (no bug there, but what the rule warns of) or "false". Findings that nobody has judged are listed.
"""

import argparse
import collections
import hashlib
import html
import json
import os
import re
import subprocess
import sys
import tarfile
import time
import urllib.parse
import urllib.request
from pathlib import Path

# Release, and the folders that hold the extension's own code.
PROJECTS = {
    "causal_conv1d": ("1.7.0", ["csrc"]),
    "chamferdist": ("1.0.3", ["."]),
    "DCNv4": ("1.0.0.post2", ["."]),
    "exllamav2": ("0.0.4", ["."]),
    "grouped_gemm": ("0.3.0", ["csrc"]),
    "inplace-abn": ("1.1.0", ["."]),
    "mamba_ssm": ("2.3.2.post1", ["csrc"]),
    "nerfacc": ("0.5.3", ["nerfacc/cuda/csrc"]),
    "optimum_quanto": ("0.2.7", ["optimum/quanto/library/extensions"]),
    "torch-encoding": ("1.2.1", ["."]),
    "torch-points-kernels": ("0.7.0", ["."]),
    "torch_cluster": ("1.6.3", ["csrc"]),
    "torch_harmonics": ("0.8.1", ["."]),
    "torch_quiver": ("0.1.1", ["srcs"]),
    "torch_scatter": ("2.1.2", ["csrc"]),
    "torch_sparse": ("0.6.18", ["csrc"]),
    "torch_spline_conv": ("1.2.2", ["csrc"]),
    "torchani": ("2.9.0", ["."]),
    "torchsort": ("0.1.10", ["."]),
    "warp_rnnt": ("0.7.0", ["."]),
}
JUDGED = Path(__file__).with_name("projects_judged.jsonl")
VERDICTS = ("true", "useful", "false")


def index_url():
    """pip's index. Asking pip to download a source archive would run the project's setup.py."""
    configured = subprocess.run([sys.executable, "-m", "pip", "config", "get", "global.index-url"],
                                capture_output=True, text=True, check=False).stdout.strip()
    if configured:
        return configured
    from pip._internal.models.index import PyPI
    return PyPI.simple_url


def obtain(name, release, folder):
    """The unpacked source archive, downloaded once and checked against the index's digest."""
    target = folder / f"{name}-{release}"
    if target.is_dir():
        return target
    page = f"{index_url().rstrip('/')}/{re.sub(r'[-_.]+', '-', name).lower()}/"
    with urllib.request.urlopen(page, timeout=120) as answer:
        links = re.findall(r'href="([^"]+)"', answer.read().decode())
    wanted = re.compile(re.sub(r"[-_.]+", "[-_.]+", name) + "-" + re.escape(release) + r"\.tar\.gz(#|$)", re.IGNORECASE)
    link = next((html.unescape(link) for link in links if wanted.search(link)), None)
    if link is None:
        raise OSError(f"the index has no source archive of {name} {release}")
    link, _, digest = urllib.parse.urljoin(page, link).partition("#sha256=")
    with urllib.request.urlopen(link, timeout=600) as answer:
        data = answer.read()
    if digest and hashlib.sha256(data).hexdigest() != digest:
        raise OSError(f"{link}: not the file that the index describes")
    archive = folder / f"{name}-{release}.tar.gz"
    archive.write_bytes(data)
    unpacked = folder / f"{name}-{release}.unpacked"
    # Python 3.11.2, Debian's, has no filters yet.
    safe = {"filter": "data"} if hasattr(tarfile, "data_filter") else {}
    with tarfile.open(archive) as tar:
        tar.extractall(unpacked, **safe)
    archive.unlink()
    next(unpacked.iterdir()).rename(target)
    unpacked.rmdir()
    return target


def check(devsan, project, folders, report, options):
    """The report of one project, how the command ended, and the seconds that it took."""
    # Makes it a repository of its own: paths, and fingerprints with them, begin there wherever it was unpacked.
    (project / ".git").mkdir(exist_ok=True)
    report.unlink(missing_ok=True)
    start = time.perf_counter()
    folders = [folder for folder in folders if (project / folder).exists()]
    ended = subprocess.run([devsan, "check", "--format=json", "-o", report, *options, *folders],
                           cwd=project, capture_output=True, text=True, check=False)
    seconds = time.perf_counter() - start
    # Status 2 with a report: some files could not be analysed, and its notes name them.
    if not report.exists():
        return None, f"status {ended.returncode}: {ended.stderr.strip()}", seconds
    return json.loads(report.read_text()), "", seconds


def place(finding):
    first = finding["locations"][0]
    return f"{first['file']}:{first['line']}"


def main():
    parser = argparse.ArgumentParser(prog="script/bench projects", description=__doc__,
                                     formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--build", type=Path, required=True, help=argparse.SUPPRESS)
    parser.add_argument("--folder", type=Path, default=Path(__file__).resolve().parents[1] / ".cache/projects",
                        help="keeps the sources and the reports (default: .cache/projects)")
    parser.add_argument("--only", action="append", default=[], metavar="PROJECT", help="may be repeated")
    parser.add_argument("--show", action="store_true", help="print every finding with its verdict")
    parser.add_argument("-j", "--jobs", type=int, default=os.cpu_count())
    arguments = parser.parse_args()
    for name in arguments.only:
        if name not in PROJECTS:
            sys.exit(f"script/bench projects: no project '{name}'; there are: {', '.join(PROJECTS)}")
    judged = {}
    if JUDGED.exists():
        for number, line in enumerate(JUDGED.read_text().splitlines(), 1):
            record = json.loads(line)
            if record["verdict"] not in VERDICTS:
                sys.exit(f"{JUDGED}:{number}: verdict '{record['verdict']}', not one of {', '.join(VERDICTS)}")
            judged[record["project"], record["fingerprint"]] = record
    arguments.folder.mkdir(parents=True, exist_ok=True)

    total = collections.Counter()
    by_rule = collections.defaultdict(collections.Counter)
    broken, unread = [], []
    print(f"{'project':<30} files  in part  seconds  findings")
    for name, (release, folders) in PROJECTS.items():
        if arguments.only and name not in arguments.only:
            continue
        try:
            project = obtain(name, release, arguments.folder)
        except OSError as error:
            print(f"{name:<30} not obtained: {error}")
            continue
        report, error, seconds = check((arguments.build / "bin/devsan").resolve(), project, folders,
                                       (arguments.folder / f"{name}-{release}.json").resolve(), ["-j", str(arguments.jobs)])
        if report is None:
            broken.append(f"{name}: {error}")
            continue
        notes = report["summary"].get("notes", [])
        broken += [f"{name}: {note}" for note in notes if "not analysed" in note]
        files = int(report["summary"]["subject"].split()[0]) if "subject" in report["summary"] else 0
        print(f"{name + ' ' + release:<30} {files:5}  {sum('parsed in part' in note for note in notes):7}  {seconds:7.1f}"
              f"  {len(report['findings']):8}", flush=True)
        total["files"] += files
        total["seconds"] += seconds
        for finding in report["findings"]:
            record = judged.get((name, finding["fingerprint"]))
            verdict = record["verdict"] if record else "unread"
            by_rule[finding["rule"]][verdict] += 1
            if verdict == "unread":
                unread.append(f"{name}: {place(finding)}: {finding['rule']} {finding['fingerprint']}: {finding['message']}")
            if arguments.show:
                print(f"  {verdict:<7} {place(finding)}: {finding['rule']}: {finding['message']}")

    print(f"\n{'rule':<32} true  useful  false  unread")
    sums = sum(by_rule.values(), collections.Counter())
    for rule, counts in [*sorted(by_rule.items()), ("all", sums)]:
        print(f"{rule:<32} {counts['true']:4}  {counts['useful']:6}  {counts['false']:5}  {counts['unread']:6}")
    read = sums["true"] + sums["useful"] + sums["false"]
    if read:
        print(f"true or useful: {(read - sums['false']) / read:.1%} of {read} judged")
    print(f"{total['files']} files in {total['seconds']:.0f} s")
    for line in unread:
        print(f"unread: {line}")
    for line in broken:
        print(f"broken: {line}")
    sys.exit(1 if broken else 0)


if __name__ == "__main__":
    main()
