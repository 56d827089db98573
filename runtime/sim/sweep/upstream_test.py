"""A test of somebody's that crashes or hangs costs that test, and no other."""

import os
import tempfile
import unittest
from pathlib import Path

import upstream

TESTS = """
import os, time
def test_passes(): pass
def test_fails(): assert 1 == 2
def test_dies(): os.abort()
def test_hangs(): time.sleep(100)
def test_comes_last(): pass
"""


class Runs(unittest.TestCase):
    def test_each_test_has_its_outcome(self):
        with tempfile.TemporaryDirectory() as folder:
            Path(folder, "test_some.py").write_text(TESTS)
            notes = Path(folder, "notes")
            arguments = ([], folder, ["test_some.py"], [], dict(os.environ), notes)
            outcomes, complete = upstream.run(*arguments, test_limit=5)
            self.assertTrue(complete)
            expected = {"passes": "passed", "fails": "failed", "dies": "crashed", "hangs": "hung", "comes_last": "passed"}
            self.assertEqual({name: outcome for name, (outcome, _) in outcomes.items()},
                             {f"test_some.test_{name}": outcome for name, outcome in expected.items()})
            self.assertIn("1 == 2", outcomes["test_some.test_fails"][1])
            self.assertEqual(upstream.run(*arguments)[0], outcomes)


if __name__ == "__main__":
    unittest.main()
