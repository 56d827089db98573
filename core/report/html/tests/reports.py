"""Reports to make pages of, and what the tests of all views use."""

import json
import os
import subprocess
import time

import pytest

DEVSAN = os.environ.get("DEVSAN") or pytest.exit("set DEVSAN to the command", 2)
SIZES = {"phone": (375, 740), "tablet": (800, 1000), "desktop": (1440, 900)}


def frame(file, line, function, user=True, module=""):
    return {"file": file, "line": line, "column": 0, "function": function, "module": module, "user": user}


def finding(rule="device-host-sync", severity="warning", message="the host waited", file="train.py", line=3, **fields):
    count = fields.get("count", 1)
    stack = [
        frame("", 0, "at::_ops::item::call", False, "/lib/libtorch_cpu.so"),
        frame(file, line, "step"),
        frame("train.py", 50, "main"),
    ]
    return {
        "rule": rule,
        "severity": severity,
        "origin": "runtime",
        "message": message,
        "locations": [{"file": file, "line": line, "column": 5, "function": "step"}],
        "stack": stack,
        "from": "cuda:0",
        "op": "aten::item",
        "steps": {"total": 100, "seen": 100, "first": 0, "last": 99, "most": 1},
        "ranks": [
            {"rank": 0, "count": count, "bytes": fields.get("bytes", 0), "blocked_ns": fields.get("blocked_ns", 0)}
        ],
        "fingerprint": f"{hash((rule, file, line, message)) & (1 << 64) - 1:016x}",
    } | fields


def example():
    """Of two ranks, with all that a report can have."""
    both = [{"rank": rank, "count": 40, "blocked_ns": 4_000_000 * (rank + 1)} for rank in (0, 1)]
    return [
        finding("device-mismatch", "error", "aten::add refused tensors on cuda:0 and cuda:1", "model.py", 12, op="aten::add"),
        finding(message="the host waited for cuda:0 in aten::item, 80 times; in every step", line=7, count=80,
                blocked_ns=12_000_000, ranks=both),
        finding("device-implicit-transfer", message="4.1 GB went from cpu to cuda:1 unasked", file="data/loader.py", line=9,
                bytes=4_100_000_000, count=20, op="aten::index", steps={"total": 100, "seen": 5, "first": 20, "last": 29, "most": 9},
                ranks=[{"rank": 1, "count": 20, "bytes": 4_100_000_000}],
                related=[{"file": "model.py", "line": 4, "function": "build", "message": "made on cpu here"}],
                stack=[frame("data/loader.py", 9, "fetch"), frame("train.py", 51, "main")]) | {"from": "cpu", "to": "cuda:1"},
        finding("device-cpu-round-trip", message="the values went to the cpu and back", file="model.py", line=30,
                bytes=1000, steps={"total": 100, "seen": 1, "first": 0, "last": 0, "most": 1}) | {"from": "cuda:0", "to": "cpu"},
        finding(severity="note", message="the host waited once, as the program says", file="train.py", line=40),
        finding(message="'.item()' waits for the device", line=7, origin="static", stack=[], steps={}, ranks=[], op="")
        | {"from": ""},
        finding("device-bare-cuda", message="'x.cuda()' goes to the current device", file="model.py", line=4, origin="static",
                stack=[], steps={}, ranks=[], op="") | {"from": ""},
    ]  # fmt: skip


def step_times(rank, lengths, each=1, begun_us=1_764_000_000_000_000):
    """Of one process, as columns of `each` steps whose lengths in ms these are."""
    columns, at = [], 0
    for first in range(0, len(lengths), each):
        joined = lengths[first : first + each]
        longest = max(range(len(joined)), key=joined.__getitem__)
        columns.append({"step": first, "begin_ns": at, "longest_ns": joined[longest] * 1_000_000, "longest": first + longest})
        at += sum(joined) * 1_000_000
    return {"rank": rank, "worker": False, "begun_us": begun_us, "steps": len(lengths), "end_ns": at, "columns": columns}


# The first step takes longest, and one in the middle half a second.
LENGTHS = [2000] + [18 + 7 * (step * 7919 % 5) for step in range(1, 100)]
LENGTHS[60] = 500
SUMMARY = {
    "tool": "devsan run",
    "subject": "torchrun --nproc-per-node=2 train.py --epochs 3",
    "ranks": [0, 1],
    "notes": ["2 processes ended before they had loaded LibTorch"],
    "cost": {"blocked_time": "measured", "wall_ns": 9_000_000_000, "steps": 100},
    "step_times": [step_times(0, LENGTHS), step_times(1, LENGTHS[1:] + [40], begun_us=1_764_000_002_500_000)],
}


def write_page(project, name, findings, summary=SUMMARY):
    report = project / f"{name}.json"
    with report.open("w", encoding="utf-8") as out:
        out.write('{"schema": "devsan/1", "findings": [\n')
        for k, one in enumerate(findings):
            out.write((",\n" if k else "") + (one if isinstance(one, str) else json.dumps(one)))
        out.write(f'], "summary": {json.dumps(summary)}}}')
    page = project / f"{name}.html"
    subprocess.run(
        [DEVSAN, "report", "--fail-on=none", "--format=html", "-o", page, report], cwd=project, check=True, timeout=300
    )
    return page


def wait_for(page, script):
    """As wait_for_function, which the page's policy forbids."""
    deadline = time.monotonic() + 20
    while not page.evaluate(script):
        assert time.monotonic() < deadline, script
        page.wait_for_timeout(10)


def rows(page):
    return page.locator(".row .message").all_inner_texts()


def count(page):
    return page.locator("#count").inner_text()
