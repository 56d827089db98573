"""Does what a tutorial says, in its order, and compares what comes with what it shows.

usage: tutorials_test.py --build BUILD_DIR --torch TORCH_DIR [--update] TUTORIAL.md

  a block of any language whose first line is a comment with the name of a file, such as `# train.py`
      is that file; the comment is its first line.
  diff
      is applied to the files, with git apply.
  console
      is run: a line that begins with `$ ` is a command for bash, the lines below are what it prints. `...` stands for
      any text within a line, or for any lines where it stands alone. A command whose status is not 0 is followed by
      `$ echo $?`, so that the reader is told.

Every block of the languages that people paste into a terminal has to be `console`. The tutorial starts in an empty folder; one whose
first block is a comment <!-- in the checkout --> starts in DevSan's own sources, on a copy that is dropped: a file system laid
over them, in a mount namespace. --update writes the output that came into the page where another one was shown.
"""

import argparse
import os
import re
import shutil
import signal
import subprocess
import sys
import tempfile
import threading
import zlib
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
SKIPPED = 77
FENCE = re.compile(r"^```(\w*)\n(.*?)^```$", re.M | re.S)
FILE_NAME = re.compile(r"(?:#|//|<!--) ([\w./-]+\.\w+|\.[\w.-]+|[\w/]*CMakeLists\.txt)(?: -->)?\n")
IN_CHECKOUT = "<!-- in the checkout -->"
TERMINAL = {"", "sh", "bash", "shell"}
# A command that hangs must not hold up a test run.
TIMEOUT_S = 300


class Shell:
    """One bash for the whole tutorial, so that its folder and variables stay."""

    END = "\x01end "

    def __init__(self, folder, env, in_checkout):
        command = ["bash", "--norc", "--noprofile"]
        if in_checkout:
            command = ["unshare", *([] if os.getuid() == 0 else ["-r"]), "-m", "--propagation", "private", *command]
        self.process = subprocess.Popen(command, cwd=folder, env=env, stdin=subprocess.PIPE, stdout=subprocess.PIPE,
                                        stderr=subprocess.STDOUT, text=True, errors="replace", start_new_session=True)

    def run(self, command):
        # The command reads nothing of what follows it, and leaves $? to the next one.
        self.process.stdin.write(f"{{ {command}\n}} </dev/null; __status=$?; printf '\\n{self.END}%d\\n' $__status; (exit $__status)\n")
        self.process.stdin.flush()
        lines = []
        alarm = threading.Timer(TIMEOUT_S, os.killpg, (self.process.pid, signal.SIGKILL))
        alarm.start()
        for line in self.process.stdout:
            if line.startswith(self.END):
                break
            lines.append(line.rstrip("\n"))
        else:
            raise SystemExit(f"bash ended, or {TIMEOUT_S} s were over, at: {command}\n" + "\n".join(lines))
        alarm.cancel()
        if lines and not lines[-1]:
            lines.pop()
        return lines, int(line.removeprefix(self.END))

    def close(self):
        self.process.stdin.close()
        self.process.wait(timeout=TIMEOUT_S)


def matches(shown, came):
    """Whether lines that came are those shown, `...` standing for any."""
    pattern = ""
    for line in shown:
        if line.strip() == "...":
            pattern += r"(?:[^\n]*\n)*?"
        else:
            pattern += ".*?".join(re.escape(part) for part in line.rstrip().split("...")) + r"[ \t]*\n"
    return re.fullmatch(pattern, "".join(line + "\n" for line in came)) is not None


def commands_of(block):
    """[(command, lines shown)]"""
    commands = []
    for line in block.splitlines():
        if line.startswith("$ "):
            commands.append((line[2:], []))
        elif not commands:
            raise SystemExit(f"a console block begins with output: {line}")
        elif line.startswith("> ") and not commands[-1][1]:
            commands[-1] = (commands[-1][0] + "\n" + line[2:], [])
        else:
            commands[-1][1].append(line)
    return commands


class Tutorial:
    def __init__(self, page, arguments, folder):
        self.page, self.arguments, self.folder = page, arguments, folder
        self.text = page.read_text(encoding="utf-8")
        self.failures = []
        self.ran = 0

    def line_of(self, position):
        return self.text.count("\n", 0, position) + 1

    def fail(self, position, text):
        self.failures.append(f"{self.page.relative_to(ROOT)}:{self.line_of(position)}: {text}")

    def environment(self):
        build, python = self.arguments.build, Path(sys.executable).parent
        return {
            **os.environ,
            # LLVM's tools last: CMake, should it look again, has to find the compiler that it has found before.
            "PATH": os.pathsep.join([str(build / "bin"), str(python), os.environ["PATH"], "/usr/lib/llvm-22/bin"]),
            # As if installed: the package devsan with the plugin of pytest.
            "PYTHONPATH": str(build / "python"),
            "XDG_CACHE_HOME": str(build / "test/cache"),
            "VIRTUAL_ENV": str(python.parent),
            "GIT_CONFIG_GLOBAL": "/dev/null",
            "GIT_AUTHOR_NAME": "you", "GIT_AUTHOR_EMAIL": "you@example.org",
            "GIT_COMMITTER_NAME": "you", "GIT_COMMITTER_EMAIL": "you@example.org",
            "GIT_CONFIG_COUNT": "1", "GIT_CONFIG_KEY_0": "init.defaultBranch", "GIT_CONFIG_VALUE_0": "main",
            "DEVSAN_BUILD": str(build), "TORCH_DIR": str(self.arguments.torch),
            "CMAKE_CXX_COMPILER_LAUNCHER": shutil.which("ccache") or "",
            "TERM": "dumb", "NO_COLOR": "1", "COLUMNS": "100", "LC_ALL": "C.UTF-8", "OMP_NUM_THREADS": "1", "PYTHONDONTWRITEBYTECODE": "1",
            # A plugin that takes as long to import as all of pytest, and shows nothing.
            "PYTEST_ADDOPTS": "-p no:hypothesispytest",
        }

    def places(self):
        """What is somewhere else on each machine, and how the pages show it."""
        prefix = Path(sys.prefix)
        return [(str(self.work), "~/project"), *((str(path), "~/venv") for path in {prefix, prefix.resolve()})]

    def check_command(self, shell, command, shown, position, next_command):
        came, status = shell.run(command)
        self.ran += 1
        for place, shown_as in self.places():
            came = [line.replace(place, shown_as) for line in came]
        if status != 0 and next_command != "echo $?":
            self.fail(position, f"`{command}` ended with status {status}, and `$ echo $?` does not follow:\n" + "\n".join(came[-30:]))
        # ninja and ctest rewrite their line of progress.
        came = [line.rsplit("\r", 1)[-1] for line in came]
        if not matches(shown, came):
            if not self.arguments.update:
                self.fail(position, f"`{command}`\nshown:\n" + "\n".join(shown) + "\ncame:\n" + "\n".join(came))
            return came
        return shown

    def run(self):
        in_checkout = self.text.startswith(IN_CHECKOUT) or f"\n{IN_CHECKOUT}\n" in self.text
        if in_checkout and self.arguments.build != ROOT / "build":
            print(f"the tutorial is about {ROOT}/build, and this build is {self.arguments.build}: configure it there")
            sys.exit(SKIPPED)
        self.work = ROOT if in_checkout else self.folder / "project"
        self.work.mkdir(exist_ok=True)
        shell = Shell(self.work, self.environment(), in_checkout)
        try:
            if in_checkout:
                upper, scratch = self.folder / "upper", self.folder / "scratch"
                upper.mkdir()
                scratch.mkdir()
                came, status = shell.run(f"mount -t overlay overlay -o lowerdir={ROOT},upperdir={upper},workdir={scratch} {ROOT} && cd {ROOT}")
                if status != 0:
                    print("this user may lay no file system over the sources (mount -t overlay in a mount namespace):", *came)
                    sys.exit(SKIPPED)
            return self.blocks(shell)
        finally:
            shell.close()

    def write(self, shell, name, content):
        # By the shell, which sees the laid over sources.
        (self.folder / "block").write_text(content)
        shell.run(f'mkdir -p "$(dirname {name})" && cp {self.folder}/block {name}')

    def blocks(self, shell):
        result, end = "", 0
        for match in FENCE.finditer(self.text):
            language, block = match[1], match[2]
            result += self.text[end:match.start(2)]
            end = match.end(2)
            if language in TERMINAL:
                self.fail(match.start(), "this block is not run: write console, or text")
            if language == "console":
                commands = commands_of(block)
                after = [command for command, _ in commands[1:]] + [None]
                lines = []
                for (command, shown), following in zip(commands, after):
                    out = self.check_command(shell, command, shown, match.start(), following)
                    lines += ["$ " + command.replace("\n", "\n> "), *out]
                result += "\n".join(lines) + "\n"
                continue
            result += block
            if language == "diff":
                (self.folder / "block").write_text(block)
                came, status = shell.run(f"git apply --recount -p1 {self.folder}/block")
                if status != 0:
                    self.fail(match.start(), "the change cannot be applied:\n" + "\n".join(came))
            elif name := FILE_NAME.match(block):
                self.write(shell, name[1], block)
        result += self.text[end:]
        if self.arguments.update and result != self.text:
            self.page.write_text(result, encoding="utf-8")
            print(f"{self.page}: output written")
        return self.failures


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--build", type=Path, required=True)
    parser.add_argument("--torch", type=Path, required=True)
    parser.add_argument("--update", action="store_true")
    parser.add_argument("tutorial", type=Path)
    arguments = parser.parse_args()
    arguments.build, arguments.torch = arguments.build.resolve(), arguments.torch.resolve()
    # The same folder each time, so that ccache knows what it compiles; outside of the sources, whose repository would be the
    # project's otherwise.
    name = f"devsan-tutorial-{arguments.tutorial.stem}-{os.getuid()}-{zlib.crc32(str(arguments.build).encode()):08x}"
    folder = Path(tempfile.gettempdir()).resolve() / name
    if folder.exists():
        shutil.rmtree(folder)
    folder.mkdir(mode=0o700)
    try:
        tutorial = Tutorial(arguments.tutorial.resolve(), arguments, folder)
        failures = tutorial.run()
    finally:
        shutil.rmtree(folder)
    if not tutorial.ran:
        failures.append(f"{arguments.tutorial}: no command was run")
    print(*failures, f"{tutorial.ran} commands, {len(failures)} failures", sep="\n\n")
    sys.exit(bool(failures))


if __name__ == "__main__":
    main()
