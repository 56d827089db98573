"""The same program with the same seed gives the same events. Usage: determinism_test.py DEVSAN [--runs=N]

A report normalised by what may differ, which is time and the numbers that the system gives to processes and threads, is
compared as a whole: findings in order, counts, bytes, devices, stacks.
"""

import json
import os
import subprocess
import sys
import tempfile
import unittest

DEVSAN = os.path.abspath(sys.argv.pop(1))
RUNS = 10
if len(sys.argv) > 1 and sys.argv[1].startswith("--runs="):
    RUNS = int(sys.argv.pop(1).split("=")[1])

TRAINING = """
import threading, torch

torch.manual_seed(3)
first = torch.nn.Sequential(torch.nn.Linear(16, 32), torch.nn.ReLU()).to("cuda:0")
second = torch.nn.Sequential(torch.nn.Dropout(0.3), torch.nn.Linear(32, 4)).to("cuda:1")
optimizer = torch.optim.Adam([*first.parameters(), *second.parameters()], lr=0.01)
seen = []

def watch(gradient):
    seen.append(gradient.norm().item())       # blocks, on autograd's thread of cuda:1
    back = (gradient.cpu() * 2).to(gradient.device)   # a round trip there
    return gradient + 0 * back

losses = []
for step in range(6):
    x = torch.randn(8, 16, device="cuda:0")
    y = torch.randint(0, 4, (8,)).to("cuda:1")
    hidden = first(x).to("cuda:1")
    hidden.register_hook(watch)
    loss = torch.nn.functional.cross_entropy(second(hidden), y)
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
    losses.append(loss.item())

def work(device):
    value = torch.ones(4, device=device)
    for _ in range(20):
        value = value + 1
        value[value > 3].sum().item()

threads = [threading.Thread(target=work, args=(f"cuda:{i % 2}",)) for i in range(4)]
for thread in threads:
    thread.start()
for thread in threads:
    thread.join()
try:
    first(torch.ones(2, 16))
except RuntimeError as error:
    print(error)
print(losses, seen)
"""

# Of time, and of the numbers that tell threads and processes apart, in all runs on all machines. What a finding of several
# threads was first seen on is chance.
_TIMES = ("begin_ns", "begun_us", "blocked_ns", "end_ns", "longest_ns", "process", "thread", "time_ns", "wall_ns")


def normalised(value):
    if isinstance(value, dict):
        return {key: normalised(item) for key, item in value.items() if key not in _TIMES}
    if isinstance(value, list):
        return [normalised(item) for item in value]
    return value


class SameEvents(unittest.TestCase):
    def run_once(self, directory, number):
        report = os.path.join(directory, f"report-{number}.json")
        result = subprocess.run(
            [DEVSAN, "run", "--sim=2", "--fail-on=none", f"--report={report}", "--", sys.executable, self.program],
            capture_output=True, text=True, timeout=300)
        self.assertEqual(result.returncode, 0, result.stderr)
        with open(report, encoding="utf-8") as file:
            content = normalised(json.load(file))
        # The report ranks by the time that was lost, and times differ.
        content["findings"].sort(key=lambda finding: (finding["severity"], finding["fingerprint"]))
        return result.stdout, content

    def test_a_training_on_two_devices(self):
        with tempfile.TemporaryDirectory() as directory:
            self.program = os.path.join(directory, "training.py")
            with open(self.program, "w", encoding="utf-8") as file:
                file.write(TRAINING)
            output, content = self.run_once(directory, 0)
            rules = {finding["rule"] for finding in content["findings"]}
            self.assertLessEqual({"device-host-sync", "device-cpu-round-trip", "device-mismatch"}, rules)
            for number in range(1, RUNS):
                again, same = self.run_once(directory, number)
                self.assertEqual(again, output)
                self.assertEqual(same, content)


if __name__ == "__main__":
    unittest.main()
