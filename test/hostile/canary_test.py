"""What the sandbox says of commands that break a guarantee, and of one that keeps them all."""

import sys

from canary import Canary, main


class Sandboxes(Canary):
    def run_python(self, code, **options):
        sandbox = self.sandbox()
        sandbox.trap("repo/tool")
        return sandbox.run(command=[sys.executable, "-c", code], **options)

    def test_one_that_keeps_them(self):
        done = self.run_python("print('told')\nopen('named', 'w')\nexit(3)", writes=["repo/named"])
        self.assertSays(done, 3, "told")

    def test_those_that_break_one(self):
        for code, what in (("import os; os.system('./tool')", "was executed"),
                           ("open('../outside/kept.txt', 'a').write('x')", "written without being told to"),
                           ("import os; os.chmod('tool', 0o700)", "written without being told to"),
                           ("import os; open(os.environ['TMPDIR'] + '/left', 'w')", "left in the temporary folder"),
                           ("print('\\x1b[31m')", "control characters on stdout"),
                           ("x = bytearray(300 << 20); import time; time.sleep(0.2)", "took 3"),
                           ("import os, signal; os.kill(os.getpid(), signal.SIGSEGV)", "ended by a signal"),
                           ("import time; time.sleep(60)", "no end after 2 s")):
            with self.subTest(code), self.assertRaisesRegex(AssertionError, what):
                self.run_python(code, memory=256 << 20, seconds=2)


if __name__ == "__main__":
    main()
