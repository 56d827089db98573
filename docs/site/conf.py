"""Sphinx's settings for the site. script/docs runs it on the pages that collect.py has put together.

The site makes no call to another host and works from file://: Furo brings no web fonts, and Sphinx's search reads its
index as a script.
"""

import re
from pathlib import Path

_ROOT = Path(__file__).resolve().parents[2]

project = "DevSan"
author = "the authors of DevSan"
release = re.search(r"project\(DevSan VERSION ([0-9.]+)", (_ROOT / "CMakeLists.txt").read_text(encoding="utf-8"))[1]
language = "en"

extensions = ["myst_parser"]
myst_enable_extensions = ["deflist"]
myst_heading_anchors = 4
nitpicky = True

html_theme = "furo"
html_title = f"DevSan {release}"
html_static_path = ["static"]
html_css_files = ["devsan.css"]
html_show_sourcelink = False
html_copy_source = False
# Summaries are fetched page by page, which browsers refuse under file://.
html_show_search_summary = False
html_theme_options = {"navigation_with_keys": True}
html_show_copyright = False
highlight_language = "none"  # of blocks that name none
pygments_style = "default"
pygments_dark_style = "monokai"
templates_path = []
