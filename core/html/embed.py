"""Puts the page of the HTML report together, as string literals for html_report.cpp.

usage: embed.py OUTPUT PAGE.HTML STYLE.CSS SCRIPT.JS

The page has one style and one script, and its policy allows these two by their hashes: nothing that comes with a report
can run. `{{report}}` is where the findings go.
"""

import base64
import hashlib
import sys
from pathlib import Path

REPORT = "{{report}}"


def source_of(text):
    return f"'sha256-{base64.b64encode(hashlib.sha256(text.encode()).digest()).decode()}'"


def literal(name, text):
    lines = []
    for line in text.splitlines(keepends=True):
        escaped = line.replace("\\", "\\\\").replace('"', '\\"').replace("\n", "\\n").replace("?", "\\?")
        lines.append(f'    "{escaped}"\n')
    return f"constexpr std::string_view {name} =\n{''.join(lines)};\n"


def main():
    output = Path(sys.argv[1])
    page, style, script = (Path(name).read_text(encoding="utf-8") for name in sys.argv[2:])
    for name, text in (("style", style), ("script", script)):
        if "</" + name in text.lower() or "<!--" in text:
            sys.exit(f"{sys.argv[1]}: error: the {name} would end its own element")
    policy = "; ".join(
        (
            "default-src 'none'",
            f"script-src {source_of(script)}",
            f"style-src {source_of(style)}",
            "base-uri 'none'",
            "form-action 'none'",
        )
    )
    for name, text in (("policy", policy), ("style", style), ("script", script)):
        if page.count("{{%s}}" % name) != 1:
            sys.exit(f"{sys.argv[2]}: error: {{{{{name}}}}} must stand there once")
        page = page.replace("{{%s}}" % name, text)
    before, after = page.split(REPORT)
    output.write_text(literal("kBeforeReport", before) + literal("kAfterReport", after), encoding="utf-8")


if __name__ == "__main__":
    main()
