"""Tables of what operators do to the host: how a recording becomes one, and what one answers."""

import json
import tempfile
import unittest
from pathlib import Path

import cuda_libraries
import tables

READ = ["copy cuda:1 pinned 4", "wait stream"]


def call(op, key, did=(), error=""):
    return json.dumps({"op": op, "key": key, "did": list(did), "error": error})


class Tables(unittest.TestCase):
    def table(self, *lines):
        folder = Path(self.enterContext(tempfile.TemporaryDirectory()))
        tables.write(tables.make(lines, "2.11.0+cu130"), folder / "table.json")
        return tables.Table(folder / "table.json")

    def test_arguments_count_only_where_calls_disagree(self):
        table = self.table(call("read", "1", READ), call("read", "2", READ), call("index", "1", READ), call("index", "2"))
        self.assertEqual(table.outcomes("read"), ["copy device to pinned; wait for the stream"])
        self.assertTrue(table.expected("read", "a new one"))
        self.assertTrue(table.expected("index", "1"))
        self.assertIs(table.expected("index", "2"), False)
        self.assertIsNone(table.expected("index", "a new one"))
        self.assertIsNone(table.expected("another", "1"))
        self.assertEqual((table.torch, table.calls), ("2.11.0+cu130", 4))

    def test_equal_arguments_that_disagree_say_nothing(self):
        table = self.table(call("equal", "1", READ), call("equal", "1"))
        self.assertIsNone(table.expected("equal", "1"))

    def test_a_call_that_failed_says_something_only_if_it_waited(self):
        table = self.table(call("early", "1", error="no kernel"), call("late", "1", READ, error="no kernel"))
        self.assertIsNone(table.expected("early", "1"))
        self.assertTrue(table.expected("late", "1"))

    def test_what_stays_on_the_device_is_left_out(self):
        table = self.table(call("sort", "1", ["copy cuda:1 cuda:1 8", "call cublasSgemm_v2", "copy pageable cuda:0 4 wait"]))
        self.assertEqual(table.outcomes("sort"), ["cuBLAS; copy pageable to device, waiting"])

    def test_an_entry_that_ended_its_process_is_named(self):
        made = tables.make(['{"samples": 3, "failures": []}', '{"op": "cut of', '{"ended": "histc", "status": -11}'], "2.11.0")
        self.assertEqual((made["samples"], made["ended"]), (3, ["histc"]))

    def test_the_page_shows_where_releases_differ(self):
        old = self.table(call("lu", "1", READ), call("read", "1", READ), call("gone", "1", READ))
        new = self.table(call("lu", "1"), call("read", "1", READ))
        text = tables.page([old, new])
        self.assertIn("| `lu` | always | no |", text)
        self.assertNotIn("| `read` | always | always |", text)
        self.assertNotIn("| `gone` |", text)
        self.assertIn("| `read` | always | copy device to pinned; wait for the stream |", text)

    def test_releases_are_in_the_order_of_their_numbers(self):
        self.assertEqual(sorted(["2.9.1+cu128", "2.15.0", "2.11.0+cu130"], key=tables.version_key)[-1], "2.15.0")


class Libraries(unittest.TestCase):
    def test_functions_make_handles_and_need_no_space(self):
        handle = cuda_libraries.definition("cusolverDnCreate", [("cusolverDnHandle_t", True)])
        self.assertIn("*(void **)p0 = &handle;", handle)
        size = cuda_libraries.definition("cusolverDnSgetrf_bufferSize",
                                         [("cusolverDnHandle_t", False), ("float", True), ("int", True)])
        self.assertIn("*(int *)p2 = 0;", size)
        self.assertNotIn("*(float *)", size)
        found = cuda_libraries.definition("cublasLtMatmulAlgoGetHeuristic", [("x", True), ("int", True)])
        self.assertIn("*(int *)p1 = 1;", found)


if __name__ == "__main__":
    unittest.main()
