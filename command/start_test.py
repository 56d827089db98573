"""What one meets first: `devsan`, `devsan init`, completions, the manual page. Usage: start_test.py DEVSAN [unittest options]"""

import os
import re
import shutil
import subprocess
import sys
import tempfile
import unittest

DEVSAN = os.path.abspath(sys.argv.pop(1))
SOURCE = os.path.abspath(os.path.join(os.path.dirname(__file__), ".."))


class Start(unittest.TestCase):
    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.folder = folder.name

    def devsan(self, *arguments, status=0, folder=""):
        result = subprocess.run([DEVSAN, *arguments], cwd=os.path.join(self.folder, folder), capture_output=True,
                                text=True, timeout=60)
        self.assertEqual(result.returncode, status, result.stdout + result.stderr)
        return result.stdout + result.stderr

    def make(self, *names):
        for name in names:
            path = os.path.join(self.folder, name)
            os.makedirs(os.path.dirname(path), exist_ok=True)
            if not name.endswith("/"):
                with open(path, "w", encoding="utf-8") as file:
                    file.write("# mine\n")

    def text(self, name):
        with open(os.path.join(self.folder, name), encoding="utf-8") as file:
            return file.read()

    def has(self, name):
        return os.path.exists(os.path.join(self.folder, name))

    def test_help_and_what_is_no_command(self):
        self.assertIn("Subcommands:", self.devsan("help"))
        self.assertIn("--sim", self.devsan("help", "run"))
        self.assertIn("unknown command 'chekc' (did you mean 'check'?); valid: check, run, ", self.devsan("chekc", status=2))
        self.assertIn("--smi=2 (did you mean '--sim'?); see devsan run --help",
                      self.devsan("run", "--smi=2", "--", "true", status=2))
        self.assertIn("--mrege (did you mean '--merge'?); see devsan report --help",
                      self.devsan("report", "--mrege", status=2))
        self.assertIn("unknown rule 'host-sinc' (did you mean 'device-host-sync'?); valid: ",
                      self.devsan("explain", "host-sinc", status=2))
        self.assertIn("--sim=2 stands where a command should", self.devsan("--sim=2", "--", "true", status=2))

    def test_explain_says_where_a_rule_looks(self):
        for rule, found in (("device-host-sync", "static, runtime"), ("device-stream-race", "runtime with --sim"), ("bare-cuda", "static, runtime")):
            self.assertIn(f"; found {found})\n", self.devsan("explain", rule))

    def test_help_fits_the_terminal(self):
        for command in ("run", "check", "report", "prepare"):
            text = self.devsan(command, "--help")
            self.assertLessEqual(max(map(len, text.splitlines())), 80, text)

    def test_the_folder_for_cmake_is_that_of_an_installed_tree(self):
        self.assertIn("lib/cmake/DevSan is not there: this DevSan is not installed", self.devsan("--cmake-dir", status=2))

    # init

    def test_init_writes_what_the_repository_has(self):
        self.make(".git/HEAD", ".github/", "CMakeLists.txt", "sub/")
        output = self.devsan("init", folder="sub")
        self.assertIn("wrote ", output)
        self.assertIn("[run]", self.text(".devsan.toml"))
        workflow = self.text(".github/workflows/devsan.yml")
        self.assertIn("      DEVSAN_CI_BUILD_DIR: 'build'\n      DEVSAN_CI_RUN: 'ctest --test-dir build'\n", workflow)
        self.assertNotIn("pytest", workflow)
        self.assertFalse(self.has("sub/.devsan.toml"))

    def test_init_for_gitlab(self):
        self.make(".git/HEAD", ".gitlab-ci.yml", "pyproject.toml")
        self.assertIn(".gitlab/devsan.yml", self.devsan("init"))
        self.assertIn("-m pytest --devsan'\n", self.text(".gitlab/devsan.yml"))
        self.assertEqual(self.text(".gitlab-ci.yml"), "# mine\n")

    def test_init_installs_a_package_as_it_is_built(self):
        isolated, together = "pip install -e .", "pip install --no-build-isolation -e ."
        for files, expected in (({"setup.py": "import torch\n"}, together), ({"setup.py": "", "pyproject.toml": "[build-system]\n"}, together),
                                ({"pyproject.toml": "[project]\nname = 'a'\n"}, isolated), ({"pyproject.toml": "[build-system]\n"}, isolated),
                                ({"pyproject.toml": "[tool.black]\n# [project]\n"}, None), ({"pyproject.toml": "[project"}, None), ({"setup.cfg": "[flake8]\n"}, None)):
            with self.subTest(files):
                for name, text in files.items():
                    with open(os.path.join(self.folder, name), "w", encoding="utf-8") as file:
                        file.write(text)
                self.devsan("init", "--ci=shell", "--force")
                lines = self.text("ci/devsan.sh").splitlines()
                self.assertEqual([line for line in lines if "-e ." in line], [expected] if expected else [])
                if expected:
                    # After torch, which its setup.py may import.
                    self.assertLess(lines.index('pip install "$TORCH_REQUIREMENT" pytest'), lines.index(expected))
                for name in files:
                    os.remove(os.path.join(self.folder, name))

    def test_a_job_of_cmake_says_that_torch_needs_a_toolkit(self):
        self.make("CMakeLists.txt", "bin/")
        self.devsan("init", "--ci=shell")
        with open(os.path.join(self.folder, "torch.py"), "w", encoding="utf-8") as module:
            module.write("import os\nclass version: cuda = os.getenv('OF_CUDA')\nclass utils: cmake_prefix_path = '/torch'\n")
        # The lines after what is installed.
        script = "set -eu\n" + re.search(r'^pip install "\$TORCH_REQUIREMENT"\n(.*)', self.text("ci/devsan.sh"), re.M | re.S)[1]
        for name, text in (("devsan-ci", "#!/bin/sh\necho $CMAKE_PREFIX_PATH\n"), ("python", f'#!/bin/sh\nexec "{sys.executable}" "$@"\n')):
            with open(os.path.join(self.folder, "bin", name), "w", encoding="utf-8") as file:
                file.write(text)
            os.chmod(file.name, 0o755)

        def job(**variables):
            return subprocess.run(["/bin/sh", "-c", script], cwd=self.folder, capture_output=True, text=True, timeout=60,
                                  env={"PATH": f"{self.folder}/bin:/usr/bin:/bin", "PYTHONPATH": self.folder, **variables})

        self.assertEqual(job().stdout, "/torch\n")
        self.assertEqual(job(OF_CUDA="13.0", CUDA_HOME="/cuda").stdout, "/torch\n")
        if not shutil.which("nvcc", path="/usr/bin:/bin") and not os.path.exists("/usr/local/cuda"):
            failed = job(OF_CUDA="13.0")
            self.assertEqual((failed.returncode, failed.stdout), (1, ""))
            self.assertIn("devsan: remedy: let PIP_EXTRA_INDEX_URL name", failed.stderr)

    def test_init_by_option(self):
        self.make(".git/HEAD", ".github/")
        self.devsan("init", "--ci=none")
        self.assertFalse(self.has(".github/workflows"))
        with open(os.path.join(self.folder, ".devsan.toml"), "a", encoding="utf-8") as file:
            file.write("# mine\n")
        self.assertIn(".devsan.toml is there already, and stays", self.devsan("init", "--ci=gitlab"))
        self.assertTrue(self.text(".devsan.toml").endswith("# mine\n"))
        self.assertIn(".gitlab/devsan.yml is there already", self.devsan("init", "--ci=gitlab", status=2))
        self.assertTrue(self.has(".gitlab/devsan.yml"))
        self.assertIn("--ci=jenkins is unknown; valid: github, gitlab, shell, none", self.devsan("init", "--ci=jenkins", status=2))

    def test_init_without_a_sign_of_ci(self):
        self.assertIn("--ci=github, --ci=gitlab or --ci=shell", self.devsan("init"))
        self.assertEqual(os.listdir(self.folder), [".devsan.toml"])

    def test_init_writes_a_guide_for_coding_agents(self):
        self.make(".git/HEAD")
        self.assertIn("AGENTS.md", self.devsan("init", "--agents"))
        with open(os.path.join(SOURCE, "docs/agents.md"), encoding="utf-8") as page:
            self.assertEqual(self.text("AGENTS.md"), page.read())
        self.assertIn("AGENTS.md is there already", self.devsan("init", "--agents", status=2))
        self.assertIn(".devsan.toml is there already, and stays", self.devsan("init", "--agents", "docs/devsan.md"))
        self.assertEqual(self.text("docs/devsan.md"), self.text("AGENTS.md"))
        for outside in ("../AGENTS.md", "/tmp/AGENTS.md"):
            self.assertIn("lies outside", self.devsan("init", "--agents", outside, status=2))

    def test_init_never_overwrites(self):
        self.make(".git/HEAD", ".github/workflows/devsan.yml")
        output = self.devsan("init", status=2)
        self.assertIn(".github/workflows/devsan.yml is there already, nothing was written; --force replaces it", output)
        self.assertFalse(self.has(".devsan.toml"))
        self.devsan("init", "--force")
        self.assertNotEqual(self.text(".github/workflows/devsan.yml"), "# mine\n")

    def test_what_init_writes_is_valid(self):
        import yaml

        self.make(".git/HEAD", "CMakeLists.txt", "setup.py")
        # What they set is what script/ci takes; that they work is tested where there is a wheel (test/install/init_ci.py).
        known = subprocess.run([os.path.join(SOURCE, "script/ci"), "--help"], check=True, capture_output=True, text=True).stdout
        for ci, name in (("github", ".github/workflows/devsan.yml"), ("gitlab", ".gitlab/devsan.yml")):
            self.devsan("init", f"--ci={ci}", "--force")
            job = yaml.safe_load(self.text(name))
            job = job.get("jobs", job)["devsan"]
            variables = job.get("env") or job["variables"]
            for variable in variables.keys() - {"DEVSAN_REQUIREMENT", "TORCH_REQUIREMENT"}:
                self.assertRegex(known, rf"\b{variable} ")
            self.assertRegex(variables["DEVSAN_REQUIREMENT"], r"^devsan==[\d.]+$")
            for command in (*variables.values(), *(step["run"] for step in job.get("steps", ()) if "run" in step), *job.get("script", ())):
                subprocess.run(["sh", "-n", "-c", command], check=True)
        self.devsan("init", "--ci=shell", "--force")
        subprocess.run(["sh", "-n", os.path.join(self.folder, "ci/devsan.sh")], check=True)
        self.assertTrue(os.access(os.path.join(self.folder, "ci/devsan.sh"), os.X_OK))
        self.devsan("run", "--", "true")
        # So are the settings that are commented out.
        settings = re.sub(r"^#(?=[a-z-]+ = )", "", self.text(".devsan.toml"), flags=re.MULTILINE)
        self.assertNotEqual(settings, self.text(".devsan.toml"))
        with open(os.path.join(self.folder, ".devsan.toml"), "w", encoding="utf-8") as file:
            file.write(settings)
        self.devsan("run", "--baseline=b.json", "--update-baseline", "--", "true")

    def test_devsan_alone_says_what_comes_next(self):
        self.assertIn("`devsan init` writes one", self.devsan())
        self.devsan("init")
        self.assertNotIn("`devsan init` writes one", self.devsan())

    # completions

    def options_of(self, command):
        """As --help has them."""
        lines = re.findall(r"^ +(-.*)", self.devsan(command, "--help"), re.MULTILINE)
        return {name for line in lines for name in re.findall(r"(?:^|,)(--?[a-z][a-z-]*)", line)}

    def bash(self, *words):
        script = (f"source <({DEVSAN} completion bash); COMP_WORDS=({' '.join(map(repr, words))}); "
                  f"COMP_CWORD={len(words) - 1}; _devsan; printf '%s\\n' \"${{COMPREPLY[@]}}\"")
        path = os.path.dirname(DEVSAN) + os.pathsep + os.environ["PATH"]
        result = subprocess.run(["bash", "-c", script], capture_output=True, text=True, cwd=self.folder, timeout=60,
                                env={**os.environ, "PATH": path})
        self.assertEqual(result.stderr, "")
        return set(result.stdout.split())

    def test_bash(self):
        self.assertLessEqual({"run", "check", "report", "init"}, self.bash("devsan", ""))
        self.assertEqual(self.bash("devsan", "re"), {"report"})
        self.assertEqual(self.bash("devsan", "run", "--sim-"), {"--sim-force", "--sim-memory", "--sim-protect"})
        self.assertEqual(self.bash("devsan", "run", "--sim-protect", "=", "o"), {"on", "off"})
        self.assertEqual(self.bash("devsan", "report", "--format", "j"), {"json", "junit"})
        self.assertEqual(self.bash("devsan", "explain", "device-host-s"), {"device-host-sync"})
        self.assertEqual(self.bash("devsan", "check", "--format", "j"), {"json", "junit"})
        self.assertEqual(self.bash("devsan", "check", "-"), self.options_of("check") | {"-h", "--help"})
        self.assertEqual(self.bash("devsan", "completion", "f"), {"fish"})
        self.make("train.py", "other.txt")
        self.assertEqual(self.bash("devsan", "run", "--", "tr"), {"train.py"})
        self.assertEqual(self.bash("devsan", "report", "tr"), {"train.py"})
        for command in ("run", "check", "report", "init"):
            missing = {name for name in self.options_of(command) if name.startswith("--")} - self.bash("devsan", command, "--")
            self.assertEqual(missing, set())

    def test_other_shells(self):
        for shell in ("zsh", "fish"):
            text = self.devsan("completion", shell)
            for name in ("sim-protect", "update-baseline", "compare"):
                self.assertIn(name, text)
            if shutil.which(shell):
                subprocess.run([shell, "-n"], input=text, text=True, check=True)
        self.assertIn("no completion for 'tcsh'; valid: bash, zsh, fish", self.devsan("completion", "tcsh", status=2))

    # the manual page

    @unittest.skipUnless(shutil.which("groff"), "needs groff")
    def test_manual_page(self):
        page = self.devsan("man")
        result = subprocess.run(["groff", "-man", "-Tascii", "-ww", "-P-cbou"], input=page, capture_output=True, text=True)
        self.assertEqual((result.returncode, result.stderr), (0, ""))
        for command in ("run", "check", "report", "init", "doctor"):
            for option in self.options_of(command):
                self.assertIn(option, result.stdout)
        self.assertIn("DEVSAN_OPTIONS=key=value", result.stdout)

    @unittest.skipUnless(os.path.exists(os.path.join(os.path.dirname(DEVSAN), "../libexec/devsan-check")), "no devsan check")
    def test_demo(self):
        # Whether there is a PyTorch is not found out by importing it, which may take longer than anyone waits.
        python = os.path.join(self.folder, "python")
        with open(python, "w", encoding="utf-8") as file:
            file.write(f'#!/bin/sh\ncase $* in *"import torch"*) exit 9 ;; esac\nexec {sys.executable} "$@"\n')
        os.chmod(python, 0o755)
        environment = {**os.environ, "DEVSAN_PYTHON": python}
        result = subprocess.run([DEVSAN, "demo", "here"], cwd=self.folder, env=environment, capture_output=True, text=True, timeout=60)
        self.assertEqual(result.returncode, 0, result.stdout + result.stderr)
        self.assertIn("scale.cpp:4:12: warning: ", result.stdout)
        self.assertIn("train.py:12: warning: the host waited for cuda:1", result.stderr)
        self.assertIn("here is there already; remove it", self.devsan("demo", "here", status=2))
        # What its text shows can be typed.
        self.assertIn("scale.cpp:4:12", self.devsan("check", "--torch=none", "scale.cpp", "--", "-Iheaders", status=1, folder="here"))

    @unittest.skipUnless(os.path.exists("/bin/false"), "no /bin/false")
    def test_demo_without_torch(self):
        result = subprocess.run([DEVSAN, "demo"], cwd=self.folder, env={**os.environ, "DEVSAN_PYTHON": "/bin/false"}, capture_output=True, text=True, timeout=60)
        self.assertEqual(result.returncode, 2, result.stdout + result.stderr)
        self.assertIn("/bin/false has no PyTorch to run train.py with; pip install torch", result.stderr)

    def test_the_docs_list_the_options_that_there_are(self):
        for command, page in (("check", "check.md"), ("run", "runtime.md"), ("report", "reports.md")):
            options = re.findall(r"^ +(-[-\w,]+)", self.devsan(command, "--help"), re.M)
            with open(os.path.join(SOURCE, "docs", page), encoding="utf-8") as file:
                section = re.search(r"^##+ Options\n(.*?)^##", file.read(), re.M | re.S).group(1)
            listed = re.findall(r"^\| `(-[-\w]+)", section, re.M)
            self.assertCountEqual(listed, [option for option in options if option not in ("-h,--help", "--version")], page)


if __name__ == "__main__":
    unittest.main(verbosity=2)
