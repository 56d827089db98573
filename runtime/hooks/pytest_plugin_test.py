"""The pytest plugin, in runs of pytest. Usage: pytest_plugin_test.py DEVSAN [unittest options]"""

import os
import re
import shutil
import subprocess
import sys
import tempfile
import textwrap
import unittest
import xml.etree.ElementTree as ElementTree

DEVSAN = os.path.abspath(sys.argv.pop(1))
PYTHON_FOLDER = os.path.join(os.path.dirname(os.path.dirname(DEVSAN)), "python")

HEAD = """\
import os, subprocess, sys, threading, unittest
import pytest
import torch

def wait(times=1):
    for _ in range(times):
        torch.ones(4, device="cuda:1").sum().item()

def refused():
    with pytest.raises(RuntimeError, match="same device"):
        torch.ones(4, device="cuda:1") + torch.ones(4)

limited = pytest.mark.devsan(max_host_sync=0)
"""


class Plugin(unittest.TestCase):
    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.folder = folder.name

    def write(self, name, text, head=HEAD):
        with open(os.path.join(self.folder, name), "w", encoding="utf-8") as file:
            file.write(head + textwrap.dedent(text))

    def run_pytest(self, *arguments, env=None, under=None, launcher=("-m", "pytest")):
        """Exit status; of each test its outcome in self.outcomes, and what is shown of it in self.texts."""
        report = os.path.join(self.folder, "junit.xml")
        environment = {name: value for name, value in os.environ.items()
                       if not name.startswith(("DEVSAN", "PYTEST")) and name != "LD_PRELOAD"}
        environment.update({"PYTHONPATH": PYTHON_FOLDER, "OMP_NUM_THREADS": "1", **(env or {})})
        environment = {name: value for name, value in environment.items() if value is not None}
        # Hypothesis's plugin, which torch's own tests bring, takes as long to import as all of pytest.
        command = [*(under or ()), sys.executable, *launcher, "-p", "no:hypothesispytest", f"--junitxml={report}",
                   "-o", "junit_family=xunit2", "-o", "junit_logging=all", *arguments]
        result = subprocess.run(command, cwd=self.folder, env=environment, capture_output=True, text=True, timeout=300)
        self.output = result.stdout + result.stderr
        self.outcomes = {}
        if os.path.exists(report):
            for case in ElementTree.parse(report).iter("testcase"):
                kinds = [child.tag for child in case if child.tag in ("failure", "error", "skipped")]
                name = case.get("name")
                self.outcomes[name] = ",".join([*filter(None, [self.outcomes.get(name)]), *kinds]) or "passed"
        # What the terminal shows of each test that failed.
        parts = re.split(r"^_{3,} (?:ERROR at \w+ of )?(?:\w+\.)?(\S+) _{3,}$", self.output, flags=re.MULTILINE)
        self.texts = dict(zip(parts[1::2], parts[2::2]))
        return result.returncode

    def assertOutcomes(self, **expected):
        self.assertEqual({name: self.outcomes.get(name) for name in expected}, expected, self.output)

    def test_findings_belong_to_the_test_that_ran(self):
        self.write("test_it.py", """
            @pytest.fixture(scope="module", autouse=True)
            def whole_module():
                wait()
                yield
                wait()

            @pytest.fixture(scope="class")
            def whole_class():
                wait()

            @pytest.fixture
            def own():
                wait()
                yield
                wait()

            @limited
            def test_clean():
                torch.ones(4, device="cuda:1").sum()

            @limited
            def test_waits():
                wait()

            @limited
            class TestShared:
                def test_first(self, whole_class): pass
                def test_second(self, whole_class): wait()
                @pytest.mark.devsan(max_host_sync=1)
                def test_closest_marker(self, whole_class): wait()

            @limited
            def test_set_up_is_not_limited(own):
                pass

            @pytest.mark.parametrize("times", [0, 1, 2])
            @pytest.mark.devsan(max_host_sync=1)
            def test_many(times):
                wait(times)

            def test_no_limit():
                wait()

            def test_refusal():
                refused()

            @pytest.mark.devsan(allow=["device-mismatch"])
            def test_refusal_meant():
                refused()

            @pytest.fixture
            def refusing():
                refused()

            def test_refusal_in_set_up(refusing):
                pass

            @pytest.fixture
            def refusing_late():
                yield
                refused()

            def test_refusal_in_teardown(refusing_late):
                pass

            def test_fails_itself():
                refused()
                assert 1 == 2

            def test_fails_alone():
                assert 1 == 2

            @limited
            def test_skips():
                wait()
                pytest.skip("no reason")

            @limited
            @pytest.mark.xfail
            def test_xfail():
                wait()

            @limited
            @pytest.mark.xfail(strict=True)
            def test_xfail_strict():
                wait()

            @limited
            @pytest.mark.xfail(raises=ValueError)
            def test_xfail_of_another_kind():
                wait()

            @limited
            @pytest.mark.xfail(strict=True)
            def test_xpass_strict():
                pass

            @limited
            def test_thread():
                thread = threading.Thread(target=wait)
                thread.start()
                thread.join()

            @limited
            def test_child_process():
                subprocess.run([sys.executable, "-c", "import test_it; test_it.wait()"], check=True)

            @limited
            def test_forks():
                child = os.fork()
                if child == 0:
                    os._exit(0)
                os.waitpid(child, 0)

            @limited
            def test_fork_and_wait():
                child = os.fork()
                if child == 0:
                    os._exit(0)
                os.waitpid(child, 0)
                wait()

            @limited
            class TestUnittest(unittest.TestCase):
                @classmethod
                def setUpClass(cls):
                    wait()
                def test_case(self): pass
                def test_case_waits(self): wait()

            @limited
            def test_last():
                pass
            """)
        status = self.run_pytest("--devsan-sim=2", "-p", "no:cacheprovider")
        self.assertEqual(status, 1, self.output)
        self.assertOutcomes(
            test_clean="passed", test_waits="failure", test_first="passed", test_second="failure",
            test_closest_marker="passed", test_set_up_is_not_limited="passed", test_no_limit="passed",
            test_refusal="failure", test_refusal_meant="passed", test_refusal_in_set_up="failure",
            test_refusal_in_teardown="error", test_fails_itself="failure", test_fails_alone="failure",
            test_skips="skipped", test_xfail="skipped", test_xfail_strict="skipped",
            test_xfail_of_another_kind="failure", test_xpass_strict="failure", test_thread="failure",
            test_child_process="failure", test_forks="passed", test_fork_and_wait="failure", test_case="passed",
            test_case_waits="failure", test_last="passed")
        self.assertOutcomes(**{"test_many[0]": "passed", "test_many[1]": "passed", "test_many[2]": "failure"})
        # The section has line, message and remedy; the reason is the failure's message.
        self.assertRegex(self.texts["test_waits"], r"-+ devsan -+\ntest_it.py:7: ")
        self.assertIn("the host waited for cuda:1 in aten::item, once", self.texts["test_waits"])
        self.assertIn("called from test_waits", self.texts["test_waits"])
        self.assertIn("remedy: ", self.texts["test_waits"])
        self.assertRegex(self.texts["test_waits"], r"devsan: device-host-sync happened once, allowed is none \(.*test_it.py:\d+\)")
        self.assertRegex(self.output, r"FAILED test_it.py::test_refusal - devsan: .*test_it.py:\d+: ")
        self.assertIn("happened 2 times, allowed is at most once", self.texts["test_many[2]"])
        self.assertIn("[device-mismatch]", self.texts["test_refusal"])
        self.assertIn("in the set-up of the test", self.texts["test_refusal_in_set_up"])
        # One that fails for another reason keeps it.
        self.assertIn("assert 1 == 2", self.texts["test_fails_itself"])
        self.assertIn("[device-mismatch]", self.texts["test_fails_itself"])
        self.assertNotIn("device-", self.texts["test_fails_alone"])
        self.assertNotIn("findings in the", self.output)

    def test_errors_outside_of_tests_fail_the_session(self):
        self.write("test_it.py", """
            refused()  # while the tests are collected

            @pytest.fixture(scope="session")
            def everywhere():
                refused()
                yield
                refused()

            @pytest.fixture(scope="module", params=[1, 2])
            def each(request):
                yield
                if request.param == 1:
                    refused()  # while test_second[2] is set up

            def test_first(everywhere): pass
            def test_second(everywhere, each): pass
            """)
        self.assertEqual(self.run_pytest("--devsan-sim=2"), 1, self.output)
        self.assertOutcomes(test_first="passed", **{"test_second[1]": "passed", "test_second[2]": "passed"})
        self.assertEqual(self.output.count("devsan: findings while tests were collected"), 1, self.output)
        self.assertIn("devsan: failed because of findings while tests were collected and findings in the ", self.output)
        self.assertEqual(self.output.count("devsan: findings in the session-scoped fixture 'everywhere'"), 2, self.output)
        self.assertEqual(self.output.count("devsan: findings in the module-scoped fixture 'each'"), 1, self.output)
        self.assertEqual(self.run_pytest("--devsan-sim=2", "--devsan-fail-on=none"), 0, self.output)

    def test_workers_of_xdist(self):
        self.write("conftest.py", "import torch\n", head="")
        for name in ("a", "b", "c"):
            self.write(f"test_{name}.py", f"""
                @limited
                def test_{name}_waits():
                    wait()

                @limited
                def test_{name}_clean():
                    pass

                def test_{name}_refused():
                    refused()
                """)
        self.write("test_warned.py", """
            def test_warned():
                wait(3)
            """)
        self.assertEqual(self.run_pytest("--devsan-sim=2", "-n", "2"), 1, self.output)
        for name in ("a", "b", "c"):
            self.assertOutcomes(**{f"test_{name}_waits": "failure", f"test_{name}_clean": "passed",
                                   f"test_{name}_refused": "failure"})
            self.assertIn(f"called from test_{name}_waits", self.texts[f"test_{name}_waits"])
        self.assertIn("6 failed, 4 passed", self.output)
        self.assertIn("devsan: note: 1 test has findings that fail none", self.output)

    def test_stopping_and_repeating(self):
        self.write("test_it.py", """
            def test_a(): pass
            @limited
            def test_b(): wait()
            def test_c(): pass
            """)
        self.assertEqual(self.run_pytest("--devsan-sim=2", "-x"), 1, self.output)
        self.assertOutcomes(test_a="passed", test_b="failure", test_c=None)
        self.assertNotIn("findings that fail none", self.output)
        self.assertEqual(self.run_pytest("--devsan-sim=2", "--lf"), 1, self.output)
        self.assertOutcomes(test_a=None, test_b="failure", test_c=None)

    def test_warnings_of_tests_that_pass_are_told(self):
        self.write("test_it.py", """
            def test_warned():
                wait(3)
            def test_clean():
                pass
            def test_failed():
                wait(3)
                assert 1 == 2
            """)
        self.assertEqual(self.run_pytest("--devsan-sim=2"), 1, self.output)
        self.assertOutcomes(test_warned="passed", test_failed="failure")
        self.assertIn("devsan: note: 1 test has findings that fail none: pytest -rP shows them", self.output)
        self.assertRegex(self.output, r"devsan: failed because of 1 test that failed without them: \d tests")
        self.assertNotIn("test_warned", self.texts)
        self.run_pytest("--devsan-sim=2", "-rP")
        self.assertIn("[device-host-sync]", self.texts["test_warned"])
        self.assertNotIn("devsan", self.texts.get("test_clean", ""))

    def test_what_is_wrong_is_one_error(self):
        self.write("test_it.py", "@pytest.mark.devsan(max_host_snyc=0)\ndef test_a(): pass\n", head="import pytest\n")
        self.assertEqual(self.run_pytest("--devsan"), 4, self.output)
        self.assertIn("unknown argument 'max_host_snyc' (did you mean 'max_host_sync'?); valid: allow, max_", self.output)
        self.assertIn("max_host_sync", self.output)
        self.assertNotIn("max_extra_context", self.output)  # known at the end of a run only
        self.assertEqual(self.run_pytest("--devsan", "-n", "2"), 1, self.output)
        self.assertOutcomes(test_a="error")
        self.assertIn("unknown argument 'max_host_snyc' (did you mean 'max_host_sync'?); valid: allow, max_", self.output)
        self.write("test_it.py", "@pytest.mark.devsan(allow=['host-sync'])\ndef test_a(): pass\n", head="import pytest\n")
        self.assertEqual(self.run_pytest("--devsan"), 4, self.output)
        self.assertIn("allow: unknown rule 'host-sync' (did you mean 'device-host-sync'?); valid: ", self.output)
        self.write("test_it.py", "@pytest.mark.devsan(max_host_sync=-1)\ndef test_a(): pass\n", head="import pytest\n")
        self.assertEqual(self.run_pytest("--devsan"), 4, self.output)
        self.assertIn("max_host_sync=-1: write a number from 0", self.output)
        self.assertEqual(self.run_pytest("--devsan-fail-on=never"), 4, self.output)
        self.assertIn("unknown rule or severity 'never'", self.output)
        self.assertEqual(self.run_pytest("--devsan-sim=0"), 2, self.output)
        self.assertIn("--sim=0: the number of simulated devices must be from 1 to 64", self.output)

    def test_without_libtorch(self):
        self.write("test_it.py", "def test_a(): pass\n", head="")
        self.assertEqual(self.run_pytest("--devsan"), 0, self.output)
        self.assertOutcomes(test_a="passed")
        self.assertIn("LibTorch was never loaded", self.output)

    def test_collection_errors_are_pytest_s(self):
        self.write("test_it.py", "import no_such_module\n", head="")
        self.assertEqual(self.run_pytest("--devsan"), 2, self.output)
        self.assertIn("No module named 'no_such_module'", self.output)

    def test_where_it_cannot_run(self):
        self.write("test_it.py", "def test_a(): pass\n", head="")
        # A copy of the package alone, with no command in reach.
        shutil.copytree(PYTHON_FOLDER, os.path.join(self.folder, "copy", "python"))
        env = {"PYTHONPATH": os.path.join(self.folder, "copy", "python"), "PATH": "/usr/bin:/bin"}
        self.assertEqual(self.run_pytest("--devsan", env=env), 4, self.output)
        self.assertIn("--devsan: no `devsan` command: neither in $DEVSAN, nor at ", self.output)
        # It comes back without the shim: an error, and not another start.
        self.write("lost.py", """\
            #!/bin/sh
            while [ "$1" != -- ]; do shift; done
            shift
            exec "$@"
            """, head="")
        lost = os.path.join(self.folder, "lost.py")
        os.chmod(lost, 0o755)
        with open(lost, encoding="utf-8") as file:
            text = file.read().lstrip()
        with open(lost, "w", encoding="utf-8") as file:
            file.write(text)
        self.assertEqual(self.run_pytest("--devsan", env={"DEVSAN": lost}), 4, self.output)
        self.assertIn("nothing of it is in this process", self.output)

    def test_ways_to_start(self):
        self.write("conftest.py", "import torch\nassert torch.cuda.device_count() == 2\n", head="")
        self.write("test_it.py", """
            @limited
            def test_a(): wait()
            """)
        script = os.path.join(os.path.dirname(sys.executable), "pytest")
        # Named beside its entry point, the plugin is one.
        named = ("--devsan-sim=2", "-p", "devsan.pytest_plugin")
        self.assertEqual(self.run_pytest(*named, launcher=(script,) if os.path.exists(script) else ("-m", "pytest")), 1, self.output)
        self.assertOutcomes(test_a="failure")
        under = [DEVSAN, "run", "--sim=2", "--fail-on=none", "--"]
        self.assertEqual(self.run_pytest("--devsan", under=under), 1, self.output)
        self.assertOutcomes(test_a="failure")
        self.assertEqual(self.run_pytest("--devsan-sim=3", under=under), 4, self.output)
        self.assertIn("pytest runs under `devsan run` with 2 simulated devices", self.output)
        self.assertEqual(self.run_pytest(*named, env={"PYTEST_DISABLE_PLUGIN_AUTOLOAD": "1"}), 1, self.output)
        self.assertOutcomes(test_a="failure")
        # Brought by a conftest.py, it comes after pytest has begun to capture the output.
        self.write("conftest.py", "import torch\npytest_plugins = ['devsan.pytest_plugin']\n", head="")
        self.assertEqual(self.run_pytest("--devsan-sim=2", env={"PYTEST_DISABLE_PLUGIN_AUTOLOAD": "1"}), 1, self.output)
        self.assertOutcomes(test_a="failure")
        # Without --devsan the plugin does nothing, under `devsan run` too, and the marker is known.
        self.write("conftest.py", "import torch\n", head="")
        self.assertEqual(self.run_pytest("--strict-markers", under=under), 0, self.output)

    def test_project_settings_hold(self):
        self.write(".devsan.toml", """\
            [run]
            fail-on = "device-host-sync"
            sim = 2
            [suppressions]
            device-mismatch = "function:test_refuses_*"
            """, head="")
        self.write("test_it.py", """
            def test_waits(): wait(3)
            def test_refuses_it(): refused()
            """)
        self.assertEqual(self.run_pytest("--devsan"), 1, self.output)
        self.assertOutcomes(test_waits="failure", test_refuses_it="passed")


if __name__ == "__main__":
    unittest.main(verbosity=2)
