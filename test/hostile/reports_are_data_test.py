"""Guarantee 5: text from sources, settings and reports controls no terminal and no CI system, and a report shows files of
the project alone. What stdout and stderr must not hold, canary.py checks after each run.

usage: reports_are_data_test.py DEVSAN [unittest options]
"""

import glob
import json
import os
import sys

from canary import HEADERS, Canary, main

BUG = "#include <torch/torch.h>\nat::Tensor moved(at::Tensor x) {\n  return x.cpu().cuda(); // TEXT\n}\n"
CHECK = ("check", "--checks=device-bare-cuda", "--alone")  # the first format fills the sandbox's cache for the others
WITH_HEADERS = ("--", "-I" + HEADERS)
FORMATS = ("text", "json", "sarif", "github", "html", "junit", "markdown")

TEXTS = {
    "escape": "\x1b[31mred\x1b[0m",
    "title": "\x1b]0;title\x07",
    "command": "::error::owned",
    "line and command": "x\n::set-output name=x::owned",
    "return and command": "x\r::add-mask::owned",
    "spaces and command": "x\n  ::stop-commands::owned",
    "old command": "##[set-env name=X]owned",
    "azure": "##vso[task.setvariable variable=x]owned",
    "teamcity": "##teamcity[buildStatus text='owned']",
    "backspaces": "safe\b\b\b\bevil",
    "direction": "\u202eevil\u2066",
    "separators": "a\u2028::error::b\u2029c\u0085d",
    "c1": "\u009b31mred",
    "delete": "a\x7fb",
    "markup": "</script><img src=x onerror=alert(1)>",
    "link": "[x](javascript:alert(1)) ![](http://127.0.0.1/x) | `a` <b>",
    "cdata": "]]> <!-- -->",
    "template": "${{ secrets.X }} $(id) `id` %0A%0D",
}
HOSTILE = "\n".join(TEXTS.values())


def is_annotated(form):
    return form == "github"


class Checking(Canary):
    def test_names_of_files_and_folders(self):
        sandbox = self.sandbox()
        for name, text in TEXTS.items():
            text = text.replace("/", "|")
            sandbox.write(f"repo/{text}.cpp", BUG)
            sandbox.write(f"repo/folder {text}/x.cpp", BUG.replace("moved", "m"))
            sandbox.write(f"repo/::{text}.cpp", BUG)
        for form in FORMATS:
            with self.subTest(form):
                done = sandbox.run(*CHECK, f"--format={form}", ".", *WITH_HEADERS, annotations=is_annotated(form))
                self.assertSays(done, 1)
                done = sandbox.run(*CHECK, f"--format={form}", "-o", "../report", ".", *WITH_HEADERS)
                self.assertSays(done, 1)

    def test_contents_of_sources(self):
        """Lines that are shown, names of functions and headers, errors of clang that quote what they mean."""
        sandbox = self.sandbox()
        lines = [text.replace("\n", " ").replace("\r", " ").replace("\u2028", " ") for text in TEXTS.values()]
        bugs = "".join(f"at::Tensor m{i}(at::Tensor x) {{ return x.cpu().cuda(); }} // {line}\n" for i, line in enumerate(lines))
        sandbox.write("repo/comments.cpp", BUG + bugs)
        sandbox.write("repo/headers.cpp", "".join(f'#include "{line}"\n' for line in lines) + BUG)
        sandbox.write("repo/errors.cpp", "".join(f"#error {line}\n" for line in lines) + BUG)
        sandbox.write("repo/assertions.cpp", BUG + "".join(f'static_assert(false, "{line}");\n' for line in lines))
        for i, line in enumerate(lines[::3]):
            sandbox.write(f"repo/lines{i}.cpp", f'#line 1 "{line}"\n#include "missing.h"\n{BUG} int {line};\n')
        sandbox.write("repo/names.cpp", BUG.replace("moved", "mo\u202eved") + BUG.replace("moved", "mo\u2066ved"))
        for form in FORMATS:
            with self.subTest(form):
                done = sandbox.run(*CHECK, f"--format={form}", ".", *WITH_HEADERS, annotations=is_annotated(form))
                self.assertSays(done, (1, 2))

    def test_arguments(self):
        """Errors that quote what they were given."""
        sandbox = self.sandbox()
        sandbox.write("repo/x.cpp", BUG)
        options = ("--torch={}", "--python={}", "-p{}", "--checks={}", "--format={}", "--diff={}", "--shard={}", "--baseline={}",
                   "--suppressions={}", "--fail-on={}", "--timeout={}", "--color={}", "-o{}/x", "--no-such={}", "{}", "{}.cpp")
        for option in options:
            with self.subTest(option):
                done = sandbox.run("check", option.format(HOSTILE), "x.cpp", *WITH_HEADERS, writes=["repo"])
                self.assertSays(done, 1 if option == "-p{}" else 2)  # flags go before a build folder
        for arguments in (("report", "{}"), ("report", "--format={}", "x"), ("report", "--max={}", "x"), ("run", "--report={}/x", "--", "true"),
                          ("run", "--sim={}", "--", "true"), ("run", "--max={}", "--", "true"), ("run", "--", "{}"), ("explain", "{}"),
                          ("rules", "{}"), ("init", "--ci={}"), ("{}",), ("completion", "{}")):
            with self.subTest(arguments):
                words = [word.format(HOSTILE) for word in arguments]
                done = sandbox.run(*words)
                self.assertIn(done.status, (2, 126, 127) if arguments[0] == "run" else (2,), str(done))

    def test_settings(self):
        quoted = json.dumps(HOSTILE)
        for settings in (f"[check]\nchecks = {quoted}\n", f"[check]\n{quoted} = 1\n", f"[{quoted}]\nx = 1\n",
                         f"[check]\nfail-on = {quoted}\n", f"[check]\nbaseline = {quoted}\n", f"[check]\nexclude = [{quoted}]\n",
                         f"[check]\nextra-flags = [{quoted}]\n", f"[suppressions]\n{quoted} = {quoted}\n",
                         f"[suppressions]\ndevice-bare-cuda = {quoted}\n", f"[check]\ntimeout = {quoted}\n", HOSTILE,
                         f"[run]\nsim = {quoted}\n", f"x = {quoted}\n[check]\nx = 1\n", f"[check]\nchecks = \"{HOSTILE}\"\n"):
            with self.subTest(settings):
                sandbox = self.sandbox()
                sandbox.write("repo/x.cpp", BUG)
                sandbox.write("repo/.devsan.toml", settings)
                self.assertSays(sandbox.run(*CHECK, "x.cpp", *WITH_HEADERS), (1, 2))
                self.assertIn(sandbox.run("run", "--", "true").status, (0, 2))

    def test_commands_and_baselines(self):
        sandbox = self.sandbox()
        sandbox.write("repo/x.cpp", BUG)
        for text in (json.dumps([{"directory": sandbox.repo, "file": "x.cpp", "command": HOSTILE}]),
                     json.dumps([{"directory": HOSTILE, "file": HOSTILE, "command": "c++"}]), HOSTILE,
                     json.dumps([{HOSTILE: HOSTILE}]), json.dumps(HOSTILE)):
            with self.subTest(text):
                sandbox.write("repo/build/compile_commands.json", text)
                self.assertSays(sandbox.run(*CHECK, "--torch=none", "-p", "build", "x.cpp"), (0, 1, 2))
        os.unlink(sandbox.path("repo/build/compile_commands.json"))
        for text in (HOSTILE, json.dumps({"version": 1, "findings": [{"rule": HOSTILE, "file": HOSTILE, "function": HOSTILE,
                                                                      "statement": HOSTILE, "fingerprint": "0" * 16}]}),
                     json.dumps({HOSTILE: 1}), json.dumps({"version": HOSTILE})):
            with self.subTest(text):
                sandbox.write("repo/baseline.json", text)
                self.assertSays(sandbox.run(*CHECK, "--baseline=baseline.json", "x.cpp", *WITH_HEADERS), (0, 1, 2))


class Reports(Canary):
    def report(self, sandbox, **changes):
        """A real report, in which strings are replaced."""
        sandbox.write("repo/x.cpp", BUG)
        done = sandbox.run(*CHECK, "--format=json", "x.cpp", *WITH_HEADERS)
        self.assertSays(done, 1)
        return json.loads(done.out)

    def replaced(self, value, text, kept=("rule", "severity", "origin", "schema", "version", "fingerprint", "tool", "kind", "type", "blocked_time")):
        if isinstance(value, dict):
            return {key: one if key in kept else self.replaced(one, text, kept) for key, one in value.items()}
        if isinstance(value, list):
            return [self.replaced(one, text, kept) for one in value]
        return text if isinstance(value, str) else value

    def test_texts_of_reports(self):
        sandbox = self.sandbox()
        report = self.report(sandbox)
        sandbox.write("repo/good.json", json.dumps(report))
        for name, text in {**TEXTS, "all": HOSTILE}.items():
            sandbox.write("repo/bad.json", json.dumps(self.replaced(report, text)))
            for form in FORMATS if name == "all" else ("text", "github"):
                with self.subTest(text=name, form=form):
                    done = sandbox.run("report", f"--format={form}", "bad.json", annotations=is_annotated(form))
                    self.assertSays(done, (0, 3))
        for form in FORMATS:
            with self.subTest(form):
                self.assertSays(sandbox.run("report", f"--format={form}", "--compare", "good.json", "bad.json",
                                            annotations=is_annotated(form)), (0, 3))
                self.assertSays(sandbox.run("report", f"--format={form}", "--merge", "good.json", "bad.json",
                                            annotations=is_annotated(form)), (0, 3))
        for key in ("rule", "severity", "origin", "schema", "version", "fingerprint", "tool"):
            with self.subTest(key):
                sandbox.write("repo/bad.json", json.dumps(self.replaced(report, HOSTILE, kept=())))
                self.assertSays(sandbox.run("report", "bad.json"), (0, 2, 3))

    def test_files_that_a_report_names(self):
        """A line of the project is shown; of a file elsewhere none is, however it is named."""
        secret = "SECRET-OF-OUTSIDE"
        sandbox = self.sandbox()
        report = self.report(sandbox)
        sandbox.write("outside/secret.txt", f"{secret}\n" * 9)
        sandbox.link("repo/link.cpp", sandbox.path("outside/secret.txt"))
        sandbox.link("repo/folder", sandbox.outside)
        sandbox.fifo("repo/pipe.cpp")
        sandbox.write("repo/.git/HEAD", "ref: refs/heads/main\n")
        names = {"x.cpp": True, "./x.cpp": True, sandbox.path("repo/x.cpp"): True, "../repo/x.cpp": True,
                 "link.cpp": False, "folder/secret.txt": False, "../outside/secret.txt": False,
                 sandbox.path("outside/secret.txt"): False, "/proc/self/environ": False, "/proc/self/cmdline": False,
                 "/proc/self/cwd/../outside/secret.txt": False, "/etc/passwd": False, "/dev/zero": False, "/dev/stdin": False,
                 "pipe.cpp": False, ".": False, "": False, "x.cpp/../../outside/secret.txt": False, "/proc/self/fd/0": False}
        for name, is_shown in names.items():
            text = json.dumps(report).replace('"x.cpp"', json.dumps(name))
            self.assertIn(json.dumps(name), text)
            sandbox.write("repo/report.json", json.loads(json.dumps(text)))
            for form in ("text", "sarif", "html", "markdown", "github", "junit", "json"):
                with self.subTest(name=name, form=form):
                    done = sandbox.run("report", f"--format={form}", "report.json", stdin=secret.encode() * 9,
                                       env={"SECRET": secret}, annotations=is_annotated(form))
                    self.assertSays(done, (0, 3))
                    self.assertNotIn(secret, done.out + done.err)
                    self.assertNotIn("root:", done.out + done.err)
                    if is_shown and form in ("text", "sarif"):
                        self.assertIn("x.cpu().cuda()", done.out)

    def test_logs_that_name_files_elsewhere(self):
        """Whoever wrote them says in which folder the program ran, and what its files are called."""
        sandbox = self.sandbox()
        program = sandbox.write("outside/program.py", "import torch\ntorch.ones(1).cuda()  # SECRET-OF-OUTSIDE\n")
        done = sandbox.run("run", "--sim=1", "--keep-logs=../logs", "--quiet", "--", sys.executable, program)
        self.assertSays(done, 0)
        (facts,) = glob.glob(sandbox.path("logs/**/run.json"), recursive=True)
        with open(facts) as file:
            text = file.read()
        with open(facts, "w") as file:
            file.write(text.replace(json.dumps(sandbox.repo), json.dumps(sandbox.outside)))
        self.assertNotEqual(text.find(json.dumps(sandbox.repo)), -1)
        sandbox.run("report", "--update-baseline", "--baseline=base.json", "../logs", writes=["repo/base.json"])
        baseline = sandbox.read("repo/base.json").decode()
        self.assertIn("program.py", baseline)
        self.assertNotIn("SECRET-OF-OUTSIDE", baseline)
        os.unlink(program)
        sandbox.fifo("outside/program.py")
        done = sandbox.run("report", "../logs")
        self.assertSays(done, 0, "program.py")
        self.assertLess(done.seconds, 20)

    def test_secrets_of_command_lines(self):
        sandbox = self.sandbox()
        for words, text in ((["--password=hunter2"], "--password=***"), (["--api-key", "hunter2"], "--api-key ***"),
                            (["HF_TOKEN=hunter2"], "HF_TOKEN=***"), (["https://me:hunter2@host/x"], "https://***@host/x")):
            for name in ("json", "txt", "sarif", "html", "junit.xml", "md"):
                with self.subTest(words=words, name=name):
                    done = sandbox.run("run", f"--report=../report.{name}", "--", "true", *words)
                    self.assertEqual(done.status, 0, str(done))
                    report = sandbox.read(f"report.{name}").decode()
                    self.assertNotIn("hunter2", report + done.out + done.err)
                    if name == "json":
                        self.assertIn(text, report)
                    os.unlink(sandbox.path(f"report.{name}"))


if __name__ == "__main__":
    main()
