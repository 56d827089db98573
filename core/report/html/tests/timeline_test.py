"""The timeline of steps and ranks."""

import re

from reports import LENGTHS, SUMMARY, example, finding, rows, step_times, write_page


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
    assert rows(page) == ["4.1 GB went from cpu to cuda:1 unasked"]
    page.locator(".chip").first.click()
    page.get_by_role("button", name="Clear all").click()
    page.keyboard.press("2")
    page.get_by_label("Steps from").fill("30")
    page.get_by_label("to", exact=True).fill("99")
    page.get_by_role("button", name="Show", exact=True).click()
    page.keyboard.press("1")
    assert "4.1 GB went from cpu to cuda:1 unasked" not in rows(page) and rows(page)


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
