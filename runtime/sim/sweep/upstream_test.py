"""A test of somebody's that crashes or hangs costs that test, and no other."""

import os
import tempfile
import unittest
from pathlib import Path

import upstream

TESTS = """
import os, time, unittest
import gone, gone.inner
from os.path import join, lost_decorator, LOST_FLAG, LOST_LIST, LostCase
if LOST_FLAG:
    raise RuntimeError("a name that is not there is true")
try:
    from os.path import lost_and_guarded
except ImportError:
    lost_and_guarded = None
CASES = [1] + LOST_LIST + [2] + list(LOST_LIST)
@lost_decorator(0.5)
def test_decorated(): assert False
@lost_decorator
def test_decorated_itself(): assert False
@unittest.skipIf(not gone.has_device(), "no device")
def test_conditional(): assert False
def test_uses_a_name(): assert not LOST_FLAG
def test_uses_a_module(): gone.inner.function()
class TestDerived(LostCase):
    def test(self): assert False
class Base(unittest.TestCase):
    def setUp(self):
        super(self.__class__, self).setUp()
        self.ready = True
class TestDevice(Base):
    def test(self): assert self.ready
def test_loaded(): assert CASES == [1, 2] and join("a", "b") == "a/b" and lost_and_guarded is None
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
            Path(folder, "other_test.py").write_text("import gone\nraise SystemExit(f'not to be loaded, as {1 / gone.number}')\n")
            notes = Path(folder, "notes")
            arguments = ([], folder, ["test_some.py"], [], dict(os.environ), notes)
            outcomes, complete = upstream.run(*arguments, test_limit=5)
            self.assertTrue(complete)
            expected = {"passes": "passed", "fails": "failed", "dies": "crashed", "hangs": "hung", "comes_last": "passed",
                        "loaded": "passed", "decorated": "skipped", "decorated_itself": "skipped", "conditional": "skipped",
                        "uses_a_name": "skipped", "uses_a_module": "skipped"}
            self.assertEqual({name: outcome for name, (outcome, _) in outcomes.items()},
                             {f"test_some.test_{name}": outcome for name, outcome in expected.items()}
                             | {"TestDerived.test": "skipped", "TestDevice.test": "passed"})
            self.assertIn("no os.path.lost_decorator is installed", outcomes["test_some.test_decorated"][1])
            self.assertIn("1 == 2", outcomes["test_some.test_fails"][1])
            self.assertEqual(upstream.run(*arguments)[0], outcomes)


if __name__ == "__main__":
    unittest.main()
