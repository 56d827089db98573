"""What script/release says of a wheel: whether it is the same as another one, and what of others' it holds.

usage: release_test.py SOURCE BUILD [unittest options]
"""

import hashlib
import json
import os
import subprocess
import sys
import tempfile
import unittest
import zipfile
from pathlib import Path

SOURCE, BUILD = Path(sys.argv.pop(1)).resolve(), Path(sys.argv.pop(1)).resolve()


class Release(unittest.TestCase):
    def setUp(self):
        folder = tempfile.TemporaryDirectory(prefix="devsan-release-")
        self.addCleanup(folder.cleanup)
        self.folder = Path(folder.name)

    def wheel(self, folder, files):
        (self.folder / folder).mkdir()
        path = self.folder / folder / "devsan-0.1.0-py3-none-any.whl"
        with zipfile.ZipFile(path, "w") as wheel:
            for name, contents in files:
                wheel.writestr(zipfile.ZipInfo(name), contents)
        return path

    def run_script(self, name, *arguments, status=0, **environment):
        done = subprocess.run([sys.executable, "-B", SOURCE / "script/lib" / name, *arguments], capture_output=True, text=True,
                              env={**os.environ, **environment}, timeout=300)
        self.assertEqual(done.returncode, status, done.stderr)
        return done.stdout

    def test_the_same_wheel(self):
        files = [("a", b"1"), ("b", b"2")]
        first = self.wheel("first", files)
        self.assertEqual(self.run_script("same_wheel.py", first, self.wheel("same", files)), "")
        self.assertEqual(self.run_script("same_wheel.py", first, self.wheel("other", [("a", b"1"), ("b", b"3"), ("c", b"")]), status=1), "b\nc\n")
        self.assertIn("only in the order", self.run_script("same_wheel.py", first, self.wheel("order", files[::-1]), status=1))

    def test_what_is_in_a_folder_stays(self):
        (self.folder / "mine").write_text("mine")
        done = subprocess.run([SOURCE / "script/release", "--out", self.folder], capture_output=True, text=True, timeout=60)
        self.assertEqual(done.returncode, 1, done.stderr)
        self.assertIn(f"there is something in {self.folder}, nothing was done", done.stderr)
        self.assertEqual((self.folder / "mine").read_text(), "mine")

    def test_whose_a_file_is(self):
        sys.path.insert(0, str(SOURCE / "script/lib"))
        import sbom

        # The package lists it under /lib, or under /usr/lib.
        self.assertIn(("deb", "libc6"), sbom.packages_of({os.path.realpath("/lib/x86_64-linux-gnu/libc.so.6")}, BUILD))
        site = self.folder / "site-packages"
        for name, folder in (("Some.Package", "some"), ("some", "other")):
            info = site / f"{name}-1.dist-info"
            (site / folder).mkdir(parents=True)
            info.mkdir()
            (site / folder / "a.h").write_text("")
            (info / "METADATA").write_text(f"Metadata-Version: 2.1\nName: {name}\nVersion: 1\n")
            (info / "LICENSE").write_text(f"of {name}\n")
            (info / "RECORD").write_text(f"{folder}/a.h,,\n{info.name}/METADATA,,\n{info.name}/LICENSE,,\n")
        self.assertEqual(sbom.python_package("some", {str(site / "some/a.h")}), ("1", "of Some.Package\n", None, "pkg:pypi/Some.Package@1"))

    def test_what_is_in_a_program(self):
        wheel = self.wheel("wheel", [("devsan/_tree/bin/devsan", (BUILD / "bin/devsan").read_bytes()), ("devsan/py.typed", b"")])
        out = self.folder / "list.spdx.json"
        arguments = ("--build", BUILD, "--wheel", wheel, "--out", out)
        self.run_script("sbom.py", *arguments, SOURCE_DATE_EPOCH="1700000000")
        text = out.read_text()
        self.run_script("sbom.py", *arguments, SOURCE_DATE_EPOCH="1700000000")
        self.assertEqual(out.read_text(), text)
        document = json.loads(text)
        self.assertEqual(document["creationInfo"]["created"], "2023-11-14T22:13:20Z")
        packages = {package["SPDXID"]: package for package in document["packages"]}
        own = packages.pop("SPDXRef-devsan")
        self.assertEqual(own["checksums"][0]["checksumValue"], hashlib.sha256(wheel.read_bytes()).hexdigest())
        relations = {}
        for relation in document["relationships"][1:]:
            self.assertEqual(relation["spdxElementId"], "SPDXRef-devsan")
            relations.setdefault(packages[relation["relatedSpdxElement"]]["name"].split("-")[0], set()).add(relation["relationshipType"])
        # Archives; headers alone; both. Nothing of the parts that are not in this wheel.
        self.assertEqual(relations["libutf8proc"], {"STATIC_LINK", "GENERATED_FROM"})
        self.assertEqual(relations["libfmt"], {"GENERATED_FROM"})
        self.assertIn("STATIC_LINK", relations["libstdc++"])
        self.assertFalse({"llvm", "torch"} & set(relations), relations)
        # Each has a licence, and its text.
        texts = {licence["licenseId"]: licence["extractedText"] for licence in document["hasExtractedLicensingInfos"]}
        for package in packages.values():
            licence = package["licenseDeclared"]
            self.assertTrue(texts[licence] if licence.startswith("LicenseRef-") else package["attributionTexts"][0], package["name"])

    def test_a_wheel_of_another_build(self):
        wheel = self.wheel("wheel", [("bin/other", b"\x7fELF")])
        self.run_script("sbom.py", "--build", BUILD, "--wheel", wheel, "--out", self.folder / "list", status=1)
        self.assertFalse((self.folder / "list").exists())


if __name__ == "__main__":
    unittest.main()
