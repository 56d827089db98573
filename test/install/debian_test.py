"""The Debian package: `cpack -G DEB`, lintian, installed by dpkg into a folder, used from there, and purged without a trace.

usage: debian_test.py SOURCE BUILD [unittest options]
"""

import os
import re
import shutil
import subprocess
import sys
import tempfile
import unittest
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[1] / "support"))
from commands import run

SOURCE, BUILD = Path(sys.argv.pop(1)).resolve(), Path(sys.argv.pop(1)).resolve()
MISSING = [program for program in ("dpkg", "dpkg-deb", "dpkg-shlibdeps") if not shutil.which(program)]
if MISSING:
    print(f"skipped: no {' and no '.join(MISSING)}; apt-get install dpkg-dev brings them")
    sys.exit(77)
PROGRAM = """\
import devsan, torch
x = torch.ones(4, device="cuda:1")
for _ in range(3):
    x.sum().item()
"""
# LLVM is linked in with its zlib, as the package is for machines without LLVM; and no bug of Debian's asked for the package.
TOLERATED = {"embedded-library", "initial-upload-closes-no-bugs"}


class Debian(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        folder = tempfile.TemporaryDirectory(prefix="devsan-debian-")
        cls.addClassCleanup(folder.cleanup)
        cls.folder = Path(folder.name).resolve()
        # Packing well takes a minute more than packing fast.
        run("cpack", "--config", BUILD / "CPackConfig.cmake", "-G", "DEB", "-B", cls.folder / "packages",
            "-D", "CPACK_DEBIAN_COMPRESSION_TYPE=gzip")
        packages = list((cls.folder / "packages").glob("*.deb"))
        assert len(packages) == 1, packages
        cls.package = packages[0]

    def test_it_says_what_it_needs(self):
        fields = dict(re.findall(r"^ (\S+): (.*)$", run("dpkg-deb", "--info", self.package), re.M))
        self.assertEqual(fields["Package"], "devsan")
        self.assertRegex(self.package.name, rf"^devsan_{re.escape(fields['Version'])}_{fields['Architecture']}\.deb$")
        self.assertRegex(fields["Depends"], r"\blibc6 \(>= 2")
        self.assertNotIn("llvm", fields["Depends"])
        self.assertNotIn("torch", fields["Depends"])

    def test_owners_and_modes(self):
        for line in run("dpkg-deb", "--contents", self.package).splitlines():
            self.assertRegex(line, r"^(drwxr-xr-x|-rw-r--r--|-rwxr-xr-x|lrwxrwxrwx) root/root ")

    @unittest.skipUnless(shutil.which("lintian"), "no lintian: apt-get install lintian brings it")
    def test_lintian(self):
        text = subprocess.run(["lintian", "--allow-root", "--tag-display-limit=0", self.package], capture_output=True, text=True, timeout=900).stdout
        tags = {match[1]: match[0] for match in re.finditer(r"^[EW]: devsan: (\S+).*$", text, re.M)}
        self.assertTrue(tags, "lintian has not even what is tolerated to say: did it run?")
        self.assertEqual([line for tag, line in tags.items() if tag not in TOLERATED], [], text)

    @unittest.skipUnless(os.geteuid() == 0 or shutil.which("fakeroot"), "neither root nor fakeroot")
    def test_installed_used_and_purged(self):
        root = self.folder / "root"
        (root / "var/lib/dpkg/info").mkdir(parents=True)
        (root / "var/lib/dpkg/updates").mkdir()
        (root / "var/lib/dpkg/status").touch()
        environment = {**os.environ, "PATH": f"{os.environ['PATH']}:/usr/sbin:/sbin"}
        dpkg = [*([] if os.geteuid() == 0 else ["fakeroot"]), "dpkg", f"--root={root}", "--force-script-chrootless", "--force-depends",
                "--force-not-root", "--log=/dev/null"]
        run(*dpkg, "--install", self.package, env=environment)

        program = self.folder / "program.py"
        program.write_text(PROGRAM)
        devsan = root / "usr/bin/devsan"
        used = {**os.environ, "XDG_CACHE_HOME": str(self.folder / "cache"), "PYTHONDONTWRITEBYTECODE": ""}
        text = run(devsan, "run", "--sim=2", "--fail-on=device-host-sync", "--", sys.executable, program, status=3, env=used, cwd=self.folder)
        self.assertIn("3 times [device-host-sync]", text)
        seed = SOURCE / "test/seeds/0-cumsum-loses-gpu/bad.cpp"
        self.assertIn("[device-bare-cuda]", run(devsan, "check", "--no-cache", seed, status=1, env=used))
        self.assertIn("devsan check", run("man", "-l", root / "usr/share/man/man1/devsan.1.gz")
                      if shutil.which("man") else run("zcat", root / "usr/share/man/man1/devsan.1.gz"))
        project = self.folder / "project"
        project.mkdir()
        (project / "CMakeLists.txt").write_text("cmake_minimum_required(VERSION 3.25)\nproject(uses LANGUAGES NONE)\nfind_package(DevSan 0.1 REQUIRED)\n"
                                                'message(STATUS "found ${DevSan_EXECUTABLE}")\n')
        text = run("cmake", "-S", project, "-B", project / "build", f"-DCMAKE_PREFIX_PATH={root}/usr")
        self.assertIn(f"found {root}/usr/lib/devsan/bin/devsan", text)
        self.assertTrue(list((root / "usr/lib/devsan/python").rglob("*.pyc")))  # else the next lines show nothing

        run(*dpkg, "--purge", "devsan", env=environment)
        left = [path for path in root.rglob("*") if not path.is_relative_to(root / "var") and path != root / "var"]
        self.assertEqual(left, [])
        self.assertEqual(list((root / "var/lib/dpkg/info").glob("devsan*")), [])


if __name__ == "__main__":
    unittest.main()
