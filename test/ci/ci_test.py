"""What other programs read of this repository: action.yml, ci/, .pre-commit-hooks.yaml and the Dockerfile. Their commands are run
on a small project, with the settings as those programs give them.

usage: ci_test.py SOURCE BUILD [unittest options]
"""

import html
import json
import os
import re
import shutil
import subprocess
import sys
import tempfile
import unittest
from pathlib import Path

import yaml

SOURCE, BUILD = Path(sys.argv.pop(1)).resolve(), Path(sys.argv.pop(1)).resolve()
DEVSAN = BUILD / "bin/devsan"
TOOLS = os.pathsep.join([os.path.dirname(sys.executable), os.environ["PATH"]])
HAS_RUNTIME = (BUILD / "lib/libdevsan_sim.so").exists()
CODE = """\
#include <torch/torch.h>
torch::Tensor scale(torch::Tensor x, const torch::Tensor &weight) { return %s; }
"""
BUG, FIXED = CODE % "x.cuda() * weight", CODE % "x.to(weight.device()) * weight"
PROGRAM = """\
import torch
x = torch.ones(4, device="cuda:1")
for _ in range(3):
    x.sum().item()
"""


def needs(tool):
    return unittest.skipUnless(shutil.which(tool, path=TOOLS), f"no {tool}: script/bootstrap installs it")


class Project(unittest.TestCase):
    def setUp(self):
        folder = tempfile.TemporaryDirectory(prefix="devsan-ci-")
        self.addCleanup(folder.cleanup)
        self.folder = Path(folder.name).resolve()
        self.project = self.folder / "project"
        (self.project / "src").mkdir(parents=True)
        self.source = self.project / "src/scale.cpp"
        self.source.write_text(BUG)
        (self.project / "program.py").write_text(PROGRAM)
        (self.project / ".devsan.toml").write_text(f'[check]\nextra-flags = ["-isystem", "{SOURCE}/analyzer/testing/mock"]\n')
        (self.folder / "bin").mkdir()
        (self.folder / "bin/devsan").symlink_to(DEVSAN)
        self.environment = {name: value for name, value in os.environ.items() if not name.startswith(("DEVSAN", "GITHUB_", "CLICOLOR"))}
        self.environment |= {"XDG_CACHE_HOME": str(self.folder / "cache"), "HOME": str(self.folder), "PATH": TOOLS}

    def run_command(self, *command, status=0, environment=None):
        result = subprocess.run([str(word) for word in command], cwd=self.project, env=environment or self.environment, text=True,
                                stdout=subprocess.PIPE, stderr=subprocess.STDOUT, timeout=300)
        self.assertEqual(result.returncode, status, result.stdout)
        return result.stdout

    def judge(self, schema, *files):
        self.run_command("check-jsonschema", "--builtin-schema", schema, *files)


class Action(Project):
    """The steps of action.yml that run commands, as GitHub runs them."""

    @classmethod
    def setUpClass(cls):
        cls.action = yaml.safe_load((SOURCE / "action.yml").read_text())

    def act(self, status=0, path=None, **inputs):
        inputs = {name.replace("_", "-"): value for name, value in inputs.items()}
        self.assertLessEqual(inputs.keys(), self.action["inputs"].keys())
        values = {f"inputs.{name}": inputs.get(name, declared["default"]) for name, declared in self.action["inputs"].items()}
        values |= {"runner.temp": str(self.folder / "temp")}
        output, summary = self.folder / "output", self.folder / "summary"
        for file in (output, summary):
            file.write_text("")
        environment = {**self.environment, "GITHUB_ACTION_PATH": str(SOURCE), "GITHUB_OUTPUT": str(output), "GITHUB_STEP_SUMMARY": str(summary),
                       "PATH": path or f"{self.folder}/bin:{TOOLS}"}
        steps = [step for step in self.action["runs"]["steps"] if "run" in step]
        self.assertEqual(len(steps), 1)
        for name, value in steps[0]["env"].items():
            environment[name] = re.sub(r"\$\{\{ *(\S+) *\}\}", lambda match: values[match[1]], value)
        script = self.folder / "step.sh"
        script.write_text(steps[0]["run"])
        text = self.run_command("bash", "--noprofile", "--norc", "-eo", "pipefail", script, status=status, environment=environment)
        self.outputs = dict(line.split("=", 1) for line in output.read_text().splitlines())
        self.summary = html.unescape(summary.read_text())
        return text

    def test_no_input_stands_in_a_command(self):
        for step in self.action["runs"]["steps"]:
            self.assertNotIn("${{", step.get("run", ""))

    @needs("check-jsonschema")
    def test_schema(self):
        self.judge("vendor.github-actions", SOURCE / "action.yml")

    @unittest.skipUnless(HAS_RUNTIME, "this build has no runtime")
    def test_sources_and_a_run_are_judged_together(self):
        text = self.act(status=3, run=f"{sys.executable} program.py", paths="src\n", fail_on="warning")
        self.assertIn("::warning file=src/scale.cpp,line=2,", text)
        self.assertIn("::warning file=program.py,line=4,", text)
        self.assertIn("program.py:4", self.summary)
        reports = Path(self.outputs["reports"])
        self.assertEqual(reports, self.folder / "temp/devsan-reports")
        rules = {finding["rule"] for finding in json.loads((reports / "devsan.json").read_text())["findings"]}
        self.assertEqual(rules, {"device-bare-cuda", "device-host-sync"})
        self.assertIn("device-bare-cuda", (reports / "devsan.sarif").read_text())
        self.assertIn("<failure", (reports / "devsan.junit.xml").read_text())
        self.act(run=f"{sys.executable} program.py")
        self.act(run=f"{sys.executable} program.py; exit 7", fail_on="none", status=7)

    def test_inputs_are_options_of_the_commands(self):
        self.assertIn("devsan report: failed because of 1 warning: ", self.act(status=3, fail_on="warning"))
        verdict = json.loads((Path(self.outputs["reports"]) / "devsan.json").read_text())["summary"]["verdict"]
        self.assertEqual(verdict, {"outcome": "failed", "because": "1 warning"})
        self.assertIn("devsan report: passed: ", self.act())
        self.act(checks="device-*,-device-bare-cuda")
        self.act(status=3, checks="device-bare-cuda", fail_on="device-bare-cuda", command=str(DEVSAN), path=TOOLS)
        reports = self.outputs["reports"]
        self.run_command(DEVSAN, "report", "--fail-on=none", "--baseline=known.json", "--update-baseline", f"{reports}/devsan.json")
        self.assertIn("1 known", self.act(baseline="known.json"))
        self.source.write_text(FIXED)
        self.assertIn("0 findings", self.act())
        self.assertIn("no compile_commands.json there", self.act(status=2, build_dir="build"))
        self.assertIn("set DEVSAN_CI_PATHS", self.act(status=2, paths=""))
        self.assertIn("unknown rule or severity 'bad'", self.act(status=2, fail_on="bad"))
        self.act(status=2, diff="no-such-revision")

    def test_the_project_is_built_before(self):
        self.source.rename(self.folder / "scale.cpp")
        self.assertIn("src/scale.cpp", self.act(status=3, fail_on="warning", build=f"cp {self.folder}/scale.cpp src"))
        self.assertNotIn("scale.cpp", self.act(status=7, build="exit 7"))

    def test_inputs_are_no_code(self):
        pwned = self.folder / "pwned"
        for text in (f"$(touch {pwned})", f"`touch {pwned}`", f"; touch {pwned} #", f'"; touch {pwned} #', f"'; touch {pwned} #",
                     f"\n\n| touch {pwned}", f"-o{pwned}", f"--suppressions={pwned}"):
            for name in ("paths", "build_dir", "checks", "diff", "baseline", "fail_on", "sim"):
                with self.subTest(input=name, text=text):
                    inputs = {name: text} if name != "sim" else {"sim": text, "run": "true", "paths": ""}
                    self.act(status=2, **inputs)
                    self.assertFalse(pwned.exists())


class Gitlab(Project):
    @needs("check-jsonschema")
    def test_schema(self):
        self.run_command("check-jsonschema", "--builtin-schema", "vendor.gitlab-ci", "--data-transform", "gitlab-ci", SOURCE / "ci/gitlab.yml")

    def test_the_job(self):
        template = yaml.safe_load((SOURCE / "ci/gitlab.yml").read_text())
        job = template["devsan"]
        (self.project / ".devsan").symlink_to(SOURCE)
        script = self.folder / "job.sh"
        script.write_text("\n".join(["set -eo pipefail", *job["script"]]))
        environment = {**self.environment, **template["variables"], "DEVSAN_CI_FAIL_ON": "warning", "PATH": f"{self.folder}/bin:{TOOLS}"}
        text = self.run_command("bash", script, status=3, environment=environment)
        self.assertIn("src/scale.cpp:2:", text)
        for path in [job["artifacts"]["reports"]["junit"], *job["artifacts"]["paths"]]:
            self.assertTrue((self.project / path).exists(), path)
        self.source.write_text(FIXED)
        self.assertIn("no findings", self.run_command("bash", script, environment=environment))
        (self.project / ".devsan").unlink()
        environment["PATH"] = "/usr/bin:/bin"
        self.assertIn("set the variable DEVSAN_REPOSITORY", self.run_command("bash", script, status=2, environment=environment))
        environment |= {"DEVSAN_REPOSITORY": str(self.folder), "DEVSAN_REVISION": "main"}
        self.assertIn("set the variable DEVSAN_REVISION", self.run_command("bash", script, status=2, environment=environment))


class ProblemMatchers(Project):
    def matchers(self):
        github = json.loads((SOURCE / "ci/github-problem-matcher.json").read_text())["problemMatcher"]
        tasks = json.loads((SOURCE / "ci/vscode-tasks.json").read_text())["tasks"]
        return [pattern for matcher in github for pattern in matcher["pattern"]] + [task["problemMatcher"]["pattern"] for task in tasks]

    def test_they_read_what_devsan_writes(self):
        self.source.write_text(BUG + "double total(const std::vector<torch::Tensor> &parts) {\n  double sum = 0;\n"
                               "  for (const torch::Tensor &part : parts)\n    sum += part.item<double>();\n  return sum;\n}\n")
        text = self.run_command(DEVSAN, "check", "src", status=1)
        self.assertEqual(len(self.matchers()), 3)
        for pattern in self.matchers():
            found = []
            for line in text.splitlines():
                if match := re.search(pattern["regexp"], line):
                    found.append({name: match[pattern[name]] for name in ("file", "line", "column", "severity", "message", "code")})
            self.assertEqual([(entry["file"], entry["line"], entry["severity"], entry["code"]) for entry in found],
                             [("src/scale.cpp", "2", "warning", "device-bare-cuda"), ("src/scale.cpp", "6", "warning", "device-host-sync")], text)
            self.assertTrue(found[0]["message"].startswith("'x' goes to the current cuda device"))
            self.assertEqual(self.source.read_text().splitlines()[1][int(found[0]["column"]) - 1:][:4], "cuda")
            # What devsan run knows of Python has no columns.
            match = re.search(pattern["regexp"], "train.py:41: error: a [b] message: c, 2 times [device-mismatch]")
            self.assertEqual((match[pattern["file"]], match[pattern["message"]]), ("train.py", "a [b] message: c, 2 times"))
            self.assertIsNone(re.search(pattern["regexp"], "main.py:2: note: called from step"))

    def test_tasks_run(self):
        for task in json.loads((SOURCE / "ci/vscode-tasks.json").read_text())["tasks"]:
            words = [word.replace("${workspaceFolder}", str(self.project)).replace("${file}", str(self.source)) for word in task["args"]]
            self.assertIn("src/scale.cpp:2:", self.run_command(self.folder / "bin" / task["command"], *words, status=1))


class PreCommit(Project):
    @needs("pre-commit")
    @unittest.skipUnless(shutil.which("git"), "no git")
    def test_hooks(self):
        self.run_command("pre-commit", "validate-manifest", SOURCE / ".pre-commit-hooks.yaml")
        self.environment |= {f"GIT_{who}_{what}": "a@b" for who in ("AUTHOR", "COMMITTER") for what in ("NAME", "EMAIL")}
        self.environment |= {"GIT_CONFIG_GLOBAL": "/dev/null", "PATH": f"{self.folder}/bin:{TOOLS}", "PRE_COMMIT_COLOR": "never"}
        hooks = self.folder / "hooks"
        hooks.mkdir()
        shutil.copy(SOURCE / ".pre-commit-hooks.yaml", hooks)
        for folder in (hooks, self.project):
            self.run_command("git", "init", "-q", folder)
            self.run_command("git", "-C", folder, "add", "-A")
            self.run_command("git", "-C", folder, "commit", "-qm", "first")
        revision = self.run_command("git", "-C", hooks, "rev-parse", "HEAD").strip()

        def hook(name, status):
            (self.project / ".pre-commit-config.yaml").write_text(
                f"repos:\n- repo: {hooks}\n  rev: {revision}\n  hooks: [{{id: {name}}}]\n")
            self.run_command("git", "add", "-A")
            return self.run_command("pre-commit", "run", "--all-files", status=status)

        text = hook("devsan-check", status=1)
        self.assertIn("devsan check....", text)
        self.assertIn("src/scale.cpp:2:", text)
        self.assertIn("[device-bare-cuda]", text)
        self.assertIn("files were modified by this hook", hook("devsan-check-fix", status=1))
        self.assertEqual(self.source.read_text(), FIXED)
        self.assertIn("Passed", hook("devsan-check", status=0))
        self.run_command("git", "rm", "-qf", "src/scale.cpp")
        self.assertIn("no files to check", hook("devsan-check", status=0))


class Image(Project):
    def lines(self):
        return re.sub(r"\\\n", " ", (SOURCE / "Dockerfile").read_text()).splitlines()

    @needs("hadolint")
    def test_hadolint(self):
        self.run_command("hadolint", SOURCE / "Dockerfile")

    def test_what_is_copied_is_there(self):
        copied = [line.split()[1:] for line in self.lines() if line.startswith("COPY")]
        self.assertEqual(len(copied), 2)
        for *names, _ in copied:
            for name in names:
                self.assertTrue((SOURCE / name).exists(), name)
        for name in re.findall(r"(?<![\w./])script/[\w-]+", "\n".join(self.lines())):
            self.assertTrue(os.access(SOURCE / name, os.X_OK), name)

    def test_it_installs_the_torch_that_devsan_is_built_for(self):
        wanted = re.search(r'"torch==([0-9.]+)"', (SOURCE / "pyproject.toml").read_text())[1]
        [pins] = set(re.findall(r"--require-hashes -r /pins/(\S+)", "\n".join(self.lines())))
        self.assertIn(f"\ntorch=={wanted}+cpu ", (SOURCE / "script/lib/pins" / pins).read_text())


class Scripts(Project):
    @needs("shellcheck")
    def test_shellcheck(self):
        self.run_command("shellcheck", SOURCE / "script/ci")

    def test_help_lists_the_variables_that_are_read(self):
        text = self.run_command(SOURCE / "script/ci", "--help")
        code = "\n".join(line for line in (SOURCE / "script/ci").read_text().splitlines() if not line.startswith("#"))
        self.assertEqual(set(re.findall(r"\bDEVSAN_CI_[A-Z_]+", text)), set(re.findall(r"\bDEVSAN_CI_[A-Z_]+", code)))
        self.assertIn("unknown argument --bad", self.run_command(SOURCE / "script/ci", "--bad", status=2))

    def test_wrong_options_are_refused_before_anything_is_done(self):
        scripts = [path for path in sorted((SOURCE / "script").iterdir()) if path.is_file()]
        self.assertGreaterEqual(len(scripts), 10)
        for script, *arguments in [(script, "--no-such-option", "x") for script in scripts] + [
            (SOURCE / "script/test-wheel", "--wheel", "/no/such.whl"),
            (SOURCE / "script/test-wheel", "--from-build", "/no/such"),
            (SOURCE / "script/test-cuda-build", "--build", "/no/such"),
            (SOURCE / "script/test-cuda-build", "--pytorch", "/no/such"),
        ]:
            with self.subTest(script=script.name, arguments=arguments):
                result = subprocess.run([script, *arguments], cwd=self.folder, capture_output=True, text=True, timeout=60)
                self.assertIn(result.returncode, (1, 2), result.stderr)
                self.assertIn(arguments[0] if arguments[1] == "x" else arguments[1], result.stderr)
                self.assertRegex(result.stderr, "remedy|usage")


if __name__ == "__main__":
    unittest.main()
