"""Hostile and huge text: shown, and nothing else."""

import re

from reports import SUMMARY, finding, rows, write_page


HOSTILE = (
    "</script><script>window.pwned=1</script><img src=x onerror=window.pwned=1><!--<script> &lt; \x1b[31mred\x1b[0m \x00 "
    "\u202egnol\u202c javascript:window.pwned=1 {{report}} ${window.pwned=1}"
)


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
