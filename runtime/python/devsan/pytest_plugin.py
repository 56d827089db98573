"""The pytest plugin: `pytest --devsan` fails a test for what DevSan finds while it runs.

    @pytest.mark.devsan(max_host_sync=0, allow=["device-mismatch"])

pytest finds it by its entry point wherever the package `devsan` is on the path, or with -p devsan.pytest_plugin. It
does nothing without --devsan.
"""

import difflib
import functools
import glob
import os
import shutil
import sys

import pytest

from devsan import live

# Set for the pytest that this one becomes, so that it does not start yet another one.
_STARTED = "DEVSAN_PYTEST_STARTED"

_SECTION = "devsan"  # of a test's report


def pytest_addoption(parser):
    group = parser.getgroup("devsan", "device sanitizer")
    group.addoption("--devsan", action="store_true", default=False,
                    help="run under `devsan run`, and fail tests for what it finds")
    group.addoption("--devsan-sim", metavar="N", default=None,
                    help="the same with N simulated CUDA devices")
    group.addoption("--devsan-fail-on", metavar="RULES|SEVERITY|none", default=None,
                    help="which findings fail a test; default: error, or what .devsan.toml says")


def _is_wanted(options):
    return bool(options.devsan or options.devsan_sim or options.devsan_fail_on)


@pytest.hookimpl(tryfirst=True, hookwrapper=True)
def pytest_load_initial_conftests(early_config):
    # Before pytest captures the output, and before a conftest.py imports torch.
    options = early_config.known_args_namespace
    if _is_wanted(options) and not getattr(options, "help", False) and not getattr(options, "version", False):
        _run_under_devsan(options)
    yield


def pytest_configure(config):
    config.addinivalue_line(
        "markers",
        "devsan(max_RULE=N, allow=[RULE, ...]): with --devsan, how often the call of the test may have findings of a "
        "rule (max_host_sync=0), and which rules never fail it")
    if not _is_wanted(config.option) or config.option.help:
        return
    if not live.is_observed():
        # A conftest.py brought the plugin: the output is captured already.
        capture = config.pluginmanager.getplugin("capturemanager")
        if capture is not None:
            capture.stop_global_capturing()
        _run_under_devsan(config.option)
    is_worker = hasattr(config, "workerinput")
    # With pytest-xdist, the workers run the tests, and each sees its own processes only.
    is_controller = not is_worker and getattr(config.option, "dist", "no") != "no"
    try:
        session = live.Session(whole_run=not is_worker and not is_controller)
        session.judge("nothing", fail_on=config.option.devsan_fail_on)  # whether it is understood
    except live.SessionError as error:
        raise pytest.UsageError(f"devsan: {error}") from None
    config.pluginmanager.register(_Tests(config, session, observes=not is_controller), "devsan-tests")


@pytest.hookimpl(trylast=True)
def pytest_unconfigure():
    _remove_rewritten()


def _remove_rewritten():
    """pytest writes byte code of its own for all modules of a plugin's distribution. pip knows nothing of it, and would
    leave it behind when it uninstalls."""
    folders = {os.path.dirname(module.__file__) for name, module in list(sys.modules.items())
               if name.partition(".")[0] == "devsan" and getattr(module, "__file__", None)}
    for folder in folders:
        for path in glob.glob(os.path.join(glob.escape(folder), "__pycache__", "*-pytest-*.pyc")):
            try:
                os.remove(path)
            except OSError:  # another process was first, or the installation is read-only
                pass


def _devsan():
    """The command: that of the run around us, that of our own build, or the first on the path."""
    package = os.path.dirname(os.path.abspath(__file__))
    own = os.path.join(os.path.dirname(os.path.dirname(package)), "bin", "devsan")
    in_wheel = os.path.join(package, "_tree", "bin", "devsan")
    for candidate in (os.environ.get("DEVSAN"), os.environ.get("DEVSAN_BUILDER"), in_wheel, own, shutil.which("devsan")):
        if candidate and os.access(candidate, os.X_OK) and not os.path.isdir(candidate):
            return candidate
    raise pytest.UsageError(
        f"--devsan: no `devsan` command: neither in $DEVSAN, nor at {own}, nor on PATH; build DevSan, or set "
        "DEVSAN=/path/to/build/bin/devsan")


def _run_under_devsan(options):
    """Replaces this process, unless it runs under `devsan run` already."""
    sim = options.devsan_sim
    if live.is_observed():
        present = os.environ.get("DEVSAN_SIM_DEVICES", "")
        if sim is not None and sim != present:
            raise pytest.UsageError(
                f"--devsan-sim={sim}: pytest runs under `devsan run` with "
                f"{present or 'no'} simulated devices; write --sim={sim} there, or leave one of the two out")
        return
    if os.environ.get("PYTEST_XDIST_WORKER"):
        raise pytest.UsageError(
            "--devsan: this worker of pytest-xdist was not started below `devsan run`, as on another host; "
            "only local workers can be observed")
    if os.environ.get(_STARTED):
        raise pytest.UsageError(
            "--devsan: pytest was started by `devsan run`, but nothing of it is in this process: something in between "
            "took LD_PRELOAD or DEVSAN_LOG_DIR out of the environment")
    program = _devsan()
    command = [program, "run", "--fail-on=none", "--quiet"]
    if sim is not None:
        command.append(f"--sim={sim}")
    command += ["--", sys.executable, *sys.orig_argv[1:]]
    _remove_rewritten()
    sys.stdout.flush()
    sys.stderr.flush()
    try:
        os.execve(program, command, {**os.environ, _STARTED: "1"})
    except OSError as error:
        raise pytest.UsageError(f"--devsan: cannot execute {program}: {error.strerror}") from None


def _did_you_mean(name, valid):
    near = difflib.get_close_matches(name, valid, n=1)
    return f" (did you mean {near[0]!r}?)" if near else ""


class _Settings:
    """What the markers of a test say: of two that speak of the same, the closest."""

    def __init__(self, item, rules):
        self.limits = {}
        self.allow = set()
        valid = {"max_" + rule.removeprefix("device-").replace("-", "_"): rule
                 for rule, is_live in rules.items() if is_live}

        def bad(what):
            return pytest.UsageError(f"{item.nodeid}: @pytest.mark.devsan: {what}")

        for marker in item.iter_markers("devsan"):
            if marker.args:
                raise bad(f"takes no positional arguments, but got {marker.args[0]!r}")
            for name, value in marker.kwargs.items():
                if name == "allow":
                    for rule in [value] if isinstance(value, str) else value:
                        if rule not in rules:
                            raise bad(f"allow: unknown rule {rule!r}{_did_you_mean(rule, rules)}; "
                                      f"valid: {', '.join(rules)}")
                        self.allow.add(rule)
                elif name not in valid:
                    raise bad(f"unknown argument {name!r}{_did_you_mean(name, valid)}; valid: {', '.join(['allow', *valid])}")
                elif not isinstance(value, int) or isinstance(value, bool) or value < 0:
                    raise bad(f"{name}={value!r}: write a number from 0")
                else:
                    self.limits.setdefault(valid[name], value)


class _Verdict:
    def __init__(self):
        self.reasons = []
        self.texts = []
        self.place = None

    def add(self, answer, where=""):
        if answer["failed"]:
            self.reasons += [reason + where for reason in answer["reasons"]]
            if self.place is None and answer["findings"]:
                self.place = answer["findings"][0]["place"]
        if answer["text"]:
            self.texts.append(answer["text"])

    @property
    def failed(self):
        return bool(self.reasons)

    @property
    def text(self):
        return "".join(self.texts)


class _Tests:
    """Tells the findings of one test from those of another: each phase of a test, and each fixture that more than one
    test may share, is something of its own for the session."""

    def __init__(self, config, session, observes):
        self.config = config
        self.session = session
        self.observes = observes
        self.pid = os.getpid()
        self.count = self.test = 0
        self.current = "before"
        self.outside = []  # [where, reasons, text]
        self.notes = []
        self.settings = {}
        self.wrong = {}
        self._enter("before")

    def _is_ours(self):
        # A forked child that comes back to pytest is not the process that is asked about.
        return self.observes and os.getpid() == self.pid

    def _enter(self, what):
        if not self._is_ours():
            return
        self.current = what
        self._guarded(self.session.enter, what)

    def _judge(self, what, settings=None, limits=None):
        if not self._is_ours():
            return {"failed": False, "reasons": [], "findings": [], "text": ""}
        answer = self._guarded(
            self.session.judge, what, fail_on=self.config.option.devsan_fail_on, limits=limits,
            allow=sorted(settings.allow) if settings else ())
        self.notes += answer["notes"]
        return answer

    def _guarded(self, function, *arguments, **options):
        try:
            return function(*arguments, **options)
        except live.SessionError as error:
            pytest.exit(f"devsan: {error}", returncode=2)

    def _judge_outside(self, what, where):
        answer = self._judge(what)
        if answer["failed"]:
            self.outside.append([where, answer["reasons"], answer["text"]])

    # What is no test's.

    def pytest_report_header(self):
        devices = os.environ.get("DEVSAN_SIM_DEVICES")
        return f"devsan: {devices} simulated devices" if devices else "devsan: real devices"

    def pytest_collection_modifyitems(self, items):
        for item in items:
            try:
                self.settings[item.nodeid] = _Settings(item, self.session.rules)
            except pytest.UsageError as error:
                # What ends a worker of pytest-xdist is not told to anyone: there the test fails.
                if not hasattr(self.config, "workerinput"):
                    raise
                self.wrong[item.nodeid] = str(error)

    def pytest_collection_finish(self):
        self._enter("outside")
        self._judge_outside("before", "while tests were collected")

    @pytest.hookimpl(tryfirst=True)
    def pytest_sessionfinish(self, session):
        if os.getpid() != self.pid:
            return
        self._judge_outside("before", "while tests were collected")
        self._judge_outside("outside", "between tests")
        self.session.close()
        if hasattr(self.config, "workeroutput"):
            self.config.workeroutput["devsan"] = {"outside": self.outside, "notes": self.notes}
        elif self.outside and session.exitstatus == pytest.ExitCode.OK:
            session.exitstatus = pytest.ExitCode.TESTS_FAILED

    @pytest.hookimpl(optionalhook=True)
    def pytest_testnodedown(self, node):
        found = (getattr(node, "workeroutput", None) or {}).get("devsan", {})
        # Each worker collects all tests, and finds the same while it does.
        self.outside += [entry for entry in found.get("outside", []) if entry not in self.outside]
        self.notes += found.get("notes", [])

    def pytest_terminal_summary(self, terminalreporter, exitstatus):
        for where, reasons, text in self.outside:
            terminalreporter.section(f"devsan: findings {where}", red=True)
            terminalreporter.write(text)
        passed = {report.nodeid for outcome in ("passed", "") for report in terminalreporter.getreports(outcome)
                  if any(name == _SECTION for name, _ in report.sections)}
        passed -= {report.nodeid for outcome in ("failed", "error") for report in terminalreporter.getreports(outcome)}
        if passed:
            tests = "1 test has" if len(passed) == 1 else f"{len(passed)} tests have"
            terminalreporter.write_line(
                f"devsan: note: {tests} findings that fail none: pytest -rP shows them, --devsan-fail-on=warning fails for them")
        for note in dict.fromkeys(self.notes):
            terminalreporter.write_line(f"devsan: note: {note}")
        terminalreporter.write_line(f"devsan: {self._verdict(terminalreporter, exitstatus)}")

    def _verdict(self, terminalreporter, status):
        def tests(nodeids, what):
            return f"{len(nodeids)} test{'s' * (len(nodeids) != 1)}{what}"

        outcomes = ("passed", "failed", "error", "skipped", "xfailed", "xpassed", "")
        reports = {outcome: terminalreporter.getreports(outcome) for outcome in outcomes}
        seen = {report.nodeid for some in reports.values() for report in some if hasattr(report, "when")}
        failed = {report.nodeid for outcome in ("failed", "error") for report in reports[outcome]}
        by_findings = {report.nodeid for some in reports.values() for report in some if getattr(report, "devsan_failed", False)}
        reasons = [tests(by_findings, " with findings")] if by_findings else []
        reasons += dict.fromkeys(f"findings {where}" for where, _, _ in self.outside)
        if failed - by_findings:
            reasons.append(tests(failed - by_findings, " that failed without them"))
        if not reasons and status:
            reasons.append(f"pytest's status {int(status)}")
        verdict = "failed because of " + " and ".join(reasons) if reasons else "passed"
        return f"{verdict}: {tests(seen, '')}"

    # Fixtures.

    @pytest.hookimpl(tryfirst=True, hookwrapper=True)
    def pytest_fixture_setup(self, fixturedef):
        if fixturedef.scope == "function":
            yield
            return
        self.count += 1
        what = f"fixture{self.count}"
        where = f"in the {fixturedef.scope}-scoped fixture '{fixturedef.argname}'"
        # Finalizers run in reverse order: the fixture's own come between these two.
        outer = [self.current]
        fixturedef.addfinalizer(functools.partial(self._leave_fixture, what, where, outer))
        self._enter(what)
        yield
        self._enter(outer[0])
        self._judge_outside(what, where)
        fixturedef.addfinalizer(functools.partial(self._reenter_fixture, what, outer))

    def _reenter_fixture(self, what, outer):
        outer[0] = self.current
        self._enter(what)

    def _leave_fixture(self, what, where, outer):
        self._enter(outer[0])
        self._judge_outside(what, where)

    # Tests.

    @pytest.hookimpl(tryfirst=True, hookwrapper=True)
    def pytest_runtest_setup(self, item):
        self.count += 1
        self._enter(f"setup{self.count}")
        self.test = self.count
        outcome = yield
        self._enter("outside")
        if item.nodeid in self.wrong:
            outcome.force_exception(pytest.fail.Exception(self.wrong[item.nodeid], pytrace=False))

    @pytest.hookimpl(tryfirst=True, hookwrapper=True)
    def pytest_runtest_call(self):
        self._enter(f"call{self.test}")
        yield
        self._enter("outside")

    @pytest.hookimpl(tryfirst=True, hookwrapper=True)
    def pytest_runtest_teardown(self):
        self._enter(f"teardown{self.test}")
        yield
        self._enter("outside")

    @pytest.hookimpl(tryfirst=True, hookwrapper=True)
    def pytest_runtest_makereport(self, item, call):
        outcome = yield
        report = outcome.get_result()
        if report.when == "setup" and report.passed:
            return  # a failure of set-up would keep the test from running: judged with its call
        settings = self.settings.get(item.nodeid)
        if settings is None:
            return
        verdict = _Verdict()
        if report.when in ("setup", "call"):
            verdict.add(self._judge(f"setup{self.test}", settings), " (in the set-up of the test)")
        if report.when == "call":
            verdict.add(self._judge(f"call{self.test}", settings, settings.limits))
        if report.when == "teardown":
            verdict.add(self._judge(f"teardown{self.test}", settings))
        _apply(verdict, report, item)


def _apply(verdict, report, item):
    xfail = item.get_closest_marker("xfail")
    if verdict.failed and report.when == "call" and xfail is not None and not xfail.kwargs.get("raises"):
        # The failure that is expected may be a finding; pytest has judged without it.
        if report.passed and hasattr(report, "wasxfail"):
            report.outcome = "skipped"
            return
        if report.failed and str(report.longrepr).startswith("[XPASS(strict)]"):
            report.outcome = "skipped"
            report.wasxfail = "; ".join(verdict.reasons)
            return
    if verdict.failed and report.passed:
        report.outcome = "failed"
        report.longrepr = _longrepr(verdict)
        if hasattr(report, "wasxfail"):
            del report.wasxfail
    report.devsan_failed = verdict.failed and report.failed
    if verdict.text:
        report.sections.append((_SECTION, verdict.text))  # of a test that passed, pytest shows it with -rP


def _longrepr(verdict):
    """As an exception's, so that the summary's line and JUnit's message name the finding."""
    message = "\n".join("devsan: " + reason for reason in verdict.reasons)
    try:
        from _pytest._code.code import ExceptionChainRepr, ReprFileLocation, ReprTracebackNative

        path, _, line = (verdict.place or "").rpartition(":")
        place = ReprFileLocation(path or verdict.place or "devsan", int(line) if line.isdigit() else 0,
                                 message.partition("\n")[0])
        return ExceptionChainRepr([(ReprTracebackNative([message + "\n"]), place, None)])
    except Exception:  # private to pytest, and only better looking
        return message
