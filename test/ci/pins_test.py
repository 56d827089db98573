"""Everything that script/, .ci/, ci/, action.yml, the Dockerfile, pyproject.toml and what `devsan init` writes download is pinned: pip's
packages by version and hash, actions and sources by commit, images by digest.

usage: pins_test.py SOURCE [unittest options]
"""

import json
import os
import re
import shutil
import subprocess
import sys
import tempfile
import tomllib
import unittest
from pathlib import Path

SOURCE = Path(sys.argv.pop(1)).resolve()
PINS = SOURCE / "script/lib/pins"
PLACES = ["script", ".ci", "ci", "action.yml", "Dockerfile", "command/init.cpp", "docs", "README.md"]
# In pages commands are for readers; what they would copy into files for CI counts.
PAGES = ("docs/", "README.md")
# What downloads without a hash on its line, and why that is pinned all the same, or cannot be. Each must still be there.
REASONS = {
    ("script/update-pins", '"--dry-run", "--ignore-installed"'): "resolves, and installs nothing; its result is what is locked",
    ("script/abroad", '"-m", "pip", "install", "-q", *wanted]'): "the newest of other people's packages is what is tried; nothing is built of it",
    ("script/try-releases", '"--no-deps", "--no-compile",'): "any release of PyTorch is tried, the newest too",
    ("script/try-systems", '"--no-deps", "--no-compile", f"torch==={version}"'): "any release of PyTorch is tried, the newest too",
    ("script/try-systems", '"numpy", "pytest", *wanted'): "what that release asks for; it is tried in a root of its own, and nothing is built of it",
    ("script/try-systems", '"-m", "pip", "download"'): "PyTorch's build for the CPU by its version, as script/bootstrap takes it; it is tried in a root of its own",
    ("script/lib/wheel.sh", "-m pip wheel"): "--no-index stands in the array `options`: nothing is downloaded",
    ("command/init.cpp", 'pip install --no-deps -r "$venv/devsan.txt"'): "one version of DevSan, by its hash too where the user adds it; a program cannot hold its own",
    ("command/init.cpp", 'pip install "$TORCH_REQUIREMENT"{project}'): "what the user's own project needs, only that project can pin",
    ("command/init.cpp", "pip install setuptools wheel ninja"): "what builds the user's own package, only that project can pin",
    ("command/init.cpp", "pip install --no-build-isolation -e ."): "the user's own project",
    ("command/init.cpp", 'steps.is_package ? "pip install -e .'): "the user's own project",
    ("ci/gitlab.yml", 'git -C .devsan fetch -q --depth 1 -- "$DEVSAN_REPOSITORY" "$DEVSAN_REVISION"'):
        "a commit id is the hash of what is fetched; the lines before refuse anything else",
}

DIGEST = r"[0-9a-f]{64}"
COMMIT = r"[0-9a-f]{40}"
PIP = re.compile(r"""\bpip3?\b["',\s]+(?:-[^\s"',]+["',\s]+)*(?:install|download|wheel)\b""")
DOWNLOADER = re.compile(
    r"\b(?:curl|wget|aria2c)\b(?!\.)|\bgit\b[^\n|;&]*?\s(?:clone|fetch|pull|submodule)\b|\b(?:npm|pnpm|yarn|cargo|gem|go|conda|pipx|uv|brew)\s+"
    r"(?:install|i|add|ci|get|create|tool|pip|sync)\b|\b(?:npx|uvx|pipx run)\s|\bdocker\s+(?:pull|run)\b|url(?:open|retrieve)\b|requests\.get\b"
    r"|\badd-apt-repository\b|\bapt-key\b|\bInvoke-WebRequest\b|\beasy_install\b")
USES = re.compile(r"\buses:\s*(\S+)(.*)")
IMAGE = re.compile(r"^\s*(?:FROM|container:|image:)\s+(?:--\S+\s+)*[\"']?([^\s\"']+)", re.M)


def commands(text):
    """Comments apart, with lines that go on put together."""
    text = re.sub(r"\\\n\s*", " ", text)
    text = re.sub(r"(?<=[,(\[])\n\s*", " ", text)
    return [line for line in text.splitlines() if not re.match(r"\s*(#|//)", line)]


def unpinned(path, text):
    """What a file downloads that is not pinned, one line each."""
    found = []
    lines = commands(text)
    if not path.startswith(PAGES):
        found += [line for line in lines if DOWNLOADER.search(line) or
                  PIP.search(line) and not re.search(r"--require-hashes\b|--no-index\b", line)]
    for line in lines:
        if (match := USES.search(line)) and not match[1].startswith(("./", "OWNER/")):
            if not re.fullmatch(rf"[\w./-]+@{COMMIT}", match[1]) or not re.match(r"\s+# v\d+\.\d+\.\d+", match[2]):
                found.append(line)
    stages = set(re.findall(r"\bAS (\S+)", text))
    if not path.endswith(".md"):
        found += [image for image in IMAGE.findall("\n".join(lines)) if image not in stages | {"scratch"} and not re.search(f"@sha256:{DIGEST}$", image)]
    return [" ".join(line.split()) for line in found if not any(path == file and part in line for file, part in REASONS)]


def files():
    listed = subprocess.run(["git", "-C", SOURCE, "ls-files", "--cached", "--others", "--exclude-standard", *PLACES], capture_output=True, text=True)
    names = listed.stdout.split() or [path.relative_to(SOURCE).as_posix() for place in PLACES
                                      for path in [SOURCE / place, *(SOURCE / place).rglob("*")]]
    for name in names:
        if (SOURCE / name).is_file() and "__pycache__" not in name:
            try:
                yield name, (SOURCE / name).read_text(encoding="utf-8")
            except UnicodeDecodeError:
                pass


def canonical(name):
    return re.sub(r"[-_.]+", "-", name).lower()


def asked_for(path):
    return [line for line in path.read_text(encoding="utf-8").splitlines() if line and not line.startswith("#")]


def locked(path):
    """The versions of a locked file, each line of which is of the one form."""
    text = re.sub(r" \\\n\s+", " ", path.read_text(encoding="utf-8"))
    lines = [line for line in text.splitlines() if not line.startswith("#")]
    assert lines.pop(0) == "--only-binary :all:", path
    versions = {}
    for line in lines:
        match = re.fullmatch(rf"([a-z0-9-]+)==(\S+)((?: --hash=sha256:{DIGEST})+)", line)
        assert match, f"{path}: {line}"
        versions[match[1]] = match[2]
    return versions


class Downloads(unittest.TestCase):
    def test_all_are_pinned(self):
        seen = dict(files())
        self.assertGreater(len(seen), 60)
        for path in ("script/bootstrap", "ci/gitlab.yml", "action.yml", "Dockerfile", "command/init.cpp", "docs/check.md"):
            self.assertIn(path, seen)
        self.assertEqual({path: lines for path, text in seen.items() if (lines := unpinned(path, text))}, {})

    def test_reasons_are_still_needed(self):
        for path, part in REASONS:
            with self.subTest(path=path):
                self.assertTrue(any(part in line for line in commands((SOURCE / path).read_text(encoding="utf-8"))), part)

    def test_one_that_is_not_pinned_is_found(self):
        commit = "1" * 40
        for path, line in [
            ("script/new", "pip install requests"),
            ("script/new", "pip install requests==2.34.2"),
            ("script/new", '"$python" -m pip --quiet install -r requirements.txt'),
            ("script/new", '"$python" -m pip --disable-pip-version-check install \\\n    requests'),
            ("script/lib/new.py", 'subprocess.run([sys.executable, "-m", "pip", "install", "requests"])'),
            ("script/lib/new.py", 'subprocess.run([sys.executable, "-m", "pip",\n    "download", "requests"])'),
            ("script/new", "pip3 download requests"),
            ("script/new", "if ! pip wheel requests; then"),
            ("script/new", "curl -sSf https://example.com/install.sh | sh"),
            ("script/new", "wget -q https://example.com/tool.tar.gz"),
            ("script/new", "git clone https://example.com/tool.git"),
            ("script/new", 'git -C tool fetch origin main'),
            ("script/new", "npx prettier --check ."),
            ("script/new", "npm install prettier"),
            ("script/new", "cargo install typos-cli"),
            ("script/new", "docker run --rm debian:12 true"),
            ("script/lib/new.py", "urllib.request.urlopen(address)"),
            (".ci/run", "uv pip install requests"),
            ("Dockerfile", "FROM debian:12"),
            ("Dockerfile", "FROM --platform=linux/amd64 debian:12-slim AS run"),
            ("Dockerfile", "FROM debian@sha256:1234"),
            ("Dockerfile", "RUN apt-get update \\\n    && pip install torch==2.13.0"),
            ("ci/gitlab.yml", "devsan:\n  image: debian:12\n"),
            ("command/init.cpp", "    container: debian:12\n"),
            ("command/init.cpp", '    add(settings.build, fmt::format("{} pip install -r requirements.txt", kPython));'),
            ("command/init.cpp", "      - uses: actions/checkout@v4"),
            ("action.yml", f"      uses: github/codeql-action/upload-sarif@{commit}"),
            ("action.yml", "      uses: github/codeql-action/upload-sarif@main # v4.36.2"),
            ("docs/ci.md", "    - uses: actions/checkout@v4"),
        ]:
            with self.subTest(path=path, line=line):
                self.assertEqual(len(unpinned(path, f"first\n{line}\nlast\n")), 1)

    def test_pinned_ones_are_not(self):
        for path, line in [
            ("script/new", '"$python" -m pip install --quiet --require-hashes -r "$PINS/new.txt"'),
            ("script/new", 'pip install --no-index --no-deps "$wheel"'),
            ("script/new", "# pip install requests"),
            ("Dockerfile", f"FROM debian:12@sha256:{'1' * 64} AS build\nFROM build"),
            ("action.yml", f"      uses: actions/checkout@{'1' * 40}  # v7.0.1"),
            ("docs/ci.md", "    - uses: OWNER/devsan@REVISION"),
        ]:
            with self.subTest(path=path, line=line):
                self.assertEqual(unpinned(path, f"first\n{line}\nlast\n"), [])

    def test_a_name_means_one_thing_everywhere(self):
        text = "\n".join(text for _, text in files())
        for pattern in (rf"\b(debian:[\w-]+)@sha256:({DIGEST})", rf"([\w-]+/[\w-]+)(?:/[\w-]+)?@({COMMIT} +# v[\d.]+)"):
            meanings = {}
            for name, pin in re.findall(pattern, text):
                meanings.setdefault(name, set()).add(" ".join(pin.split()))
            self.assertGreater(len(meanings), 1, pattern)
            self.assertEqual({name: pins for name, pins in meanings.items() if len(pins) > 1}, {})

    def test_devsan_itself_is_taken_by_version_or_commit(self):
        text = (SOURCE / "command/init.cpp").read_text(encoding="utf-8")
        self.assertEqual(re.findall(r'"devsan==.*', text), ['"devsan==" DEVSAN_VERSION},'])
        self.assertNotIn("repository:", text)
        template = (SOURCE / "ci/gitlab.yml").read_text(encoding="utf-8")
        other = re.search(r"if ! (printf.*); then", template)[1]
        for revision, good in (("", False), ("main", False), ("v0.1.0", False), ("1" * 7, False), ("1" * 40, True), ("1" * 41, False)):
            done = subprocess.run(["sh", "-ec", other], env={"PATH": "/usr/bin:/bin", "DEVSAN_REVISION": revision}, capture_output=True)
            self.assertEqual(done.returncode, 0 if good else 1, revision)


class Locked(unittest.TestCase):
    def test_each_list_has_its_locked_file(self):
        lists = {path.stem for path in PINS.glob("*.in")}
        self.assertLessEqual({"bootstrap", "docs", "image"}, lists)
        self.assertEqual({path.stem for path in PINS.glob("*.txt")}, lists)
        for name in lists:
            versions = locked(PINS / f"{name}.txt")
            for line in asked_for(PINS / f"{name}.in"):
                package, exact = re.fullmatch(r"([\w.-]+)(?:==(\S+))?", line).groups()
                with self.subTest(list=name, package=package):
                    self.assertIn(canonical(package), versions, "script/update-pins adds it")
                    wanted = re.escape(exact or "").replace(r"\*", ".*") or ".*"
                    self.assertRegex(versions[canonical(package)], rf"^{wanted}$", "script/update-pins changes it")

    def test_the_image_has_what_is_tested(self):
        tested = locked(PINS / "bootstrap.txt")
        self.assertLessEqual(locked(PINS / "image.txt").items(), tested.items())

    def test_what_builds_a_wheel_is_what_is_tested(self):
        tested = locked(PINS / "bootstrap.txt")
        project = tomllib.loads((SOURCE / "pyproject.toml").read_text(encoding="utf-8"))
        for line in project["build-system"]["requires"]:
            package, version = re.fullmatch(r"([\w.-]+)==([\d.]+)", line).groups()
            self.assertEqual(tested[canonical(package)].split("+")[0], version)
        self.assertTrue(tested["torch"].endswith("+cpu"), "plain versions are CUDA builds on plain indexes")


# Stands for the Python whose pip resolves: it writes pip's report, of what PACKAGES says and of the constraints that it got.
FAKE = """\
#!/usr/bin/env python3
import json, os, re, sys
value = lambda option: sys.argv[sys.argv.index(option) + 1]
for option in ("--dry-run", "--ignore-installed", "--only-binary"):
    assert option in sys.argv
packages = json.loads(os.environ["PACKAGES"])
for name, version in re.findall(r"(\\S+)==(\\S+)", open(value("-c")).read()):
    packages[next(key for key in packages if key.lower().replace('_', '-') == name)][0] = version
environment = {"implementation_name": "cpython", "python_version": os.environ.get("VERSION", "3.11"), "sys_platform": "linux", "platform_machine": "x86_64"}
install = [{"metadata": {"name": name, "version": version},
            "download_info": {"archive_info": {"hashes": {"sha256": digit * 64} if digit else {}}}} for name, (version, digit) in packages.items()]
json.dump({"environment": environment, "install": install}, open(value("--report"), "w"))
"""


class UpdatePins(unittest.TestCase):
    def setUp(self):
        folder = tempfile.TemporaryDirectory(prefix="devsan-pins-")
        self.addCleanup(folder.cleanup)
        self.folder = Path(folder.name)
        self.pins = self.folder / "script/lib/pins"
        self.pins.mkdir(parents=True)
        shutil.copy(SOURCE / "script/update-pins", self.folder / "script")
        (self.folder / "python").write_text(FAKE)
        (self.folder / "python").chmod(0o755)
        (self.pins / "bootstrap.in").write_text("zoo==2.0\nlion\n")

    def update(self, packages, *options, status=0, **environment):
        done = subprocess.run([sys.executable, "-B", self.folder / "script/update-pins", "--python", self.folder / "python", *options], text=True,
                              env={**os.environ, "PACKAGES": json.dumps(packages), **environment}, capture_output=True, timeout=60)
        self.assertEqual(done.returncode, status, done.stderr)
        return done.stdout + done.stderr

    def test_says_what_changed(self):
        before = {"zoo": ["2.0", "1"], "lion": ["1.0", "2"], "Ant_Hill": ["3.0", "3"]}
        self.assertEqual(self.update(before), "bootstrap.txt: 3 packages\n+ ant-hill 3.0\n+ lion 1.0\n+ zoo 2.0\n")
        # What is asked for comes first.
        self.assertEqual(list(locked(self.pins / "bootstrap.txt").items()), [("zoo", "2.0"), ("lion", "1.0"), ("ant-hill", "3.0")])
        self.assertEqual(self.update(before), "bootstrap.txt: 3 packages\n")
        newer = {"zoo": ["2.0", "1"], "lion": ["1.1", "2"], "ant-hill": ["3.0", "3"]}
        self.assertEqual(self.update(newer), "bootstrap.txt: 3 packages\n", "a locked version stays")
        self.assertIn("  lion 1.0 -> 1.1\n", self.update(newer, "--upgrade"))
        self.assertIn("! zoo 2.0 is another file than before", self.update({**newer, "zoo": ["2.0", "7"]}))

    def test_what_cannot_be_locked_is_refused(self):
        good = {"zoo": ["2.0", "1"], "lion": ["1.0", "2"]}
        self.update(good)
        text = (self.pins / "bootstrap.txt").read_text()
        self.assertIn("{'python_version': '3.12'}", self.update(good, status=1, VERSION="3.12"))
        self.assertIn("tells no SHA-256 of lion", self.update({**good, "lion": ["1.0", ""]}, status=1))
        self.assertIn("pip cannot resolve bootstrap.in", self.update({"zoo": ["2.0", "1"]}, status=1))
        self.assertIn("no list 'other'", self.update(good, "other", status=2))
        self.assertIn("no program /no/such", self.update(good, "--python=/no/such", status=2))
        self.assertEqual((self.pins / "bootstrap.txt").read_text(), text)


if __name__ == "__main__":
    unittest.main()
