"""The runtime for another LibTorch: built on first use, cached, shared, or a clear error.

usage: runtime_cache_test.py DEVSAN [--full] [unittest options]

The other LibTorch is a copy of ours with another build id. A stand-in compiler, which hands out the prebuilt libraries,
keeps the default tests short; --full compiles.
"""

import importlib.metadata
import importlib.util
import os
import shutil
import subprocess
import sys
import tempfile
import unittest

DEVSAN = os.path.abspath(sys.argv.pop(1))
FULL = "--full" in sys.argv
if FULL:
    sys.argv.remove("--full")
ROOT = os.path.dirname(os.path.dirname(DEVSAN))
TORCH = os.path.dirname(importlib.util.find_spec("torch").origin)
OTHER_ID = b"\xaa" * 20

STAND_IN = """\
#!/bin/sh
# A compiler: writes what -o names, and a line in {log} for each library.
words=$*
while [ $# -gt 0 ]; do
  case $1 in
    -shared) shared=1;;
    -o) shift; out=$1;;
  esac
  shift
done
if [ "$shared" ]; then
  echo "$(basename $out)" >> {log}
  cp {root}/lib/$(basename $out) $out
else
  {pause}
  : > "$out"
fi
"""


def build_id(path):
    script = os.path.join(os.path.dirname(__file__), "../../cmake/torch_id.py")
    return bytes.fromhex(subprocess.run([sys.executable, script, path], capture_output=True, check=True).stdout.decode())


def make_other_torch(directory, include=None):
    """Our torch as symbolic links, except for the library that tells LibTorchs apart."""
    os.makedirs(os.path.join(directory, "torch/lib"))
    for folder in ("", "lib"):
        for name in os.listdir(os.path.join(TORCH, folder)):
            if (folder, name) in (("", "lib"), ("lib", "libtorch_cpu.so")) or (include and name == "include"):
                continue
            os.symlink(os.path.join(TORCH, folder, name), os.path.join(directory, "torch", folder, name))
    if include:
        os.symlink(include, os.path.join(directory, "torch/include"))
    os.symlink(os.path.join(os.path.dirname(TORCH), "torchgen"), os.path.join(directory, "torchgen"))
    library = os.path.join(directory, "torch/lib/libtorch_cpu.so")
    shutil.copyfile(os.path.join(TORCH, "lib/libtorch_cpu.so"), library)
    own = build_id(library)
    with open(library, "r+b") as file:
        start = file.read(1 << 20)
        file.seek(start.index(own))
        file.write(OTHER_ID)


class OtherTorch(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.shared = tempfile.TemporaryDirectory(prefix="devsan-torch-")
        cls.addClassCleanup(cls.shared.cleanup)
        cls.packages = os.path.join(cls.shared.name, "packages")
        make_other_torch(cls.packages)

    def setUp(self):
        directory = tempfile.TemporaryDirectory(prefix="devsan-cache-")
        self.addCleanup(directory.cleanup)
        self.directory = directory.name
        self.compiled = os.path.join(self.directory, "compiled")
        self.compiler = os.path.join(self.directory, "c++")
        self.write_compiler()
        self.program = os.path.join(self.directory, "program.py")
        with open(self.program, "w", encoding="utf-8") as file:
            file.write("import torch\nprint('on', torch.ones(3, device='cuda:1').device, torch.__file__)\n")

    def write_compiler(self, pause=""):
        with open(self.compiler, "w", encoding="utf-8") as file:
            file.write(STAND_IN.format(log=self.compiled, root=ROOT, pause=pause))
        os.chmod(self.compiler, 0o755)

    def environment(self, **changes):
        values = {**os.environ, "XDG_CACHE_HOME": os.path.join(self.directory, "cache"), "CXX": self.compiler,
                  "PYTHONPATH": self.packages, **changes}
        return {name: value for name, value in values.items() if value is not None}

    def run_program(self, **changes):
        return subprocess.run([DEVSAN, "run", "--sim=2", "--", sys.executable, self.program], capture_output=True,
                              text=True, timeout=300, env=self.environment(**changes))

    def prepare(self, packages=None, devsan=DEVSAN, **changes):
        return subprocess.run([devsan, "prepare", f"--torch={packages or self.packages}/torch"], capture_output=True,
                              text=True, timeout=1200, env=self.environment(**changes))

    def libraries_compiled(self):
        if not os.path.exists(self.compiled):
            return []
        with open(self.compiled, encoding="utf-8") as file:
            return sorted(file.read().split())

    def assert_runs(self, result):
        self.assertEqual(result.returncode, 0, result.stderr)
        self.assertIn(f"on cuda:1 {self.packages}", result.stdout)

    def assert_runs_without(self, result):
        """As without DevSan: the program finds no device, and its status is the one that counts."""
        self.assertEqual((result.returncode, result.stdout), (1, ""), result.stderr)
        self.assertIn("runs on unobserved: ", result.stderr)
        self.assertIn("a process was not observed", result.stderr)

    def test_is_built_once_and_found_afterwards(self):
        first = self.run_program()
        self.assert_runs(first)
        self.assertIn("building libdevsan_sim.so for LibTorch " + importlib.metadata.version("torch").split("+")[0], first.stderr)
        self.assertEqual(self.libraries_compiled(), ["libdevsan_runtime.so", "libdevsan_sim.so"])
        second = self.run_program()
        self.assert_runs(second)
        self.assertNotIn("building", second.stderr)
        self.assertEqual(len(self.libraries_compiled()), 2)
        doctor = subprocess.run([DEVSAN, "doctor"], capture_output=True, text=True, env=self.environment()).stdout
        self.assertIn("prebuilt for", doctor)
        self.assertRegex(doctor, r"libdevsan_sim.so for LibTorch [\d.]+, " + self.packages)

    def test_a_release_that_is_shipped_is_not_built(self):
        tree = os.path.join(self.directory, "tree")
        for name in ("bin", "lib"):
            os.makedirs(os.path.join(tree, name))
        shutil.copy(DEVSAN, os.path.join(tree, "bin"))
        for name in ("runtime-sources.txt", "libdevsan_preload.so"):
            shutil.copy(os.path.join(ROOT, "lib", name), os.path.join(tree, "lib"))
        shipped = os.path.join(tree, "lib/torch", OTHER_ID.hex())
        os.makedirs(shipped)
        for name in ("libdevsan_sim.so", "libdevsan_runtime.so"):
            shutil.copy(os.path.join(ROOT, "lib", name), shipped)
        with open(os.path.join(shipped, "version"), "w", encoding="utf-8") as file:
            file.write("9.9.9\n")
        answer = self.prepare(devsan=os.path.join(tree, "bin/devsan"))
        self.assertEqual(answer.stdout, f"{shipped}/libdevsan_sim.so:{shipped}/libdevsan_runtime.so\n", answer.stderr)
        self.assertEqual(self.libraries_compiled(), [])
        doctor = subprocess.run([os.path.join(tree, "bin/devsan"), "doctor"], capture_output=True, text=True, env=self.environment()).stdout
        self.assertIn(f"LibTorch 9.9.9, build id {OTHER_ID.hex()}", doctor)

    def test_a_damaged_library_is_built_again(self):
        path = self.prepare().stdout.split(":")[0]
        with open(path, "r+b") as file:
            file.seek(4096)
            file.write(b"damage")
        self.assertIn("is damaged", subprocess.run([DEVSAN, "doctor"], capture_output=True, text=True,
                                                   env=self.environment()).stdout)
        result = self.run_program()
        self.assert_runs(result)
        self.assertIn(f"{path} is damaged and is built again", result.stderr)
        self.assertEqual(len(self.libraries_compiled()), 3)

    def test_ranks_that_start_together_build_once(self):
        self.write_compiler(pause="sleep 0.02")
        # One by the way of a program, and those that need no Python.
        commands = [[DEVSAN, "run", "--sim=2", "--", sys.executable, self.program],
                    *[[DEVSAN, "prepare", f"--torch={self.packages}/torch"]] * 3]
        ranks = [subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True,
                                  env=self.environment(RANK=str(rank))) for rank, command in enumerate(commands)]
        outputs = [rank.communicate(timeout=300) for rank in ranks]
        self.assertEqual([rank.returncode for rank in ranks], [0] * 4, outputs)
        self.assertEqual(self.libraries_compiled(), ["libdevsan_runtime.so", "libdevsan_sim.so"])

    def test_ranks_that_waited_take_the_failure(self):
        with open(self.compiler, "w", encoding="utf-8") as file:
            file.write(f"#!/bin/sh\necho tried >> {self.compiled}\nsleep 1\nexit 1\n")
        command = [DEVSAN, "prepare", f"--torch={self.packages}/torch"]
        ranks = [subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True,
                                  env=self.environment()) for _ in range(4)]
        errors = [rank.communicate(timeout=300)[1] for rank in ranks]
        self.assertEqual([rank.returncode for rank in ranks], [2] * 4, errors)
        self.assertEqual(self.libraries_compiled(), ["tried"])
        waited = [error for error in errors if "devsan: waiting for another process" in error]
        self.assertEqual(len(waited), 3, errors)
        for error in waited:
            self.assertRegex(error, r"\(.*/devsan/runtime/.*/lock\)")
            self.assertIn("failed in the process that this one waited for", error)
            self.assertIn("the compiler's messages are in ", error)
        self.write_compiler()
        self.assertEqual(self.prepare().returncode, 0)

    def test_a_failure_of_an_earlier_run_is_not_kept(self):
        with open(self.compiler, "w", encoding="utf-8") as file:
            file.write(f"#!/bin/sh\necho tried >> {self.compiled}\nexit 1\n")
        for _ in range(2):
            self.assertEqual(self.prepare().returncode, 2)
        self.assertEqual(self.libraries_compiled(), ["tried"] * 2)

    def test_where_the_simulator_does_not_compile_the_hooks_do(self):
        with open(self.compiler, "w", encoding="utf-8") as file:
            file.write(STAND_IN.format(log=self.compiled, root=ROOT, pause="case $words in *runtime/sim/*) exit 1;; esac"))
        result = self.run_program()
        self.assert_runs_without(result)
        self.assertIn("DevSan's simulator does not fit this release, so there are no simulated devices with it; without --sim the "
                      "program runs observed, by DevSan's hooks alone; the compiler's messages are in ", result.stderr)
        with open(self.program, "w", encoding="utf-8") as file:
            file.write("import torch\nprint(torch.ones(3).sum().item())\n")
        observed = subprocess.run([DEVSAN, "run", "--", sys.executable, self.program], capture_output=True, text=True,
                                  timeout=300, env=self.environment())
        self.assertEqual((observed.returncode, observed.stdout), (0, "3.0\n"), observed.stderr)
        self.assertNotIn("unobserved", observed.stderr)
        self.assertEqual(self.libraries_compiled(), ["libdevsan_runtime.so"])

    def test_compiler_with_arguments(self):
        wrapper = os.path.join(self.directory, "wrapper")
        with open(wrapper, "w", encoding="utf-8") as file:
            file.write('#!/bin/sh\n"$@"\n')
        os.chmod(wrapper, 0o755)
        result = self.prepare(CXX=f" {wrapper}  {self.compiler} -DX ")
        self.assertEqual(result.returncode, 0, result.stderr)
        self.assertEqual(self.libraries_compiled(), ["libdevsan_runtime.so", "libdevsan_sim.so"])
        missing = self.prepare(CXX="/nowhere/ccache g++")
        self.assertIn("CXX names /nowhere/ccache, which is no program", missing.stderr)

    def entry(self):
        return os.path.dirname(self.prepare().stdout.split(":")[0])

    def test_the_cache_is_private(self):
        previous = os.umask(0)
        try:
            entry = self.entry()
        finally:
            os.umask(previous)
        runtime = os.path.dirname(entry)
        for path in (os.path.dirname(runtime), runtime, entry, *(os.path.join(entry, name) for name in os.listdir(entry))):
            if not path.endswith((".log", ".failed")):
                self.assertEqual(os.stat(path).st_mode & 0o077, 0, path)

    def test_what_others_can_write_is_refused(self):
        entry = self.entry()
        runtime = os.path.dirname(entry)
        library = os.path.join(entry, "libdevsan_sim.so")
        for path in (os.path.dirname(runtime), runtime, entry, library, library + ".seal"):
            mode = os.stat(path).st_mode
            for bit in (0o020, 0o002):
                with self.subTest(path=path, bit=bit):
                    os.chmod(path, mode | bit)
                    result = self.prepare()
                    refusal = f"{path} can be written by other users, so nothing is loaded from there"
                    if bit == 0o002 and path in (runtime, library):  # they ask the same function, and import torch
                        program, doctor = self.run_program(), self.doctor()
                        self.assert_runs_without(program)
                        self.assertIn(refusal, program.stderr)
                        self.assertIn(refusal, doctor.stdout)
                    os.chmod(path, mode)
                    self.assertEqual((result.returncode, result.stdout), (2, ""))
                    self.assertIn(refusal, result.stderr)
        self.assert_runs(self.run_program())

    @unittest.skipUnless(os.geteuid() == 0, "only root gives files away")
    def test_what_belongs_to_others_is_refused(self):
        entry = self.entry()
        for path in (os.path.dirname(entry), entry, os.path.join(entry, "libdevsan_sim.so")):
            with self.subTest(path=path):
                os.chown(path, 65534, -1)
                result = self.prepare()
                os.chown(path, 0, -1)
                self.assertEqual((result.returncode, result.stdout), (2, ""))
                self.assertIn(f"{path} belongs to another user", result.stderr)
        link = os.path.join(self.directory, "cache/devsan")
        os.rename(link, link + "-moved")
        os.symlink(link + "-moved", link)
        self.assertEqual(self.prepare().returncode, 0)
        os.chown(link, 65534, -1, follow_symlinks=False)
        self.assertIn("belongs to another user", self.prepare().stderr)

    def test_no_place_for_the_cache(self):
        for changes in ({"HOME": None}, {"HOME": "", "XDG_CACHE_HOME": "relative"}, {"HOME": None, "TMPDIR": "/nowhere"}):
            with self.subTest(changes=changes):
                result = self.prepare(**{"XDG_CACHE_HOME": None, **changes})
                self.assertEqual((result.returncode, result.stdout), (2, ""), result.stderr)
                self.assertIn("neither XDG_CACHE_HOME nor HOME names a folder", result.stderr)
        doctor = self.doctor(**{"XDG_CACHE_HOME": None, **changes})
        self.assertIn("neither XDG_CACHE_HOME nor HOME", doctor.stdout)
        self.assertIn(doctor.returncode, (0, 1), doctor.stderr)

    def doctor(self, user=None, **changes):
        return subprocess.run([DEVSAN, "doctor"], capture_output=True, text=True, env=self.environment(**changes),
                              cwd=self.directory, user=user, timeout=300)

    def test_doctor_passes_over_unreadable_folders(self):
        # As root nothing is unreadable.
        user = 65534 if os.geteuid() == 0 else None
        cache = os.path.join(self.directory, "cache/devsan/runtime")
        os.makedirs(os.path.join(cache, "closed"))
        os.makedirs(os.path.join(cache, "open"))
        with open(os.path.join(cache, "open/libx.so"), "w", encoding="utf-8"):
            pass
        os.chmod(self.directory, 0o755)
        os.chmod(os.path.join(cache, "closed"), 0)
        self.addCleanup(os.chmod, os.path.join(cache, "closed"), 0o700)
        result = self.doctor(user)
        self.assertIn(result.returncode, (0, 1), result.stderr)
        self.assertIn("open/libx.so is damaged", result.stdout)
        self.assertIn("not simulated: NAME", result.stdout)
        os.chmod(cache, 0)
        self.addCleanup(os.chmod, cache, 0o700)
        result = self.doctor(user)
        self.assertIn(result.returncode, (0, 1), result.stderr)
        self.assertIn("not simulated: NAME", result.stdout)

    def test_doctor_runs_nothing_of_the_working_directory(self):
        for name in ("torch", "sys", "os"):
            with open(os.path.join(self.directory, name + ".py"), "w", encoding="utf-8") as file:
                file.write(f"open({self.compiled!r}, 'a').write('imported')\n")
        result = self.doctor(PYTHONPATH=self.directory)
        self.assertEqual(self.libraries_compiled(), [])
        self.assertRegex(result.stdout, r"Python +ok .* with torch ")

    def test_a_damaged_library_is_no_missing_part(self):
        before = self.doctor().returncode
        with open(os.path.join(self.entry(), "libdevsan_sim.so"), "ab") as file:
            file.write(b"damage")
        result = self.doctor()
        self.assertEqual(result.returncode, before)
        self.assertRegex(result.stdout, "note .*is damaged\n +it is built again")

    def test_a_seal_without_its_library_counts_for_nothing(self):
        library = os.path.join(self.entry(), "libdevsan_sim.so")
        os.remove(library)
        with open(library + ".seal", "w", encoding="utf-8") as file:
            file.write("af64d0beb3cd9dd2\n")
        self.assertEqual(self.prepare().returncode, 0)
        self.assertTrue(os.path.exists(library))

    def test_a_folder_in_the_place_of_the_library(self):
        library = os.path.join(self.entry(), "libdevsan_sim.so")
        os.remove(library)
        os.makedirs(os.path.join(library, "x"))
        for _ in range(2):
            result = self.prepare()
            self.assertEqual((result.returncode, result.stdout), (2, ""))
            self.assertIn(f"cannot write {library}: ", result.stderr)
        self.assertFalse(os.path.exists(library + ".seal"))

    def test_ids_that_begin_alike_do_not_share(self):
        folders = set()
        for number in (1, 2):
            result = subprocess.run([DEVSAN, "prepare", f"--torch={self.packages}/torch", f"--id=file-123456789ab-{number}"],
                                    capture_output=True, text=True, env=self.environment())
            self.assertEqual(result.returncode, 0, result.stderr)
            folders.add(os.path.dirname(result.stdout.split(":")[0]))
        self.assertEqual(len(folders), 2)

    def test_a_cache_that_cannot_be_locked(self):
        source, library = os.path.join(self.directory, "flock.c"), os.path.join(self.directory, "flock.so")
        with open(source, "w", encoding="utf-8") as file:
            file.write("#include <errno.h>\nint flock(int file, int how) { errno = ENOLCK; return -1; }\n")
        subprocess.run(["gcc", "-shared", "-fPIC", "-o", library, source], check=True)
        result = self.prepare(LD_PRELOAD=library)
        self.assertEqual((result.returncode, result.stdout), (2, ""), result.stderr)
        self.assertRegex(result.stderr, r"/devsan/runtime/.*/lock cannot be locked: No locks available; set XDG_CACHE_HOME")

    def test_what_is_no_libtorch(self):
        for path in ("/etc/passwd", "/bin/sh"):
            result = subprocess.run([DEVSAN, "prepare", "--torch=" + path], capture_output=True, text=True,
                                    env=self.environment())
            self.assertEqual(result.returncode, 2)
            self.assertIn(f"--torch: {path} is no LibTorch library; name the folder of LibTorch", result.stderr)

    def test_words_too_many_are_refused(self):
        for arguments in (["rules", "--", "x"], ["doctor", "--", "x"], ["prepare", f"--torch={TORCH}", "--", "y", "x"]):
            with self.subTest(arguments=arguments):
                result = subprocess.run([DEVSAN, *arguments], capture_output=True, text=True, env=self.environment())
                self.assertEqual((result.returncode, result.stdout), (2, ""))
                self.assertIn("but got 'x'", result.stderr)

    def test_no_empty_report_is_left(self):
        new, old = os.path.join(self.directory, "new.txt"), os.path.join(self.directory, "old.txt")
        with open(old, "w", encoding="utf-8") as file:
            file.write("old")
        result = subprocess.run([DEVSAN, "run", f"--report={new}", f"--report={old}", "--", "/nowhere/program"],
                                capture_output=True, text=True, env=self.environment())
        self.assertEqual(result.returncode, 2, result.stderr)
        self.assertFalse(os.path.exists(new))
        self.assertTrue(os.path.exists(old))

    def test_a_missing_compiler_is_named(self):
        result = self.run_program(CXX="/nowhere/c++")
        self.assert_runs_without(result)
        self.assertIn("CXX names /nowhere/c++, which is no program; install one", result.stderr)
        self.assertIn(os.path.join(self.packages, "torch/lib/libtorch_cpu.so"), result.stderr)

    def test_no_compiler_at_all(self):
        installed = os.path.join(self.directory, "installed")
        os.makedirs(os.path.join(installed, "bin"))
        shutil.copy(DEVSAN, os.path.join(installed, "bin"))
        os.makedirs(os.path.join(installed, "lib"))
        with open(os.path.join(ROOT, "lib/runtime-sources.txt"), encoding="utf-8") as file:
            lines = ["compiler /nowhere/c++\n" if line.startswith("compiler ") else line for line in file]
        with open(os.path.join(installed, "lib/runtime-sources.txt"), "w", encoding="utf-8") as file:
            file.writelines(lines)
        result = self.prepare(devsan=os.path.join(installed, "bin/devsan"), CXX=None, PATH="/nowhere")
        self.assertEqual(result.returncode, 2)
        self.assertIn("there is no C++ compiler; install one that knows C++20 (apt install clang", result.stderr)

    def test_broken_and_missing_headers(self):
        include = os.path.join(self.directory, "include")
        packages = os.path.join(self.directory, "packages")
        make_other_torch(packages, include)
        result = self.prepare(packages, CXX=None)
        self.assertEqual(result.returncode, 2)
        self.assertIn(f"its headers are missing: no {packages}/torch/include/ATen/core/Tensor.h", result.stderr)
        os.makedirs(os.path.join(include, "ATen/core"))
        with open(os.path.join(include, "ATen/core/Tensor.h"), "w", encoding="utf-8") as file:
            file.write("#error this header is broken\n")
        result = self.prepare(packages, CXX=None)
        self.assertEqual(result.returncode, 2)
        self.assertIn("do not compile; the compiler's messages are in ", result.stderr)
        log = result.stderr.split("the compiler's messages are in ")[1].strip()
        with open(log, encoding="utf-8") as file:
            self.assertIn("this header is broken", file.read())

    def test_a_cache_that_cannot_be_written(self):
        cache = os.path.join(self.directory, "file")
        with open(cache, "w", encoding="utf-8"):
            pass
        result = self.prepare(XDG_CACHE_HOME=cache)
        self.assertEqual(result.returncode, 2)
        self.assertIn("set XDG_CACHE_HOME to a folder that can", result.stderr)

    def test_our_own_torch_needs_no_build(self):
        result = subprocess.run([DEVSAN, "prepare", f"--torch={TORCH}"], capture_output=True, text=True,
                                env=self.environment())
        self.assertEqual(result.stdout, f"{ROOT}/lib/libdevsan_sim.so:{ROOT}/lib/libdevsan_runtime.so\n")
        self.assertEqual(self.libraries_compiled(), [])

    @unittest.skipUnless(FULL, "compiles for minutes; remove by --full")
    def test_real_compilers(self):
        cxx = os.path.join(self.directory, "linked.cpp")
        with open(cxx, "w", encoding="utf-8") as file:
            file.write("#include <ATen/ATen.h>\n#include <cstdio>\n"
                       'int main() { std::puts(at::ones({2}, at::Device("cuda:1")).device().str().c_str()); }\n')
        for compiler in (None, "g++"):
            with self.subTest(compiler=compiler or "the build's"):
                prepared = self.prepare(CXX=compiler)
                self.assertEqual(prepared.returncode, 0, prepared.stderr)
                print(compiler, prepared.stderr, file=sys.stderr)
                self.assert_runs(self.run_program(CXX=compiler))
        lib = os.path.join(self.packages, "torch/lib")
        program = os.path.join(self.directory, "linked")
        subprocess.run(["g++", "-std=c++20", cxx, "-o", program, f"-I{TORCH}/include", f"-L{lib}", "-ltorch_cpu", "-lc10",
                        f"-Wl,-rpath,{lib}"], check=True)
        result = subprocess.run([DEVSAN, "run", "--sim=2", "--", program], capture_output=True, text=True, timeout=300,
                                env=self.environment(CXX="g++"))
        self.assertEqual((result.returncode, result.stdout), (0, "cuda:1\n"), result.stderr)


if __name__ == "__main__":
    unittest.main()
