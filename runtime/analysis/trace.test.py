# A trace of what was observed lines up with that of torch.profiler, and holds what each process did until its end.
# RUN: rm -rf %t && mkdir -p %t
# RUN: %status 0 %sim --trace=%t/run.json.gz -- %python %s profile %t/torch.json 2>&1 | FileCheck %s --implicit-check-not='devsan: note'
# CHECK: trace.test.py:{{[0-9]+}}: warning: the host waited for cuda:1 in aten::item, 30 times
# RUN: %python %s check_profile %t/run.json.gz %t/torch.json
#
# Parent and child of a fork, both killed.
# RUN: %status -9 %sim --trace=%t/killed.json -- %python %s killed
# RUN: %python %s check_killed %t/killed.json
#
# Several ranks, afterwards, in one trace.
# RUN: %status 0 env RANK=0 %sim --quiet --keep-logs=%t/logs --trace=%t/0.json -- %python %s steps
# RUN: %status 0 env RANK=1 DEVSAN_OPTIONS=trace=50 %sim --quiet --keep-logs=%t/logs -- %python %s steps
# RUN: %status 0 %devsan report --merge --format=trace -o %t/all.json %t/logs 2>&1 | FileCheck %s --check-prefix=LEFT
# LEFT: devsan: note: the trace has {{[0-9]+}} events; {{[0-9]+}} later ones are left out
# RUN: %python %s check_ranks %t/all.json
# RUN: %status 2 %devsan report --format=trace --fail-on=note %t/logs 2>&1 | FileCheck %s --check-prefix=JUDGES
# JUDGES: devsan: error: --format=trace takes neither --fail-on nor --max nor --baseline
# RUN: %status 2 %devsan report --format=trace %t/0.json 2>&1 | FileCheck %s --check-prefix=NO_LOG
# NO_LOG: devsan: error: {{.*}}0.json: a trace is made of event logs
# RUN: %status 2 %sim --quiet --trace=/dev/full -- true 2>&1 | FileCheck %s --check-prefix=NAME
# NAME: devsan: error: --trace=/dev/full: the file's name must end in .json or .json.gz
#
# Names are the program's, and nothing but text.
# RUN: %status 0 %sim --quiet --trace=%t/names.json -- %python %s names
# RUN: %python %s check_names %t/names.json
import collections
import gzip
import json
import os
import signal
import sys

STEPS, PROFILED = 30, range(5, 25)


def load(path):
    with (gzip.open if path.endswith(".gz") else open)(path, "rb") as file:
        trace = json.loads(file.read().decode("utf-8"))
    judge_form(trace)
    return trace


def judge_form(trace):
    """What Chrome's Trace Event Format asks for, and what viewers need: time grows, slices nest."""
    open_slices = collections.defaultdict(list)
    for event in trace["traceEvents"]:
        phase, track = event["ph"], (event["pid"], event["tid"])
        assert phase in {"X", "i", "C", "M"}, event
        assert event["name"] and isinstance(event["args"], dict), event
        assert isinstance(event["pid"], int) and isinstance(event["tid"], int), event
        if phase == "M":
            continue
        assert event["ts"] >= 0, event
        if phase != "X":
            continue
        stack = open_slices[track]
        begin, end = event["ts"], event["ts"] + event["dur"]
        assert event["dur"] >= 0 and (not stack or begin >= stack[-1][0]), (event, stack)
        while stack and stack[-1][1] <= begin + 0.002:  # a double holds a nanosecond or two
            stack.pop()
        assert not stack or end <= stack[-1][1] + 0.002, (event, stack)
        stack.append((begin, end))


def slices(trace, name):
    return [event for event in trace["traceEvents"] if event["ph"] == "X" and event["name"] == name]


def names(trace, kind):
    return {event["pid"]: event["args"]["name"] for event in trace["traceEvents"] if event["name"] == kind}


def profile(path):
    import torch
    from torch.profiler import ProfilerActivity

    x = torch.ones(1000, device="cuda:1")
    weight = torch.zeros(2, requires_grad=True)
    optimizer = torch.optim.SGD([weight], lr=0.1)
    profiler = torch.profiler.profile(activities=[ProfilerActivity.CPU])
    for step in range(STEPS):
        if step == PROFILED.start:
            profiler.start()
        x.sum().item()
        x.to("cpu")
        optimizer.step()
        if step == PROFILED.stop - 1:
            profiler.stop()
    profiler.export_chrome_trace(path)


def check_profile(path, torch_path):
    trace, profile = load(path), json.load(open(torch_path))
    assert trace["baseTimeNanoseconds"] == profile["baseTimeNanoseconds"]
    (pid,) = names(trace, "process_name")
    waits = slices(trace, "aten::item waits for cuda:1")
    assert len(waits) == STEPS, len(waits)
    calls = slices(profile, "aten::item")
    assert len(calls) == len(PROFILED), len(calls)
    # Each wait lies inside the call of the profile, within the error of two readings of two clocks.
    error = 50.0
    for wait, call in zip(waits[PROFILED.start :], calls):
        assert wait["pid"] == call["pid"] == pid
        assert call["ts"] - error <= wait["ts"], (wait, call)
        assert wait["ts"] + wait["dur"] <= call["ts"] + call["dur"] + error, (wait, call)
        (finding,) = wait["args"]["findings"]
        assert finding["rule"] == "device-host-sync" and len(finding["fingerprint"]) == 16, finding
        assert wait["cat"] == "wait,finding" and wait["args"]["at"].split(":")[0].endswith("trace.test.py"), wait
        assert any("in profile" in frame or "profile (" in frame for frame in wait["args"]["stack"]), wait
    # In one file with the profile nothing crosses its slices.
    tracks = {(event["pid"], event["tid"]) for event in trace["traceEvents"] if event["ph"] in "Xi"}
    assert not tracks & {(event["pid"], event["tid"]) for event in profile["traceEvents"]}, tracks
    copies = slices(trace, "aten::to cuda:1 → cpu")
    assert len(copies) == STEPS and copies[0]["args"]["bytes"] == 4000, copies[:1]
    assert [wait["args"]["step"] for wait in waits] == list(range(STEPS))
    steps = [event for event in trace["traceEvents"] if event["ph"] == "X" and event["cat"] == "step"]
    assert [step["name"] for step in steps] == [f"step {i}" for i in range(STEPS)], steps
    for step, wait in zip(steps, waits):
        assert step["ts"] <= wait["ts"] and wait["ts"] + wait["dur"] <= step["ts"] + step["dur"]
    counted = [event["args"]["per step"] for event in trace["traceEvents"] if event["name"] == "waits"]
    assert counted == [2] * STEPS + [0], counted
    assert trace["otherData"]["left_out"] == 0, trace["otherData"]


def killed():
    import torch

    x = torch.ones(4)
    child = os.fork()  # before any device is used: CUDA allows no other
    for _ in range(100 if child else 200):
        x.to("cuda:0")
    if child:
        os.waitpid(child, 0)
        x.to("cuda:1")
    os.kill(os.getpid(), signal.SIGKILL)


def check_killed(path):
    trace = load(path)
    processes = names(trace, "process_name")
    (child,) = (pid for pid, name in processes.items() if name.startswith("worker of "))
    (parent,) = processes.keys() - {child}
    first = [event["pid"] for event in slices(trace, "aten::to cpu → cuda:0")]
    assert collections.Counter(first) == {parent: 100, child: 200}, collections.Counter(first)
    assert [event["pid"] for event in slices(trace, "aten::to cpu → cuda:1")] == [parent]


def steps():
    import torch

    import devsan

    x = torch.ones(4, device="cuda:0")
    for _ in range(200):
        x.sum().item()
        devsan.step()


def check_ranks(path):
    trace = load(path)
    ranks = names(trace, "process_name")
    assert sorted(ranks.values()) == ["rank 0", "rank 1"], ranks
    count = collections.Counter(ranks[event["pid"]] for event in slices(trace, "aten::item waits for cuda:0"))
    assert count["rank 0"] == 200 and 64 <= count["rank 1"] <= 64 + 50, count
    assert trace["otherData"]["left_out"] == 200 - count["rank 1"], trace["otherData"]
    findings = {event["args"]["findings"][0]["fingerprint"] for event in slices(trace, "aten::item waits for cuda:0")}
    assert len(findings) == 1, findings


def hostile_names():
    import torch

    x = torch.ones(4, device="cuda:0")
    body = "class C:\n  def f(self):\n    return x.nonzero()\nC.f.__code__ = C.f.__code__.replace(co_qualname=NAME)\nC().f()\n"
    exec(compile(body, "</script>\x1b[31m\udcff.py", "exec"), {"x": x, "NAME": "</script>\x07" + "n" * 1_000_000})


def check_names(path):
    text = open(path, "rb").read()
    assert b"<" not in text and b"\x1b" not in text and len(text) < 100_000, len(text)
    (wait,) = slices(load(path), "aten::nonzero waits for cuda:0")
    assert "</script>\x1b[31m" in wait["args"]["at"], wait
    assert wait["args"]["function"].startswith("</script>\x07nnn"), wait


what, *arguments = sys.argv[1:]
globals()["hostile_names" if what == "names" else what](*arguments)
