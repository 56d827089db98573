"""The aspect and the rule of bazel/ in a workspace: one action for each target, cached by content, and what they find is what
`devsan check` finds. Skipped where Bazel is not installed.

usage: bazel_test.py SOURCE BUILD [unittest options]
"""

import json
import os
import re
import shutil
import subprocess
import sys
import tempfile
import unittest
from pathlib import Path

SOURCE, BUILD = Path(sys.argv.pop(1)).resolve(), Path(sys.argv.pop(1)).resolve()
RULES = Path("/usr/share/bazel")
# What Bazel loads by itself and would download.
REPOSITORIES = {"rules_java": RULES / "rules/java", "rules_proto": RULES / "rules/proto", "bazel_skylib": RULES / "tools/skylib"}
PACKAGES = "bazel-bootstrap bazel-rules-java bazel-rules-proto bazel-skylib"

FILES = {
    "BUILD.bazel": """
load("@devsan//:workspace.bzl", "devsan_check")
devsan_check(name = "check", targets = ["//app:main"])
""",
    "lib/BUILD.bazel": """
cc_library(name = "tensor", hdrs = ["tensor.h"])
cc_library(name = "lib", srcs = ["lib.cc"], hdrs = ["lib.h"], local_defines = ["AWAY"], deps = [":tensor"], visibility = ["//visibility:public"])
""",
    "lib/tensor.h": """
#pragma once
namespace at { struct Tensor { Tensor cuda() { return {}; } Tensor operator+(Tensor) { return {}; } }; }
""",
    "lib/lib.h": '#include "lib/tensor.h"\nat::Tensor away(at::Tensor x, at::Tensor y);\n',
    "lib/lib.cc": '#include "lib/lib.h"\n#ifdef AWAY\nat::Tensor away(at::Tensor x, at::Tensor y) { return x.cuda() + y; }\n#endif\n',
    "app/BUILD.bazel": """
genrule(name = "generate", outs = ["value.h"], cmd = "echo '#define VALUE 1' > $@")
cc_binary(name = "main", srcs = ["main.cc", "value.h"], copts = ["-DCOPT"], deps = ["//lib"], visibility = ["//visibility:public"])
""",
    "app/main.cc": """
#include "app/value.h"
#include "lib/lib.h"
#ifdef COPT
at::Tensor here(at::Tensor x, at::Tensor y) { return x.cuda() + y; }
#endif
int main() { at::Tensor t; away(t, t); return VALUE; }
""",
}
# Debian's rules_cc is for a later Bazel.
RULES_CC = "".join(
    f"{name} = native.{name}\n"
    for name in "cc_binary cc_library cc_import cc_test cc_toolchain cc_toolchain_suite objc_library objc_import fdo_profile cc_proto_library".split())


class Bazel(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.root = Path(tempfile.mkdtemp(prefix="devsan-bazel-"))
        (cls.root / "home").mkdir()
        (cls.root / "rules_cc/cc").mkdir(parents=True)
        (cls.root / "rules_cc/WORKSPACE").touch()
        (cls.root / "rules_cc/cc/BUILD").touch()
        (cls.root / "rules_cc/cc/defs.bzl").write_text(RULES_CC)

    @classmethod
    def tearDownClass(cls):
        for folder in cls.root.glob("*/BUILD.bazel"):
            cls.bazel(folder.parent, "shutdown")
        subprocess.run(["chmod", "-R", "u+w", cls.root], check=True)
        shutil.rmtree(cls.root)

    def checkout(self, name):
        folder = self.root / name
        for path, text in FILES.items():
            (folder / path).parent.mkdir(parents=True, exist_ok=True)
            (folder / path).write_text(text)
        (folder / "WORKSPACE").write_text(f"""
local_repository(name = "devsan", path = "{SOURCE}/bazel")
load("@devsan//:repositories.bzl", "devsan_tools")
devsan_tools(name = "devsan_tools", prefix = "{BUILD}")
""")
        return folder

    @classmethod
    def bazel(cls, folder, command, *arguments):
        start = ["bazel", f"--output_user_root={cls.root}/out", "--max_idle_secs=60", command]
        if command == "build":
            overrides = REPOSITORIES | {"rules_cc": cls.root / "rules_cc"}
            start += [f"--override_repository={name}={path}" for name, path in overrides.items()]
            start += [f"--disk_cache={cls.root}/disk", "--color=no", "--curses=no", "--noshow_progress"]
        done = subprocess.run([*start, *arguments], cwd=folder, capture_output=True, text=True, env=os.environ | {"HOME": str(cls.root / "home")})
        # Debian's sandbox tells what it does.
        return done.returncode, re.sub(r"(?m)^\d+\.\d+: src/main/tools/.*\n", "", done.stdout + done.stderr)

    def build(self, folder, *arguments, status=0):
        code, text = self.bazel(folder, "build", "//:check", *arguments)
        self.assertEqual(code, status, text)
        return text

    def test_targets(self):
        first = self.checkout("first")
        self.build(first)
        report = json.loads((first / "bazel-bin/check.json").read_text())
        found = [(finding["rule"], finding["locations"][0]["file"], finding["locations"][0]["line"]) for finding in report["findings"]]
        self.assertEqual(found, [("device-bare-cuda", "app/main.cc", 5), ("device-bare-cuda", "lib/lib.cc", 3)])
        self.assertEqual(report["summary"]["notes"], [])
        self.assertIn("app/main.cc:5:", (first / "bazel-bin/check.text").read_text())
        summaries = {path.name: path.read_bytes() for path in (first / "bazel-bin").glob("*/*.devsan-summary")}
        self.assertEqual(sorted(summaries), ["lib.devsan-summary", "main.devsan-summary"])

        # Nothing has changed, so nothing runs.
        self.assertRegex(self.build(first), r"INFO: 1 process: 1 internal")

        # Elsewhere, and all comes from the cache.
        second = self.checkout("second")
        self.assertRegex(self.build(second), r"INFO: \d+ processes: \d+ (remote|disk) cache hit, 1 internal\.")
        self.assertEqual({path.name: path.read_bytes() for path in (second / "bazel-bin").glob("*/*.devsan-summary")}, summaries)

        # One source: its action, and the judgement in two forms.
        (second / "lib/lib.cc").write_text(FILES["lib/lib.cc"].replace("x.cuda() + y", "x + y"))
        self.assertRegex(self.build(second), r"INFO: 4 processes: 1 internal, 3 ")
        report = json.loads((second / "bazel-bin/check.json").read_text())
        self.assertEqual([finding["locations"][0]["file"] for finding in report["findings"]], ["app/main.cc"])

        # The build fails where that is asked for, and says why.
        text = self.build(second, "--@devsan//:fail_on=warning", status=1)
        self.assertIn("app/main.cc:5:", text)
        self.assertIn("[device-bare-cuda]", text)
        self.build(second, "--@devsan//:fail_on=error")
        self.build(second, "--@devsan//:fail_on=note", "--@devsan//:checks=device-host-sync")

        # Without the rule.
        code, text = self.bazel(second, "build", "//...", "--aspects=@devsan//:workspace.bzl%devsan_aspect", "--output_groups=devsan_summaries")
        self.assertEqual(code, 0, text)


if __name__ == "__main__":
    if not shutil.which("bazel") or not all(path.is_dir() for path in REPOSITORIES.values()):
        print(f"skipped: there is no Bazel with what it loads; apt-get install {PACKAGES}")
        sys.exit(77)
    unittest.main()
