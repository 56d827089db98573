"""Python programs under `devsan run`: their frames, scopes and start-up. Usage: python_test.py DEVSAN [unittest options]"""

import json
import os
import shutil
import subprocess
import sys
import tempfile
import textwrap
import unittest

DEVSAN = sys.argv.pop(1)


class PythonProgram(unittest.TestCase):
    def run_program(self, source, *, env=None, sim=True):
        self.directory = tempfile.TemporaryDirectory()
        self.addCleanup(self.directory.cleanup)
        self.script = os.path.join(self.directory.name, "program.py")
        report = os.path.join(self.directory.name, "report.json")
        with open(self.script, "w", encoding="utf-8") as file:
            file.write(textwrap.dedent(source))
        command = [DEVSAN, "run", "--fail-on=none", f"--report={report}"] + ["--sim=2"] * sim
        result = subprocess.run(
            command + ["--", sys.executable, self.script],
            env={**os.environ, **(env or {})}, capture_output=True, text=True, timeout=300)
        self.output = result.stdout + result.stderr
        self.assertEqual(result.returncode, 0, self.output)
        with open(report, encoding="utf-8") as file:
            return json.load(file)["findings"]

    def frames(self, finding):
        """The program's own frames, innermost first, as (function, line)."""
        return [(frame["function"], frame["line"]) for frame in finding["stack"]
                if os.path.basename(frame["file"]) == "program.py"]

    def test_frames_stand_in_call_order(self):
        findings = self.run_program("""\
            import torch

            class Model:
                def read(self, x):
                    return x.sum().item()

            def values(model, x):
                for _ in range(1):
                    yield model.read(x)

            def größe(x):
                return list(map(lambda m: next(values(m, x)), [Model()]))

            größe(torch.ones(3, device="cuda:1"))
            """)
        blocks = [finding for finding in findings if finding["rule"] == "device-host-sync"]
        self.assertEqual(len(blocks), 1, findings)
        self.assertEqual(
            self.frames(blocks[0]),
            [("Model.read", 5), ("values", 9), ("größe.<locals>.<lambda>", 12), ("größe", 12), ("<module>", 14)])

    def test_other_threads_have_their_own_frames(self):
        findings = self.run_program("""\
            import threading, torch

            def work():
                torch.ones(3, device="cuda:1").sum().item()

            thread = threading.Thread(target=work)
            thread.start()
            thread.join()
            """)
        self.assertEqual([self.frames(finding) for finding in findings], [[("work", 4)]])

    def test_scopes_and_steps(self):
        findings = self.run_program("""\
            import devsan, torch

            x = torch.ones(3, device="cuda:1")
            with devsan.allow_sync():
                x.sum().item()
            with devsan.expect_no_sync(), devsan.allow_transfer():
                with devsan.allow_sync():
                    x.sum().item()
                    x.cpu()
            devsan.step()
            """)
        self.assertEqual(findings, [])

    def test_the_package_does_nothing_without_the_runtime(self):
        path = os.path.join(os.path.dirname(DEVSAN), "..", "python")
        code = textwrap.dedent("""\
            import devsan
            with devsan.allow_sync(), devsan.expect_no_sync(raises=True): devsan.step()
            assert not devsan.is_active()
            try:
                with devsan.count_syncs(): raise SystemExit("counts nothing in silence")
            except RuntimeError as error:
                assert "devsan run -- CMD" in str(error)
            print('ok')
            """)
        result = subprocess.run([sys.executable, "-c", code], env={**os.environ, "PYTHONPATH": path},
                                capture_output=True, text=True, check=True)
        self.assertEqual(result.stdout, "ok\n")

    def test_the_users_sitecustomize_still_runs(self):
        with tempfile.TemporaryDirectory() as directory:
            with open(os.path.join(directory, "sitecustomize.py"), "w", encoding="utf-8") as file:
                file.write("import sys\nsys.customized = __name__\n")
            self.run_program("import sys\nprint('customized', sys.customized)\n", env={"PYTHONPATH": directory})
        self.assertIn("customized sitecustomize", self.output)

    def test_two_trees_on_the_path_do_not_recurse(self):
        ours = os.path.join(os.path.dirname(DEVSAN), "../python")
        with tempfile.TemporaryDirectory() as directory:
            other, user = os.path.join(directory, "other"), os.path.join(directory, "user")
            shutil.copytree(ours, other)
            os.mkdir(user)
            with open(os.path.join(user, "sitecustomize.py"), "w", encoding="utf-8") as file:
                file.write("import sys\nsys.customized = getattr(sys, 'customized', 0) + 1\n")
            for path in ([ours, other, user], [other, ours, user], [ours, other, ours, user]):
                with self.subTest(path=path):
                    result = subprocess.run([sys.executable, "-c", "import sys; print(sys.customized)"],
                                            env={**os.environ, "PYTHONPATH": os.pathsep.join(path)},
                                            capture_output=True, text=True, timeout=60)
                    self.assertEqual((result.stdout, result.stderr), ("1\n", ""))

    def test_wrong_options_end_the_run(self):
        with tempfile.TemporaryDirectory() as directory:
            script = os.path.join(directory, "program.py")
            with open(script, "w", encoding="utf-8") as file:
                file.write("print('begun')\nimport torch\n")
            for options, message in (("stcks=1", "unknown key 'stcks'"), ("origins=1", "invalid value '1'")):
                result = subprocess.run([DEVSAN, "run", "--", sys.executable, script], timeout=300,
                                        env={**os.environ, "DEVSAN_OPTIONS": options}, capture_output=True, text=True)
                self.assertEqual(result.returncode, 2, result.stderr)
                self.assertIn(message, result.stderr)
                self.assertIn("python_stacks", result.stderr)
                self.assertEqual(result.stdout, "", "nothing runs")


if __name__ == "__main__":
    unittest.main()
