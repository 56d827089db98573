"""The site: it builds, a broken link fails it, it needs no other host, and its search works from file://.

usage: site_test.py

Skipped where Sphinx cannot be had (script/docs says so); the part in a browser where Chromium or playwright is missing.
"""

import os
import re
import shutil
import subprocess
import sys
import tempfile
import unittest
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
sys.path.insert(0, str(ROOT / "docs/site"))
import collect  # noqa: E402

SKIPPED = 77
CHROMIUM = next(filter(None, map(shutil.which, ("chromium", "chromium-browser", "google-chrome"))), None)
# What a browser loads by itself.
LOADED = re.compile(r"""<(?:script|img|iframe|source|link)\b[^>]*?\b(?:src|href)=["']?([^"' >]+)|@import\s+["']?([^"';]+)|url\(["']?([^"')]+)""")


class Site(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        folder = tempfile.TemporaryDirectory(prefix="devsan-site-")
        cls.addClassCleanup(folder.cleanup)
        cls.folder = Path(folder.name)
        cls.site = cls.folder / "site"
        done = subprocess.run([ROOT / "script/docs", "-o", cls.site], capture_output=True, text=True)
        if done.returncode == SKIPPED:
            print(done.stderr)
            sys.exit(SKIPPED)
        assert done.returncode == 0, done.stdout + done.stderr

    def test_a_page_for_each_rule(self):
        index = (self.site / "rules/index.html").read_text()
        self.assertTrue(collect.RULE_PAGES)
        for page in collect.RULE_PAGES:
            rule = f"device-{page.parent.name}"
            self.assertIn(f'href="{rule}.html"', index)
            self.assertIn(f"<h1>{rule}<", (self.site / f"rules/{rule}.html").read_text())

    def test_all_pages_of_docs_are_there(self):
        sources = [path.relative_to(ROOT).as_posix() for path in (ROOT / "docs").rglob("*.md")]
        self.assertFalse(set(sources) - set(collect.pages()), "pages that the navigation of docs/site/collect.py leaves out")

    def test_needs_no_other_host(self):
        files = [path for path in self.site.rglob("*") if path.suffix in (".html", ".css")]
        self.assertGreater(len(files), 40)
        for file in files:
            for match in LOADED.finditer(file.read_text()):
                address = next(filter(None, match.groups()))
                self.assertNotRegex(address, r"^(https?:)?//", file.relative_to(self.site))

    def test_a_link_that_leads_nowhere(self):
        known = {"README.md": "index", "docs/check.md": "check"}
        for link in ("nowhere.md", "docs/check", "../../elsewhere.md"):
            with self.assertRaises(collect.BrokenLink, msg=link):
                collect.with_links(f"[text]({link})", "README.md", known)
        self.assertEqual(collect.with_links("[a `b`](docs/check.md#there) `[c](d)` [e](https://example.org)", "README.md", known),
                         "[a `b`](check.md#there) `[c](d)` [e](https://example.org)")
        self.assertEqual(collect.with_links("```\n[a](nowhere.md)\n```\n", "README.md", known), "```\n[a](nowhere.md)\n```\n")

    def test_what_sphinx_refuses(self):
        python = os.environ.get("DEVSAN_DOCS_PYTHON", ROOT / ".cache/docs-venv/bin/python")
        command = [python, "-m", "sphinx", "-q", "-c", ROOT / "docs/site", "-W"]
        for name, text in {"anchor": "# A\n[x](index.md#nothing)\n", "missing": "# A\n```{toctree}\nnothing\n```\n", "right": "# A\n[x](#a)\n"}.items():
            with self.subTest(name):
                pages = self.folder / name
                pages.mkdir()
                (pages / "index.md").write_text(text)
                done = subprocess.run([*command, pages, self.folder / f"{name}-site"], capture_output=True, text=True)
                self.assertEqual(done.returncode != 0, name != "right", done.stdout + done.stderr)

    def test_in_a_browser(self):
        if CHROMIUM is None:
            self.skipTest("no Chromium: apt-get install chromium")
        try:
            from playwright import sync_api
        except ImportError:
            self.skipTest("no playwright: pip install playwright")
        with sync_api.sync_playwright() as driver:
            browser = driver.chromium.launch(executable_path=CHROMIUM, args=["--no-sandbox"])
            page = browser.new_page(viewport={"width": 1400, "height": 900})
            asked, wrong = [], []
            page.on("request", lambda request: asked.append(request.url))
            page.on("console", lambda message: wrong.append(message.text) if message.type == "error" else None)
            page.on("pageerror", lambda error: wrong.append(str(error)))
            page.goto((self.site / "index.html").as_uri())
            page.get_by_placeholder("Search").fill("record_stream")
            page.keyboard.press("Enter")
            page.get_by_role("link", name="device-stream-lifetime").last.click()
            self.assertEqual(page.locator("h1").inner_text().split("\n")[0].rstrip("¶#"), "device-stream-lifetime")
            for width in (360, 800, 1400):
                page.set_viewport_size({"width": width, "height": 900})
                for name in ("index", "rules/index", "rules/device-host-sync", "clang-tidy", "tutorials/slow-loop"):
                    page.goto((self.site / f"{name}.html").as_uri())
                    too_wide = page.evaluate("document.documentElement.scrollWidth - document.documentElement.clientWidth")
                    self.assertLessEqual(too_wide, 0, f"{name} at {width} px scrolls sideways")
            browser.close()
        self.assertFalse(wrong)
        self.assertFalse([url for url in asked if not url.startswith(("file:", "data:", "blob:"))])


if __name__ == "__main__":
    unittest.main()
