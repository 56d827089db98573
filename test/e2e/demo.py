"""Runs DevSan on the seed bugs and on real libraries, and prints a table of what was caught.

Each command and its report stay in build/demo/. The exit status is 1 where a bad program is not reported by its rule,
or a fixed one has any finding, so that the demonstration is a test as well; 77 where a real library cannot be obtained.
"""

import argparse
import json
import os
import shlex
import subprocess
import sys
import tarfile
import threading
import tomllib
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

BAD_RELEASE = "1.4.0"
FIXED_RELEASE = "1.9.0"
EXTENSION = "torch_scatter"
EXTENSION_RELEASE = "2.1.2"
# What pip downloads is run, the setup.py of a source archive even while it is downloaded.
SHA256 = {
    "torchmetrics==1.4.0": "18599929a0fff7d4b840a3f9a7700054121850c378caaf7206f4161c0a5dc93c",
    "torchmetrics==1.9.0": "bfdcbff3dd1d96b3374bb2496eb39f23c4b28b8a845b6a18c313688e0d2d9ca1",
    "torch_scatter==2.1.2": "69b3aa435f2424ac6a1bfb6ff702da6eb73b33ca0db38fb26989c74159258e47",
}
SIMULATED = "--sim=2"
# The seeds end in seconds; one that hangs must not hold up a test run.
TIMEOUT_S = 300
# ctest's convention for a test that is skipped.
NOT_OBTAINED = 77


class NotObtained(Exception):
    """A real library cannot be had."""


class Demo:
    def __init__(self, root, build, cache, devsan):
        self.root, self.build, self.cache = root, build, cache
        self.devsan = devsan or build / "bin" / "devsan"
        self.reports = build / "demo"
        self.reports.mkdir(parents=True, exist_ok=True)
        self.failures = []
        self.begun, self.all = 0, 0  # commands
        self.lock, self.downloading = threading.Lock(), threading.Lock()

    def say(self, text):
        print(text, file=sys.stderr, flush=True)

    def shown(self, path):
        return os.path.relpath(path, self.root)

    def run(self, name, command, report, env=None, ends_well=False):
        """Runs a devsan command, keeps its output beside its JSON report, and returns the findings. With `ends_well`
        any status but 0 is a failure: a program that broke off, or a file that did not parse, is silent too."""
        report.unlink(missing_ok=True)
        with self.lock:
            self.begun += 1
            self.say(f"[{self.begun} of {self.all}] {name}: {shlex.join(map(self.shorten, command))}")
        log = report.with_suffix(".log")
        with log.open("wb") as output:
            try:
                status = subprocess.run(
                    command, cwd=self.root, stdout=output, stderr=subprocess.STDOUT, stdin=subprocess.DEVNULL,
                    env={**os.environ, **(env or {})}, timeout=TIMEOUT_S).returncode
            except subprocess.TimeoutExpired:
                status = f"no end within {TIMEOUT_S} s"
        if not report.exists():
            self.failures.append(f"{name}: status {status}, no report; {self.end_of(log)}")
            return []
        if ends_well and status != 0:
            self.failures.append(f"{name}: status {status}; {self.end_of(log)}")
        return json.loads(report.read_text())["findings"]

    def end_of(self, log):
        """What the command printed last: where a machine is gone with its logs, this line is all there is."""
        lines = log.read_text(errors="replace").strip().splitlines()[-3:]
        return f"see {self.shown(log)}, which ends: {' | '.join(lines)}"

    def shorten(self, word):
        text = str(word)
        return text.replace(str(self.root) + "/", "")

    def check(self, name, sources, *options, ends_well=False):
        report = self.reports / f"check-{name}.json"
        command = [self.devsan, "check", "--strict", "--format=json", "-o", report, *options, *sources]
        return self.run(name, command, report, ends_well=ends_well)

    def observe(self, name, command, env=None, ends_well=False):
        report = self.reports / f"run-{name}.json"
        command = [self.devsan, "run", SIMULATED, f"--report={report}", "--", *command]
        return self.run(name, command, report, env, ends_well)

    def torchmetrics(self, release):
        target = self.cache / f"torchmetrics-{release}"
        with self.downloading:  # two seeds may want it
            if not target.exists():
                self.say(f"Downloading torchmetrics {release}")
                self.pip("install", f"torchmetrics=={release}", "--target", target)
        return {"PYTHONPATH": str(target)}

    def extension(self):
        source = self.cache / f"{EXTENSION}-{EXTENSION_RELEASE}"
        if not source.exists():
            self.say(f"Downloading {EXTENSION} {EXTENSION_RELEASE}")
            self.pip("download", f"{EXTENSION}=={EXTENSION_RELEASE}", "--no-binary", ":all:", "--no-build-isolation", "-d", self.cache)
            archive = next(self.cache.glob(f"{EXTENSION.replace('_', '?')}-{EXTENSION_RELEASE}.tar.gz"))
            # Python 3.11.2, Debian's, has no filters yet.
            safe = {"filter": "data"} if hasattr(tarfile, "data_filter") else {}
            with tarfile.open(archive) as tar:
                tar.extractall(self.cache, **safe)
        return source

    def pip(self, verb, requirement, *options):
        self.cache.mkdir(parents=True, exist_ok=True)
        pins = self.cache / f"{requirement}.txt"
        pins.write_text(f"{requirement} --hash=sha256:{SHA256[requirement]}\n", encoding="utf-8")
        command = [sys.executable, "-m", "pip", "--quiet", verb, "--no-deps", "--require-hashes", *map(str, options), "-r", str(pins)]
        done = subprocess.run(command, capture_output=True, text=True)
        if done.returncode:
            raise NotObtained(f"demo: error: {shlex.join(command)} failed:\n{done.stderr}"
                              "remedy: the first run needs the package index that pip is configured for")

    def expect(self, condition, text):
        if not condition:
            self.failures.append(text)
        return condition

    def reported(self, name, findings, rule):
        rules = [finding["rule"] for finding in findings]
        return self.expect(rule in rules, f"{name}: {rule} expected, got {rules or 'nothing'}")

    def silent(self, name, findings):
        return self.expect(not findings, f"{name}: findings in a fixed program: {[f['rule'] for f in findings]}")

    def programs(self, folder):
        """The commands of the bad and the fixed program."""
        if (folder / "bad.py").exists():
            return {variant: [sys.executable, folder / f"{variant}.py"] for variant in ("bad", "fixed")}
        return {variant: [self.build / "seeds" / f"{folder.name}-{variant}"] for variant in ("bad", "fixed")}

    def seed(self, seed):
        """One row of the table: static, run time, real library, fixed is silent."""
        folder, name = self.root / "test" / "seeds" / seed["folder"], seed["folder"]
        programs = self.programs(folder)
        row, fixed = [None, None, None], []
        if "static" in seed:
            findings = self.check(f"{name}-bad", [folder / "bad.cpp"], "-p", self.build)
            row[0] = self.reported(name, findings, seed["static"])
            findings = self.check(f"{name}-fixed", [folder / "fixed.cpp"], "-p", self.build, ends_well=True)
            fixed.append(self.silent(name, findings))
        row[1] = self.reported(name, self.observe(f"{name}-bad", programs["bad"]), seed["runtime"])
        fixed.append(self.silent(name, self.observe(f"{name}-fixed", programs["fixed"], ends_well=True)))
        if library := seed.get("library"):
            findings = self.observe(f"{name}-library-bad", [sys.executable, folder / library["bad"]],
                                    self.torchmetrics(BAD_RELEASE))
            row[2] = self.reported(name, findings, library["rule"])
            findings = self.observe(f"{name}-library-fixed", [sys.executable, folder / library["fixed"]],
                                    self.torchmetrics(FIXED_RELEASE), ends_well=True)
            fixed.append(self.silent(name, findings))
        return [*row, all(fixed)]

    def real_extension(self):
        source = self.extension()
        findings = self.check(EXTENSION, [source / "csrc"])
        report = self.reports / f"check-{EXTENSION}.json"
        if report.exists():
            summary = json.loads(report.read_text())["summary"]
            with self.lock:
                self.say(f"{EXTENSION}, C++ and CUDA host code of a real extension: {summary['subject']}: {len(findings)} findings")
                for note in summary["notes"]:
                    self.say(f"note: {note}")


def table(seeds, rows):
    head = ["bug", "static", "run time", "real library", "fixed is silent"]
    marks = {True: "yes", False: "NO", None: "-"}
    lines = [head] + [[seed["title"], *(marks[cell] for cell in row)] for seed, row in zip(seeds, rows)]
    widths = [max(len(line[i]) for line in lines) for i in range(len(head))]
    return "\n".join("  ".join(cell.ljust(width) for cell, width in zip(line, widths)).rstrip() for line in lines)


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    for folder in ("root", "build", "cache"):
        parser.add_argument(f"--{folder}", type=Path, required=True)
    parser.add_argument("--devsan", type=Path, help="another command than that of the build")
    arguments = parser.parse_args()
    demo = Demo(arguments.root.resolve(), arguments.build.resolve(), arguments.cache.resolve(),
                arguments.devsan and arguments.devsan.absolute())
    seeds = tomllib.loads((demo.root / "test" / "seeds" / "seeds.toml").read_text())["seed"]
    demo.all = sum(2 + 2 * ("static" in seed) + 2 * ("library" in seed) for seed in seeds) + 1
    with ThreadPoolExecutor(os.cpu_count()) as pool:
        extension = pool.submit(demo.real_extension)
        rows = [pool.submit(demo.seed, seed) for seed in seeds]
        try:
            rows = [row.result() for row in rows]
            extension.result()
        except NotObtained as error:
            pool.shutdown(cancel_futures=True)
            for failure in demo.failures:
                print(f"demo: FAILED: {failure}")
            print(error, file=sys.stderr)
            sys.exit(1 if demo.failures else NOT_OBTAINED)
    print()
    print(table(seeds, rows))
    print(f"\nReports: {demo.shown(demo.reports)}/*.json, what each command printed beside them in *.log")
    for failure in demo.failures:
        print(f"demo: FAILED: {failure}")
    sys.exit(bool(demo.failures))


if __name__ == "__main__":
    main()
