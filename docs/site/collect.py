"""Puts the pages of the site together for Sphinx: those of docs/, of the rules (rule.md) and a few of other folders.

usage: collect.py FOLDER

Nothing is written twice by hand: each page is the file of the repository, with its links turned into links of the site. A
link to a file that is no page keeps its text only, as the site knows no address of the sources; its file must exist all the
same. A file that has not changed is not written again, so that Sphinx builds what is new.
"""

import re
import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
sys.path.insert(0, str(ROOT / "core/finding"))
import generate_rule_table  # noqa: E402

RULE_PAGES = sorted([*ROOT.glob("analyzer/checks/*/rule.md"), *ROOT.glob("runtime/detectors/*/rule.md")],
                    key=lambda path: path.parent.name)

# The navigation: caption, then pages. Sphinx refuses a page that stands in none.
CONTENTS = [
    ("Use", ["docs/install.md", "docs/check.md", "docs/clang-tidy.md", "docs/runtime.md", "docs/simulated-gpus.md", "docs/cuda-programs.md",
             "docs/testing.md",
             "docs/reports.md", "docs/ci.md", "docs/agents.md"]),
    ("Metrics", ["metrics/README.md", "docs/metrics/*.md", "docs/metrics-differences.md", "docs/metrics-wanted.md"]),
    ("Tutorials", ["docs/tutorials/slow-loop.md", "docs/tutorials/multi-gpu-laptop.md", "docs/tutorials/500-findings.md",
                   "docs/tutorials/write-a-metric.md", "docs/tutorials/write-a-rule.md"]),
    ("Rules", ["rules/index"]),
    ("Background", ["docs/comparison.md", "docs/limits.md", "docs/security.md", "docs/blocking.md", "docs/releases.md",
                    "docs/systems.md", "docs/projects.md", "CHANGELOG.md"]),
    ("Inside", ["CONTRIBUTING.md", "docs/design/*.md", "docs/dependencies.md"]),
]
FRONT = "README.md"
NAMES = {"README.md": "index", "CONTRIBUTING.md": "contributing", "CHANGELOG.md": "changelog", "metrics/README.md": "metrics"}
TITLES = {"metrics": "Metrics <metrics>"}
# Those that give an overview of their folder.
FIRST = ("docs/design/architecture.md", "docs/metrics/reference.md")


class BrokenLink(Exception):
    pass


def files_of(entry):
    """The files that an entry of the navigation stands for; none for a page that is made here."""
    if not entry.endswith(".md"):
        return []
    files = sorted(ROOT.glob(entry), key=lambda path: (path.relative_to(ROOT).as_posix() not in FIRST, path))
    if not files:
        sys.exit(f"{entry}: error: the navigation of docs/site/collect.py names it, and there is no such page")
    return [file.relative_to(ROOT).as_posix() for file in files]


def pages():
    """Which file of the repository is which page of the site."""
    found = {FRONT: NAMES[FRONT]}
    for _, entries in CONTENTS:
        for file in (file for entry in entries for file in files_of(entry)):
            found[file] = NAMES.get(file, file.removeprefix("docs/").removesuffix(".md"))
    for page in RULE_PAGES:
        found[page.relative_to(ROOT).as_posix()] = f"rules/device-{page.parent.name}"
    return found


def relative(page, target):
    ups = page.count("/")
    return "../" * ups + target


def with_links(text, source, known):
    page = known[source]

    def turned(match):
        label, target = match[1], match[2]
        if target is None:
            return match[0]
        if re.match(r"[a-z]+:", target) or target.startswith("#"):
            return match[0]
        path, _, anchor = target.partition("#")
        file = (ROOT / source).parent.joinpath(path).resolve()
        try:
            name = file.relative_to(ROOT).as_posix()
        except ValueError:
            raise BrokenLink(f"{source}: error: the link to {target} leaves the repository") from None
        if name in known:
            # A label that is the file's name says nothing here: Sphinx puts the title there.
            label = "" if label in (target, name) else label
            return f"[{label}]({relative(page, known[name])}.md{'#' + anchor if anchor else ''})"
        if not file.exists():
            raise BrokenLink(f"{source}: error: the link to {target} leads nowhere")
        if name in ("analyzer/checks", "runtime/detectors"):
            return f"[{label}]({relative(page, 'rules/index.md')})"
        return label if label.startswith("`") else f"{label} (`{name}`)"

    # Code, or a link whose label may hold code.
    link = r"`[^`\n]*`|\[((?:[^\[\]`]|`[^`\n]*`)*)\]\(([^)\s]+)\)"
    blocks = re.split(r"(^ {0,3}(?:`{3,}|~{3,})[^\n]*\n.*?^ {0,3}(?:`{3,}|~{3,})[ \t]*$)", text, flags=re.M | re.S)
    return "".join(re.sub(link, turned, block) if i % 2 == 0 else block for i, block in enumerate(blocks))


def toctree(caption, entries):
    return "\n".join(["", "```{toctree}", ":hidden:", f":caption: {caption}", ":maxdepth: 1", "", *entries, "```", ""])


def navigation(known):
    text = ""
    for caption, entries in CONTENTS:
        names = []
        for entry in entries:
            names += [TITLES.get(known[file], known[file]) for file in files_of(entry)] or [entry]
        text += toctree(caption, names)
    return text


def seen_by(rule):
    run = "simulated run" if rule["simulated_only"] else "run"
    return ", ".join(["check"] * ("static" in rule["origins"]) + [run] * ("runtime" in rule["origins"]))


def rule_page(rule):
    """The page with its facts below the title."""
    title, _, rest = rule["page"].partition("\n")
    facts = [f"**{rule['severity']}** · seen by {seen_by(rule)}" + (" · `--fix`" if rule["fix"] else ""), "",
             f"The bug: {rule['summary']}.", "", f"The remedy: {rule['remedy']}.", ""]
    return "\n".join([title, "", *facts, rest.lstrip("\n")])


def rule_index(rules):
    rows = [f"| [`{rule['id']}`]({rule['id']}.md) | {rule['severity']} | {seen_by(rule)} | {'yes' if rule['fix'] else ''} "
            f"| {rule['summary'].replace('|', chr(92) + '|')} |" for rule in rules]
    return "\n".join([
        "# Rules", "",
        "A rule's id is the same everywhere: in reports, in `NOLINT(…)`, in `.devsan.toml`, for `--checks`, `--fail-on` and `--max`. `devsan explain RULE` "
        "prints a rule's page. A bug that only a simulated run shows needs `devsan run --sim=N`; of rules with a fix, `devsan check --fix` mends some of the findings. "
        "The examples of the pages are tests: what is marked as flagged is found, the rest is silent.", "",
        "| rule | severity | seen by | fix | the bug |", "| --- | --- | --- | --- | --- |", *rows, "",
        "```{toctree}", ":hidden:", ":maxdepth: 1", "", *[rule["id"] for rule in rules], "```", ""])


def collect(folder):
    known = pages()
    texts = {}
    rules = []
    for source, page in known.items():
        if source.endswith("/rule.md"):
            rule = generate_rule_table.read(ROOT / source)
            rules.append(rule)
            text = rule_page(rule)
        else:
            text = (ROOT / source).read_text(encoding="utf-8")
        text = with_links(text, source, known)
        if source == FRONT:
            text += navigation(known)
        texts[f"{page}.md"] = text
    texts["rules/index.md"] = rule_index(rules)

    for path in folder.rglob("*.md"):
        if path.relative_to(folder).as_posix() not in texts:
            path.unlink()
    for name, text in texts.items():
        file = folder / name
        if not file.exists() or file.read_text(encoding="utf-8") != text:
            file.parent.mkdir(parents=True, exist_ok=True)
            file.write_text(text, encoding="utf-8")


if __name__ == "__main__":
    try:
        collect(Path(sys.argv[1]))
    except BrokenLink as error:
        sys.exit(str(error))
