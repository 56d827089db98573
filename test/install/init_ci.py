"""The files for CI that `devsan init` writes, run in fresh clones of small projects: each step of theirs that is a command, with nothing
of this environment but the system's programs. What they download comes from a folder that stands for the package index.

usage: init_ci.py --wheel FILE

PyTorch and pytest are lent by the Python that runs this, through wheels that hold nothing but the way to them. apt-get only says that it
was called: the system has what the files ask for.
"""

import argparse
import os
import re
import subprocess
import sys
import sysconfig
import tempfile
import time
import tomllib
import zipfile
from pathlib import Path

import yaml

CXX = {
    "CMakeLists.txt": """\
cmake_minimum_required(VERSION 3.20)
project(scale LANGUAGES CXX)
find_package(Torch REQUIRED)
add_executable(scale scale.cpp)
target_link_libraries(scale PRIVATE ${TORCH_LIBRARIES})
enable_testing()
add_test(NAME scale COMMAND scale)
""",
    "scale.cpp": """\
#include <torch/types.h>
torch::Tensor scale(torch::Tensor x, const torch::Tensor &weight) {
  return x.cuda() * weight;
}
int main() {
  const bool on_second = std::getenv("SCALE_ON_SECOND") != nullptr;
  const torch::Tensor weight = torch::ones({4}, torch::Device(on_second ? "cuda:1" : "cuda"));
  return scale(torch::ones({4}), weight).sum().item<float>() == 4 ? 0 : 1;
}
""",
}
PYTHON = {
    "train.py": """\
import torch


def losses(steps):
    x = torch.ones(4, device="cuda:1")
    return [(x * step).sum().item() for step in range(steps)]
""",
    "test_train.py": "import train\n\n\ndef test_losses():\n    assert train.losses(3) == [0, 4, 8]\n",
}
# Its own build backend: setuptools is not lent.
PACKAGE = {
    "pyproject.toml": '[build-system]\nrequires = []\nbuild-backend = "backend"\nbackend-path = ["."]\n',
    "backend.py": """\
import os
import zipfile


def build_editable(folder, config_settings=None, metadata_directory=None):
    info = "train-1.dist-info"
    with zipfile.ZipFile(os.path.join(folder, "train-1-py3-none-any.whl"), "w") as wheel:
        wheel.writestr("train.pth", os.getcwd() + "\\n")
        wheel.writestr(f"{info}/METADATA", "Metadata-Version: 2.1\\nName: train\\nVersion: 1\\nRequires-Dist: torch\\n")
        wheel.writestr(f"{info}/WHEEL", "Wheel-Version: 1.0\\nRoot-Is-Purelib: true\\nTag: py3-none-any\\n")
        wheel.writestr(f"{info}/RECORD", "")
    return "train-1-py3-none-any.whl"
""",
}
ONE_WAIT = ("train.py", "[(x * step).sum().item() for step in range(steps)]", "torch.stack([(x * step).sum() for step in range(steps)]).tolist()")
# CI, the project, what fails of it, and how it is mended.
PROJECTS = [
    ("github", {**PYTHON, **PACKAGE}, "train.py:6", ONE_WAIT),
    ("gitlab", {**PYTHON, "requirements.txt": "torch\n"}, "train.py:6", ONE_WAIT),
    ("shell", CXX, "scale.cpp:3", ("scale.cpp", "x.cuda()", "x.to(weight.device())")),
]


def run(command, folder, environment, status=(0,)):
    done = subprocess.run(command, cwd=folder, env=environment, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, timeout=600)
    if done.returncode not in status:
        sys.exit(f"$ {command}\n{done.stdout}\ninit_ci: error: status {done.returncode} instead of {status[0]}")
    return done.stdout


def write_index(folder, wheel):
    """The wheel, and wheels of the packages that are lent."""
    folder.mkdir()
    (folder / wheel.name).symlink_to(wheel)
    project = tomllib.loads((Path(__file__).resolve().parents[2] / "pyproject.toml").read_text(encoding="utf-8"))
    torch = next(line for line in project["build-system"]["requires"] if line.startswith("torch==")).split("==")[1]
    for name, version in (("torch", torch), ("pytest", "1")):
        info = f"{name}-{version}.dist-info"
        with zipfile.ZipFile(folder / f"{name}-{version}-py3-none-any.whl", "w") as lent:
            lent.writestr(f"lent_{name}.pth", sysconfig.get_path("purelib") + "\n")
            lent.writestr(f"{info}/METADATA", f"Metadata-Version: 2.1\nName: {name}\nVersion: {version}\n")
            lent.writestr(f"{info}/WHEEL", "Wheel-Version: 1.0\nGenerator: init_ci\nRoot-Is-Purelib: true\nTag: py3-none-any\n")
            lent.writestr(f"{info}/RECORD", "")


def steps_of(ci, clone):
    """The commands, as the service runs them, and the variables that it sets."""
    if ci == "shell":
        return [["ci/devsan.sh"]], {}
    if ci == "gitlab":
        job = yaml.safe_load((clone / ".gitlab/devsan.yml").read_text())["devsan"]
        return [["sh", "-ec", "\n".join(job["script"])]], job["variables"]
    job = yaml.safe_load((clone / ".github/workflows/devsan.yml").read_text())["jobs"]["devsan"]
    return [["sh", "-e", "-c", step["run"]] for step in job["steps"] if "run" in step], job["env"]


def try_project(folder, ci, files, place, remedy):
    """The job fails because of what is wrong, and passes where that is mended."""
    origin, clone = folder / ci, folder / f"{ci}-clone"
    environment = {"PATH": f"{folder}/bin:/usr/bin:/bin", "HOME": str(folder), "LANG": "C.UTF-8", "TMPDIR": str(folder),
                   "PIP_NO_INDEX": "1", "PIP_FIND_LINKS": str(folder / "index"), "DEVSAN_CI_FAIL_ON": "warning", **{f"GIT_{who}_{what}": "a@b" for who in ("AUTHOR", "COMMITTER") for what in ("NAME", "EMAIL")}}
    for name, text in files.items():
        (origin / name).parent.mkdir(parents=True, exist_ok=True)
        (origin / name).write_text(text)
    run(["git", "init", "-q"], origin, environment)
    run([folder / "env/bin/devsan", "init", f"--ci={ci}"], origin, environment)

    def commit_and_clone():
        run(["git", "add", "-A"], origin, environment)
        run(["git", "commit", "-qm", "all"], origin, environment)
        run(["rm", "-rf", clone], folder, environment)
        run(["git", "clone", "-q", origin, clone], folder, environment)

    def job(status):
        commands, variables = steps_of(ci, clone)
        text = ""
        for command in commands:
            text += run(command, clone, {**environment, **variables}, (0,) if command != commands[-1] else (status,))
        for report in ("devsan.json", "devsan.sarif", "devsan.junit.xml"):
            assert (clone / "devsan-reports" / report).exists(), report
        return text

    commit_and_clone()
    start = time.monotonic()
    text = job(3)
    assert re.search(rf"{place}:|file={place.replace(':', ',line=')}[,:]", text), f"{ci}: nothing at {place}:\n{text}"
    print(f"{ci}: fails because of {place}, after {time.monotonic() - start:.0f} s")
    name, bug, mended = remedy
    assert bug in files[name]
    (origin / name).write_text(files[name].replace(bug, mended))
    commit_and_clone()
    job(0)
    print(f"{ci}: passes where it is mended")
    if ci == "shell":  # by hand: the folder of the former build stays
        job(0)
        print(f"{ci}: passes again")


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--wheel", type=Path, required=True)
    wheel = parser.parse_args().wheel.resolve()
    with tempfile.TemporaryDirectory(prefix="devsan-init-ci-") as folder:
        folder = Path(folder)
        write_index(folder / "index", wheel)
        (folder / "bin").mkdir()
        (folder / "bin/apt-get").write_text("#!/bin/sh\necho apt-get \"$@\"\n")
        (folder / "bin/apt-get").chmod(0o755)
        run([sys.executable, "-m", "venv", folder / "env"], folder, None)
        run([folder / "env/bin/pip", "install", "-q", "--no-index", "--no-deps", wheel], folder, None)
        for project in PROJECTS:
            try_project(folder, *project)


if __name__ == "__main__":
    main()
