"""Puts the page of the HTML report together, as string literals for html_report.cpp.

usage: embed.py OUTPUT PAGE.HTML STYLE.CSS MODULE.JS

The page has one style and one script, and its policy allows these two by their hashes: nothing that comes with a report
can run. The script is the module and what it imports, as one function. `{{report}}` is where the findings go.
"""

import base64
import hashlib
import re
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


def joined(module, seen):
    """The module after those that it imports. They share one scope, so that nothing is left to import."""
    if module in seen:
        return ""
    seen.add(module)
    text = module.read_text(encoding="utf-8")
    imports = re.compile(r'^import \{[^}]*\} from "\./([a-z]+\.js)";\n', re.MULTILINE)
    before = "".join(joined(module.with_name(name), seen) for name in imports.findall(text))
    return before + re.sub(r"^export ", "", imports.sub("", text), flags=re.MULTILINE)


def script_of(module):
    script = joined(module, set())
    if re.search(r"^(import|export)\b", script, re.MULTILINE):
        sys.exit(f'{module}: error: write imports as import {{ a, b }} from "./c.js"; and nothing else')
    names = re.findall(r"^(?:function|const|let) (\w+)", script, re.MULTILINE)
    if twice := sorted({name for name in names if names.count(name) > 1}):
        sys.exit(f"{module}: error: two modules, which share one scope, have the same name: {', '.join(twice)}")
    return '"use strict";\n(() => {\n' + script + "})();\n"


def main():
    output = Path(sys.argv[1])
    page, style = (Path(name).read_text(encoding="utf-8") for name in sys.argv[2:4])
    script = script_of(Path(sys.argv[4]))
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
