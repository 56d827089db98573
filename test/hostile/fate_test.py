"""`devsan run` never changes the program's fate, and a report says what is missing: faults in all kinds of processes.

usage: fate_test.py DEVSAN [--full] [--work=FILE] [unittest options]
  --full        tries every fault in every kind of process
  --work=FILE   fate_work.cpp, compiled with the PyTorch of the Python that runs this; a CUDA build's DevSan has to be prepared

Each case runs a program whose output and status are known, with a gate that no finding fails. Whatever the fault is, the
program writes and returns what it does without DevSan; the report either counts every wait of every process, or is
partial, says why, and the gate is not green.

The program loads LibTorch by a library of three operators (fate_work.cpp). script/test-cuda-build --full tries the same
with a CUDA build of PyTorch.
"""

import glob
import json
import os
import pty
import resource
import shutil
import signal
import subprocess
import sys
import time
import unittest

from canary import DEVSAN, Canary, is_root, main

FULL = "--full" in sys.argv
if FULL:
    sys.argv.remove("--full")
BUILD = os.path.dirname(os.path.dirname(DEVSAN))
WORK = os.path.join(BUILD, "test/libdevsan_fate_work.so")
IS_OWN_TORCH = True  # the one that the tree is built with
for argument in [argument for argument in sys.argv if argument.startswith("--work=")]:
    sys.argv.remove(argument)
    WORK, IS_OWN_TORCH = argument[len("--work="):], False
WAITS = 3  # of one process
PROCESSES = {"one": 1, "fork": 3, "spawn": 2, "torchrun": 2}

PROGRAM = r'''
import ctypes, glob, multiprocessing, os, random, resource, shutil, signal, socket, sys

KIND, FAULT, LIBRARY, DEVICE, STATUS = sys.argv[1:]
libc = ctypes.CDLL(None, use_errno=True)
tmp, logs = os.environ.get("TMPDIR", "/tmp"), os.environ.get("DEVSAN_LOG_DIR", "/nowhere")

def of_logs():
    return glob.glob(logs + "/*.devsanlog")

def limit(what, most):
    resource.setrlimit(what, (most, most))

def setuid():
    os.setgroups([])
    os.setgid(65534)
    os.setuid(65534)

def chroot():
    os.chroot(os.environ["EMPTY"])
    os.chdir("/")

def remove_temporary():
    for name in os.listdir(tmp):
        shutil.rmtree(os.path.join(tmp, name), ignore_errors=True)

def replace_folder():
    if not os.path.islink(logs):
        os.rename(logs, os.environ["EMPTY"] + "/moved")
        os.symlink(os.environ["EMPTY"], logs)

def overwrite():
    for path in of_logs():
        with open(path, "r+b") as file:
            file.seek(48)
            file.write(random.Random(1).randbytes(1 << 16))

def truncate(size=0):
    for path in of_logs():
        os.truncate(path, size)

def remove_logs():
    for path in of_logs():
        try:
            os.remove(path)
        except FileNotFoundError:
            pass  # another rank was faster

def forge(offset, number):
    """Overwrites a number in the memory in which the run's processes count themselves."""
    libc.shmat.restype = ctypes.c_void_p
    board = libc.shmat(int(os.environ["DEVSAN_RUN_BOARD"].split(":")[0]), None, 0)
    ctypes.c_uint32.from_address(board + offset).value = number

def namespace(flag):
    assert libc.unshare(flag) == 0, os.strerror(ctypes.get_errno())

def other_mounts():
    namespace(0x00020000)
    assert libc.mount(b"", b"/", None, 0x44000, None) == 0  # private, recursive
    assert libc.mount(b"none", tmp.encode(), b"tmpfs", 0, None) == 0

def other_ipc():
    namespace(0x08000000)

def no_open():
    """A filter of system calls that answers EPERM to openat."""
    class Filter(ctypes.Structure):
        _fields_ = [("code", ctypes.c_uint16), ("yes", ctypes.c_uint8), ("no", ctypes.c_uint8), ("k", ctypes.c_uint32)]
    class Program(ctypes.Structure):
        _fields_ = [("length", ctypes.c_uint16), ("filter", ctypes.POINTER(Filter))]
    filters = (Filter * 4)(Filter(0x20, 0, 0, 0), Filter(0x15, 0, 1, 257), Filter(0x06, 0, 0, 0x00050001),
                           Filter(0x06, 0, 0, 0x7fff0000))
    assert libc.prctl(38, 1, 0, 0, 0) == 0
    assert libc.prctl(22, 2, ctypes.byref(Program(4, filters)), 0, 0) == 0

def signals_to_devsan():
    """What is sent to each process of its name (pkill devsan) means the program."""
    for entry in filter(str.isdigit, os.listdir("/proc")):
        try:
            with open(f"/proc/{entry}/stat") as file:
                parent = int(file.read().rpartition(")")[2].split()[1])
        except OSError:
            continue  # it has ended
        if parent == os.getppid() and int(entry) != os.getpid():
            for number in set(signal.valid_signals()) - {signal.SIGKILL, signal.SIGSTOP}:
                os.kill(int(entry), number)

FAULTS = {
    "none": lambda: None,
    "setuid": setuid,
    "chroot": chroot,
    "closed_descriptors": lambda: os.closerange(3, 4096),
    "no_descriptor_left": lambda: limit(resource.RLIMIT_NOFILE, 3),
    "small_files": lambda: limit(resource.RLIMIT_FSIZE, 4096),
    "remove_temporary": remove_temporary,
    "replace_folder": replace_folder,
    "overwrite": overwrite,
    "truncate": truncate,
    "remove_logs": remove_logs,
    "umask": lambda: os.umask(0o777),
    "other_mounts": other_mounts,
    "other_ipc": other_ipc,
    "no_open": no_open,
    "environment": os.environ.clear,
    "killed": lambda: None,
    "signals_to_devsan": signals_to_devsan,
    "forged_token": lambda: forge(0, 1),
    "forged_end": lambda: forge(8, 1),
    "forged_end_for_a_while": lambda: forge(8, 1),
}

def work():
    result = ctypes.CDLL(LIBRARY).devsan_fate_work(DEVICE.encode())
    os.write(1, b"worked %d\n" % result)

def child():
    early = FAULT.startswith("early:")
    if early:
        FAULTS[FAULT[6:]]()
    ctypes.CDLL(LIBRARY)
    if not early:
        FAULTS.get(FAULT, FAULTS["none"])()
    work()
    if FAULT == "forged_end_for_a_while":
        forge(8, 0)
    if FAULT == "killed" and KIND != "one":
        os.kill(os.getpid(), signal.SIGKILL)

def in_fork():
    child_process = os.fork()
    if child_process == 0:
        child()
        os._exit(0)
    assert os.waitpid(child_process, 0)[1] == (9 if FAULT == "killed" else 0)

if __name__ == "__main__":
    if KIND == "fork":
        ctypes.CDLL(LIBRARY)
        in_fork()
        in_fork()
        work()
    elif KIND == "spawn":
        for _ in range(2):
            process = multiprocessing.get_context("spawn").Process(target=child)
            process.start()
            process.join()
            assert process.exitcode == (-9 if FAULT == "killed" else 0), process.exitcode
    else:
        child()
    os.write(1, b"end\n")
    sys.stdout.flush()
    if FAULT.startswith("cut:"):
        truncate(int(FAULT[4:]))
        os._exit(int(STATUS))
    os._exit(int(STATUS)) if FAULT == "no_descriptor_left" else sys.exit(int(STATUS))
'''

INSIDE = ["none", "setuid", "chroot", "closed_descriptors", "no_descriptor_left", "small_files", "remove_temporary",
          "replace_folder", "overwrite", "truncate", "remove_logs", "umask", "other_mounts", "other_ipc",
          "no_open", "environment", "killed", "early:setuid", "early:small_files", "early:umask", "early:closed_descriptors",
          "early:other_ipc"]
# After these, everything must have been seen all the same.
HARMLESS = {"none", "closed_descriptors", "umask", "killed", "other_ipc", "environment", "early:umask",
            "early:closed_descriptors", "early:other_ipc"}
NEEDS_ROOT = {"setuid", "chroot", "other_mounts", "other_ipc", "early:setuid", "early:other_ipc"}

# The libraries for another PyTorch lie in the first user's cache (docs/limits.md).
IMPOSSIBLE = set() if IS_OWN_TORCH else {"early:setuid"}


class Fate(Canary):
    def prepare(self):
        sandbox = self.sandbox()
        if not IS_OWN_TORCH:
            sandbox.cache_home = os.environ.get("XDG_CACHE_HOME", os.path.expanduser("~/.cache"))  # compiling takes minutes
        sandbox.write("repo/program.py", PROGRAM)
        os.makedirs(sandbox.path("empty"))
        return sandbox

    def tree(self, sandbox, **changed):
        """A DevSan like the one under test but for files that are texts here, or None: missing."""
        root = sandbox.path("devsan")
        shutil.copytree(BUILD + "/python", root + "/python", symlinks=True)
        for folder in ("lib", "libexec"):
            os.makedirs(os.path.join(root, folder))
            for name in os.listdir(os.path.join(BUILD, folder)):
                os.symlink(os.path.join(BUILD, folder, name), os.path.join(root, folder, name))
        os.makedirs(root + "/bin")
        shutil.copy(DEVSAN, root + "/bin/devsan")
        for name, content in changed.items():
            path = os.path.join(root, name)
            os.remove(path)
            if content is not None:
                sandbox.write("devsan/" + name, content, 0o755)
        return root + "/bin/devsan"

    def command(self, kind, fault, *, device="cuda:1", status=0):
        launcher = ["-m", "torch.distributed.run", "--nproc-per-node", "2", "--log-dir", "../empty", "--standalone"]
        return [sys.executable, *(launcher if kind == "torchrun" else []), "program.py", kind, fault, WORK, device, str(status)]

    def written(self, kind, device="cuda:1"):
        """What the program writes and DevSan must not change. Ranks write as they come."""
        return [b"end"] * (2 if kind == "torchrun" else 1) + [b"worked 12"] * PROCESSES[kind]

    def run_case(self, kind, fault, *, devsan=DEVSAN, sandbox=None, sim="--sim=2", device="cuda:1", status=0, before=(),
                 gate=("--max=device-host-sync=1000",), options=(), complete=None, env=None, limits=None, report=True,
                 seconds=60):
        """`complete`: whether all must have been seen (None: either, if it is said). Returns what the run said."""
        sandbox = sandbox or self.prepare()
        done = sandbox.run(command=[*before, devsan, "run", "--quiet", *([sim] if sim else []), *gate, *options,
                                    *(["--report=report.json"] if report else []), "--",
                                    *self.command(kind, fault, device=device, status=status)],
                           env={"EMPTY": sandbox.path("empty"), **(env or {})}, limits=limits, seconds=seconds,
                           writes=["repo/report.json", "repo/__pycache__"])
        self.assertEqual(sorted(done.raw_out.splitlines()), sorted(self.written(kind)), str(done))
        for line in done.err.splitlines():
            self.assertRegex(line, r"^(devsan|Error in cpuinfo|W\d{4} .*torch|\[?W|.*torch/distributed|\*+$|Setting OMP)", str(done))
        if report:
            self.check_report(sandbox, kind, done, device=device, status=status, gate=gate, complete=complete)
        return done

    def check_report(self, sandbox, kind, done, *, device, status, gate, complete):
        with open(sandbox.path("repo/report.json"), encoding="utf-8") as file:
            report = json.load(file)
        summary = report["summary"]
        waits = sum(finding["count"] for finding in report["findings"] if finding["rule"] == "device-host-sync")
        if complete is not None:
            self.assertEqual(summary["partial"], not complete, f"{summary} {done}")
        if summary["partial"]:
            self.assertTrue(summary["notes"], str(done))
            self.assertEqual(done.status, status or (2 if gate else 0), str(done))
        else:
            self.assertEqual(waits, WAITS * PROCESSES[kind] if device != "cpu" else 0, f"{report} {done}")
            self.assertEqual(done.status, status, str(done))

    def inside(self, kind, faults):
        for fault in faults:
            if fault in IMPOSSIBLE or (fault in NEEDS_ROOT and not is_root()):
                continue
            with self.subTest(kind=kind, fault=fault):
                self.run_case(kind, fault, complete=True if fault in HARMLESS else None)

    # Faults inside of the program's processes.

    def test_one(self):
        self.inside("one", INSIDE)

    def test_fork(self):
        self.inside("fork", [fault for fault in INSIDE if FULL or not fault.startswith("early:") or fault == "early:setuid"])

    def test_spawn(self):
        self.inside("spawn", INSIDE if FULL else ["setuid", "remove_temporary", "early:setuid", "early:small_files"])

    def test_torchrun(self):
        self.inside("torchrun", [fault for fault in INSIDE if fault != "killed"] if FULL else ["remove_logs"])

    def test_what_cannot_record_is_known(self):
        """The fault is in all children, so a report that is not partial would lie."""
        if not is_root():
            self.skipTest("to become another user needs root")
        for kind, fault, count in (("fork", "setuid", "2 processes were"), ("fork", "chroot", "2 processes were"),
                                   ("fork", "small_files", "2 processes were"), ("fork", "no_open", "2 processes were"),
                                   ("fork", "no_descriptor_left", "2 processes were"), ("one", "early:small_files", "a process was"),
                                   ("one", "remove_logs", "1 of 1 event logs is missing")):
            with self.subTest(kind=kind, fault=fault):
                done = self.run_case(kind, fault, complete=False)
                self.assertIn(count, done.err)
                self.assertLessEqual(done.err.count("runs on unobserved"), 1, str(done))

    def test_a_log_that_is_cut_as_the_last_thing(self):
        """Nothing of it is written any more: what is left may end where a record does."""
        for kind, size in (("one", 48), ("one", 4096), ("one", 1 << 19), ("fork", 48)):
            with self.subTest(kind=kind, size=size):
                self.run_case(kind, f"cut:{size}", complete=False)

    def test_whoever_forges_what_processes_count_is_noticed(self):
        for kind, fault in (("one", "forged_token"), ("fork", "forged_end"), ("fork", "forged_end_for_a_while")):
            with self.subTest(kind=kind, fault=fault):
                done = self.run_case(kind, fault, complete=False)
                self.assertIn("was changed while the program ran", done.err)

    def test_without_shared_memory(self):
        if not is_root():
            self.skipTest("needs an IPC namespace: run it as root")
        for kind, fault, complete in (("fork", "none", True), ("fork", "small_files", False), ("fork", "no_open", False)):
            with self.subTest(kind=kind, fault=fault):
                done = self.run_case(kind, fault, complete=complete,
                                     before=["unshare", "-i", "sh", "-c", "echo 0 > /proc/sys/kernel/shmmni && exec \"$@\"", "-"])
                if kind == "fork" and not complete:
                    self.assertIn("2 processes were", done.err)

    def test_without_a_gate_the_status_is_the_programs(self):
        for status in (0, 7):
            with self.subTest(status):
                self.run_case("fork", "small_files", status=status, gate=("--fail-on=none",) if status else (), complete=False)

    # Faults around the program.

    def kinds(self):
        return PROCESSES if FULL else ["fork"]

    def test_temporary_folders(self):
        cases = [("missing", "", True)]
        if is_root():
            cases += [("read_only", "mount -t tmpfs -o ro tmpfs small", True), ("no_room", "mount -t tmpfs -o size=4k tmpfs small", False),
                      ("two_logs", "mount -t tmpfs -o size=2200k tmpfs small", False), ("no_inodes", "mount -t tmpfs -o nr_inodes=1 tmpfs small", True),
                      ("one_inode", "mount -t tmpfs -o nr_inodes=3 tmpfs small", False)]
        for kind in self.kinds():
            for name, mount, complete in cases:
                with self.subTest(name, kind=kind):
                    sandbox = self.prepare()
                    before = []
                    if mount:
                        os.mkdir(sandbox.path("small"))
                        before = ["unshare", "-m", "sh", "-c", f"cd .. && {mount} && cd repo && \"$@\"; status=$?; "
                                  "ls -A ../small >&2; exit $status", "-"]
                    # Two logs are enough for a process alone, and for two where one ends before the other begins.
                    is_open = name == "one_inode" or (name == "two_logs" and kind in ("one", "spawn"))
                    self.run_case(kind, "none", sandbox=sandbox, before=before, complete=None if is_open else complete,
                                  env={"TMPDIR": sandbox.path("small")})

    def test_without_proc(self):
        if not is_root():
            self.skipTest("needs a mount namespace: run it as root")
        self.run_case("fork", "none", before=["unshare", "-m", "sh", "-c", "umount -l /proc && exec \"$@\"", "-"], complete=True)

    def test_few_descriptors(self):
        for most in range(4, 9):
            with self.subTest(most):
                done = self.prepare().run(command=[DEVSAN, "run", "--quiet", "--", "/bin/echo", "good"],
                                          limits=lambda: resource.setrlimit(resource.RLIMIT_NOFILE, (most, most)))
                self.assertEqual((done.status, done.out), (0, "good\n"), str(done))
        self.run_case("one", "none", limits=lambda: resource.setrlimit(resource.RLIMIT_NOFILE, (8, 8)))

    def test_symbolizers(self):
        def symbolizer(text):
            return {"libexec/devsan-symbolize": text}
        python = f"#!{sys.executable} -S\nimport os, resource, signal, sys, time\n"
        cases = {
            "missing": symbolizer(None),
            "no_program": symbolizer("not a program"),
            "ends": symbolizer("#!/bin/sh\nexit 0\n"),
            "killed": symbolizer("#!/bin/sh\nkill -KILL $$\n"),
            "killed_later": symbolizer(python + "sys.stdin.readline(); print('{\"frames\":[]}', flush=True); os.kill(os.getpid(), 9)\n"),
            "kills_the_report": symbolizer("#!/bin/sh\nkill -KILL $PPID\n"),
            "stops_the_report": symbolizer("#!/bin/sh\nkill -SEGV $PPID\n"),
            "takes_the_memory": symbolizer(
                python + "os.dup2(os.open('/dev/null', os.O_WRONLY), 2)\nresource.prlimit(os.getppid(), resource.RLIMIT_AS, (1 << 20, 1 << 20))\n"
                "for _ in sys.stdin: print('{\"frames\":[{\"function\":\"' + 'f' * 100000 + '\"}]}', flush=True)\n"),
            "one_endless_answer": symbolizer("#!/bin/sh\nexec cat /dev/zero\n"),
        }
        if FULL:
            cases["hangs"] = symbolizer("#!/bin/sh\nexec sleep 100\n")
        for kind in self.kinds():
            for name, changed in cases.items():
                with self.subTest(name, kind=kind):
                    sandbox = self.prepare()
                    self.run_case(kind, "none", sandbox=sandbox, devsan=self.tree(sandbox, **changed), complete=False)

    @unittest.skipUnless(IS_OWN_TORCH, "the libraries of another PyTorch lie in the user's cache")
    def test_libraries_that_cannot_be_loaded(self):
        for kind in self.kinds():
            for name, content in (("runtime", "no library"), ("runtime", ""), ("sim", "no library")):
                with self.subTest(name, kind=kind, content=content):
                    sandbox = self.prepare()
                    devsan = self.tree(sandbox, **{f"lib/libdevsan_{name}.so": content})
                    done = self.run_case(kind, "none", sandbox=sandbox, devsan=devsan, sim="--sim=2" if name == "sim" else "",
                                         device="cpu", complete=False)
                    self.assertIn("could not be loaded", done.err)
                    self.assertEqual(done.err.count("runs on unobserved"), 1, str(done))

    def test_reports_that_cannot_be_written(self):
        sandbox = self.prepare()
        sandbox.link("links/full.json", "/dev/full")  # one in the project would not be followed
        done = sandbox.run(command=[DEVSAN, "run", "--quiet", "--sim=2", "--report=../links/full.json", "--report=good.json", "--",
                                    *self.command("one", "none", status=5)],
                           env={"EMPTY": sandbox.path("empty")}, writes=["repo/good.json"])
        self.assertSays(done, 5, "cannot write", "full.json", "No space left on device")
        self.assertEqual(len(json.loads(sandbox.read("repo/good.json"))["findings"]), 1)

    # Ends.

    def wait_for(self, condition, what):
        end = time.monotonic() + 50
        while not condition():
            self.assertLess(time.monotonic(), end, what)
            time.sleep(0.05)

    def test_devsan_is_killed(self):
        """Alone: the program runs on. With its group: it does not. The report is made, and nothing is left."""
        for whole_group in (False, True):
            with self.subTest(whole_group=whole_group):
                sandbox = self.prepare()
                sandbox.write("repo/sleeper.py", PROGRAM.replace('os.write(1, b"end\\n")', """
    open("mark", "w").close()
    import time
    time.sleep(1)
    open("ended", "w").close()
"""))
                command = self.command("one", "none")
                command[command.index("program.py")] = "sleeper.py"
                process = subprocess.Popen([DEVSAN, "run", "--sim=2", "--quiet", "--report=report.json", "--", *command],
                                           cwd=sandbox.repo, env=sandbox.environment(EMPTY=sandbox.path("empty")),
                                           stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL, start_new_session=True)
                self.wait_for(lambda: os.path.exists(sandbox.path("repo/mark")), "the program did not start")
                (os.killpg if whole_group else os.kill)(process.pid, signal.SIGKILL)
                self.assertEqual(process.wait(), -signal.SIGKILL)
                report = sandbox.path("repo/report.json")
                self.wait_for(lambda: os.path.exists(report), "there is no report")
                self.wait_for(lambda: not os.listdir(sandbox.tmp), "something is left in the temporary folder")
                self.assertEqual(os.path.exists(sandbox.path("repo/ended")), not whole_group)
                with open(report, encoding="utf-8") as file:
                    report = json.load(file)
                self.assertTrue(report["summary"]["partial"])
                self.assertEqual([finding["count"] for finding in report["findings"]], [WAITS])

    def test_signals_while_the_program_runs(self):
        self.run_case("one", "signals_to_devsan", complete=True)

    def test_signals_while_the_report_is_made(self):
        """They end it, unless whoever started DevSan ignores them; a program that failed has its status all the same."""
        symbolizer = ("#!/bin/sh\nread _ _ _ devsan _ < /proc/$PPID/stat\nkill -%d $devsan\n[ %s = ignored ] || while read _; do :; done\n"
                      "exec " + BUILD + "/libexec/devsan-symbolize\n")
        for number in (signal.SIGHUP, signal.SIGINT, signal.SIGQUIT, signal.SIGTERM) if FULL else (signal.SIGHUP, signal.SIGTERM):
            for status, ignored in ((0, True), (0, False), (7, False)):
                if not FULL and ignored != (number == signal.SIGHUP):
                    continue
                with self.subTest(number, status=status, ignored=ignored):
                    sandbox = self.prepare()
                    devsan = self.tree(sandbox, **{"libexec/devsan-symbolize": symbolizer % (number, "ignored" if ignored else "-")})
                    if ignored:
                        self.run_case("one", "none", sandbox=sandbox, devsan=devsan, complete=True,
                                      limits=lambda: signal.signal(number, signal.SIG_IGN))
                        continue
                    done = sandbox.run(command=[devsan, "run", "--quiet", "--sim=2", "--", *self.command("one", "none", status=status)],
                                       env={"EMPTY": sandbox.path("empty")}, may_be_killed=not status)
                    self.assertEqual(done.status, status or -number, str(done))

    def test_a_terminal_that_closes(self):
        """Only the leader of its session is told."""
        sandbox = self.prepare()
        child, terminal = pty.fork()
        if child == 0:
            try:
                os.chdir(sandbox.repo)
                os.execve(DEVSAN, [DEVSAN, "run", "--quiet", "--", "sh", "-c", "trap 'touch told; exit' HUP; echo $$ > new; "
                                   "mv new pid; while :; do sleep 0.05; done"], sandbox.environment())
            finally:
                os._exit(127)
        self.wait_for(lambda: os.path.exists(sandbox.path("repo/pid")), "the program did not start")
        os.close(terminal)
        try:
            end = time.monotonic() + 5
            while not os.path.exists(sandbox.path("repo/told")) and time.monotonic() < end:
                time.sleep(0.05)
            self.assertTrue(os.path.exists(sandbox.path("repo/told")), "the program was not told")
        finally:
            try:
                os.kill(int(sandbox.read("repo/pid")), signal.SIGKILL)
            except ProcessLookupError:
                pass
            os.waitpid(child, 0)

    def test_a_program_that_is_killed(self):
        sandbox = self.prepare()
        done = sandbox.run(command=[DEVSAN, "run", "--sim=2", "--quiet", "--report=report.json", "--max=device-host-sync=0", "--",
                                    "sh", "-c", " ".join(self.command("one", "none")) + "; kill -KILL $$"],
                           env={"EMPTY": sandbox.path("empty")}, writes=["repo/report.json"], may_be_killed=True)
        self.assertEqual(done.status, -signal.SIGKILL)
        report = json.loads(sandbox.read("repo/report.json"))
        self.assertTrue(report["summary"]["partial"])
        self.assertEqual(report["findings"][0]["count"], WAITS)

    def test_programs_that_end_at_once(self):
        sandbox = self.prepare()
        for _ in range(40):
            done = sandbox.run("run", "--quiet", "--fail-on=error", "--", "true")
            self.assertEqual((done.status, done.err.count("\n")), (0, 2), str(done))

    def test_children_whose_status_nobody_wants(self):
        """Whoever starts `devsan run` may ignore SIGCHLD, and so does the program then."""
        done = self.prepare().run("run", "--quiet", "--", sys.executable, "-c",
                                  "import signal; print(signal.getsignal(signal.SIGCHLD) == signal.SIG_IGN); exit(7)",
                                  limits=lambda: signal.signal(signal.SIGCHLD, signal.SIG_IGN))
        self.assertEqual((done.status, done.out), (7, "True\n"), str(done))

    def test_a_process_that_outlives_the_run(self):
        sandbox = self.prepare()
        sandbox.write("repo/daemon.py", PROGRAM.replace("in_fork()\n        in_fork()\n        work()", """
        if os.fork() == 0:
            os.setsid()
            import time
            while os.path.exists(logs):
                time.sleep(0.05)
            work()
            os._exit(0)
"""))
        command = self.command("fork", "none")
        command[command.index("program.py")] = "daemon.py"
        done = sandbox.run(command=[DEVSAN, "run", "--sim=2", "--quiet", "--fail-on=error", "--", *command],
                           env={"EMPTY": sandbox.path("empty")})
        # Its output comes when the run is over, and stdout is its, too.
        self.assertEqual((done.status, sorted(done.raw_out.splitlines())), (0, [b"end", b"worked 12"]), str(done))
        self.assertNotIn("unobserved", done.err)

    # Logs are data, and their owner's.

    def test_kept_logs_are_their_owners(self):
        sandbox = self.prepare()
        done = sandbox.run(command=["sh", "-c", "umask 000 && exec \"$@\"", "-", DEVSAN, "run", "--sim=2", "--quiet", "--keep-logs=kept",
                                    "--", *self.command("fork", "none")], env={"EMPTY": sandbox.path("empty")}, writes=["repo/kept"])
        self.assertEqual(done.status, 0, str(done))
        (folder,) = glob.glob(sandbox.path("repo/kept/*"))
        self.assertEqual(os.stat(folder).st_mode & 0o7777, 0o700)
        names = os.listdir(folder)
        self.assertEqual(len(names), PROCESSES["fork"] + 1)
        for name in names:
            self.assertEqual(os.stat(os.path.join(folder, name)).st_mode & 0o7777, 0o600, name)
        self.hostile_logs(sandbox, folder)

    def test_a_gate_on_kept_logs(self):
        for fault, options, status in (("none", [], 0), ("small_files", [], 2), ("cut:48", ["--merge"], 2)):
            sandbox = self.prepare()
            done = sandbox.run(command=[DEVSAN, "run", "--sim=2", "--quiet", "--keep-logs=kept", "--", *self.command("fork", fault)],
                               env={"EMPTY": sandbox.path("empty")}, writes=["repo/kept"])
            self.assertEqual(done.status, 0, str(done))
            for gate in ("--fail-on=error", "--max=device-host-sync=1000"):
                with self.subTest(fault=fault, gate=gate, options=options):
                    done = sandbox.run("report", *options, gate, "kept")
                    self.assertSays(done, status, *(["no verdict"] if status else []))
            self.assertSays(sandbox.run("report", *options, "kept"), 0)

    def hostile_logs(self, sandbox, folder):
        """Variants of a good log, read by `devsan report`: it ends, in little memory, with a status that fits."""
        (good, *_) = sorted(glob.glob(folder + "/*.devsanlog"))
        with open(good, "rb") as file:
            content = file.read()
        library = os.fsencode(WORK)
        for name, path in (("zero", b"/dev/zero"), ("stdin", b"/dev/stdin"),
                           ("pipe", os.fsencode(os.path.realpath(sandbox.fifo("repo/pipe"))))):
            self.assertLessEqual(len(path), len(library))
            sandbox.write(f"repo/logs/{name}_module.devsanlog", content.replace(library, path.rjust(len(library), b"/")))
            self.assertIn(library, content)
        sandbox.huge("repo/logs/sparse.devsanlog", 4 << 40, head=content)
        sandbox.huge("repo/logs/empty.devsanlog", 64 << 30, head=content[:48])
        for name in os.listdir(sandbox.path("repo/logs")):
            with self.subTest(log=name):
                self.assertSays(sandbox.run("report", "logs/" + name), (0, 2))
        for name, make in (("pipe", sandbox.fifo), ("zero", lambda path: sandbox.link(path, "/dev/zero")),
                           ("folder", lambda path: os.makedirs(sandbox.path(path)))):
            make(f"repo/bad/{name}.devsanlog")
            with self.subTest(log=name):
                self.assertSays(sandbox.run("report", f"bad/{name}.devsanlog"), 2)
        self.assertSays(sandbox.run("report", "bad"), 2)
        sandbox.write("repo/facts/a.devsanlog", content)
        sandbox.fifo("repo/facts/run.json")
        self.assertSays(sandbox.run("report", "facts"), 2, "run.json")


if __name__ == "__main__":
    main()
