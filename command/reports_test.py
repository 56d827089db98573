"""`devsan report`: JUnit XML, Markdown, GitHub's job summary, and --compare. Usage: reports_test.py DEVSAN [unittest options]"""

import json
import os
import subprocess
import sys
import tempfile
import unittest
import xml.etree.ElementTree as ElementTree

DEVSAN = os.path.abspath(sys.argv.pop(1))


def finding(rule="device-host-sync", severity="warning", file="src/a.py", line=3, **more):
    return {"rule": rule, "severity": severity, "origin": "runtime", "message": "the host waited",
            "fingerprint": f"{rule}:{file}:{line}", "count": 1,
            "locations": [{"file": file, "line": line, "column": 0, "function": "step"}],
            "stack": [{"file": file, "line": line, "function": "step", "user": True}], **more}


class Reports(unittest.TestCase):
    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.folder = folder.name

    def write(self, name, *findings, simulated=False, **summary):
        report = {"schema": "devsan/1", "findings": list(findings),
                  "summary": {"tool": "devsan run", "subject": "python train.py", **summary,
                              "cost": {"blocked_time": "simulated" if simulated else "measured", "wall_ns": 2_500_000_000}}}
        with open(os.path.join(self.folder, name), "w", encoding="utf-8") as file:
            json.dump(report, file)

    def report(self, *arguments, status=0, env=None):
        environment = {name: value for name, value in os.environ.items() if name != "GITHUB_STEP_SUMMARY"}
        result = subprocess.run([DEVSAN, "report", *arguments], cwd=self.folder, capture_output=True,
                                env={**environment, **(env or {})}, timeout=60)
        output = (result.stdout + result.stderr).decode("utf-8", "replace")
        self.assertEqual(result.returncode, status, output)
        return output

    # The parts of the JUnit schemas (Ant's, Jenkins') that they have in common.
    CHILDREN = {"testsuites": {"testsuite"}, "testsuite": {"properties", "testcase", "system-out", "system-err"}, "properties": {"property"},
                "testcase": {"skipped", "error", "failure", "system-out", "system-err"}}
    REQUIRED = {"testsuites": set(), "testsuite": {"name", "tests", "failures", "errors"},
                "testcase": {"name", "classname"}, "failure": {"type"}, "skipped": set(), "system-out": set(), "properties": set(), "property": {"name", "value"}}
    ALLOWED = {"testsuites": {"name", "tests", "failures", "errors", "time"},
               "testsuite": {"name", "tests", "failures", "errors", "skipped", "time", "timestamp", "hostname", "id"},
               "testcase": {"name", "classname", "time"}, "failure": {"type", "message"}, "skipped": {"message"},
               "system-out": set(), "properties": set(), "property": {"name", "value"}}

    def junit(self, *arguments, status=0):
        root = ElementTree.fromstring(self.report("--format=junit", *arguments, status=status).encode())
        self.assertEqual(root.tag, "testsuites")
        for element in root.iter():
            self.assertLessEqual({child.tag for child in element}, self.CHILDREN.get(element.tag, set()), element.tag)
            self.assertLessEqual(self.REQUIRED[element.tag], set(element.keys()), element.tag)
            self.assertLessEqual(set(element.keys()), self.ALLOWED[element.tag], element.tag)
            for key in ("tests", "failures", "errors", "skipped", "time"):
                if key in element.keys():
                    self.assertGreaterEqual(float(element.get(key)), 0)
        for suite in root:
            cases = suite.findall("testcase")
            self.assertEqual(int(suite.get("tests")), len(cases))
            self.assertEqual(int(suite.get("failures")), len(suite.findall("testcase/failure")))
            self.assertEqual(int(suite.get("skipped")), len(suite.findall("testcase/skipped")))
            tags = [child.tag for child in suite]
            self.assertEqual(tags, sorted(tags, key=["properties", "testcase", "system-out"].index))
        return root

    def test_junit(self):
        self.write("a.json", finding(blocked_ns=40_000), finding(severity="note", line=4), finding(severity="error", line=5),
                   finding(line=6, known=True), notes=["a note"])
        suite = self.junit("a.json", status=3)[0]
        self.assertEqual(suite.get("name"), "devsan run: python train.py")
        self.assertEqual([suite.get(key) for key in ("tests", "failures", "errors", "skipped", "time")],
                         ["4", "2", "0", "1", "2.500000"])
        kinds = {case.get("name"): [child.tag for child in case] for case in suite.findall("testcase")}
        self.assertEqual(kinds, {"src/a.py:5 in step": ["failure"], "src/a.py:3 in step": ["failure"],
                                 "src/a.py:4 in step": ["system-out"], "src/a.py:6 in step": ["skipped"]})
        self.assertEqual({case.get("time") for case in suite.findall("testcase")}, {"0.000000", "0.000040"})
        failure = suite.find("testcase/failure")
        self.assertEqual((failure.get("type"), failure.get("message")), ("error", "the host waited"))
        self.assertIn("remedy: ", failure.text)
        self.assertIn("more: devsan explain device-host-sync", failure.text)
        self.assertIn("a note", suite.find("system-out").text)

    def test_junit_without_findings_has_a_test(self):
        self.write("a.json")
        self.assertEqual([case.get("name") for case in self.junit("a.json").iter("testcase")], ["no findings"])

    def test_junit_holds_what_the_program_says(self):
        text = "<&\"'>]]>\x1b[31m \x00 \ufffe ä 🎉\n\tend"
        self.write("a.json", finding(message=text, file="<a>&\".py"))
        failure = self.junit("a.json").find(".//failure")
        self.assertEqual(failure.get("message"), "<&\"'>]]>\ufffd[31m \ufffd \ufffd ä 🎉\n\tend")
        self.assertIn("<a>&\".py:3", failure.text)

    def test_junit_is_one_document(self):
        self.write("a.json", finding())
        self.write("b.json", finding(line=9))
        self.assertIn("add --merge", self.report("--format=junit", "a.json", "b.json", status=2))
        self.assertEqual(self.junit("--merge", "a.json", "b.json")[0].get("tests"), "2")

    def test_markdown_is_a_table_and_no_markup_of_the_program(self):
        self.write("a.json", finding(message="a|b <script> [x](y) `c`\n# d"), notes=["<b>"])
        text = self.report("--format=markdown", "a.json")
        rows = [line for line in text.splitlines() if line.startswith("|")]
        self.assertEqual(len(rows), 3, text)
        self.assertEqual({row.count("|") for row in rows}, {7}, text)
        for markup in ("<script", "[x]", "`c`", "<b>"):
            self.assertNotIn(markup, text)

    def test_markdown_can_be_read_as_it_is(self):
        self.write("a.json", finding(message="aten::copy_ of x_1 (cuda:0, 50 %) - at @user's #12, https://a.b, __init__"))
        text = self.report("--format=markdown", "a.json")
        self.assertIn("| warning | `device-host-sync` | `src/a.py:3` | 1 | "
                      "aten::copy\\_ of x_1 (cuda:0, 50 %) - at &#64;user's &#35;12, https&#58;//a.b, \\_\\_init\\_\\_ | ", text)
        self.write("b.json", finding(file="a`|b.py"))
        self.assertIn("| a\\`&#124;b.py:3 |", self.report("--format=markdown", "b.json"))

    def test_markdown_of_long_messages_is_what_github_takes(self):
        self.write("a.json", *(finding(message="<ä>" * 250_000, line=line + 1) for line in range(10)),
                   *(finding(message="<" * 5_000, file="<" * 5_000, line=line + 1) for line in range(300)))
        text = self.report("--format=markdown", "a.json")
        self.assertLess(len(text.encode()), 1 << 20)
        shown = text.count("| warning |")
        self.assertIn(f"{310 - shown} more are in the other reports", text)
        self.assertGreater(shown, 10)
        self.assertIn(" … | ", text)

    def test_the_job_summary_is_appended(self):
        self.write("a.json", finding())
        path = os.path.join(self.folder, "summary")
        with open(path, "w", encoding="utf-8") as file:
            file.write("# before\n")
        output = self.report("--format=github", "a.json", env={"GITHUB_STEP_SUMMARY": path})
        self.assertIn("::warning file=src/a.py,line=3", output)
        with open(path, encoding="utf-8") as file:
            text = file.read()
        self.assertTrue(text.startswith("# before\n"))
        self.assertEqual(text.count("| warning |"), 1, text)
        self.report("--format=text", "a.json", env={"GITHUB_STEP_SUMMARY": path})
        with open(path, encoding="utf-8") as file:
            self.assertEqual(file.read(), text)
        output = self.report("--format=github", "a.json", env={"GITHUB_STEP_SUMMARY": "/no/such/folder/x"}, status=2)
        self.assertIn("cannot write the job's summary /no/such/folder/x", output)

    def test_run_writes_them_by_name(self):
        path = os.path.join(self.folder, "summary")
        result = subprocess.run(
            [DEVSAN, "run", "--report=x.junit.xml", "--report=x.md", "--report=github", "--", "true"], cwd=self.folder,
            env={**os.environ, "GITHUB_STEP_SUMMARY": path}, capture_output=True, text=True, timeout=60)
        self.assertEqual(result.returncode, 0, result.stderr)
        self.assertEqual(ElementTree.parse(os.path.join(self.folder, "x.junit.xml")).getroot().tag, "testsuites")
        self.assertIn("::notice title=devsan run::LibTorch was never loaded by true", result.stderr)
        for name in ("x.md", "summary"):
            with open(os.path.join(self.folder, name), encoding="utf-8") as file:
                self.assertIn("No findings", file.read())

    def test_the_verdict_comes_first_in_each_format_and_is_the_exit_status(self):
        self.write("a.json", finding(), finding(line=4))
        for options, status, verdict in ((["--fail-on=warning"], 3, "failed because of 2 warnings"), ([], 0, "passed"),
                                         (["--max=device-host-sync=1"], 3, "failed because of device-host-sync over its budget")):
            head = f"devsan run: {verdict}: python train.py: 2 findings"
            self.assertIn(head, self.report(*options, "a.json", status=status))
            self.assertIn(head, self.report(*options, "--format=github", "a.json", status=status))
            self.assertTrue(self.report(*options, "--format=markdown", "a.json", status=status).startswith(
                f"### devsan run: {verdict}: python train.py\n"))
            outcome, _, because = verdict.partition(" because of ")
            summary = json.loads(self.report(*options, "--format=json", "a.json", status=status))["summary"]
            self.assertEqual(next(iter(summary)), "verdict")
            self.assertEqual(summary["verdict"], {"outcome": outcome, "because": because})
            run = json.loads(self.report(*options, "--format=sarif", "a.json", status=status))["runs"][0]
            self.assertEqual(run["properties"]["verdict"], verdict)
            self.assertEqual(self.junit(*options, "a.json", status=status)[0][0][0].attrib, {"name": "verdict", "value": verdict})
            self.assertIn(f'"verdict":"{verdict}"', self.report(*options, "--format=html", "a.json", status=status))

    def test_the_verdict_of_a_run_is_its_exit_status(self):
        for program, options, status, verdict in (("true", [], 0, "passed as far as seen"), ("true", ["--strict"], 2, "no verdict"),
                                                  ("exit 7", [], 7, "failed because of the program's status 7"),
                                                  ("kill -9 $$", [], -9, "failed because of signal 9")):
            result = subprocess.run([DEVSAN, "run", *options, "--", "sh", "-c", program], cwd=self.folder, capture_output=True,
                                    text=True, timeout=60)
            self.assertEqual(result.returncode, status, result.stderr)
            self.assertIn(f"devsan run: {verdict}: sh -c", result.stderr)

    # --compare

    def test_compare_tells_new_gone_and_changed(self):
        self.write("old.json", finding(line=1), finding(line=2, count=3, bytes=1024), finding(line=3),
                   finding(line=4, severity="note"))
        self.write("new.json", finding(line=2, count=5, bytes=2048), finding(line=3), finding(line=4),
                   finding(line=5, severity="error", rule="device-mismatch"))
        text = self.report("--compare", "old.json", "new.json", status=3)
        self.assertIn("src/a.py:5: error: new: the host waited [device-mismatch]", text)
        self.assertIn("src/a.py:4: warning: new: ", text)  # it was a note
        self.assertIn("gone: src/a.py:1: warning: device-host-sync", text)
        self.assertIn("changed: src/a.py:2: warning: device-host-sync: 3 times → 5 times, 1", text)
        self.assertIn("devsan report: failed because of 1 error: old.json → new.json: 2 new, 1 gone, 1 changed, 1 the same\n", text)
        both = json.loads(self.report("--compare", "--format=json", "old.json", "new.json", status=3))
        self.assertEqual(both["schema"], "devsan-compare/1")
        self.assertEqual([entry["locations"][0]["line"] for entry in both["new"]], [5, 4])
        self.assertEqual([entry["locations"][0]["line"] for entry in both["gone"]], [1])
        self.assertEqual(both["changed"][0]["count"], {"old": 3, "new": 5})
        self.assertEqual(both["changed"][0]["bytes"], {"old": 1024, "new": 2048})
        self.assertEqual(both["summary"]["findings_same"], 1)
        table = self.report("--compare", "--format=markdown", "old.json", "new.json", status=3)
        self.assertIn("### devsan report: failed because of 1 error: old.json → new.json\n\n2 new findings, 1 gone, 1 changed, 1 the same\n", table)
        self.assertIn("| new, error | `device-mismatch` | `src/a.py:5` | 1 | the host waited | ", table)
        self.assertIn("| changed, warning | `device-host-sync` | `src/a.py:2` | 5 | 3 times → 5 times, 1.0 KB → 2.0 KB: ", table)
        self.assertIn("| gone, warning | `device-host-sync` | `src/a.py:1` |", table)
        self.assertNotIn("src/a.py:3", table)

    def test_compare_for_services_holds_what_is_new(self):
        self.write("old.json", finding(line=1), finding(line=2, count=3), finding(line=4, severity="note"))
        self.write("new.json", finding(line=2, count=5), finding(line=4), finding(line=5, severity="error"), partial=True)
        compare = ("--compare", "old.json", "new.json")
        note = "the new report is incomplete: a finding shown as gone may still be there"

        run = json.loads(self.report(*compare, "--format=sarif", status=3))["runs"][0]
        lines = [result["locations"][0]["physicalLocation"]["region"]["startLine"] for result in run["results"]]
        self.assertEqual(lines, [5, 4])  # 4 was a note
        self.assertEqual(run["properties"]["subject"], "old.json → new.json")
        self.assertEqual([n["message"]["text"] for n in run["invocations"][0]["toolExecutionNotifications"]], [note])

        summary = os.path.join(self.folder, "summary")
        github = self.report(*compare, "--format=github", status=3, env={"GITHUB_STEP_SUMMARY": summary})
        self.assertEqual([line.split(",title")[0] for line in github.splitlines()],
                         ["::error file=src/a.py,line=5", "::warning file=src/a.py,line=4",
                          "devsan report: failed because of 1 error: old.json → new.json: 2 findings, 0 known, 0 suppressed",
                          f"::notice title=devsan report::{note}"])
        with open(summary, encoding="utf-8") as file:
            self.assertIn("2 new findings, 1 gone, 1 changed, 0 the same", file.read())

        suite = ElementTree.fromstring(self.report(*compare, "--format=junit", status=3)).find("testsuite")
        self.assertEqual([case.get("name") for case in suite.findall("testcase")], ["src/a.py:5 in step", "src/a.py:4 in step"])

    def test_compare_fails_for_new_findings_alone(self):
        self.write("old.json", finding(severity="error"))
        self.write("new.json", finding(severity="error", count=9), finding(line=9))
        self.report("--compare", "old.json", "new.json")
        self.report("--compare", "--fail-on=warning", "old.json", "new.json", status=3)
        self.report("--compare", "--fail-on=note", "old.json", "old.json")
        self.report("--compare", "--fail-on=device-mismatch", "old.json", "new.json")

    def test_compare_takes_noise_in_times_for_none(self):
        for name, time in (("old", 100_000_000), ("near", 120_000_000), ("far", 300_000_000)):
            self.write(f"{name}.json", finding(blocked_ns=time))
        self.write("simulated.json", finding(blocked_ns=900_000_000), simulated=True)
        self.assertIn("0 changed, 1 the same", self.report("--compare", "old.json", "near.json"))
        self.assertIn("100.0 ms blocked → 300.0 ms blocked", self.report("--compare", "old.json", "far.json"))
        self.assertIn("0 changed, 1 the same", self.report("--compare", "old.json", "simulated.json"))

    def test_compare_says_what_it_does_not_know(self):
        self.write("old.json", finding(), partial=True)
        self.write("new.json", partial=True)
        text = self.report("--compare", "old.json", "new.json")
        self.assertIn("the old report is incomplete", text)
        self.assertIn("the new report is incomplete", text)

    def test_compare_refuses_what_it_cannot_do(self):
        self.write("a.json")
        for arguments, message in ((["a.json"], "takes two reports, OLD and NEW, but got 1"),
                                   (["a.json", "a.json", "--max=device-mismatch=1"], "cannot be used with --merge, --max"),
                                   (["a.json", "a.json", "--format=trace"], "--compare: --format=trace is unknown; valid: text, "),
                                   (["a.json", "no.json"], "no.json")):
            self.assertIn(message, self.report("--compare", *arguments, status=2))


if __name__ == "__main__":
    unittest.main(verbosity=2)
