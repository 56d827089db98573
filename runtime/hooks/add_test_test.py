"""devsan_add_test() of cmake/DevSanTest.cmake, in a project of its own. Usage: add_test_test.py DEVSAN [unittest options]"""

import os
import re
import subprocess
import sys
import tempfile
import unittest

DEVSAN = os.path.abspath(sys.argv.pop(1))
MODULE = os.path.join(os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__)))), "cmake",
                      "DevSanTest.cmake")

PROGRAM = """\
import sys
import torch
x = torch.ones(4, device="cuda:1")
for _ in range(int(sys.argv[1])):
    x.sum().item()
"""


class AddTest(unittest.TestCase):
    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.folder = folder.name

    def write(self, name, text):
        with open(os.path.join(self.folder, name), "w", encoding="utf-8") as file:
            file.write(text)

    def configure(self, text, status=0, languages="NONE", devsan=DEVSAN):
        self.write("CMakeLists.txt", f"cmake_minimum_required(VERSION 3.25)\nproject(p LANGUAGES {languages})\n"
                                     f'enable_testing()\ninclude("{MODULE}")\n{text}')
        result = subprocess.run(["cmake", "-S", ".", "-B", "build", f"-DDEVSAN_EXECUTABLE={devsan}"], cwd=self.folder,
                                capture_output=True, text=True, timeout=300)
        self.assertEqual(min(result.returncode, 1), status, result.stdout + result.stderr)
        return " ".join((result.stdout + result.stderr).split())

    def test_each_option_reaches_devsan_run(self):
        self.write("program.py", PROGRAM)
        self.write("program.c", "int main(int argc, char **argv) { (void)argv; return argc - 1; }\n")
        python = sys.executable
        self.configure(f"""
            devsan_add_test(NAME notes COMMAND "{python}" ${{CMAKE_SOURCE_DIR}}/program.py 1 SIM 2)
            devsan_add_test(NAME fails_on COMMAND "{python}" ${{CMAKE_SOURCE_DIR}}/program.py 3 SIM 2
                            FAIL_ON device-mismatch device-host-sync)
            devsan_add_test(NAME over COMMAND "{python}" ${{CMAKE_SOURCE_DIR}}/program.py 3 SIM 2 MAX device-host-sync=2)
            devsan_add_test(NAME within COMMAND "{python}" ${{CMAKE_SOURCE_DIR}}/program.py 3 SIM 2 MAX device-host-sync=3
                            REPORT within.junit.xml)
            devsan_add_test(NAME three COMMAND "{python}" -c
                            "import torch\\; assert torch.cuda.device_count() == 3" SIM 3)
            add_executable(program program.c)
            devsan_add_test(NAME target COMMAND program)
            devsan_add_test(NAME target_fails COMMAND program "an argument" WORKING_DIRECTORY /)
            """, languages="C")
        subprocess.run(["cmake", "--build", "build"], cwd=self.folder, check=True, capture_output=True, timeout=300)
        result = subprocess.run(["ctest", "--test-dir", "build", "-j1"], cwd=self.folder, capture_output=True, text=True,
                                timeout=600)
        outcomes = dict(re.findall(r"Test +#\d+: (\w+) \.+\**(Passed|Failed| +Passed)", result.stdout.replace(" ", " ")))
        outcomes = {name: outcome.strip() for name, outcome in outcomes.items()}
        self.assertEqual(outcomes, {"notes": "Passed", "fails_on": "Failed", "over": "Failed", "within": "Passed",
                                    "three": "Passed", "target": "Passed", "target_fails": "Failed"}, result.stdout)
        self.assertTrue(os.path.exists(os.path.join(self.folder, "build", "within.junit.xml")))

    def test_what_is_wrong_ends_the_configuration(self):
        for text, message in (("devsan_add_test(NAME a)", "write NAME <name> COMMAND <command>"),
                              ("devsan_add_test(NAME a COMMAND b SIM two)", "SIM two: the number of simulated devices"),
                              ("devsan_add_test(NAME a COMMAND b SIM)", "SIM needs a value"),
                              ("devsan_add_test(oops NAME a COMMAND b)", "unknown arguments 'oops'; valid: NAME")):
            self.assertIn(message, self.configure(text, status=1))


if __name__ == "__main__":
    unittest.main(verbosity=2)
