"""Every `devsan` command that README and docs show is one that this DevSan takes: its subcommand and each option are there, and paths of
scripts that are named exist. What such commands print is tested where they are run (tutorials, install.md, rule pages, clang-tidy.md).

usage: commands_test.py SOURCE DEVSAN [unittest options]
"""

import re
import shlex
import subprocess
import sys
import unittest
from functools import cache
from pathlib import Path

SOURCE, DEVSAN = Path(sys.argv.pop(1)).resolve(), Path(sys.argv.pop(1)).resolve()
PAGES = [SOURCE / "README.md", *sorted((SOURCE / "docs").rglob("*.md")), SOURCE / "metrics/README.md"]


@cache
def help_of(command):
    return subprocess.run([DEVSAN, command, "--help"], capture_output=True, text=True, timeout=60).stdout


def takes(command, option):
    return re.search(rf"(?m)^ +(?:[^ ]+, ?)?(?:[^ ]*,)?{re.escape(option)}(?![\w-])", help_of(command)) is not None


@cache
def commands():
    listed = re.search(r"\nSubcommands:\n(.*)", subprocess.run([DEVSAN, "--help"], capture_output=True, text=True, timeout=60).stdout, re.S)[1]
    return set(re.findall(r"^  (\w+)", listed, re.M))


def blocks_and_prose(text):
    """(language, lines) of each fenced block, and the lines outside of them."""
    blocks, prose, fence = [], [], ""
    for line in text.splitlines():
        match = re.match(r" {0,3}(`{3,}|~{3,})\s*(\S*)", line)
        if fence:
            if match and match[1].startswith(fence) and not match[2]:
                fence = ""
            else:
                blocks[-1][1].append(line)
        elif match:
            fence = match[1]
            blocks.append((match[2], []))
        else:
            prose.append(line)
    return blocks, prose


def code(text):
    """Lines of blocks, and what stands between backticks; without prompts and comments."""
    blocks, prose = blocks_and_prose(text)
    prose = "\n".join(prose)
    shown = ["\n".join(lines) for language, lines in blocks if language in ("", "console", "sh", "bash", "yaml")]
    lines = [line for block in shown for line in re.sub(r"\\\n\s*", " ", block).splitlines()]
    lines += re.findall(r"^    (\S.*)$", prose, re.M) + re.findall(r"`([^`\n]+)`", prose)
    for line in lines:
        yield re.sub(r"\s+#\s.*", "", line.removeprefix("$ "))


def devsan_commands(line):
    """Each use of devsan in a line, as words up to a pipe, a redirection or `--`."""
    for match in re.finditer(r"(?:^|[\s;|&(])(?:build/bin/)?devsan ((?:check|run|report|rules|explain|doctor|prepare|init|demo|completion|man)\b(?!:)[^|;&>]*)", line):
        try:
            words = shlex.split(match[1].replace("…", "").replace("...", ""))
        except ValueError:  # a part of a sentence
            continue
        yield words[: words.index("--")] if "--" in words else words


class Commands(unittest.TestCase):
    def test_what_is_code(self):
        text = "a\n```cpp\nint a;\n```\n`b`\n```\n$ c \\\n  d\n```\n```console\n$ e\n```\n\n    f\n"
        self.assertEqual(list(code(text)), ["c  d", "e", "f", "b"])

    def test_options_are_whole(self):
        self.assertTrue(takes("run", "--fail-on"))
        self.assertFalse(takes("run", "--fail"))

    def test_options_exist(self):
        seen = 0
        for page in PAGES:
            for line in code(page.read_text(encoding="utf-8")):
                for command, *words in devsan_commands(line):
                    seen += 1
                    with self.subTest(page=page.name, line=line):
                        self.assertIn(command, commands())
                        for word in words:
                            if re.match(r"--?[a-z]", word):
                                option = word.split("=")[0]
                                self.assertTrue(takes(command, option), f"devsan {command} takes no {option}")
        self.assertGreater(seen, 100)

    def test_scripts_exist(self):
        for page in PAGES:
            for name in re.findall(r"(?<![\w./-])script/[\w-]+(?![\w.*-]*/)", page.read_text(encoding="utf-8")):
                with self.subTest(page=page.name, script=name):
                    self.assertTrue((SOURCE / name).exists())


if __name__ == "__main__":
    unittest.main()
