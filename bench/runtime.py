"""What the runtime costs, side by side: every pair of figures comes from processes that take turns, so that both see the
same machine. Times are the processor's time of the process, a ratio is that of the least ones of all rounds: what other
programs disturb least. Where a process's memory lies makes it some percent faster or slower than the next (Mytkowicz et al.
2009), so steps are timed in several pairs of processes, each with other objects on its heap; the ratio is the median of the
pairs' ratios, given with the interval that holds it with a probability of 95 % (bootstrap), and beside it stands what the
plain program gives against itself. One thread each.

Plain against `devsan run` on the CPU, where no device is used and the runtime should cost nothing: a training step of a
small CNN and of a transformer block, and `add_` of 8 elements in C++, both also in instructions (callgrind). The simulator
without the runtime's hooks against `devsan run --sim=1`, where the work is on the simulated device: the same steps, and
1,000 reads of a value in a second. Then what one event costs, and what others cost: a callback of RecordFunction,
torch.profiler, TorchDispatchMode, torch.cuda.set_sync_debug_mode.
"""

import argparse
import collections
import contextlib
import json
import os
import random
import shutil
import statistics
import subprocess
import sys
import tempfile
import time
from pathlib import Path
from typing import Callable

from sim import Process


class Worker:
    """Runs in each Python process; answers a line on standard input with seconds, as JSON, on `answers`."""

    def __init__(self, device: str, objects: int = 0) -> None:
        os.environ.setdefault("KINETO_LOG_LEVEL", "99")  # no line for each start of the profiler
        import torch

        self.torch, self.device = torch, device
        torch.set_num_threads(1)
        torch.manual_seed(0)
        draw = random.Random(objects)
        made = [torch.empty(draw.randrange(1, 6000), dtype=torch.uint8) for _ in range(objects)]
        self.kept = [tensor for tensor in made if draw.random() < 0.7]
        self.steps = {"cnn": self.make_step(*self.cnn()), "transformer": self.make_step(*self.transformer())}

    def cnn(self):
        nn = self.torch.nn
        layers = [nn.Conv2d(3, 16, 3, padding=1), nn.BatchNorm2d(16), nn.ReLU(), nn.MaxPool2d(2)]
        layers += [nn.Conv2d(16, 32, 3, padding=1), nn.BatchNorm2d(32), nn.ReLU(), nn.AdaptiveAvgPool2d(1)]
        return nn.Sequential(*layers, nn.Flatten(), nn.Linear(32, 10)), (16, 3, 32, 32)

    def transformer(self):
        nn = self.torch.nn
        block = nn.TransformerEncoderLayer(128, 4, 256, dropout=0.0, batch_first=True)
        return nn.Sequential(block, nn.Flatten(), nn.Linear(32 * 128, 10)), (8, 32, 128)

    def make_step(self, model, shape) -> Callable[[], None]:
        torch = self.torch
        model = model.to(self.device)
        optimizer = torch.optim.SGD(model.parameters(), lr=0.01, momentum=0.9)
        inputs = torch.randn(*shape, device=self.device)
        labels = torch.randint(10, shape[:1], device=self.device)
        loss_of = torch.nn.CrossEntropyLoss()

        def step() -> None:
            optimizer.zero_grad()
            loss_of(model(inputs), labels).backward()
            optimizer.step()

        for _ in range(5):
            step()
        return step

    def peer(self, name: str):
        torch = self.torch
        if name == "profiler":
            return torch.profiler.profile(activities=[torch.profiler.ProfilerActivity.CPU])
        if name == "dispatch_mode":
            from torch.utils._python_dispatch import TorchDispatchMode

            class Passing(TorchDispatchMode):
                def __torch_dispatch__(self, function, types, args=(), kwargs=None):
                    return function(*args, **(kwargs or {}))

            return Passing()
        if name == "sync_debug_mode":
            return self.sync_debug_mode()
        return contextlib.nullcontext()

    @contextlib.contextmanager
    def sync_debug_mode(self):
        self.torch.cuda.set_sync_debug_mode("warn")
        try:
            yield
        finally:
            self.torch.cuda.set_sync_debug_mode("default")

    def wait(self) -> float:
        """For an idle device, ten calls deep in Python: with the hooks, an event with its stack."""
        wait = self.torch._C._cuda_synchronize
        self.torch.ones(1, device=self.device)

        def at_depth(depth: int) -> float:
            if depth:
                return at_depth(depth - 1)
            best = float("inf")
            for _ in range(20):
                begin = time.process_time()
                for _ in range(5000):
                    wait()
                best = min(best, time.process_time() - begin)
            return best / 5000

        return at_depth(10)

    def answer(self, what: str) -> dict[str, float]:
        if what == "wait":
            return {what: self.wait()}
        model, _, peer = what.partition(":")
        step = self.steps[model]
        steps = 12  # some of which make a tensor that the runtime looks at
        try:
            with self.peer(peer):
                begin = time.process_time()
                for _ in range(steps):
                    step()
                taken = (time.process_time() - begin) / steps
        except (AttributeError, RuntimeError, NotImplementedError) as error:
            print(f"bench runtime: {what}: {error}", file=sys.stderr)
            return {what: float("nan")}
        return {what: taken}


def serve(device: str, objects: int, answers) -> None:
    worker = Worker(device, objects)
    for line in sys.stdin:
        print(json.dumps(worker.answer(line.strip())), file=answers, flush=True)


def least(processes: dict[str, Process], questions: list[tuple[str, str]], rounds: int) -> dict[tuple[str, str], float]:
    """The least answer of each (process, what), all asked in turn."""
    answers = {question: float("inf") for question in questions}
    for _ in range(rounds):
        for name, what in questions:
            answers[name, what] = min(answers[name, what], processes[name].ask(what)[what])
    return answers


def figures_of_processes(commands: dict[str, list], whats: tuple[str, ...], processes: int,
                         rounds: int) -> dict[tuple[str, str], list[float]]:  # fmt: skip
    """The least answer of each of `processes` processes for each (command, what)."""
    answers = collections.defaultdict(list)
    for number in range(processes):
        running = {name: Process([*command, str(60 * number)]) for name, command in commands.items()}
        names = list(commands) if number % 2 else list(reversed(commands))
        for question, figure in least(running, [(name, what) for what in whats for name in names], rounds).items():
            answers[question].append(figure)
        for process in running.values():
            process.close()
    return answers


def interval(without: list[float], with_it: list[float]) -> tuple[float, float]:
    """Of the median of the pairs' ratios: the middle 95 % of what resampled pairs give."""
    draw = random.Random(0)
    ratios = ratios_of_pairs(without, with_it)
    medians = sorted(statistics.median(draw.choices(ratios, k=len(ratios))) for _ in range(4000))
    return medians[100], medians[-101]


def ratios_of_pairs(without: list[float], with_it: list[float]) -> list[float]:
    return [one / other for other, one in zip(without, with_it, strict=True)]


STEPS_COUNTED = 10


def step_instructions(environment: dict[str, str], folder: Path) -> dict[str, float]:
    """Of one training step of each model on the CPU, by callgrind."""
    out = folder / "callgrind.out"
    ended = subprocess.run(
        ["valgrind", "-q", "--tool=callgrind", "--instr-atstart=no", f"--callgrind-out-file={out}", sys.executable, __file__, "--steps"],
        env=environment, check=True, stdout=subprocess.PIPE, text=True,
    )  # fmt: skip
    models = ended.stdout.split()
    return {model: total_of(Path(f"{out}.{number}")) / STEPS_COUNTED for number, model in enumerate(models, 1)}


def count_steps() -> None:
    """Runs under callgrind, and has it write one profile for each model."""

    def callgrind(*options: str) -> None:
        subprocess.run(["callgrind_control", *options, str(os.getpid())], check=True, stdout=subprocess.DEVNULL)

    worker = Worker("cpu")
    # The runtime looks where a thread's first thousand host tensors are made, and the first thousand results of operators, once.
    one = worker.torch.ones(1)
    for _ in range(1000):
        worker.torch.empty(1)
        worker.torch.add(one, one)
    callgrind("--instr=on")
    for model, step in worker.steps.items():
        callgrind("--zero")
        for _ in range(STEPS_COUNTED):
            step()
        callgrind("--dump")
        print(model, flush=True)
    os._exit(0)  # what ends an interpreter is not counted


def total_of(out: Path) -> int:
    totals = [line for line in out.read_text().splitlines() if line.startswith(("summary:", "totals:"))]
    return int(totals[-1].split()[1])


def instructions(program: Path, calls: int, environment: dict[str, str], folder: Path) -> float:
    """Of one `add_`, by callgrind, which counts within `countedAdds` only."""
    out = folder / "callgrind.out"
    subprocess.run(
        ["valgrind", "-q", "--tool=callgrind", "--collect-atstart=no", "--toggle-collect=countedAdds",
         f"--callgrind-out-file={out}", program, "--count", str(calls)],
        env=environment, check=True, stdout=subprocess.DEVNULL,
    )  # fmt: skip
    return total_of(out) / calls


def report_steps(name: str, without: list[float], with_it: list[float], limit: float | None = None) -> None:
    low, high = interval(without, with_it)
    plain, loaded = statistics.median(without) * 1e3, statistics.median(with_it) * 1e3
    ratio = statistics.median(ratios_of_pairs(without, with_it))
    verdict = ""
    if limit is not None:
        within = "yes" if high <= limit else "NO" if low > limit else "not told apart from it"
        verdict = f"   at most {limit:.2f}: {within}"
    print(f"{name:64} {plain:10.3f} {loaded:10.3f} ms {ratio:8.3f} ({low:.3f} to {high:.3f}){verdict}", flush=True)


def report(name: str, without: float, with_it: float, limit: float | None = None, unit: str = "ms") -> None:
    scale = {"ms": 1e3, "us": 1e6, "ns": 1.0}[unit]
    verdict = "" if limit is None else f"   at most {limit:.2f}: {'yes' if with_it / without <= limit else 'NO'}"
    print(f"{name:64} {without * scale:10.3f} {with_it * scale:10.3f} {unit} {with_it / without:8.3f}{verdict}", flush=True)


def main() -> None:
    if sys.argv[1:2] == ["--serve"]:
        serve(sys.argv[2], int(sys.argv[3]), os.fdopen(int(sys.argv[4]), "w"))
        return
    if sys.argv[1:2] == ["--steps"]:
        count_steps()
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--build", type=Path, required=True)
    parser.add_argument("--rounds", type=int, default=30)
    parser.add_argument("--processes", type=int, default=15, help="of each kind, for the steps")
    parser.add_argument("--calls", type=int, default=2000, help="of add_, under callgrind")
    parser.add_argument("--skip-callgrind", action="store_true")
    arguments = parser.parse_args()
    build = arguments.build.resolve()
    program = build / "bench/devsan_bench_runtime"
    python = [sys.executable, __file__, "--serve"]
    with tempfile.TemporaryDirectory() as temporary:
        folder = Path(temporary)
        run = [build / "bin/devsan", "run", "--fail-on=none", f"--report={folder}/report.txt"]

        def preloaded(*libraries: str) -> dict[str, str]:
            logs = folder / "-".join(("logs", *libraries))
            logs.mkdir(exist_ok=True)
            return {
                "LD_PRELOAD": str(build / "lib/libdevsan_preload.so"),
                "DEVSAN_LIBS": ":".join(str(build / f"lib/libdevsan_{library}.so") for library in libraries),
                "DEVSAN_LOG_DIR": str(logs),
            }

        simulator = ["env", *(f"{key}={value}" for key, value in {
            **preloaded("sim"), "DEVSAN_SIM_DEVICES": "1", "PYTHONPATH": str(build / "python"),
        }.items())]  # fmt: skip
        commands = {
            "plain": [*python, "cpu"],
            "run": [*run, "--", *python, "cpu"],
            "simulator": [*simulator, *python, "cuda"],
            "run --sim": [*run, "--sim=1", "--", *python, "cuda"],
        }
        steps = ("cnn", "transformer")
        print(f"{'':64} {'without':>10} {'with':>10}       ratio")
        for without, with_it, work in (
            ("plain", "run", "on the CPU, devsan run"),
            ("simulator", "run --sim", "simulated, devsan run --sim=1 (the hooks)"),
        ):
            kinds = {without: commands[without], "itself": commands[without], with_it: commands[with_it]}
            figures = figures_of_processes(kinds, steps, arguments.processes, arguments.rounds)
            for step in steps:
                report_steps(f"{step} step {work}", figures[without, step], figures[with_it, step], 1.01)
                report_steps(f"{step} step, {without} against itself", figures[without, step], figures["itself", step])
        has_callgrind = not arguments.skip_callgrind and shutil.which("valgrind") is not None
        if has_callgrind:
            hooked = {**os.environ, **preloaded("runtime"), "PYTHONPATH": str(build / "python")}
            counted = [step_instructions(environment, folder) for environment in (dict(os.environ), hooked)]
            for step in steps:
                plain, loaded = (counts[step] / 1e6 for counts in counted)
                print(f"{f'{step} step on the CPU, instructions':64} {plain:10.2f} {loaded:10.2f} M  {loaded / plain:8.3f}"
                      f"   at most 1.01: {'yes' if loaded / plain <= 1.01 else 'NO'}", flush=True)  # fmt: skip

        processes = {
            "plain": Process([*commands["plain"], "0"]),
            "simulator": Process([*commands["simulator"], "0"]),
            "run --sim": Process([*commands["run --sim"], "0"]),
            "plain C++": Process([program]),
            "run C++": Process([*run, "--", program]),
            "simulator C++": Process([*simulator, program]),
            "run --sim C++": Process([*run, "--sim=1", "--", program]),
        }
        figures = least(processes, [("plain C++", "add"), ("run C++", "add")], max(5, arguments.rounds // 3))
        report("add_ of 8 elements, C++, devsan run", *(figures[name, "add"] for name in ("plain C++", "run C++")), 1.03, "ns")
        if has_callgrind:
            plain = instructions(program, arguments.calls, dict(os.environ), folder)
            loaded = instructions(program, arguments.calls, {**os.environ, **preloaded("runtime")}, folder)
            print(f"{'add_ of 8 elements, instructions of one call':64} {plain:10.1f} {loaded:10.1f}    "
                  f"{loaded - plain:+9.1f}   at most 0: {'yes' if loaded <= plain else 'NO'}")  # fmt: skip

        names = ("simulator C++", "run --sim C++")
        figures = least(processes, [(name, "findings") for name in names], max(3, arguments.rounds // 10))
        per_read = figures["run --sim C++", "findings"]
        print(f"one read of a value every {per_read / 1e6:.2f} ms:")
        report("1,000 findings a second, with their stacks", *(figures[name, "findings"] for name in names), 1.05, "ns")

        logs = folder / "events"
        logs.mkdir()

        def count_events(*options: str) -> float:
            return float(subprocess.run([build / "bench/devsan_bench_log", logs, *options], check=True, text=True,
                                        stdout=subprocess.PIPE).stdout)  # fmt: skip

        counted, traced = count_events(), count_events("trace")

        def event_in(without: str, with_it: str) -> float:
            """What the hooks add to a wait that has nothing to wait for."""
            figures = least(processes, [(without, "wait"), (with_it, "wait")], 5)
            return figures[with_it, "wait"] - figures[without, "wait"]

        stacked = event_in("simulator C++", "run --sim C++")
        interpreted = event_in("simulator", "run --sim") * 1e9
        for name, figure, limit in (
            ("without its stack", counted, 150),
            ("without its stack, in a trace", traced, 400),
            ("with its stack, C++", stacked, 1000),
            ("with its stack, Python", interpreted, 1000),
        ):
            print(f"{'one event ' + name:64} {'':10} {figure:10.1f} ns            at most {limit}: "
                  f"{'yes' if figure <= limit else 'NO'}")  # fmt: skip

        print("others, by what they cost themselves:")
        figures = least(processes, [("plain C++", "add"), ("plain C++", "observed_add")], 5)
        report("add_ of 8 elements, C++, RecordFunction callback", *figures.values(), unit="ns")
        peers = [("plain", "profiler"), ("plain", "dispatch_mode"), ("simulator", "sync_debug_mode")]
        for process, peer in peers:
            for step in steps:
                figures = least(processes, [(process, step), (process, f"{step}:{peer}")], max(3, arguments.rounds // 6))
                report(f"{step} step, {peer}" + (" (simulated)" if process != "plain" else ""), *figures.values())
        for process in processes.values():
            process.close()


if __name__ == "__main__":
    main()
