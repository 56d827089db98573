"""The stand-ins for CUDA's headers and runtime have what PyTorch's releases use: used_names_test.py LIBCUDART…"""

import sys
import unittest

import used_names
from elftools.elf.elffile import ELFFile

LIBRARIES = sys.argv[1:]


def exported(path):
    with open(path, "rb") as file:
        symbols = ELFFile(file).get_section_by_name(".dynsym").iter_symbols()
        return {symbol.name for symbol in symbols if symbol["st_shndx"] != "SHN_UNDEF"}


class UsedNames(unittest.TestCase):
    def test_are_declared(self):
        used = {name for _, name in used_names.read_names()}
        self.assertGreater(len(used), 100)
        self.assertEqual(used - used_names.declared(), set())

    def test_are_exported(self):
        used = {name for kind, name in used_names.read_names() if kind == "library"}
        for library in LIBRARIES:
            with self.subTest(library=library):
                self.assertEqual(used - exported(library), set())


if __name__ == "__main__":
    unittest.main(argv=sys.argv[:1])
