# The times of all steps are kept, and a slow one is found among them.
# RUN: %status 0 %sim --report=%t.json -- %python %s run
# RUN: %python %s check %t.json
# RUN: %status 0 %devsan report --merge --format=json -o %t.both.json %t.json %t.json
# RUN: %python %s check %t.both.json 2
import json
import sys
import time

STEPS, SLOW = 1500, 1234


def run():
    import torch

    import devsan

    batch = torch.ones(3, 4, device="cuda:1")
    for step in range(STEPS):
        batch.sum().item()
        if step == SLOW:
            time.sleep(0.5)
        devsan.step()


def check(path, processes=1):
    all_times = json.load(open(path))["summary"]["step_times"]
    assert len(all_times) == int(processes)
    for times in all_times:
        columns = times["columns"]
        assert times["steps"] == STEPS and 500 < len(columns) <= 1000, times
        assert [column["step"] for column in columns] == list(range(0, STEPS, 2))
        begins = [column["begin_ns"] for column in columns] + [times["end_ns"]]
        assert begins == sorted(begins)
        slowest = max(columns[1:], key=lambda column: column["longest_ns"])
        assert slowest["longest"] == SLOW and slowest["longest_ns"] > 5e8, slowest
        assert abs(times["begun_us"] / 1e6 - time.time()) < 600


run() if sys.argv[1] == "run" else check(*sys.argv[2:])
