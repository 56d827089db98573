"""The browser and the pages it opens. Tests of the HTML report: what it shows, by clicking it, and what it must not do.

usage: DEVSAN=build/bin/devsan pytest

Needs Chromium (Debian's package `chromium`) and playwright; axe-core for the tests of accessibility. Without them the
tests are skipped and say so. DEVSAN_SCREENSHOTS=FOLDER keeps screenshots.
"""

import shutil

import pytest
from reports import SIZES, example, write_page

CHROMIUM = next(filter(None, map(shutil.which, ("chromium", "chromium-browser", "google-chrome"))), None)


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


@pytest.fixture(scope="session")
def example_page(project):
    return write_page(project, "example", example())


@pytest.fixture(scope="session", autouse=True)
def browser():
    if not CHROMIUM:
        pytest.skip("no Chromium: apt-get install chromium")
    playwright = pytest.importorskip("playwright.sync_api", reason="no playwright: pip install playwright")
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
