"""How long `devsan check` takes per file, beside clang-tidy with the plugin and the same checks, in one run.

usage: script/bench analyzer [--files=N] [--many=N] [--rounds=N] [--json=FILE]

Files that include torch/torch.h and torch/extension.h, by a header of their own as most do, are written into a temporary
project. Ratios are of processor time, which other load on the machine disturbs least, and of the time on the clock, both the
least of some rounds; memory is that of the largest process.

  cold          nothing is in the cache: one file by itself; and each of N files
  at a terminal the same of one file until the command ends, which then keeps the headers behind it: by the clock alone
  header cache  the files have changed, LibTorch's headers have not
  unchanged     nothing has changed
  many          100 files, half of that, and what each costs: it should not depend on how many there are
"""

import argparse
import fcntl
import json
import os
import pty
import shutil
import subprocess
import sys
import tempfile
import time
from dataclasses import dataclass
from pathlib import Path

HEADERS = ("torch/torch.h", "torch/extension.h")
LIMITS = {"cold": 0.4, "header cache": 0.15}
UNCHANGED_MS = 20
COLD_MB, CACHED_MB = 1200, 800

OWN_HEADER = """#pragma once
#include <{header}>
#include <vector>

namespace part_{number} {{
torch::Tensor weighted(const torch::Tensor &x, const std::vector<double> &weights);
}}
"""
SOURCE = """#include "part_{number}.h"

namespace part_{number} {{

torch::Tensor weighted(const torch::Tensor &x, const std::vector<double> &weights) {{
  auto sum = torch::zeros_like(x);
  for (double weight : weights) {{
    sum = sum + x * weight;
    if (sum.max().item<double>() > 1e6)
      break;
  }}
  return sum;
}}

torch::Tensor positions(const torch::Tensor &x) {{
  auto index = torch::arange(x.size(0));
  return x + index.to(x.scalar_type());
}}

struct Head : torch::nn::Module {{
  explicit Head(int64_t size) : linear(register_module("linear", torch::nn::Linear(size, size))) {{
    mean = torch::zeros({{size}});
  }}
  torch::Tensor forward(const torch::Tensor &x) {{ return torch::relu(linear->forward(x - mean)); }}
  torch::nn::Linear linear;
  torch::Tensor mean;
}};

}} // namespace part_{number}
"""


@dataclass
class Cost:
    cpu: float
    wall: float
    megabytes: float

    def least(self, other):
        return Cost(min(self.cpu, other.cpu), min(self.wall, other.wall), max(self.megabytes, other.megabytes))


def run(command, environment, wanted, stderr=subprocess.DEVNULL):
    begin = time.monotonic()
    process = subprocess.Popen(command, env=environment, stdout=subprocess.DEVNULL, stderr=stderr)
    _, status, usage = os.wait4(process.pid, 0)
    wall = time.monotonic() - begin
    process.returncode = os.waitstatus_to_exitcode(status)
    if process.returncode not in wanted:
        sys.exit(f"bench: error: status {process.returncode} of: {' '.join(map(str, command))}")
    return Cost(usage.ru_utime + usage.ru_stime, wall, usage.ru_maxrss / 1024)


class Bench:
    def __init__(self, build, folder, torch):
        self.check = build / "libexec/devsan-check"
        self.plugin = build / "lib/libDevSanTidy.so"
        self.folder = folder
        self.torch = torch
        self.environment = dict(os.environ, XDG_CACHE_HOME=str(folder / "cache"))

    def write(self, number, edition=0):
        path = self.folder / f"part_{number}.cpp"
        names = {"header": HEADERS[number % len(HEADERS)], "number": number}
        path.with_suffix(".h").write_text(OWN_HEADER.format(**names))
        path.write_text(SOURCE.format(**names) + f"// edition {edition}\n")
        return path

    def clear(self):
        shutil.rmtree(self.folder / "cache", ignore_errors=True)

    def tidy(self, file):
        include = self.torch / "include"
        flags = ["-std=c++20", "-isystem", include, "-isystem", include / "torch/csrc/api/include"]
        flags += ["-isystem", subprocess.run([sys.executable, "-c", "import sysconfig; print(sysconfig.get_path('include'))"],
                                             capture_output=True, text=True, check=True).stdout.strip()]
        command = ["clang-tidy-22", f"--load={self.plugin}", "--checks=-*,device-*", "--quiet", file, "--", *flags]
        return run(command, self.environment, {0, 1})

    def devsan(self, files, jobs=1):
        return run([self.check, f"--torch={self.torch}", "-j", str(jobs), *files], self.environment, {0, 1})

    def devsan_at_terminal(self, file):
        """Seconds until it ends, and those until the headers are kept."""
        ours, theirs = pty.openpty()  # little enough is written to it to need no reader
        begin = time.monotonic()
        cost = run([self.check, f"--torch={self.torch}", "-j1", file], self.environment, {0, 1}, stderr=theirs)
        for lock in (self.folder / "cache/devsan/torch-headers").glob("*.lock"):
            with lock.open() as held:
                fcntl.flock(held, fcntl.LOCK_SH)
        os.close(ours)
        os.close(theirs)
        return cost.wall, time.monotonic() - begin


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--build", type=Path, required=True)
    parser.add_argument("--files", type=int, default=4, help="files of the cold and the cached runs")
    parser.add_argument("--many", type=int, default=100, help="files of the long run; 0: leave it out")
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--json", type=Path)
    options = parser.parse_args()
    torch = subprocess.run([sys.executable, "-c", "import torch; print(torch.__path__[0])"],
                           capture_output=True, text=True, check=True).stdout.strip()
    figures, failed = {}, []

    def show(name, cost, base, count, limit=None):
        cpu, wall = cost.cpu / count / base.cpu, cost.wall / count / base.wall
        verdict = "" if limit is None else f"   (at most {limit}: {'holds' if cpu <= limit else 'EXCEEDED'})"
        if limit is not None and cpu > limit:
            failed.append(name)
        print(f"{name:34} {cost.cpu / count:8.2f} s {cost.wall / count:8.2f} s   {cpu:6.3f} {wall:6.3f}"
              f" {cost.megabytes:7.0f} MB{verdict}", flush=True)
        figures[name] = {"cpu_s": cost.cpu / count, "wall_s": cost.wall / count, "cpu_ratio": cpu, "wall_ratio": wall,
                         "megabytes": cost.megabytes}

    with tempfile.TemporaryDirectory() as name:
        bench = Bench(options.build.resolve(), Path(name), Path(torch))
        rows, terminal = {}, {}

        def least(row, cost):
            rows[row] = rows[row].least(cost) if row in rows else cost

        for edition in range(options.rounds):
            files = [bench.write(i, edition) for i in range(options.files)]
            for i, header in enumerate(HEADERS):
                least(f"clang-tidy, {header}", bench.tidy(files[i]))
                bench.clear()
                least(f"cold alone, {header}", bench.devsan(files[i : i + 1]))
                bench.clear()
                ended = bench.devsan_at_terminal(files[i])
                terminal[header] = min(ended, terminal.get(header, ended))
                bench.write(i, f"{edition} once more")
                least(f"header cache alone, {header}", bench.devsan(files[i : i + 1]))
            bench.clear()
            least("cold", bench.devsan(files))
            files = [bench.write(i, f"{edition} again") for i in range(options.files)]
            least("header cache", bench.devsan(files))
            least("unchanged", bench.devsan(files))

        print("per file                              processor      clock      ratios to clang-tidy    memory")
        tidy = [rows[f"clang-tidy, {header}"] for header in HEADERS]
        mean = Cost(sum(c.cpu for c in tidy) / 2, sum(c.wall for c in tidy) / 2, max(c.megabytes for c in tidy))
        for i, header in enumerate(HEADERS):
            show(f"clang-tidy, {header}", tidy[i], tidy[i], 1)
            show(f"cold alone, {header}", rows[f"cold alone, {header}"], tidy[i], 1)
            ended, kept = terminal[header]
            ratio = ended / tidy[i].wall
            print(f"{f'at a terminal, {header}':34} {'':10} {ended:8.2f} s   {'':6} {ratio:6.3f}   (at most {LIMITS['cold']}:"
                  f" {'holds' if ratio <= LIMITS['cold'] else 'EXCEEDED'}; kept after {kept:.2f} s)", flush=True)
            figures[f"at a terminal, {header}"] = {"wall_s": ended, "kept_s": kept, "wall_ratio": ratio}
            if ratio > LIMITS["cold"]:
                failed.append(f"at a terminal, {header}")
            show(f"header cache alone, {header}", rows[f"header cache alone, {header}"], tidy[i], 1,
                 LIMITS["header cache"])
        show(f"cold, {options.files} files", rows["cold"], mean, options.files, LIMITS["cold"])
        show(f"header cache, {options.files} files", rows["header cache"], mean, options.files, LIMITS["header cache"])
        show(f"unchanged, {options.files} files", rows["unchanged"], mean, options.files)
        unchanged = rows["unchanged"].wall / options.files * 1000
        print(f"unchanged: {unchanged:.1f} ms a file (at most {UNCHANGED_MS})")
        if unchanged > UNCHANGED_MS:
            failed.append("unchanged")
        for row, limit in (("cold", COLD_MB), ("header cache", CACHED_MB)):
            if rows[row].megabytes > limit:
                failed.append(f"memory, {row}")
        if options.many:
            halves = []
            for count in (options.many // 2, options.many):
                shutil.rmtree(bench.folder / "cache/devsan/results", ignore_errors=True)
                halves.append(bench.devsan([bench.write(i, "many") for i in range(count)]).cpu / count)
            print(f"many: {halves[0] * 1000:.0f} ms a file of {options.many // 2}, {halves[1] * 1000:.0f} ms of"
                  f" {options.many}: ratio {halves[1] / halves[0]:.2f}")
            figures["many_ratio"] = halves[1] / halves[0]
    if options.json:
        options.json.write_text(json.dumps(figures, indent=2) + "\n")
    if failed:
        sys.exit(f"bench: exceeded: {', '.join(failed)}")


if __name__ == "__main__":
    main()
