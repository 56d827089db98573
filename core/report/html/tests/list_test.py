"""The list of findings: order, filters, keyboard, a phone, an address."""

import json
import subprocess

import pytest
from reports import DEVSAN, SUMMARY, count, finding, rows, wait_for, write_page


def test_most_costly_first(visit, example_page):
    page = visit(example_page)
    first = page.locator("#first li")
    assert first.count() == 4
    assert "aten::add refused" in first.nth(0).inner_text() and "a wrong result" in first.nth(0).inner_text()
    assert "4.1 GB went" in first.nth(1).inner_text()
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
    page.locator(".row").filter(has_text="4.1 GB went").click()
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
    assert rows(page)[0].startswith("4.1 GB went")


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
    page.locator(".row").filter(has_text="4.1 GB went").tap()
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
    page.wait_for_function("location.hash === '#finding-4'")


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
