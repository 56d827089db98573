"""What a new user types: docs/install.md, from the wheel to the first finding, in an empty virtual environment and a project of its own.
Its files are made as it shows them, its commands run as they stand there, and must say what it says; where the remedies are followed,
the findings are gone.

usage: new_user.py --wheel FILE

PyTorch is lent by the Python that runs this: nothing is downloaded.
"""

import argparse
import os
import re
import shutil
import subprocess
import sys
import sysconfig
import tempfile
import time
from pathlib import Path

PAGE = Path(__file__).resolve().parents[2] / "docs/install.md"
TITLE = "### From the wheel to the first finding\n"


def read_page():
    """The files, by name, and the commands with what they say."""
    section = PAGE.read_text(encoding="utf-8").split(TITLE)[1].split("\n## ")[0]
    files = dict(re.findall(r"`([\w.]+)`:\n\n```\w+\n(.*?)```", section, re.S))
    log = re.search(r"```console\n(.*?)```", section, re.S)[1]
    commands = []
    for line in log.splitlines():
        if line.startswith("$ "):
            commands.append((line[2:], []))
        else:
            commands[-1][1].append(line)
    return files, commands


def differs(said, wanted):
    """Why the output is not what the page shows; lines of it may be left out where the page has …"""
    lines = iter(said)
    may_skip = False
    for line in wanted:
        if line == "…":
            may_skip = True
            continue
        for candidate in lines:
            if candidate == line:
                break
            if not may_skip:
                return f"'{candidate}' instead of '{line}'"
        else:
            return f"no line '{line}'"
        may_skip = False
    rest = list(lines)
    return f"also '{rest[0]}'" if rest and not may_skip else None


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--wheel", type=Path, required=True)
    arguments = parser.parse_args()
    files, commands = read_page()
    assert set(files) == {"train.py", "scale.cpp"} and len(commands) == 3, (files, commands)
    with tempfile.TemporaryDirectory(prefix="devsan-new-user-") as folder:
        folder = Path(folder)
        project = folder / "project"
        project.mkdir()
        for name, text in files.items():
            (project / name).write_text(text, encoding="utf-8")
        shutil.copy(arguments.wheel, project)
        subprocess.run([sys.executable, "-m", "venv", folder / "env"], check=True)
        packages = Path(sysconfig.get_path("purelib", vars={"base": str(folder / "env"), "platbase": str(folder / "env")}))
        (packages / "lent.pth").write_text(sysconfig.get_path("purelib") + "\n")
        environment = {name: value for name, value in os.environ.items() if not name.startswith(("DEVSAN", "PYTHON", "CLICOLOR"))}
        environment |= {"VIRTUAL_ENV": str(folder / "env"), "PATH": f"{folder}/env/bin:{os.environ['PATH']}", "HOME": str(folder),
                        "XDG_CACHE_HOME": str(folder / "cache"), "PIP_NO_INDEX": "1", "PIP_NO_DEPS": "1",
                        "PIP_DISABLE_PIP_VERSION_CHECK": "1"}

        def type_in(command):
            result = subprocess.run(["bash", "-c", command], cwd=project, env=environment, stdout=subprocess.PIPE,
                                    stderr=subprocess.STDOUT, text=True, timeout=600)
            return result.returncode, result.stdout

        start = time.monotonic()
        for command, wanted in commands:
            _, said = type_in(command)
            if reason := differs(said.rstrip("\n").splitlines(), wanted):
                sys.exit(f"$ {command}\n{said}\nnew_user: error: {PAGE.name} shows something else: {reason}")
            print(f"$ {command}: as shown")
        print(f"from nothing to the findings: {time.monotonic() - start:.0f} s")

        for name, bug, remedy in (("train.py", "min(best, loss.item())", "torch.minimum(loss.detach(), best) if step else loss.detach()"),
                                  ("scale.cpp", "x.cuda()", "x.to(weight.device())")):
            text = files[name]
            assert bug in text, name
            (project / name).write_text(text.replace(bug, remedy), encoding="utf-8")
        for command in ("devsan run --sim=2 --fail-on=note -- python train.py", "devsan check scale.cpp"):
            status, said = type_in(command)
            if status != 0 or "no findings" not in said:
                sys.exit(f"$ {command}\n{said}\nnew_user: error: status {status} where the bug is fixed")
            print(f"$ {command}: no findings")


if __name__ == "__main__":
    main()
