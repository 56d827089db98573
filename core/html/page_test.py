"""The HTML report in a browser: what it shows, by clicking it, and what it must not do.

usage: DEVSAN=build/bin/devsan pytest page_test.py

Needs Chromium (Debian's package `chromium`) and playwright; axe-core for the tests of accessibility. Without them the
tests are skipped and say so. DEVSAN_SCREENSHOTS=FOLDER keeps screenshots.
"""

import json
import os
import re
import shutil
import subprocess
import time
from pathlib import Path

import pytest

DEVSAN = os.environ.get("DEVSAN") or pytest.exit("set DEVSAN to the command", 2)
CHROMIUM = next(filter(None, map(shutil.which, ("chromium", "chromium-browser", "google-chrome"))), None)
if not CHROMIUM:
    pytest.skip("no Chromium: apt-get install chromium", allow_module_level=True)
playwright = pytest.importorskip("playwright.sync_api", reason="no playwright: pip install playwright")

SIZES = {"phone": (375, 740), "tablet": (800, 1000), "desktop": (1440, 900)}
HOSTILE = (
    "</script><script>window.pwned=1</script><img src=x onerror=window.pwned=1><!--<script> &lt; \x1b[31mred\x1b[0m \x00 "
    "\u202egnol\u202c javascript:window.pwned=1 {{report}} ${window.pwned=1}"
)


# ---- reports


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
        finding("device-implicit-transfer", message="4.1 KB went from cpu to cuda:1 unasked", file="data/loader.py", line=9,
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


@pytest.fixture(scope="session")
def project(tmp_path_factory):
    """Sources for the findings' places, and a file beside the project that is nobody's business."""
    folder = tmp_path_factory.mktemp("html")
    root = folder / "project"
    (root / "data").mkdir(parents=True)
    (root / ".devsan.toml").write_text("")
    (folder / "secret.txt").write_text("the secret\n" * 5)
    for name in ("train.py", "model.py", "data/loader.py"):
        (root / name).write_text("".join(f"    value_{n} = loss_{n}.item()  # ü {name}\n" for n in range(1, 61)))
    return root


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


@pytest.fixture(scope="session")
def example_page(project):
    return write_page(project, "example", example())


# ---- browser


@pytest.fixture(scope="session")
def browser():
    with playwright.sync_playwright() as driver:
        browser = driver.chromium.launch(executable_path=CHROMIUM, args=["--no-sandbox"])
        yield browser
        browser.close()


@pytest.fixture
def visit(browser):
    """Opens a page; at the end, nothing may have failed, and nothing but the file may have been asked for."""
    contexts, wrong = [], []

    def visit(path, size="desktop", fragment="", settled=True, **settings):
        width, height = SIZES.get(size, size)
        context = browser.new_context(viewport={"width": width, "height": height}, offline=True, **settings)
        contexts.append(context)
        page = context.new_page()
        page.set_default_timeout(20_000)
        page.on("pageerror", lambda error: wrong.append(f"error: {error}"))
        page.on("console", lambda message: message.type == "error" and wrong.append(f"console: {message.text}"))
        page.on("dialog", lambda dialog: wrong.append("dialog"))
        page.on("request", lambda request: request.url.startswith(path.as_uri()) or wrong.append(request.url))
        page.goto(path.as_uri() + fragment)
        if settled and settings.get("java_script_enabled", True):
            page.wait_for_selector("html[data-ready]")
        return page

    visit.wrong = wrong
    yield visit
    for context in contexts:
        context.close()
    assert not wrong


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


# ---- what it shows


def test_most_costly_first(visit, example_page):
    page = visit(example_page)
    first = page.locator("#first li")
    assert first.count() == 4
    assert "aten::add refused" in first.nth(0).inner_text() and "a wrong result" in first.nth(0).inner_text()
    assert "4.1 KB went" in first.nth(1).inner_text()
    assert "8.0 ms blocked (0.1 % of the run)" in first.nth(2).inner_text()
    assert rows(page)[:3] == [first.nth(k).locator(".message").inner_text() for k in range(3)]
    assert count(page) == "7 findings"
    assert "torchrun" in page.title()
    assert "1 error" in page.locator("#facts").inner_text()
    first.nth(2).locator("button").click()
    assert "in aten::item, 80 times" in page.locator("#detail .what").inner_text()


def test_detail(visit, example_page):
    page = visit(example_page)
    page.locator(".row").filter(has_text="in aten::item, 80 times").click()
    detail = page.locator("#detail")
    text = detail.inner_text()
    assert "train.py:7" in text and "keep the value on the device" in text
    assert "8.0 ms" in text and "measured" in text and "12.0 ms" in text
    here = detail.locator(".source .here").first
    assert "value_7 = loss_7.item()" in here.inner_text()
    assert here.locator("mark").inner_text() == "v"
    assert detail.locator(".source .line").count() == 9
    assert detail.locator(".shares tbody tr").count() == 2
    own = detail.locator(".stack .function:visible")
    assert own.all_inner_texts() == ["step", "main"]
    detail.get_by_role("button", name="Show 1 frame of PyTorch").click()
    assert own.count() == 3
    page.locator(".row").filter(has_text="4.1 KB went").click()
    assert "made on cpu here" in detail.inner_text()


def test_predicted_and_observed(visit, example_page):
    page = visit(example_page)
    page.get_by_label("Mark").select_option(label="predicted and observed (2)")
    assert count(page) == "2 of 7 findings"
    page.locator(".row").nth(0).click()
    assert "devsan check predicted it" in page.locator("#detail").inner_text()
    page.locator("#detail .other button").click()
    assert "'.item()' waits" in page.locator("#detail .what").inner_text()
    page.get_by_label("Mark").select_option(label="predicted (1)")
    assert rows(page) == ["'x.cuda()' goes to the current device"]


def test_filters(visit, example_page):
    page = visit(example_page)
    page.get_by_role("button", name="warning 5").click()
    assert count(page) == "2 of 7 findings"
    page.get_by_role("button", name="warning 5").click()
    page.get_by_label("Rule").select_option(label="device-cpu-round-trip (1)")
    assert rows(page) == ["the values went to the cpu and back"]
    page.get_by_label("Rank").select_option("1")
    assert page.locator("#none").is_visible() and count(page) == "0 of 7 findings"
    page.get_by_role("button", name="Clear them").click()
    assert count(page) == "7 findings"
    page.get_by_label("Rank").select_option("1")
    assert count(page) == "2 of 7 findings"
    page.get_by_role("button", name="Clear all").click()
    page.get_by_label("Order").select_option(label="how often")
    assert rows(page)[0].startswith("the host waited for cuda:0 in aten::item, 80 times")
    page.get_by_label("Order").select_option(label="place")
    assert rows(page)[0].startswith("4.1 KB went")


def test_search(visit, example_page):
    page = visit(example_page)
    for words, found in (
        ("ROUND-trip", 1),
        ("train.py:7", 2),
        ("loader.py:9", 1),
        ("fetch", 1),
        ("aten::add", 1),
        ("cuda:1", 2),
        ("waited item", 2),
        ("at::_ops::item", 4),
        ("no such thing", 0),
    ):
        page.fill("#search", words)
        wait_for(page, f"document.getElementById('count').textContent.startsWith('{found} of')")


def test_known_findings_are_counted_only(visit, project):
    known = finding(message="an old one", line=2, known=True)
    baseline = project / "known-baseline.json"
    page = write_page(project, "known", [known, finding(message="a new one", line=5)])
    subprocess.run([DEVSAN, "report", "--fail-on=none", f"--baseline={baseline}", "--update-baseline", "known.json"],
                   cwd=project, check=True, capture_output=True)  # fmt: skip
    write_page(project, "known", [known, finding(message="a new one", line=5)])
    subprocess.run([DEVSAN, "report", "--format=html", "-o", page, f"--baseline={baseline}", "known.json"], cwd=project,
                   check=True)  # fmt: skip
    page = visit(page)
    assert "2 known from the baseline" in count(page) and not rows(page)
    page.get_by_label("Known ones too").check()
    assert len(rows(page)) == 2


def test_keyboard(visit, example_page):
    page = visit(example_page)
    keys = page.keyboard
    active = lambda: page.evaluate("document.activeElement.id")
    chosen = lambda: page.locator(".row[aria-selected=true]").get_attribute("id")
    keys.press("/")
    assert active() == "search"
    keys.type("waited")
    wait_for(page, "document.getElementById('count').textContent.startsWith('2 of')")
    assert chosen() == "row-2"  # letters in the search are no commands
    keys.press("Enter")
    assert active() == "list"
    keys.press("j")
    assert chosen() == "row-6"
    assert page.locator("#list").get_attribute("aria-activedescendant") == "row-6"
    keys.press("k")
    assert chosen() == "row-2"
    keys.press("ArrowDown")
    assert chosen() == "row-6"
    keys.press("Enter")
    assert active() == "detail"
    keys.press("Escape")
    assert active() == "list"
    keys.press("x")
    assert count(page) == "7 findings"
    keys.press("End")
    assert chosen() == "row-6"
    keys.press("Home")
    assert chosen() == "row-0"
    for key, view in zip("2341", ("timeline", "stacks", "about", "findings")):
        keys.press(key)
        assert page.locator(f"#view-{view}").is_visible()
        assert page.locator(f"#tab-{view}").get_attribute("aria-selected") == "true"
    keys.press("?")
    assert page.locator("#help").is_visible()
    keys.press("Escape")
    assert not page.locator("#help").is_visible()
    page.locator("#help-open").click()
    page.get_by_role("button", name="Close").click()
    assert not page.locator("#help").is_visible()
    page.locator("#tab-findings").focus()
    keys.press("ArrowRight")
    assert active() == "tab-timeline" and page.locator("#view-timeline").is_visible()


def test_every_control_is_reached_by_tab_and_shows_its_focus(visit, example_page):
    page = visit(example_page)
    met = []
    for _ in range(60):
        page.keyboard.press("Tab")
        state = page.evaluate(
            """() => { const e = document.activeElement, s = getComputedStyle(e), row = e.querySelector('.row[aria-selected=true]');
            return [e.id || e.textContent.slice(0, 30), s.outlineStyle !== 'none' || (row && getComputedStyle(row).outlineStyle !== 'none'),
                    e === document.body] }"""
        )
        if state[2]:
            break
        assert state[1], f"no focus to be seen on {state[0]}"
        met.append(state[0])
    for control in ("theme", "help-open", "tab-findings", "search", "by-rule", "by-mark", "by-rank", "order", "list"):
        assert control in met


def test_light_and_dark(visit, example_page):
    page = visit(example_page, color_scheme="dark")
    theme = lambda: page.locator("html").get_attribute("data-theme")
    background = lambda: page.evaluate("getComputedStyle(document.body.parentElement).backgroundColor")
    assert theme() == "dark"
    night = background()
    page.emulate_media(color_scheme="light")
    wait_for(page, "document.documentElement.dataset.theme === 'light'")
    assert background() != night
    page.locator("#theme").click()
    assert theme() == "dark" and background() == night
    page.reload()
    page.wait_for_selector("html[data-ready]")
    assert theme() == "dark"  # the choice is kept, and goes before the system's
    page.keyboard.press("t")
    assert theme() == "light"


def test_timeline(visit, example_page):
    page = visit(example_page)
    page.get_by_role("tab", name="Timeline").click()
    page.get_by_label("Across").select_option("steps")
    lanes = page.locator(".lane-name")
    assert lanes.all_inner_texts() == ["rank 0", "rank 1"]
    painted = "c => c.getContext('2d').getImageData(0, 0, c.width, c.height).data.some((v, k) => k % 4 === 3 && v > 0)"
    assert page.locator(".lane .amounts").nth(1).evaluate(painted)
    # What rank 1 moved lies in steps 20 to 29, above the middle.
    above = """(c, x) => [...Array(c.height / 2 - 4).keys()].some(y => c.getContext('2d').getImageData(c.width * x, y, 1, 1).data[3] > 0)"""
    canvas = page.locator(".lane .amounts").nth(1)
    assert [canvas.evaluate(above, x) for x in (0.1, 0.25, 0.5)] == [False, True, False]
    page.get_by_label("Lanes").select_option("device")
    assert lanes.all_inner_texts() == ["cuda:0", "cuda:1"]
    box = page.locator(".lane .amounts").nth(1).bounding_box()
    page.mouse.click(box["x"] + box["width"] * 0.255, box["y"] + 10)
    assert [chip.split("×")[0].strip() for chip in page.locator(".chip").all_inner_texts()] == [
        "step 25",
        "device cuda:1",
        "Clear all",
    ]
    assert rows(page) == ["4.1 KB went from cpu to cuda:1 unasked"]
    page.locator(".chip").first.click()
    page.get_by_role("button", name="Clear all").click()
    page.keyboard.press("2")
    page.get_by_label("Steps from").fill("30")
    page.get_by_label("to", exact=True).fill("99")
    page.get_by_role("button", name="Show", exact=True).click()
    page.keyboard.press("1")
    assert "4.1 KB went from cpu to cuda:1 unasked" not in rows(page) and rows(page)


TOP = "(c, x) => c.getContext('2d').getImageData(Math.floor(c.width * x), 1, 1, 1).data[3] > 0"


def test_timeline_by_time(visit, example_page):
    """Rank 1 begins 2.5 s after rank 0, whose first step took 2 s."""
    page = visit(example_page)
    page.keyboard.press("2")
    assert page.get_by_label("Across").input_value() == "time"
    lengths = page.locator(".lane .lengths")
    whole = max(sum(LENGTHS), 2500 + sum(LENGTHS) - 2000 + 40)
    slow = [(sum(LENGTHS[:60]) + 250) / whole, (2500 + sum(LENGTHS[1:60]) + 250) / whole]
    for rank in (0, 1):
        assert lengths.nth(rank).evaluate(TOP, slow[rank])
        assert not lengths.nth(rank).evaluate(TOP, slow[rank] + 0.06)
    # What rank 1 moved in steps 20 to 29 lies where it ran them.
    box = page.locator(".lane .amounts").nth(1).bounding_box()
    at = lambda step: (2500 + sum(LENGTHS[1 : step + 1])) / whole * box["width"] + box["x"]
    pointed = page.locator(".pointed")
    page.mouse.move(at(24), box["y"] + 10)
    assert re.match(r"rank 1: steps? 2[345]\b.*copies [1-9]", pointed.inner_text()), pointed.inner_text()
    page.mouse.move(at(10), box["y"] + 10)
    assert re.match(r"rank 1: steps? (9|1[01])\b", pointed.inner_text()) and "copies" not in pointed.inner_text()
    page.mouse.move(slow[0] * box["width"] + box["x"], page.locator(".lane .lengths").first.bounding_box()["y"] + 5)
    assert pointed.inner_text().startswith("rank 0: step 60 · 500.0 ms")
    longest = page.locator(".slow-steps button")
    assert longest.all_inner_texts() == ["step 60 of rank 0\n500.0 ms", "step 59 of rank 1\n500.0 ms"]
    longest.nth(1).click()
    assert [chip.split("×")[0].strip() for chip in page.locator(".chip").all_inner_texts()] == ["step 59", "Clear all"]
    assert page.locator("#by-rank").input_value() == "1"


def test_one_slow_step_of_a_hundred_thousand(visit, project):
    lengths = [1] * 100_000
    lengths[43_210] = 3000
    all_steps = {"total": 100_000, "seen": 100_000, "first": 0, "last": 99_999, "most": 1}
    page = visit(write_page(project, "slow", [finding(steps=all_steps)], SUMMARY | {
        "ranks": [0], "cost": SUMMARY["cost"] | {"steps": 100_000}, "step_times": [step_times(0, lengths, 100)]}))  # fmt: skip
    page.keyboard.press("2")
    drawn = page.locator(".lane .lengths")
    for across, x in (("time", (43_200 + 1550) / 103_000), ("steps", 0.43205)):
        page.get_by_label("Across").select_option(across)
        assert drawn.evaluate(TOP, x) and not drawn.evaluate(TOP, 0.5) and not drawn.evaluate(TOP, 0.2)
    assert "1.0 ms a step" in page.locator(".lane-head").inner_text()
    page.locator(".slow-steps button").first.click()
    assert page.locator(".chip").first.inner_text().startswith("step 43210")


def test_steps_are_shown_where_nothing_was_found(visit, project):
    summary = {"tool": "devsan run", "subject": "a.out", "step_times": [step_times(None, [10] * 20)]}
    page = visit(write_page(project, "quiet", [], summary | {"cost": {"steps": 20}}))
    page.keyboard.press("2")
    assert page.locator(".lane-name").all_inner_texts() == ["the program"]
    assert page.locator(".lane .lengths").evaluate(TOP, 0.53)
    assert page.locator(".slow-steps").count() == 0


def test_runs_one_after_the_other_begin_together(visit, project):
    day = 86_400_000_000
    times = [step_times(rank, [10] * 50, begun_us=1_764_000_000_000_000 + rank * day) for rank in (0, 1)]
    page = visit(write_page(project, "days", example(), SUMMARY | {"step_times": times}))
    page.keyboard.press("2")
    assert page.locator(".axis").inner_text().split() == ["0", "s", "250.0", "ms", "500.0", "ms"]
    assert "begin at 0" in page.locator("#view-timeline .small").inner_text()


def test_timeline_without_steps(visit, project):
    page = visit(write_page(project, "stepless", [finding(steps={})], {"tool": "devsan run", "subject": "a.out"}))
    page.keyboard.press("2")
    assert "names no steps" in page.locator("#view-timeline").inner_text()


def test_call_stacks(visit, example_page):
    page = visit(example_page)
    page.get_by_role("tab", name="Call stacks").click()
    flame = page.locator(".flame button")
    drawn = lambda name: any(label.startswith(name) for label in names())
    names = lambda: flame.evaluate_all("all => all.map(b => b.getAttribute('aria-label'))")
    assert names()[0].startswith("everything: ")
    assert drawn("main at train.py:51: 341.7 ms") and not drawn("at::_ops")
    page.get_by_label("Frames of PyTorch").check()
    assert drawn("at::_ops")
    page.get_by_label("Frames of PyTorch").uncheck()
    page.get_by_label("Width").select_option("count")
    page.locator(".flame button[aria-label^='main at train.py:50']").click()
    assert not drawn("main at train.py:51")
    assert page.locator(".flame-note .code").inner_text().startswith("value_50 = loss_50.item()")
    page.keyboard.press("ArrowDown")
    assert page.evaluate("document.activeElement.getAttribute('aria-label')").startswith("step at train.py:7")
    page.keyboard.press("ArrowRight")
    assert not page.evaluate("document.activeElement.getAttribute('aria-label')").startswith("step at train.py:7")
    page.keyboard.press("ArrowUp")
    page.get_by_role("button", name="Show them").click()
    assert count(page) == "4 of 7 findings"
    assert "called from main at train.py:50" in page.locator(".chip").first.inner_text()


def test_callers_in_a_row_are_folded(visit, project):
    stack = [frame("train.py", k, f"f_{k}") for k in range(20)]
    page = visit(write_page(project, "deep", [finding(stack=stack), finding(line=4, stack=stack[3:])]))
    page.keyboard.press("3")
    names = lambda: page.locator(".flame button").all_inner_texts()
    shown = ["f_19 train.py:19", "… 15 frames, one calling the next", "f_3 train.py:3", "f_2 train.py:2", "f_1 train.py:1", "f_0 train.py"]
    assert names() == ["everything", *shown]  # the last has no line
    page.get_by_role("button", name="one calling the next").click()
    assert len(names()) == 21 and "f_10 train.py:10" in names()


def test_compared_reports(visit, project):
    """What is new stands first; what is gone is none of the run's."""
    stays, worse = finding(line=5), finding(line=6, count=7)
    for name, findings in (
        ("old", [finding(line=4, message="this one is gone"), stays, finding(line=6, count=3)]),
        ("new", [stays, worse, finding("device-mismatch", "error", "this one is new", line=9)]),
    ):
        (project / f"{name}.json").write_text(
            json.dumps({"schema": "devsan/1", "findings": findings, "summary": SUMMARY})
        )
    path = project / "compared.html"
    command = [DEVSAN, "report", "--compare", "--fail-on=none", "--format=html", "-o", path, "old.json", "new.json"]
    subprocess.run(command, cwd=project, check=True, timeout=60)
    page = visit(path)
    assert "old.json → new.json" in page.locator("#subject").inner_text()
    facts = page.locator("#facts").inner_text()
    assert "1 error" in facts and "2 warnings" in facts and "1 new" in facts and "1 gone" in facts
    assert page.locator(".row .tag").all_inner_texts() == ["new", "changed", "gone", "the same"]
    assert page.locator("#first li").count() == 1 and "this one is new" in page.locator("#first").inner_text()
    page.get_by_label("Compared").select_option(label="changed (1)")
    assert count(page) == "1 of 4 findings"
    assert "3 times → 7 times" in page.locator("#detail").inner_text()
    page.keyboard.press("x")
    page.keyboard.press("3")
    page.get_by_label("Width").select_option("one")
    everything = page.locator(".flame button").first
    assert everything.get_attribute("aria-label") == "everything: 3"
    page.get_by_label("Compared").select_option(label="gone (1)")
    assert everything.get_attribute("aria-label") == "everything: 1"


def test_about(visit, example_page):
    page = visit(example_page)
    page.get_by_role("tab", name="About").click()
    assert "2 processes ended before" in page.locator("#view-about").inner_text()


def test_cut_off(visit, project, example_page):
    cut = project / "cut.html"
    cut.write_bytes(example_page.read_bytes()[:-3000])
    page = visit(cut, settled=False)
    assert "cut off or damaged" in page.locator(".alert").first.inner_text()


def test_no_findings(visit, project):
    page = visit(write_page(project, "clean", [], {"tool": "devsan run", "subject": "a.out"}))
    assert count(page) == "0 findings" and page.locator("#none").is_visible()
    for key in "2341":
        page.keyboard.press(key)


def test_phone(visit, example_page):
    page = visit(example_page, "phone", has_touch=True)
    page.locator(".row").filter(has_text="4.1 KB went").tap()
    sheet = page.locator("#sheet")
    assert sheet.is_visible() and "data/loader.py:9" in sheet.inner_text()
    page.get_by_role("button", name="Next").tap()
    assert "data/loader.py:9" not in sheet.inner_text()
    page.go_back()
    sheet.wait_for(state="hidden")
    page.locator(".row").first.tap()
    assert "aten::add refused" in sheet.inner_text()
    page.get_by_role("button", name="Back", exact=True).tap()
    sheet.wait_for(state="hidden")
    assert not page.locator("#by-rule").is_visible()
    page.get_by_role("button", name="Filters").tap()
    page.get_by_label("Rule").select_option(label="device-mismatch (1)")
    assert count(page) == "1 of 7 findings"


def test_address_of_a_finding(visit, example_page):
    page = visit(example_page, fragment="#finding-3")
    message = page.locator("#detail .what").inner_text()
    assert page.locator(".row[aria-selected=true] .message").inner_text() == message
    page.keyboard.press("j")
    assert page.url.endswith("#finding-4")


@pytest.mark.parametrize("width", [320, 375, 800, 1440])
def test_nothing_is_cut_off_sideways(visit, example_page, width):
    page = visit(example_page, (width, 800))
    for key in "1234":
        page.keyboard.press(key)
        assert page.evaluate("document.documentElement.scrollWidth - innerWidth") <= 0
    page.keyboard.press("1")
    page.locator(".row").nth(1).click()
    assert page.evaluate("document.documentElement.scrollWidth - innerWidth") <= 0


def test_without_script(visit, example_page):
    page = visit(example_page, java_script_enabled=False)
    assert "JavaScript, which is switched off" in page.locator("noscript").inner_text()
    assert not page.locator("#main").is_visible()


# ---- what it must not do


def test_hostile_text_is_shown_and_nothing_else(visit, project):
    place = {"file": HOSTILE, "line": 1, "column": 1, "function": HOSTILE}
    evil = finding(rule=HOSTILE, message=HOSTILE, remedy=HOSTILE, op=HOSTILE, fingerprint=HOSTILE, locations=[place, place],
                   stack=[place | {"module": HOSTILE, "user": user} for user in (True, False)],
                   related=[place | {"message": HOSTILE}]) | {"from": HOSTILE, "to": "<b>x"}  # fmt: skip
    summary = SUMMARY | {
        key: [HOSTILE] for key in ("notes", "unused_suppressions", "stale_baseline")
    } | {"subject": HOSTILE, "tool": HOSTILE}  # fmt: skip
    page = visit(write_page(project, "hostile", [evil, evil | {"severity": "error"}], summary))
    for key in "1234":
        page.keyboard.press(key)
    page.keyboard.press("1")
    page.locator(".row").first.click()
    page.get_by_label("Rule").select_option(index=1)
    page.fill("#search", "</script><script>window.pwned=1</script><img")
    page.wait_for_timeout(300)
    assert page.locator(".row").count() == 2
    assert page.evaluate("window.pwned") is None
    assert page.locator("img, main script, b:not(.remedy b)").count() == 0
    what = page.locator("#detail .what").inner_text()
    assert "</script><script>window.pwned=1</script>" in what
    assert "\\x1b[31mred" in what and "\\x00" in what and "\\u{202e}gnol" in what
    assert not re.search("[\x00-\x08\x0b-\x1f\u202a-\u202e]", page.locator("body").inner_text())


def test_policy_stops_other_scripts(visit, example_page):
    page = visit(example_page)
    page.evaluate(
        "document.body.append(Object.assign(document.createElement('script'), {textContent: 'window.pwned = 1'}))"
    )
    page.evaluate("document.body.setAttribute('onclick', 'window.pwned = 1')")
    page.locator("h1").click()
    assert page.evaluate("window.pwned") is None
    assert len(visit.wrong) == 2 and all("Content Security Policy" in line for line in visit.wrong)
    visit.wrong.clear()


def test_long_messages(visit, project):
    page = visit(write_page(project, "long", [finding(message="ä<b>" * 262_144, line=k + 1) for k in range(30)]))
    assert len(rows(page)[0]) < 400
    what = page.locator("#detail .what")
    assert len(what.inner_text()) < 1300
    page.get_by_role("button", name="Show all").click()
    assert 40_000 < len(what.inner_text()) < 70_000
    assert page.evaluate("document.documentElement.scrollWidth - innerWidth") <= 0


def test_no_source_from_outside_of_the_project(project):
    outside = [finding(file=name) for name in ("../secret.txt", str(project.parent / "secret.txt"))]
    text = write_page(project, "outside", outside).read_text()
    assert "the secret" not in text and "value_3 = loss_3.item()" not in text
    assert "value_3 = loss_3.item()" in write_page(project, "inside", [finding()]).read_text()


# ---- many findings


def many(number):
    """Over 500 files, 64 ranks and 1,000 steps."""
    for k in range(number):
        file, line = f"src/part_{k % 50}/file_{k % 500}.py", k // 500 + 1
        first = k % 900
        yield json.dumps(
            finding(message=f"the host waited for cuda:{k % 8} in aten::item, {number - k} times", file=file, line=line,
                    count=number - k, steps={"total": 1000, "seen": 50, "first": first, "last": first + 99, "most": 3},
                    stack=[frame(file, line, f"f_{k % 500}"), frame(file, 1, f"g_{k % 50}"), frame("train.py", 50, "main")],
                    ranks=[{"rank": k % 64, "count": number - k}])
        )  # fmt: skip


def test_hundred_thousand_findings(visit, project):
    number = 100_000
    begin = time.monotonic()
    times = [step_times(rank, [1 + step % 100 for step in range(100_000)], 100) for rank in range(64)]
    path = write_page(project, "many", many(number), SUMMARY | {"ranks": list(range(64)), "step_times": times})
    written = time.monotonic() - begin
    begin = time.monotonic()
    page = visit(path)
    ready = time.monotonic() - begin
    assert count(page) == "100,000 findings"
    on_screen = "r => r.getBoundingClientRect().bottom <= innerHeight + 1 && r.getBoundingClientRect().top >= 0"
    nodes = lambda: page.evaluate("document.querySelectorAll('*').length")
    assert nodes() < 1500

    def timed(action, until):
        begin = time.monotonic()
        action()
        wait_for(page, until)
        return time.monotonic() - begin

    starts = lambda text: f"document.getElementById('count').textContent.startsWith('{text}')"
    search = timed(lambda: page.fill("#search", "file_77.py"), starts("200 of"))
    clear = timed(lambda: page.fill("#search", ""), starts("100,000 f"))
    page.focus("#list")
    end = timed(
        lambda: page.keyboard.press("End"), "document.querySelector('.row[aria-selected=true]')?.id === 'row-99999'"
    )
    assert page.locator("#row-99999").is_visible()
    assert "once" in page.locator("#row-99999").inner_text()
    assert page.locator("#row-99999").evaluate(on_screen)
    page.evaluate("scrollTo(0, document.documentElement.scrollHeight / 2)")
    page.wait_for_timeout(200)
    assert page.locator(".row").evaluate_all(
        "all => all.some(r => Math.abs(r.getAttribute('aria-posinset') - 50000) < 500)"
    )
    timeline = timed(lambda: page.keyboard.press("2"), "document.querySelectorAll('.lane').length === 64")
    stacks = timed(lambda: page.keyboard.press("3"), "document.querySelectorAll('.flame button').length > 100")
    assert nodes() < 6000
    session = page.context.new_cdp_session(page)
    session.send("HeapProfiler.collectGarbage")
    heap = session.send("Runtime.getHeapUsage")["usedSize"]
    print(f"\n{number} findings: {path.stat().st_size / 1e6:.0f} MB, written in {written:.1f} s with the JSON; ready after {ready:.2f} s, "
          f"search {search:.2f} s, all again {clear:.2f} s, to the end {end:.2f} s, timeline {timeline:.2f} s, call stacks {stacks:.2f} s, "
          f"heap {heap / 1e6:.0f} MB")  # fmt: skip
    assert ready < 20 and max(search, clear, end, timeline, stacks) < 10
    assert heap < 500e6

    # There the list is taller than a browser can draw, so that scrolling is squeezed.
    phone = visit(path, "phone")
    phone.focus("#list")
    phone.keyboard.press("End")
    assert phone.locator("#row-99999").evaluate(on_screen)
    for _ in range(3):
        phone.keyboard.press("k")
    assert phone.locator("#row-99996").evaluate(on_screen)
    phone.evaluate("scrollTo(0, document.documentElement.scrollHeight / 2)")
    phone.wait_for_timeout(200)
    positions = phone.locator(".row").evaluate_all("all => all.map(r => Number(r.getAttribute('aria-posinset')))")
    assert len(positions) < 40 and abs(sum(positions) / len(positions) - 50_000) < 500
    phone.keyboard.press("Home")
    assert phone.locator("#row-0").evaluate(on_screen)


# ---- accessibility


def violations(page):
    axe = pytest.importorskip(
        "axe_playwright_python.sync_playwright", reason="no axe-core: pip install axe-playwright-python"
    )
    found = axe.Axe().run(page).response["violations"]
    return [(one["id"], one["impact"], [node["html"][:200] for node in one["nodes"]][:3]) for one in found]


@pytest.mark.parametrize("scheme", ["light", "dark"])
@pytest.mark.parametrize("size", SIZES)
def test_accessible(visit, example_page, size, scheme):
    page = visit(example_page, size, color_scheme=scheme)
    screenshots = os.environ.get("DEVSAN_SCREENSHOTS")
    for view in ("findings", "timeline", "stacks", "about"):
        page.locator(f"#tab-{view}").click()
        if screenshots:
            page.screenshot(path=Path(screenshots) / f"{view}-{size}-{scheme}.png")
        assert violations(page) == [], view
    page.locator("#tab-findings").click()
    if size == "phone":
        page.get_by_role("button", name="Filters").click()
    page.fill("#search", "waited")
    wait_for(page, "document.getElementById('count').textContent.startsWith('2 of')")
    assert violations(page) == []
    page.locator(".row").first.click()
    if screenshots:
        page.screenshot(path=Path(screenshots) / f"finding-{size}-{scheme}.png")
    assert violations(page) == []
    if size != "desktop":
        page.keyboard.press("Escape")
        page.locator("#sheet").wait_for(state="hidden")
    page.locator("#help-open").click()
    assert violations(page) == []
