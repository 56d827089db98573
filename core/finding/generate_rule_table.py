"""Turns the rule.md files into the rows of core's rule table.

usage: generate_rule_table.py OUTPUT RULE.MD...

A rule.md starts with TOML between two `+++` lines: id, severity, origins, summary, remedy; `simulated_only = true` where
only simulated devices show the bug at run time; `fix = true` where `devsan check --fix` mends some of the findings;
`remedy_python` where Python's words are others. The rest is the page that `devsan explain` prints. The folder is the id without its prefix, and an id may appear once only.
"""

import sys
import tomllib
from pathlib import Path

SEVERITIES = {"note": "kNote", "warning": "kWarning", "error": "kError"}
ORIGINS = {"static", "runtime"}
FIELDS = {"id", "severity", "origins", "summary", "remedy"}
OPTIONAL = {"simulated_only", "fix"}
PYTHON = "remedy_python"


def fail(path, text):
    sys.exit(f"{path}: error: {text}")


def read(path):
    text = path.read_text(encoding="utf-8")
    parts = text.split("+++\n", 2)
    if len(parts) != 3 or parts[0]:
        fail(path, "a rule page starts with TOML between two lines '+++'")
    try:
        rule = tomllib.loads(parts[1])
    except tomllib.TOMLDecodeError as error:
        fail(path, str(error))
    if set(rule) - OPTIONAL - {PYTHON} != FIELDS:
        fail(path, f"the fields must be exactly {', '.join(sorted(FIELDS))}, and at will {', '.join(sorted(OPTIONAL | {PYTHON}))}")
    rule.setdefault(PYTHON, "")
    for field in sorted(OPTIONAL):
        if not isinstance(rule.setdefault(field, False), bool):
            fail(path, f"{field} must be true or false")
    if rule["id"] != f"device-{path.parent.name}":
        fail(path, f"id {rule['id']!r} does not belong in folder {path.parent.name!r}")
    if rule["severity"] not in SEVERITIES:
        fail(path, f"severity must be one of {', '.join(SEVERITIES)}")
    if not rule["origins"] or not set(rule["origins"]) <= ORIGINS:
        fail(path, f"origins must be some of {', '.join(sorted(ORIGINS))}")
    rule["page"] = parts[2].strip() + "\n"
    return rule


def literal(text):
    escaped = text.replace("\\", "\\\\").replace('"', '\\"').replace("\n", "\\n")
    return f'"{escaped}"'


def main():
    output, *pages = map(Path, sys.argv[1:])
    rules = {}
    for page in pages:
        rule = read(page)
        if rule["id"] in rules:
            fail(page, f"{rule['id']} has a second page; exactly one side holds it")
        rules[rule["id"]] = rule
    rows = [
        "{%s, Severity::%s, %s, %s, %s, %s, %s, %s,\n %s},\n"
        % (
            literal(rule["id"]),
            SEVERITIES[rule["severity"]],
            str("static" in rule["origins"]).lower(),
            str("runtime" in rule["origins"]).lower(),
            str(rule["simulated_only"]).lower(),
            literal(rule["summary"]),
            literal(rule["remedy"]),
            literal(rule[PYTHON]),
            literal(rule["page"]).replace("\\n", '\\n"\n "'),
        )
        for _, rule in sorted(rules.items())
    ]
    output.write_text("".join(rows), encoding="utf-8")


if __name__ == "__main__":
    main()
