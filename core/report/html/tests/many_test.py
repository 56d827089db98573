"""A hundred thousand findings."""

import json
import time

from reports import SUMMARY, count, finding, frame, step_times, wait_for, write_page


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
