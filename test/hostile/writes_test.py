"""DevSan writes what it was told to write, and its cache: whatever lies at these places, and whatever a project's settings say."""

import contextlib
import json
import os
import resource
import shutil
import socket
import stat
import struct
import subprocess
import threading
import unittest
from pathlib import Path

from canary import DEVSAN, HEADERS, Canary, is_root, main

OTHER = 65534  # another user
CHECK = ["check", "--torch=none", "--no-cache"]
FLAGS = ["--", f"-isystem{HEADERS}"]
PLAIN = "int f() { return 1; }\n"
BROKEN = """#include <torch/torch.h>
at::Tensor move(const at::Tensor &x) {
  return x + torch::arange(5).cuda();
}
"""
FIXED = BROKEN.replace(".cuda()", ".to(x.device())")

# What writes an output: the arguments, and how the file is named by one more.
OUTPUTS = {
    "report of check": ([*CHECK, "--format=json", "a.cpp"], "-o"),
    "commands": ([*CHECK, "--print-commands", "a.cpp"], "-o"),
    "baseline of check": ([*CHECK, "--update-baseline", "a.cpp"], "--baseline="),
    "report of run": (["run"], "--report="),
    "trace of run": (["run"], "--trace="),
    "baseline of run": (["run", "--update-baseline"], "--baseline="),
    "report of report": (["report", "--format=json", "given.json"], "-o"),
    "baseline of report": (["report", "--update-baseline", "given.json"], "--baseline="),
}
BEFORE = '{"schema": "devsan-baseline/1", "findings": []}\n'


def small_files():
    resource.setrlimit(resource.RLIMIT_FSIZE, (8, 8))


def as_other():
    os.setgroups([])
    os.setgid(OTHER)
    os.setuid(OTHER)


def give_to_other(sandbox, *paths):
    """What a user needs to work in the sandbox."""
    os.chmod(sandbox.root, 0o755)
    for path in (*paths, "tmp", "home"):
        for folder, folders, files in os.walk(sandbox.path(path)):
            for name in (".", *folders, *files):
                os.chown(os.path.join(folder, name), OTHER, OTHER, follow_symlinks=False)


def acl():
    """u::rw-,u:OTHER:rw-,g::r--,m::rw-,o::r--"""
    entries = ((1, 6, -1), (2, 6, OTHER), (4, 4, -1), (16, 6, -1), (32, 4, -1))
    return struct.pack("<I", 2) + b"".join(struct.pack("<HHi", *entry) for entry in entries)


class Outputs(Canary):
    """Each output at each obstacle."""

    def each(self, obstacle, status, *says, name="out.json", writes=(), then=lambda sandbox: None, skip=(),
             inside="", **options):
        for output, (arguments, option) in OUTPUTS.items():
            if any(word in output for word in skip):
                continue
            with self.subTest(output):
                sandbox = self.sandbox()
                sandbox.write("repo/a.cpp", PLAIN)
                sandbox.write("repo/given.json", json.dumps({"schema": "devsan/1", "findings": [], "summary": {}}))
                obstacle(sandbox)
                program = ["--", "true"] if arguments[0] == "run" else []
                done = sandbox.run(*arguments, option + name, *program, writes=writes, cwd=sandbox.path("repo", inside), **options)
                self.assertSays(done, status, *says)
                then(sandbox)

    def assertWhole(self, sandbox, name="repo/out.json"):
        text = sandbox.read(name)
        self.assertNotEqual(text, b"")
        if not text.startswith(b"<"):
            json.loads(text)

    def test_nothing_there(self):
        self.each(lambda sandbox: None, 0, writes=["repo/out.json"], then=self.assertWhole)

    def test_a_file_keeps_its_mode(self):
        def then(sandbox):
            self.assertWhole(sandbox)
            self.assertEqual(stat.S_IMODE(os.stat(sandbox.path("repo/out.json")).st_mode), 0o640)
        self.each(lambda sandbox: sandbox.write("repo/out.json", BEFORE, mode=0o640), 0, writes=["repo/out.json"], then=then)

    def test_a_link_out_of_the_project(self):
        def obstacle(sandbox):
            sandbox.write("outside/out.json", BEFORE)
            sandbox.link("repo/out.json", "../outside/out.json")
        self.each(obstacle, 2, "is a link that leads out of")

    def test_a_dangling_link_out_of_the_project(self):
        self.each(lambda sandbox: sandbox.link("repo/out.json", sandbox.path("outside/absent.json")), 2, "out.json: ")

    def test_links_to_links(self):
        def obstacle(sandbox):
            sandbox.write("outside/out.json", BEFORE)
            sandbox.link("repo/sub/further", "../../outside/out.json")
            sandbox.link("repo/out.json", "sub/further")
        self.each(obstacle, 2, "is a link that leads out of")

    def test_a_folder_that_is_a_link(self):
        def obstacle(sandbox):
            sandbox.write("outside/deep/out.json", BEFORE)
            sandbox.link("repo/results", "../outside/deep")
        self.each(obstacle, 2, "is a link that leads out of", name="results/out.json")

    def test_a_link_of_a_repository_that_is_not_the_working_directory(self):
        def obstacle(sandbox):
            os.mkdir(sandbox.path("repo/.git"))
            sandbox.write("outside/out.json", BEFORE)
            sandbox.link("repo/out.json", "../outside/out.json")
            for name in ("a.cpp", "given.json"):
                sandbox.write(f"repo/sub/{name}", sandbox.read(f"repo/{name}"))
        self.each(obstacle, 2, "is a link that leads out of", name="../out.json", inside="sub")

    def test_a_link_in_the_project(self):
        def obstacle(sandbox):
            sandbox.write("repo/sub/kept.json", BEFORE)
            sandbox.link("repo/out.json", "sub/kept.json")

        def then(sandbox):
            self.assertTrue(os.path.islink(sandbox.path("repo/out.json")))
            self.assertWhole(sandbox)
        self.each(obstacle, 0, writes=["repo/sub/kept.json"], then=then)

    def test_a_loop(self):
        self.each(lambda sandbox: sandbox.link("repo/out.json", "out.json"), 2, "Too many levels of symbolic links")

    def test_a_pipe_that_nobody_reads(self):
        self.each(lambda sandbox: sandbox.fifo("repo/out.json"), 2, "nobody reads the pipe", skip=["baseline", "of run"])

    def test_a_pipe_that_somebody_reads(self):
        def obstacle(sandbox):
            path = sandbox.fifo("repo/out.json")
            self.reader = subprocess.Popen(["cat", path], stdout=subprocess.PIPE, stdin=subprocess.DEVNULL)
        self.each(obstacle, 0, skip=["baseline"], then=lambda sandbox: self.assertTrue(self.reader.communicate()[0]))

    def test_open_files(self):
        self.each(lambda sandbox: None, 0, name="/dev/stdout", skip=["baseline", "of run"])

    def test_a_full_device(self):
        self.each(lambda sandbox: None, 2, "No space left on device", name="/dev/full", skip=["baseline", "of run"])

    def test_a_link_to_a_device(self):
        self.each(lambda sandbox: sandbox.link("repo/out.json", "/dev/null"), 2, skip=["baseline"])

    def test_a_socket(self):
        def obstacle(sandbox):
            with socket.socket(socket.AF_UNIX) as listener, contextlib.chdir(sandbox.repo):
                listener.bind("out.json")
        self.each(obstacle, 2, "cannot")

    def test_a_folder(self):
        self.each(lambda sandbox: os.mkdir(sandbox.path("repo/out.json")), 2, "directory")

    def test_no_folder(self):
        self.each(lambda sandbox: None, 2, "No such file or directory", name="absent/out.json")

    def test_a_hard_link(self):
        def obstacle(sandbox):
            sandbox.write("outside/out.json", BEFORE)
            os.link(sandbox.path("outside/out.json"), sandbox.path("repo/out.json"))
        self.each(obstacle, 0, writes=["repo/out.json"], then=self.assertWhole)

    def test_parts_that_are_links(self):
        def obstacle(sandbox):
            for process in range(os.getpid(), os.getpid() + 300):
                sandbox.link(f"repo/out.json.part-{process}", "../outside/kept.txt")
        self.each(obstacle, 0, writes=["repo/out.json"])

    def test_a_limit_on_sizes(self):
        self.each(lambda sandbox: sandbox.write("repo/out.json", BEFORE), 2, "File too large", limits=small_files, skip=["of run"])

    @unittest.skipUnless(is_root(), "mounts a file system: needs root")
    def test_a_full_disk(self):
        script = ('mount -t tmpfs -o size=16k none disk && printf %s "$0" > disk/out.json && cat /dev/zero > disk/filling 2>&-; '
                  '"$@"; status=$?; test "$(cat disk/out.json)" = "$0" && test "$(ls -A disk)" = "filling\nout.json" && exit $status')
        for output, (arguments, option) in OUTPUTS.items():
            with self.subTest(output):
                sandbox = self.sandbox()
                sandbox.write("repo/a.cpp", PLAIN)
                sandbox.write("repo/given.json", json.dumps({"schema": "devsan/1", "findings": [], "summary": {}}))
                os.mkdir(sandbox.path("repo/disk"))
                program = ["--", "true"] if arguments[0] == "run" else []
                command = ["unshare", "-m", "sh", "-c", script.replace("\\n", "\n"), BEFORE.strip(), DEVSAN]
                done = sandbox.run(*arguments, option + "disk/out.json", *program, command=command)
                self.assertSays(done, 2, "No space left on device")

    @unittest.skipUnless(is_root(), "acts as another user: needs root")
    def test_a_folder_that_cannot_be_written(self):
        def obstacle(sandbox):
            sandbox.write("repo/out.json", BEFORE)
            give_to_other(sandbox, "repo")
            os.chmod(sandbox.repo, 0o555)
        self.each(obstacle, 2, "Permission denied", limits=as_other)

    @unittest.skipUnless(is_root(), "gives files to another user: needs root")
    def test_a_file_of_another_user_keeps_its_owner(self):
        def obstacle(sandbox):
            os.chown(sandbox.write("repo/out.json", BEFORE), OTHER, OTHER)

        def then(sandbox):
            self.assertWhole(sandbox)
            self.assertEqual(os.stat(sandbox.path("repo/out.json")).st_uid, OTHER)
        self.each(obstacle, 0, writes=["repo/out.json"], then=then)

    @unittest.skipUnless(is_root(), "gives files to another user: needs root")
    def test_a_link_that_another_user_made_where_all_can(self):
        def obstacle(sandbox):
            os.mkdir(sandbox.path("repo/shared"))
            os.chmod(sandbox.path("repo/shared"), 0o1777)
            sandbox.write("repo/kept.json", BEFORE)
            os.chown(sandbox.link("repo/shared/out.json", "../kept.json"), OTHER, OTHER, follow_symlinks=False)
        self.each(obstacle, 2, name="shared/out.json")

    def test_two_writers(self):
        sandbox = self.sandbox()
        sandbox.write("repo/a.cpp", BROKEN)
        command = [DEVSAN, *CHECK, "--update-baseline", "--baseline=known.json", "a.cpp", *FLAGS]
        ends = threading.Event()
        seen = set()

        def read():
            while not ends.is_set():
                with contextlib.suppress(FileNotFoundError):
                    seen.add(sandbox.read("repo/known.json"))
        reader = threading.Thread(target=read)
        reader.start()
        for _ in range(3):
            writers = [subprocess.Popen(command, cwd=sandbox.repo, env=sandbox.environment(), stdout=subprocess.DEVNULL)
                       for _ in range(3)]
            self.assertEqual([writer.wait() for writer in writers], [0, 0, 0])
        ends.set()
        reader.join()
        self.assertEqual(len(seen), 1, seen)
        self.assertEqual(len(json.loads(seen.pop())["findings"]), 1)
        self.assertEqual(sorted(os.listdir(sandbox.repo)), ["a.cpp", "known.json"])

    def test_folders_for_logs(self):
        for name, prepare in (("logs", lambda sandbox: sandbox.link("repo/logs", "../outside")),
                              ("logs/deep/deeper", lambda sandbox: sandbox.link("repo/logs", "../outside"))):
            with self.subTest(name):
                sandbox = self.sandbox()
                prepare(sandbox)
                done = sandbox.run("run", f"--keep-logs={name}", "--", "true")
                self.assertSays(done, 2, "is a link that leads out of")


class Settings(Canary):
    """What a .devsan.toml may reach."""

    REACHES = {
        "absolute": lambda sandbox: sandbox.path("outside/out.json"),
        "above": lambda sandbox: "../outside/out.json",
        "above and around": lambda sandbox: "sub/../../outside/out.json",
        "link": lambda sandbox: os.path.basename(sandbox.link("repo/out.json", "../outside/kept.json")),
        "dangling link": lambda sandbox: os.path.basename(sandbox.link("repo/out.json", "../outside/absent.json")),
        "folder that is a link": lambda sandbox: os.path.basename(sandbox.link("repo/results", "../outside")) + "/out.json",
    }

    def project(self, settings, where="repo/.devsan.toml"):
        sandbox = self.sandbox()
        os.mkdir(sandbox.path("repo/.git"))
        os.mkdir(sandbox.path("repo/sub"))
        sandbox.write("repo/a.cpp", BROKEN)
        sandbox.write("outside/kept.json", BEFORE)
        sandbox.write(where, settings)
        return sandbox

    def test_paths_out_of_the_folder(self):
        for table, key, command in (("run", "report", ["run", "--", "true"]), ("run", "baseline", ["run", "--", "true"]),
                                    ("check", "baseline", [*CHECK, "--update-baseline", "a.cpp", *FLAGS])):
            for reach, path in self.REACHES.items():
                with self.subTest(f"{table}.{key}: {reach}"):
                    sandbox = self.project("")
                    sandbox.write("repo/.devsan.toml", f"[{table}]\n{key} = {json.dumps(path(sandbox))}\n")
                    done = sandbox.run(*command)
                    self.assertSays(done, 2, f".devsan.toml:2: '{key}' must stay below", f"--{key}=FILE")

    def test_paths_out_of_a_part_of_the_project(self):
        sandbox = self.project("[check]\nbaseline = '../known.json'\n", "repo/sub/.devsan.toml")
        sandbox.write("repo/sub/a.cpp", BROKEN)
        self.assertSays(sandbox.run(*CHECK, "--update-baseline", "sub", *FLAGS), 2, "'baseline' must stay below")

    def test_paths_in_the_folder(self):
        sandbox = self.project("[run]\nreport = 'sub/../sub/out.json'\n")
        self.assertSays(sandbox.run("run", "--", "true", writes=["repo/sub/out.json"]), 0)
        self.assertEqual(json.loads(sandbox.read("repo/sub/out.json"))["findings"], [])

    def test_settings_above_the_repository(self):
        for kind in (".git", ".hg", ".jj"):
            with self.subTest(kind):
                sandbox = self.project("[check]\nchecks = 'device-host-sync'\n[run]\nsim = 0\n", ".devsan.toml")
                os.rename(sandbox.path("repo/.git"), sandbox.path("repo", kind))
                self.assertSays(sandbox.run(*CHECK, "a.cpp", *FLAGS), 1, "[device-bare-cuda]")
                self.assertSays(sandbox.run("run", "--", "true"), 0)

    @unittest.skipUnless(is_root(), "gives files to another user: needs root")
    def test_settings_of_another_user(self):
        def give(sandbox):
            os.chown(sandbox.path("repo/.devsan.toml"), OTHER, OTHER)

        def give_link(sandbox):
            os.rename(sandbox.path("repo/.devsan.toml"), sandbox.path("repo/sub/settings"))
            os.chown(sandbox.link("repo/.devsan.toml", "sub/settings"), OTHER, OTHER, follow_symlinks=False)
        for how in (give, give_link):
            with self.subTest(how.__name__):
                sandbox = self.project("[check]\nchecks = 'device-host-sync'\n[run]\nsim = 0\n")
                how(sandbox)
                self.assertSays(sandbox.run(*CHECK, "a.cpp", *FLAGS), 1, "[device-bare-cuda]",
                                "is ignored: it belongs to another user")
                self.assertSays(sandbox.run("run", "--", "true"), 0, "is ignored: it belongs to another user")
                for command in ([*CHECK, "--strict", "a.cpp", *FLAGS], ["run", "--strict", "--", "true"]):
                    self.assertSays(sandbox.run(*command), 2, "error: ", "is ignored: it belongs to another user", "--strict")

    @unittest.skipUnless(is_root(), "gives files to another user: needs root")
    def test_settings_of_the_user_whose_sources_root_checks(self):
        sandbox = self.project("[check]\nchecks = 'device-host-sync'\n")
        give_to_other(sandbox, "repo")
        self.assertSays(sandbox.run(*CHECK, "a.cpp", *FLAGS), 0, "no findings")

    def test_settings_that_are_a_link(self):
        for name, status, says in (("../outside/settings", 2, "is a link that leads out of"), ("sub/settings", 0, "no findings")):
            with self.subTest(name):
                sandbox = self.project("[check]\nchecks = 'device-host-sync'\n")
                os.rename(sandbox.path("repo/.devsan.toml"), sandbox.path("repo", name))
                sandbox.link("repo/.devsan.toml", name)
                self.assertSays(sandbox.run(*CHECK, "a.cpp", *FLAGS), status, says)

    def test_limits_are_only_lowered(self):
        for seconds, status in ((0, 2), (-1, 2), (31, 2), (86400, 2), (30, 1), (5, 1)):
            with self.subTest(seconds):
                sandbox = self.project(f"[check]\ntimeout = {seconds}\n")
                self.assertSays(sandbox.run(*CHECK, "a.cpp", *FLAGS), status, "'timeout' must be from 1 to 30 " if status == 2 else "")

    def test_nothing_left_to_look_at(self):
        every = ["bare-cuda", "host-sync"]
        silent = {
            "all files": "[check]\nexclude = '*'\n",
            "each kind of file": "[check]\nexclude = ['*.cpp', '*.cu', '*.cc', '*.cxx']\n",
            "this folder": "[check]\nexclude = ['a.cpp', 'sub']\n",
            "absolute": "[check]\nexclude = '/*'\n",
            "files for each rule": "[check]\nchecks = 'device-bare-cuda,device-host-sync'\n[suppressions]\n"
                                   + "".join(f"device-{rule} = '*.cpp'\n" for rule in every),
            "functions for each rule": "[check]\nchecks = 'device-bare-cuda,device-host-sync'\n[suppressions]\n"
                                       + "".join(f"device-{rule} = ['function:*']\n" for rule in every),
        }
        for name, settings in silent.items():
            for inputs in (["."], ["a.cpp"]):
                with self.subTest(f"{name}, {inputs}"):
                    done = self.project(settings).run(*CHECK, *inputs, *FLAGS)
                    self.assertSays(done, 2, "error: not analysed: ", ".devsan.toml")

    def test_something_left_to_look_at(self):
        sandbox = self.project("[check]\nexclude = 'a.cpp'\n")
        sandbox.write("repo/b.cpp", PLAIN)
        self.assertSays(sandbox.run(*CHECK, "a.cpp", *FLAGS), 0, "0 files, 1 excluded")
        self.assertSays(sandbox.run(*CHECK, ".", *FLAGS), 0, "1 file, 1 excluded")

    def test_flags_that_make_a_compiler_write(self):
        out = "../outside/written"
        flags = [[f"-ftime-trace={out}"], ["-MD", f"-MF{out}"], [f"-MJ{out}"], ["-save-temps"], [f"-o{out}"],
                 ["-fmodules", f"-fmodules-cache-path={out}"], [f"-Wp,-MD,{out}"], [f"--serialize-diagnostics={out}"]]
        for some in flags:
            for place in ("command line", "settings", "compile_commands.json"):
                with self.subTest(f"{some} in {place}"):
                    sandbox = self.project("")
                    given = FLAGS[1:]
                    if place == "command line":
                        given = FLAGS[1:] + some
                    elif place == "settings":
                        sandbox.write("repo/.devsan.toml", f"[check]\nextra-flags = {json.dumps(some)}\n")
                    else:
                        arguments = ["clang++", *FLAGS[1:], *some, "-c", "a.cpp"]
                        sandbox.write("repo/compile_commands.json",
                                      json.dumps([{"directory": sandbox.repo, "file": "a.cpp", "arguments": arguments}]))
                    done = sandbox.run(*CHECK, "a.cpp", *(["--", *given] if place != "compile_commands.json" else []))
                    self.assertSays(done, 1, "[device-bare-cuda]")


class Fixes(Canary):
    """Which files --fix changes, and what of them."""

    def project(self, source=BROKEN, name="a.cpp"):
        sandbox = self.sandbox()
        os.mkdir(sandbox.path("repo/.git"))
        sandbox.write(f"repo/{name}", source)
        return sandbox

    def assertFixed(self, sandbox, name="repo/a.cpp", text=FIXED, arguments=("a.cpp",), writes=None, **options):
        done = sandbox.run(*CHECK, "--fix", *arguments, *FLAGS, writes=[name] if writes is None else writes, **options)
        self.assertSays(done, 0, "1 finding fixed in the sources")
        self.assertEqual(sandbox.read(name), text.encode() if isinstance(text, str) else text)
        self.assertFalse([path for path in os.listdir(sandbox.repo) if path.startswith(".devsan-")])

    def assertSkipped(self, sandbox, *says, arguments=("a.cpp",), status=1, **options):
        done = sandbox.run(*CHECK, "--fix", *arguments, *FLAGS, **options)
        self.assertSays(done, status, ": not fixed, ", *says)

    def test_forms_of_text(self):
        forms = {
            "plain": (BROKEN, FIXED),
            "returns": (BROKEN.replace("\n", "\r\n"), FIXED.replace("\n", "\r\n")),
            "byte order mark": ("\ufeff" + BROKEN, "\ufeff" + FIXED),
            "byte order mark and returns": ("\ufeff" + BROKEN.replace("\n", "\r\n"), "\ufeff" + FIXED.replace("\n", "\r\n")),
            "no end of line": (BROKEN.rstrip("\n"), FIXED.rstrip("\n")),
            "in one line": (BROKEN.replace("\n", " ").replace(".h> ", ".h>\n"), FIXED.replace("\n", " ").replace(".h> ", ".h>\n")),
            "Latin-1": (BROKEN.encode() + b"// \xe4\xff\n", FIXED.encode() + b"// \xe4\xff\n"),
            "long": (BROKEN + "// filling\n" * 5000, FIXED + "// filling\n" * 5000),
            "holes in it": (BROKEN.encode() + b"//\0\n", FIXED.encode() + b"//\0\n"),
        }
        for form, (before, after) in forms.items():
            with self.subTest(form):
                self.assertFixed(self.project(before), text=after)
        for form, (before, after) in forms.items():
            if form not in ("holes in it", "Latin-1"):  # what no terminal shows stands there as \x..
                with self.subTest(f"{form}, as a difference"):
                    self.assertShows(before, after)

    def assertShows(self, before, after):
        sandbox = self.project(before)
        sandbox.write("other/a.cpp", before)
        done = subprocess.run([DEVSAN, *CHECK, "--fix=dry-run", "a.cpp", *FLAGS], cwd=sandbox.repo, env=sandbox.environment(),
                              capture_output=True, check=False)
        self.assertEqual(done.returncode, 1, done.stderr)
        self.assertIn(b"[device-bare-cuda]", done.stderr)
        self.assertEqual(sandbox.read("repo/a.cpp"), before if isinstance(before, bytes) else before.encode())
        for command in (["git", "apply"], ["patch", "-p1", "--binary"]):
            sandbox.write("other/a.cpp", before)
            subprocess.run(command, input=done.stdout, cwd=sandbox.path("other"), check=True, capture_output=True,
                           env=sandbox.environment(GIT_CEILING_DIRECTORIES=sandbox.root))
            self.assertEqual(sandbox.read("other/a.cpp"), after if isinstance(after, bytes) else after.encode())

    def test_a_difference_writes_nothing(self):
        sandbox = self.project()
        done = sandbox.run(*CHECK, "--fix=dry-run", "a.cpp", *FLAGS)
        self.assertSays(done, 1, "--- a/a.cpp\n+++ b/a.cpp\n@@ -1,4 +1,4 @@\n", "[device-bare-cuda]")
        done = sandbox.run(*CHECK, "--fix=dry-run", "--format=json", "a.cpp", *FLAGS)
        self.assertSays(done, 2, "name a file for the report with -o")

    def test_a_difference_controls_no_terminal(self):
        sandbox = self.project(BROKEN.replace("(5)", "(5 /* \x1b[31m \u202e */)"))
        self.assertSays(sandbox.run(*CHECK, "--fix=dry-run", "a.cpp", *FLAGS), 1, "+++ b/a.cpp", "\\x1b[31m")

    def test_mode_and_links_stay(self):
        sandbox = self.project(name="real.cpp")
        os.chmod(sandbox.path("repo/real.cpp"), 0o751)
        sandbox.link("repo/a.cpp", "real.cpp")
        self.assertFixed(sandbox, writes=["repo/real.cpp"])
        self.assertTrue(os.path.islink(sandbox.path("repo/a.cpp")))
        self.assertEqual(stat.S_IMODE(os.stat(sandbox.path("repo/a.cpp")).st_mode), 0o751)

    def test_attributes_stay(self):
        sandbox = self.project()
        path = sandbox.path("repo/a.cpp")
        attributes = {"user.origin": b"kept\0", "system.posix_acl_access": acl()}
        try:
            for name, value in attributes.items():
                os.setxattr(path, name, value)
        except OSError as error:
            self.skipTest(f"needs a temporary folder whose files have attributes: {error}")
        self.assertFixed(sandbox)
        self.assertEqual({name: os.getxattr(path, name) for name in os.listxattr(path) if name in attributes}, attributes)

    def test_attributes_of_the_folder_stay_away(self):
        sandbox = self.project()
        try:
            os.setxattr(sandbox.repo, "system.posix_acl_default", acl())
        except OSError as error:
            self.skipTest(f"needs a temporary folder with access control lists: {error}")
        self.assertFixed(sandbox)
        self.assertNotIn("system.posix_acl_access", os.listxattr(sandbox.path("repo/a.cpp")))
        self.assertEqual(stat.S_IMODE(os.stat(sandbox.path("repo/a.cpp")).st_mode), 0o644)

    def test_hard_links_keep_what_they_hold(self):
        sandbox = self.project()
        os.link(sandbox.path("repo/a.cpp"), sandbox.path("outside/a.cpp"))
        self.assertFixed(sandbox)
        self.assertEqual(sandbox.read("outside/a.cpp"), BROKEN.encode())

    @unittest.skipUnless(is_root(), "gives files to another user: needs root")
    def test_the_owner_stays(self):
        sandbox = self.project()
        os.chown(sandbox.path("repo/a.cpp"), OTHER, OTHER)
        self.assertFixed(sandbox)
        self.assertEqual(os.stat(sandbox.path("repo/a.cpp")).st_uid, OTHER)

    def test_chevrons_that_are_apart(self):
        source = BROKEN + "__global__ void kernel();\nvoid launch() { kernel << <1, 1>> >(); }\n"
        fixed = FIXED + "__global__ void kernel();\nvoid launch() { kernel << <1, 1>> >(); }\n"
        sandbox = self.project(source, "a.cu")
        done = sandbox.run(*CHECK, "--checks=device-bare-cuda", "--fix", "a.cu", *FLAGS, writes=["repo/a.cu"])
        self.assertSays(done, 0, "1 finding fixed")
        self.assertEqual(sandbox.read("repo/a.cu"), fixed.encode())

    def test_headers(self):
        header = BROKEN.replace("at::Tensor move", "inline at::Tensor move")
        sandbox = self.project('#include "a.h"\n')
        sandbox.write("repo/a.h", header)
        self.assertFixed(sandbox, "repo/a.h", header.replace(".cuda()", ".to(x.device())"))

    def test_names_of_folders(self):
        for inputs, inside, repository in ((["."], "", True), (["./"], "", False), ([".."], "sub", True), (["../"], "sub", False),
                                           (["sub/.."], "", False), (["link"], "", True), (["--diff=HEAD"], "", True)):
            with self.subTest(f"{inputs}, repository: {repository}"):
                sandbox = self.project()
                os.mkdir(sandbox.path("repo/sub"))
                sandbox.link("repo/link", ".")
                if inputs == ["--diff=HEAD"]:
                    sandbox.git("init", "-q")
                    sandbox.git("commit", "-q", "--allow-empty", "-m", "none")
                if not repository:
                    os.rmdir(sandbox.path("repo/.git"))
                self.assertFixed(sandbox, arguments=inputs, cwd=sandbox.path("repo", inside))

    def test_headers_outside(self):
        header = BROKEN.replace("at::Tensor move", "inline at::Tensor move")
        ways = {
            "absolute": lambda sandbox: sandbox.write("repo/a.cpp", f'#include "{sandbox.path("outside/a.h")}"\n'),
            "above": lambda sandbox: sandbox.write("repo/a.cpp", '#include "../outside/a.h"\n'),
            "link": lambda sandbox: (sandbox.link("repo/a.h", "../outside/a.h"), sandbox.write("repo/a.cpp", '#include "a.h"\n')),
            "folder that is a link": lambda sandbox: (sandbox.link("repo/in", "../outside"),
                                                      sandbox.write("repo/a.cpp", '#include "in/a.h"\n')),
        }
        for way, include in ways.items():
            for repository in (True, False):
                with self.subTest(f"{way}, repository: {repository}"):
                    sandbox = self.project()
                    sandbox.write("outside/a.h", header)
                    if not repository:
                        os.rmdir(sandbox.path("repo/.git"))
                    include(sandbox)
                    self.assertSkipped(sandbox, "out")

    def test_folders_that_are_no_project(self):
        header = BROKEN.replace("at::Tensor move", "inline at::Tensor move")
        for what, inside, home, mode in (("root", "/", "home", 0o700), ("home", "", "", 0o700), ("above home", "", "home", 0o700),
                                         ("all users'", "", "/nowhere", 0o1777)):
            with self.subTest(what):
                sandbox = self.project()
                os.rmdir(sandbox.path("repo/.git"))
                os.chmod(sandbox.root, mode)
                sandbox.write("repo/a.cpp", f'#include "{sandbox.write("outside/a.h", header)}"\n')
                self.assertSkipped(sandbox, f"it is outside of {sandbox.repo}", arguments=[sandbox.path("repo/a.cpp")],
                                   cwd=sandbox.path(inside), env={"HOME": sandbox.path(home)})

    def test_sources_outside(self):
        for name, arguments in (("a.cpp", ["a.cpp"]), ("a.cpp", ["."]), ("sub/a.cpp", ["sub"]), ("sub/a.cpp", ["sub/a.cpp"])):
            with self.subTest(f"{name} by {arguments}"):
                sandbox = self.project()
                os.unlink(sandbox.path("repo/a.cpp"))
                sandbox.write("outside/a.cpp", BROKEN)
                if name == "a.cpp":
                    sandbox.link("repo/a.cpp", "../outside/a.cpp")
                else:
                    sandbox.link("repo/sub", "../outside")
                self.assertSkipped(sandbox, "leads out of", arguments=arguments)

    def test_a_file_that_is_being_written(self):
        sandbox = self.project()
        with open(sandbox.path("repo/a.cpp"), "ab"):
            self.assertSkipped(sandbox, "another program has it open to write it")
        self.assertFixed(sandbox)

    @unittest.skipUnless(shutil.which("cc"), "compiles what stands for a network's file system: needs cc")
    def test_a_file_system_that_lends_nothing(self):
        """One whose answer is that of a file that is being written."""
        sandbox = self.project()
        shim = sandbox.write("shim.c", """
            #include <errno.h>
            #include <stdarg.h>
            #include <sys/syscall.h>
            #include <unistd.h>
            int fcntl64(int file, int command, ...) {
              va_list rest;
              va_start(rest, command);
              void *argument = va_arg(rest, void *);
              va_end(rest);
              if (command == 1024 /* F_SETLEASE */)
                return errno = EAGAIN, -1;
              return syscall(SYS_fcntl, file, command, argument);
            }
            int fcntl(int, int, ...) __attribute__((alias("fcntl64")));
            """)
        library = sandbox.path("shim.so")
        subprocess.run(["cc", "-shared", "-fPIC", "-o", library, shim], check=True)
        self.assertFixed(sandbox, env={"LD_PRELOAD": library})

    def test_a_file_that_cannot_be_written(self):
        self.assertSkipped(self.project(BROKEN + "// filling\n"), "File too large", limits=small_files)

    @unittest.skipUnless(is_root(), "acts as another user: needs root")
    def test_files_that_are_not_the_users(self):
        for what, prepare, says in (
                ("read-only", lambda path: os.chmod(path, 0o444), "it is read-only"),
                ("another user's", lambda path: (os.chown(path, 0, 0), os.chmod(path, 0o666)), "its owner and permissions cannot be kept"),
                ("in a closed folder", lambda path: os.chmod(os.path.dirname(path), 0o555), "Permission denied")):
            with self.subTest(what):
                sandbox = self.project()
                give_to_other(sandbox, "repo")
                prepare(sandbox.path("repo/a.cpp"))
                self.assertSkipped(sandbox, says, limits=as_other)


class Init(Canary):
    """`devsan init` where links wait for what it writes."""

    def test_links(self):
        links = {
            ".devsan.toml": "../outside/kept.txt",
            ".github": "../outside",
            ".github/workflows": "../../outside",
            ".github/workflows/devsan.yml": "../../../outside/kept.txt",
            ".gitlab": "../outside",
            ".gitlab/devsan.yml": "../../outside/absent",
        }
        for link, target in links.items():
            for options in ([], ["--force"]):
                with self.subTest(f"{link} {options}"):
                    sandbox = self.sandbox()
                    os.mkdir(sandbox.path("repo/.git"))
                    sandbox.link(f"repo/{link}", target)
                    ci = "gitlab" if "gitlab" in link else "github"
                    self.assertSays(sandbox.run("init", f"--ci={ci}", *options), 2, "is a link, nothing was written")

    def test_loops(self):
        sandbox = self.sandbox()
        sandbox.link("repo/.devsan.toml", ".devsan.toml")
        self.assertSays(sandbox.run("init", "--force"), 2, "is a link, nothing was written")


class CacheOfAUser(Canary):
    """The cache under a umask that lets a group write."""

    def test_what_a_run_stores_the_next_one_trusts(self):
        for umask in (0o002, 0o000):
            with self.subTest(oct(umask)):
                sandbox = self.sandbox()
                os.utime(sandbox.write("repo/a.cpp", BROKEN), (1, 1))
                for _ in range(2):
                    done = sandbox.run("check", "--torch=none", "a.cpp", *FLAGS, limits=lambda umask=umask: os.umask(umask))
                    self.assertSays(done, 1, "[device-bare-cuda]")
                    self.assertNotIn("nothing is loaded from there", done.err)
                modes = {stat.S_IMODE(path.stat().st_mode) & 0o077 for path in Path(sandbox.home, ".cache/devsan").rglob("*")}
                self.assertEqual(modes, {0})


@unittest.skipUnless(is_root(), "gives files to another user: needs root")
class Cache(Canary):
    """What another user put into the cache, or could."""

    def check(self, sandbox):
        return sandbox.run("check", "--torch=none", "a.cpp", *FLAGS)

    def filled(self):
        sandbox = self.sandbox()
        os.mkdir(sandbox.path("repo/.git"))
        path = sandbox.write("repo/a.cpp", BROKEN)
        os.utime(path, (1, 1))
        sandbox.cache = sandbox.path("home/.cache/devsan")
        self.assertSays(self.check(sandbox), 1, "[device-bare-cuda]")
        (sandbox.entry,) = Path(sandbox.cache, "results").iterdir()
        return sandbox

    def test_foreign_folders_and_files(self):
        def make_link(path):
            os.rename(path, path + "-moved")
            os.symlink(path + "-moved", path)
            os.chown(path, OTHER, OTHER, follow_symlinks=False)
        ways = {
            "owner of the cache": lambda sandbox: os.chown(sandbox.cache, OTHER, OTHER),
            "owner of the folder": lambda sandbox: os.chown(sandbox.cache + "/results", OTHER, OTHER),
            "mode of the cache": lambda sandbox: os.chmod(sandbox.cache, 0o777),
            "mode of the folder": lambda sandbox: os.chmod(sandbox.cache + "/results", 0o770),
            "link to the cache": lambda sandbox: make_link(sandbox.cache),
            "owner of the entry": lambda sandbox: os.chown(sandbox.entry, OTHER, OTHER),
            "mode of the entry": lambda sandbox: os.chmod(sandbox.entry, 0o666),
        }
        for way, change in ways.items():
            with self.subTest(way):
                sandbox = self.filled()
                change(sandbox)
                done = self.check(sandbox)
                self.assertSays(done, 1, "[device-bare-cuda]", "so nothing is loaded from there")
                self.assertEqual(done.err.count("so nothing is loaded from there"), 1, str(done))

    def test_odd_entries(self):
        def endless(sandbox):  # of its own: what follows the link may replace it
            os.mknod(sandbox.path("outside/zero"), 0o666 | stat.S_IFCHR, os.stat("/dev/zero").st_rdev)
            sandbox.entry.symlink_to(sandbox.path("outside/zero"))
        ways = {
            "pipe": lambda sandbox: os.mkfifo(sandbox.entry),
            "link": lambda sandbox: sandbox.entry.symlink_to(sandbox.path("outside/kept.txt")),
            "dangling link": lambda sandbox: sandbox.entry.symlink_to(sandbox.path("outside/absent")),
            "folder": lambda sandbox: sandbox.entry.mkdir(),
            "endless": endless,
        }
        for way, make in ways.items():
            with self.subTest(way):
                sandbox = self.filled()
                sandbox.entry.unlink()
                make(sandbox)
                self.assertSays(self.check(sandbox), 1, "[device-bare-cuda]")


if __name__ == "__main__":
    main()
