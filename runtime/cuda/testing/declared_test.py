"""What the stand-in for CUDA's runtime header declares: a program that names all of it can be linked, and no function crashes
where it is called with nothing.

usage: declared_test.py CUDA LIBRARY… [unittest's arguments]
  CUDA      the toolkit's folder
  LIBRARY   libcudart.so.12 and .13"""

import ctypes
import os
import re
import subprocess
import sys
import tempfile
import unittest
from pathlib import Path

CUDA = Path(sys.argv[1])
LIBRARIES = [argument for argument in sys.argv[2:] if ".so" in argument]
SETTINGS = {"DEVSAN_SIM_DEVICES": "2", "DEVSAN_SIM_PROTECT": "on", "DEVSAN_SIM_MEMORY": str(1 << 26)}


def declared():
    header = (CUDA / "include/cuda_runtime_api.h").read_text() + (CUDA / "include/cuda_gl_interop.h").read_text()
    return sorted(set(re.findall(r"^(?:cudaError_t|const char \*|struct \w+) ?(cuda\w+)\(.*\);$", header, re.M)))


class ChannelFormat(ctypes.Structure):
    _fields_ = [("bits", ctypes.c_int * 4), ("kind", ctypes.c_int)]


def call_all(library, driver):
    ctypes.CDLL(driver, ctypes.RTLD_GLOBAL)
    cuda = ctypes.CDLL(library, ctypes.RTLD_GLOBAL)
    for name in declared():
        print(name, flush=True)
        function = getattr(cuda, name)
        function.restype = ChannelFormat if name == "cudaCreateChannelDesc" else ctypes.c_void_p
        function(*[ctypes.c_size_t(0)] * 24)  # as many as structures passed by value need
    print("all", flush=True)


class Declared(unittest.TestCase):
    def test_is_all_of_the_header(self):
        self.assertGreater(len(declared()), 300)

    def test_links(self):
        with tempfile.TemporaryDirectory() as folder:
            source = Path(folder, "all.c")
            source.write_text("#include <cuda_gl_interop.h>\n#include <cuda_runtime_api.h>\nvoid *all[] = {"
                              + ", ".join(f"(void *){name}" for name in declared()) + "};\nint main(void) { return all[0] == 0; }\n")
            subprocess.run(["cc", "-Wall", "-Werror", source, "-I", CUDA / "include", "-L", CUDA / "lib64", "-lcudart", "-o",
                            Path(folder, "all")], check=True)

    def test_can_be_called_with_nothing(self):
        for library in LIBRARIES:
            driver = os.path.join(os.path.dirname(library), "..", "libcuda.so.1")
            with self.subTest(library=library):
                done = subprocess.run([sys.executable, "-B", __file__, CUDA, library, "--call", driver], capture_output=True,
                                      text=True, env=os.environ | SETTINGS)
                self.assertEqual((done.returncode, done.stdout.split()[-1:]), (0, ["all"]), done.stderr)
                refused = re.findall(r"^devsan: not simulated: (.*) \((\w+)\)$", done.stderr, re.M)
                self.assertEqual(len(refused), len({name for _, name in refused}))
                self.assertIn(("CUDA graphs that C++ captures", "cudaGraphCreate"), refused)
                self.assertIn(("memory and semaphores of other interfaces", "cudaImportExternalSemaphore"), refused)


if __name__ == "__main__":
    if "--call" in sys.argv:
        call_all(LIBRARIES[0], sys.argv[-1])
    else:
        unittest.main(argv=[sys.argv[0], *(argument for argument in sys.argv[2:] if ".so" not in argument)])
