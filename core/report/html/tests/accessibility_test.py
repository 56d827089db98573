"""Accessibility of every view, by axe-core, at three widths, light and dark."""

import os
from pathlib import Path

import pytest
from reports import SIZES, wait_for


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
