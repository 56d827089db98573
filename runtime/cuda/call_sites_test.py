"""call_sites.py on libraries whose calls are known: all of them are found, and what no hook sees is named."""

import subprocess
import sys
import unittest
from pathlib import Path

from call_sites import BLOCKING
from entry_points import TableError, read_entry_points

RECALL, UNHEARD_OF, SHIM, OTHER_LIBRARY = sys.argv[1:5]
FOLDER = Path(__file__).parent


def call_sites(*arguments: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run([sys.executable, "-B", FOLDER / "call_sites.py", *arguments], capture_output=True, text=True,
                          check=False)


class CallSites(unittest.TestCase):
    def test_finds_each_entry_point_that_may_block(self) -> None:
        done = call_sites(f"--shim={SHIM}", "--list", RECALL)
        self.assertEqual(done.returncode, 0, done.stdout + done.stderr)
        blocking = {name for e in read_entry_points() if e.call_class in BLOCKING for name in e.names}
        listed = {line.split(" → ")[0].split()[-1] for line in done.stdout.splitlines() if " → " in line}
        self.assertEqual(listed, blocking)
        self.assertIn("callAll", done.stdout)

    def test_a_call_that_no_hook_sees_is_named(self) -> None:
        done = call_sites(f"--shim={OTHER_LIBRARY}", RECALL)
        self.assertEqual(done.returncode, 1)
        self.assertIn("not seen: libdevsan_cuda_recall_13.so callAll", done.stdout)

    def test_an_import_that_is_not_classified_is_named(self) -> None:
        done = call_sites(f"--shim={SHIM}", UNHEARD_OF)
        self.assertEqual(done.returncode, 1)
        self.assertIn("not classified: cudaUnheardOf, imported by libdevsan_cuda_unheard_of.so", done.stdout)

    def test_a_file_that_is_no_library_is_named(self) -> None:
        done = call_sites(f"--shim={SHIM}", str(FOLDER / "entry_points.txt"))
        self.assertEqual(done.returncode, 1)
        self.assertIn("entry_points.txt: no 64-bit ELF file", done.stderr)


class Table(unittest.TestCase):
    def check(self, text: str, message: str) -> None:
        path = Path(self.id() + ".txt")
        path.write_text(text)
        try:
            with self.assertRaisesRegex(TableError, message):
                read_entry_points(path)
        finally:
            path.unlink()

    def test_wrong_lines_are_told_with_their_number_and_the_valid_forms(self) -> None:
        self.check("[runtime]\ncudaFree | release | void *p\n", r":2: expected 'name suffix… \| class")
        self.check("[runtime]\ncudaFree | frees | void *p |\n", r":2: class 'frees': expected one of copy, ")
        self.check("[runtime]\ncudaFree _pt | release | void *p |\n", r":2: suffixes '_pt': expected _ptds or _ptsz")
        self.check("[runtime]\ncudaFree | release | void *p | what=p\n", r":2: 'what=p': expected field=expression")
        self.check("cudaFree | release | void *p |\n", r":1: expected \[runtime\] or \[driver\]")
        self.check("[driver]\ncuInit | plain | void |\ncuInit | plain | void |\n", ":3: cuInit is in the table twice")


if __name__ == "__main__":
    unittest.main(argv=sys.argv[:1])
