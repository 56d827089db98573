"""What a simulated GPU costs: the same work on the CPU without devsan, and on cuda:0 under `devsan run --sim=1` with and
without protected memory. Each of the three is one process that works when it is told to, in turn with the others, so
that all see the same machine; a figure is the median of what the rounds gave. All use one thread.

Operators: microseconds more than on the CPU, for tensors of 8 elements, from C++ (one process on both devices, least of
many rounds) and from Python. Training step: ratio, a ResNet-18 on 32 x 32
images. Memory: ratio of the peak resident sizes after the training steps.
"""

import argparse
import json
import os
import statistics
import subprocess
import sys
import tempfile
from pathlib import Path

OPERATORS = {
    "x.add(y)": "x.add(y)",
    "x.add_(y)": "x.add_(y)",
    "x * 2": "x * 2",
    "torch.add(x, y, out=z)": "torch.add(x, y, out=z)",
    "x.sum()": "x.sum()",
    "m @ m": "m @ m",
    "torch.cat((x, y))": "torch.cat((x, y))",
    "x.view(2, 4)": "x.view(2, 4)",
    "x > y": "x > y",
    "torch.empty_like(x)": "torch.empty_like(x)",
    "x.relu()": "x.relu()",
    "x.add(g).sum().backward()": "x.add(g).sum().backward()",
}


def resnet18(torch):
    """ResNet-18 (He et al. 2016) in its form for 32 x 32 images; input [N, 3, 32, 32], output [N, 10]."""
    from torch import nn

    class Block(nn.Module):
        def __init__(self, channels_in, channels, stride):
            super().__init__()
            self.main = nn.Sequential(
                nn.Conv2d(channels_in, channels, 3, stride, 1, bias=False),
                nn.BatchNorm2d(channels),
                nn.ReLU(inplace=True),
                nn.Conv2d(channels, channels, 3, 1, 1, bias=False),
                nn.BatchNorm2d(channels),
            )
            self.shortcut = nn.Identity()
            if stride != 1 or channels_in != channels:
                self.shortcut = nn.Sequential(
                    nn.Conv2d(channels_in, channels, 1, stride, bias=False), nn.BatchNorm2d(channels)
                )

        def forward(self, x):
            return torch.relu(self.main(x) + self.shortcut(x))

    layers = [nn.Conv2d(3, 64, 3, 1, 1, bias=False), nn.BatchNorm2d(64), nn.ReLU(inplace=True)]
    channels_in = 64
    for channels, stride in ((64, 1), (128, 2), (256, 2), (512, 2)):
        layers += [Block(channels_in, channels, stride), Block(channels, channels, 1)]
        channels_in = channels
    return nn.Sequential(*layers, nn.AdaptiveAvgPool2d(1), nn.Flatten(), nn.Linear(512, 10))


class Worker:
    """Runs in each of the processes; answers a line on standard input with a line of JSON on `answers`."""

    def __init__(self, device):
        import torch
        from torch.utils.benchmark import Timer

        self.torch, self.device = torch, device
        torch.set_num_threads(1)
        torch.manual_seed(0)
        x, y = torch.randn(8, device=device), torch.randn(8, device=device)
        names = {
            "torch": torch,
            "x": x,
            "y": y,
            "z": torch.empty_like(x),
            "m": torch.randn(4, 2, device=device) @ torch.randn(2, 4, device=device),
            "g": torch.randn(8, device=device, requires_grad=True),
        }
        self.timers = {name: Timer(statement, globals=names) for name, statement in OPERATORS.items()}
        self.step_timer = None

    def operators(self):
        return {name: timer.timeit(2000).median * 1e6 for name, timer in self.timers.items()}

    def make_step(self):
        from torch.utils.benchmark import Timer

        torch = self.torch
        model = resnet18(torch).to(self.device)
        optimizer = torch.optim.SGD(model.parameters(), lr=0.01, momentum=0.9)
        images = torch.randn(16, 3, 32, 32, device=self.device)
        labels = torch.randint(10, (16,), device=self.device)
        loss_of = torch.nn.CrossEntropyLoss()

        def step():
            optimizer.zero_grad()
            loss_of(model(images), labels).backward()
            optimizer.step()

        return Timer("step()", globals={"step": step})

    def step(self):
        if self.step_timer is None:
            self.step_timer = self.make_step()
            self.step_timer.timeit(2)
        return {"step": self.step_timer.timeit(1).median * 1e3}

    def peak(self):
        with open("/proc/self/status") as status:
            kibibytes = next(line for line in status if line.startswith("VmHWM")).split()[1]
        return {"peak": int(kibibytes) / 1024}


def serve(device, answers):
    worker = Worker(device)
    for line in sys.stdin:
        print(json.dumps(getattr(worker, line.strip())()), file=answers, flush=True)


class Process:
    def __init__(self, command):
        read, write = os.pipe()
        self.process = subprocess.Popen(
            [*command, str(write)], stdin=subprocess.PIPE, text=True, pass_fds=[write]
        )
        os.close(write)
        self.answers = os.fdopen(read)

    def ask(self, what):
        self.process.stdin.write(what + "\n")
        self.process.stdin.flush()
        answer = self.answers.readline()
        if not answer:
            sys.exit(f"bench sim: {' '.join(self.process.args)} ended with status {self.process.wait()}")
        return json.loads(answer)

    def close(self):
        self.process.stdin.close()
        self.process.wait()


def rounds(processes, what, count):
    """{key: {process: [figure of each round]}}"""
    table = {}
    for _ in range(count):
        for name, process in processes.items():
            for key, figure in process.ask(what).items():
                table.setdefault(key, {}).setdefault(name, []).append(figure)
    return table


def median_difference(figures, name):
    return statistics.median(a - b for a, b in zip(figures[name], figures["cpu"]))


def median_ratio(figures, name):
    return statistics.median(a / b for a, b in zip(figures[name], figures["cpu"]))


def compiled_operators(program, run, rounds):
    """What operators cost where no Python is around them, in one process on both devices."""
    answer = subprocess.run([*run, "--", program, str(rounds)], check=True, capture_output=True, text=True)
    print("8 elements, from C++, microseconds  cpu   protected more")
    for name, least in json.loads(answer.stdout).items():
        print(f"{name:30} {least['cpu'] / 1e3:7.2f} {(least['cuda'] - least['cpu']) / 1e3:16.2f}", flush=True)


def main():
    if sys.argv[1:2] == ["--serve"]:
        return serve(sys.argv[2], os.fdopen(int(sys.argv[3]), "w"))
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--build", type=Path, required=True)
    parser.add_argument("--rounds", type=int, default=15)
    parser.add_argument("--steps", type=int, default=15)
    arguments = parser.parse_args()
    serve_on = [sys.executable, __file__, "--serve"]
    with tempfile.TemporaryDirectory() as reports:
        simulated = [
            arguments.build.resolve() / "bin/devsan", "run", "--sim=1", "--fail-on=none", f"--report={reports}/report.txt"
        ]
        processes = {
            "cpu": Process([*serve_on, "cpu"]),
            "sim": Process([*simulated, "--sim-protect=off", "--", *serve_on, "cuda"]),
            "protected": Process([*simulated, "--sim-protect=on", "--", *serve_on, "cuda"]),
        }
        compiled_operators(arguments.build.resolve() / "bench/devsan_bench_sim",
                           [*simulated, "--sim-protect=on"], arguments.rounds * 20)
        rounds(processes, "operators", 1)
        print("8 elements, from Python, microseconds cpu   sim more   protected more")
        for name, figures in rounds(processes, "operators", arguments.rounds).items():
            print(
                f"{name:30} {statistics.median(figures['cpu']):7.2f} {median_difference(figures, 'sim'):10.2f} "
                f"{median_difference(figures, 'protected'):16.2f}",
                flush=True,
            )
        rounds(processes, "step", 1)
        figures = rounds(processes, "step", arguments.steps)["step"]
        print(
            f"ResNet-18 step: cpu {statistics.median(figures['cpu']):.0f} ms, sim {median_ratio(figures, 'sim'):.3f} times, "
            f"protected {median_ratio(figures, 'protected'):.3f} times"
        )
        peak = rounds(processes, "peak", 1)["peak"]
        print(
            f"peak memory: cpu {peak['cpu'][0]:.0f} MiB, sim {median_ratio(peak, 'sim'):.3f} times, "
            f"protected {median_ratio(peak, 'protected'):.3f} times"
        )
        for process in processes.values():
            process.close()


if __name__ == "__main__":
    main()
