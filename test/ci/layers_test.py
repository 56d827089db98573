"""Who includes and links whom: the table "Layers" of docs/design/architecture.md, held to by every include and link; and that
docs/design/code-map.md names what there is.

usage: layers_test.py SOURCE [unittest options]

A row names a folder, or several that are one layer, and the layers that it uses. A folder without a row belongs to the one above
it. Tests, benchmarks and examples may use everything.
"""

import collections
import graphlib
import re
import subprocess
import sys
import unittest
from pathlib import Path

ROOT = Path(sys.argv.pop(1)).resolve()
PAGE = "docs/design/architecture.md"
MAP = "docs/design/code-map.md"
PARTS = ("core", "command", "analyzer", "runtime", "metrics")
SOURCE = re.compile(r"\.(h|cpp|c|inc)$")
TEST = re.compile(r"[._]test\.|/test_main\.|/testing/|_probe\.|_reference\.|/runs/|/toolkit/|/cuda_stubs/|/older_llvm/")
INCLUDE = re.compile(r'^\s*#\s*include\s+"([^"]+)"', re.MULTILINE)


def tracked():
    listed = subprocess.run(["git", "ls-files", "-z"], cwd=ROOT, capture_output=True, text=True, check=True)
    return [name for name in listed.stdout.split("\0") if name and (ROOT / name).is_file()]


def rows():
    """The layers that each layer uses, by its first folder; and the first folder of each folder that has a row."""
    section = (ROOT / PAGE).read_text().split("\n## Layers\n")[1].split("\n## ")[0]
    uses, layer_of = {}, {}
    for first, second in re.findall(r"^\| (`[^|]*) \|([^|]*)\|", section, re.MULTILINE):
        folders = re.findall(r"`([^`]+)/`", first)
        layer_of |= dict.fromkeys(folders, folders[0])
        uses[folders[0]] = set(re.findall(r"`([^`]+)/`", second))
    return uses, layer_of


class Layers(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.files = tracked()
        cls.sources = [name for name in cls.files if name.startswith(PARTS) and SOURCE.search(name) and not TEST.search(name)]
        cls.uses, cls.layer_of = rows()

    def layer(self, name):
        """The row of the nearest folder that has one."""
        for folder in Path(name).parents:
            if str(folder) in self.layer_of:
                return self.layer_of[str(folder)]
        return None

    def included(self, name):
        """The project's files that one includes."""
        text = (ROOT / name).read_text(errors="replace")
        places = [Path(name).parent, Path(), *(Path(part, "include") for part in PARTS)]
        for spelling in INCLUDE.findall(text):
            path = next((place / spelling for place in places if (ROOT / place / spelling).is_file()), None)
            if path is not None:
                yield str(path)

    def links(self):
        """(folder, folder) for each library of one that a target of the other links; tests apart."""
        made, wanted = {}, []
        for name in self.files:
            if not name.startswith(PARTS) or not name.endswith("CMakeLists.txt") or TEST.search(name):
                continue
            text, folder = re.sub(r"#.*", "", (ROOT / name).read_text()), str(Path(name).parent)
            made |= dict.fromkeys(re.findall(r"add_(?:library|executable)\(\s*([\w-]+)", text), folder)
            for target, libraries in re.findall(r"target_link_libraries\(\s*([\w-]+)([^)]*)\)", text):
                if not target.endswith("_test"):
                    wanted += [(folder, library) for library in re.findall(r"\bdevsan_\w+", libraries)]
            made |= {f"devsan_{alias}": folder for alias in re.findall(r"add_library\(DevSan::(\w+) ALIAS", text)}
        return {(folder, made[library]) for folder, library in wanted if library in made and made[library] != folder}

    def test_each_source_has_a_layer(self):
        self.assertGreater(len(self.sources), 500)
        self.assertEqual([name for name in self.sources if self.layer(name) is None], [])

    def test_each_layer_is_a_folder(self):
        self.assertEqual([folder for folder in self.layer_of if not (ROOT / folder).is_dir()], [])
        known = set(self.uses)
        self.assertEqual({layer: used - known for layer, used in self.uses.items() if used - known}, {})

    def test_no_folder_is_a_heap(self):
        """Domains of metrics and headers that mirror NVIDIA's apart, 40 files are the most that a folder holds directly."""
        held = collections.Counter(str(Path(name).parent) for name in self.files)
        heaps = {folder: count for folder, count in held.items() if count > 40 and not re.match(r"metrics/\w+$|analyzer/cuda_stubs", folder)}
        self.assertEqual(heaps, {})

    def test_no_circles(self):
        try:
            list(graphlib.TopologicalSorter(self.uses).static_order())
        except graphlib.CycleError as error:
            self.fail(f"layers that use each other: {' -> '.join(error.args[1])}")

    def test_includes(self):
        found = collections.defaultdict(list)
        for name in self.sources:
            for other in self.included(name):
                if self.layer(name) != self.layer(other):
                    found[self.layer(name), self.layer(other)].append(f"{name} includes {other}")
        allowed = {(layer, used) for layer, used in self.uses.items() for used in used}
        self.assertEqual({pair: lines for pair, lines in found.items() if pair not in allowed}, {}, f"not allowed by {PAGE}")
        self.assertEqual(allowed - set(found), set(), f"{PAGE} allows what nothing does")

    def test_checks_and_detectors_stand_alone(self):
        """A rule's folder is used by nothing else."""
        rule = re.compile(r"^(?:analyzer/checks|runtime/detectors)/[a-z0-9-]+(?=/)")
        for name in self.sources:
            for other in self.included(name):
                if own := rule.match(other):
                    self.assertTrue(name.startswith(own[0] + "/"), f"{name} includes {other}")

    def test_links(self):
        """A link between two folders needs a row that lets one use the other."""
        tops = collections.defaultdict(set)
        for layer, used in self.uses.items():
            for folder in (folder for folder, first in self.layer_of.items() if first == layer):
                for other in (folder for folder, first in self.layer_of.items() if first in used | {layer}):
                    tops[folder].add(other)

        def may(folder, other):
            within = lambda inner, outer: inner == outer or inner.startswith(outer + "/")
            return any(within(user, folder) and any(within(one, other) or within(other, one) for one in used) for user, used in tops.items()) or within(
                folder, other) or within(other, folder)

        found = self.links()
        self.assertGreater(len(found), 3)
        self.assertEqual([pair for pair in sorted(found) if not may(*pair)], [])

    def test_the_map_names_each_folder_and_nothing_else(self):
        text = (ROOT / MAP).read_text()
        named = set(re.findall(r"`((?:core|command|analyzer|runtime|metrics|test|script|docs|build)/[\w./-]*)`", text))
        self.assertEqual([name for name in named if not name.startswith("build/") and not (ROOT / name).exists()], [])
        parts = {str(Path(*Path(name).parts[:2])) for name in self.sources if len(Path(name).parts) > 2 and not name.startswith("metrics")}
        self.assertEqual([part for part in sorted(parts) if f"{part}/" not in named], [])


if __name__ == "__main__":
    unittest.main()
