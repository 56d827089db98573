"""`cmake --install`: the installed tree works wherever it is moved, as find_package(DevSan) too, and goes away without a trace.

usage: install_test.py SOURCE BUILD [unittest options]
"""

import os
import re
import shutil
import sys
import tempfile
import unittest
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[1] / "support"))
from commands import run

SOURCE, BUILD = os.path.abspath(sys.argv.pop(1)), os.path.abspath(sys.argv.pop(1))

BUILD_FAILED = 2  # make says so
PROGRAM = """\
import devsan.metrics
import torch
x = torch.ones(4, device="cuda:1")
for _ in range(3):
    x.sum().item()
"""
PROJECT = """\
cmake_minimum_required(VERSION 3.25)
project(uses_devsan LANGUAGES CXX)
find_package(DevSan 0.1 REQUIRED)
if(NOT EXISTS "${DevSan_EXECUTABLE}" OR NOT TARGET DevSan::cuda_api)
  message(FATAL_ERROR "${DevSan_EXECUTABLE}")
endif()
get_target_property(include DevSan::api INTERFACE_INCLUDE_DIRECTORIES)
if(NOT EXISTS "${include}/devsan/devsan.h")
  message(FATAL_ERROR "${include}")
endif()
enable_testing()
devsan_add_test(NAME may_wait COMMAND "${PYTHON}" "${CMAKE_SOURCE_DIR}/program.py" SIM 2)
devsan_add_test(NAME must_not COMMAND "${PYTHON}" "${CMAKE_SOURCE_DIR}/program.py" SIM 2 FAIL_ON device-host-sync)
add_library(scale OBJECT EXCLUDE_FROM_ALL scale.cpp)
target_compile_features(scale PRIVATE cxx_std_20)
target_include_directories(scale SYSTEM PRIVATE "${MOCK}")
devsan_enable_checks(scale)
"""
# As its authors write it for a CUDA build.
CUDA_PROJECT = """\
cmake_minimum_required(VERSION 3.18)
project(for_gpus LANGUAGES CXX CUDA)
find_package(Torch REQUIRED)
find_package(CUDAToolkit REQUIRED)
add_executable(program program.cpp scale.cu)
target_link_libraries(program "${TORCH_LIBRARIES}" CUDA::cudart CUDA::cublas)
set_target_properties(program PROPERTIES CXX_STANDARD 20 CXX_STANDARD_REQUIRED ON)
"""
CUDA_SOURCES = {
    "scale.cu": """\
#include <c10/cuda/CUDAException.h>
#include <c10/cuda/CUDAStream.h>
__global__ void scale(float *x, int n) { if (threadIdx.x < n) x[threadIdx.x] *= 2; }
void launch(float *x, int n) {
  scale<<<1, 32, 0, c10::cuda::getCurrentCUDAStream()>>>(x, n);
  C10_CUDA_KERNEL_LAUNCH_CHECK();
}
""",
    "program.cpp": """\
#include <iostream>
#include <ATen/cuda/CUDABlas.h>
#include <ATen/cuda/CUDAContext.h>
#include <ATen/cuda/CUDAEvent.h>
#include <ATen/ops/ones.h>
#include <c10/cuda/CUDACachingAllocator.h>
#include <c10/cuda/CUDAGuard.h>
#include <cuda_runtime.h>
void launch(float *x, int n);
int main() {
  if (c10::cuda::device_count() == 0) {
    std::cout << "no device\\n";
    try {
      c10::cuda::current_device();
    } catch (const c10::Error &error) {
      std::cout << error.what_without_backtrace() << "\\n";
    }
    return 1;
  }
  c10::cuda::CUDAGuard guard(1);
  at::cuda::CUDAEvent event;
  c10::cuda::CUDAStreamGuard stream(at::cuda::getStreamFromPool());
  at::Tensor x = at::ones({4}, at::kCUDA);
  launch(x.data_ptr<float>(), 4);
  event.record();
  event.synchronize();
  void *block = c10::cuda::CUDACachingAllocator::raw_alloc(512);
  float copy[4] = {};
  C10_CUDA_CHECK(cudaMemcpyAsync(copy, x.data_ptr(), sizeof copy, cudaMemcpyDeviceToHost, at::cuda::getCurrentCUDAStream()));
  C10_CUDA_CHECK(cudaStreamSynchronize(at::cuda::getCurrentCUDAStream()));
  c10::cuda::CUDACachingAllocator::raw_delete(block);
  std::cout << x.device() << " " << copy[3] << " " << at::cuda::getCurrentDeviceProperties()->warpSize << "\\n";
  cublasHandle_t handle;
  std::cout << cublasCreate(&handle) << "\\n";
  try {
    at::cuda::blas::gemm<float>('n', 'n', 1, 1, 1, 1, copy, 1, copy, 1, 0, copy, 1);
  } catch (const c10::Error &error) {
    std::cout << error.what_without_backtrace() << "\\n";
  }
}
"""}
SCALE = """\
#include <torch/torch.h>
torch::Tensor scale(torch::Tensor x, const torch::Tensor &weight) { return x.cuda() * weight; }
"""


class Install(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        folder = tempfile.TemporaryDirectory(prefix="devsan-install-")
        cls.addClassCleanup(folder.cleanup)
        cls.folder = folder.name
        cls.tree = os.path.join(folder.name, "moved", "here")
        first = os.path.join(folder.name, "first")
        run("cmake", "--install", BUILD, "--prefix", first, "--strip")
        os.mkdir(os.path.dirname(cls.tree))
        shutil.move(first, cls.tree)
        for name, text in (("program.py", PROGRAM), ("scale.cpp", SCALE), ("CMakeLists.txt", PROJECT)):
            with open(os.path.join(folder.name, name), "w", encoding="utf-8") as file:
                file.write(text)

    def devsan(self, *arguments, **options):
        return run(os.path.join(self.tree, "bin/devsan"), *arguments, cwd=self.folder, **options)

    def test_all_parts_are_there(self):
        path = os.path.dirname(sys.executable) + os.pathsep + os.environ["PATH"]
        text = self.devsan("doctor", env={**os.environ, "PATH": path})
        self.assertRegex(text, r"\nPython +ok .* with torch ")
        self.assertRegex(text, r"\ndevsan check +ok +" + self.tree)

    def test_check(self):
        seed = os.path.join(SOURCE, "test/seeds/0-cumsum-loses-gpu/bad.cpp")
        self.assertIn("[device-bare-cuda]", self.devsan("check", "--no-cache", seed, status=1))

    def test_run(self):
        text = self.devsan("run", "--sim=2", "--fail-on=device-host-sync", "--", sys.executable, "program.py", status=3)
        self.assertRegex(text, r"program.py:5: .*3 times \[device-host-sync\]")

    def test_nothing_names_the_build(self):
        for folder, _, files in os.walk(self.tree):
            for name in files:
                path = os.path.join(folder, name)
                with open(path, "rb") as file:
                    data = file.read()
                if not name.endswith(".a"):
                    self.assertNotIn(BUILD.encode(), data, path)
                if data.startswith(b"\x7fELF"):
                    self.assertNotRegex(run("readelf", "-d", path), r"(RUNPATH|RPATH).*\[(?!\$ORIGIN/)")

    def test_sources_of_the_runtime_are_whole(self):
        sources = os.path.join(self.tree, "share/devsan/sources")
        lists = {}
        with open(os.path.join(self.tree, "lib/runtime-sources.txt"), encoding="utf-8") as file:
            for line in file:
                key, _, value = line.rstrip("\n").partition(" ")
                lists.setdefault(key, []).extend(item for item in value.split(";") if item)
        self.assertEqual(lists["root"], ["share/devsan/sources"])
        left = [os.path.join(sources, "runtime", name) for name in lists["hooks"] + lists["shared"]]
        left += [os.path.join(sources, "runtime/sim", name) for name in lists["simulator"]]
        self.assertGreater(len(left), 50)
        generated = os.path.join(sources, "generated")
        seen = set()
        while left:
            path = os.path.normpath(left.pop())
            if path in seen:
                continue
            seen.add(path)
            with open(path, encoding="utf-8") as file:
                names = [line.split('"')[1] for line in file if line.startswith('#include "')]
            for name in names:
                places = [os.path.join(place, name) for place in (os.path.dirname(path), sources, generated)]
                found = [place for place in places if os.path.exists(place)]
                self.assertTrue(found, f"{path} includes {name}, which is not installed")
                left.append(found[0])
        for name in lists["generate"]:
            if "/" in name:
                self.assertTrue(os.path.exists(os.path.join(sources, name)), name)

    def test_find_package(self):
        build = os.path.join(self.folder, "build")
        run("cmake", "-G", "Unix Makefiles", "-S", self.folder, "-B", build, f"-DCMAKE_PREFIX_PATH={self.tree}", f"-DPYTHON={sys.executable}",
            f"-DMOCK={SOURCE}/analyzer/testing/mock")
        text = run("ctest", "--test-dir", build, status=8)
        self.assertRegex(text, r"may_wait \.+ +Passed")
        self.assertRegex(text, r"must_not \.+\*\*\*Failed")
        self.assertIn("[device-bare-cuda]", run("cmake", "--build", build, "--target", "all_devsan_check", status=BUILD_FAILED))

    def test_project_for_gpus(self):
        folder = os.path.join(self.folder, "for_gpus")
        os.mkdir(folder)
        for name, text in {"CMakeLists.txt": CUDA_PROJECT, **CUDA_SOURCES}.items():
            with open(os.path.join(folder, name), "w", encoding="utf-8") as file:
                file.write(text)
        path = os.path.dirname(sys.executable) + os.pathsep + os.environ["PATH"]
        run("cmake", "-G", "Unix Makefiles", "-S", folder, "-B", f"{folder}/build", f"-DCMAKE_TOOLCHAIN_FILE={self.tree}/share/devsan/cuda/toolchain.cmake",
            env={**os.environ, "PATH": path})
        run("cmake", "--build", f"{folder}/build", "-j2")
        program = f"{folder}/build/program"
        text = run(program, status=1)
        self.assertRegex(text, r"no device\nc10::cuda::current_device\(\): no CUDA device. .* `devsan run --sim=N -- PROGRAM`")
        text = self.devsan("run", "--sim=2", "--quiet", "--", program)
        self.assertIn("cuda:1 1 32\n15\nnot simulated: void at::cuda::blas::gemm<float", text)
        self.assertIn("the GPU kernel scale(float*, int) does nothing here", text)
        text = self.devsan("run", "--sim=2", "--", program)
        self.assertIn("1 GPU kernel of the program computed nothing on the simulated devices", text)

    def test_project_of_the_page(self):
        page = Path(SOURCE, "docs/cuda-programs.md").read_text(encoding="utf-8")
        files = dict(re.findall(r"^`(\S+)`:\n\n```\w+\n(.*?)^```$", page, re.MULTILINE | re.DOTALL))
        self.assertEqual(set(files), {"CMakeLists.txt", "rows.cu", "rows_test.cpp"})
        folder = os.path.join(self.folder, "rows")
        os.mkdir(folder)
        for name, text in files.items():
            Path(folder, name).write_text(text, encoding="utf-8")
        path = os.path.dirname(sys.executable) + os.pathsep + os.environ["PATH"]
        run("cmake", "-G", "Unix Makefiles", "-S", folder, "-B", f"{folder}/build", f"-DCMAKE_TOOLCHAIN_FILE={self.tree}/share/devsan/cuda/toolchain.cmake",
            env={**os.environ, "PATH": path})
        run("cmake", "--build", f"{folder}/build", "-j2")
        text = run("ctest", "--test-dir", f"{folder}/build", "--verbose", "--no-tests=error")
        self.assertNotIn("does nothing here", text)

    def test_uninstall(self):
        prefix = os.path.join(self.folder, "prefix")
        os.mkdir(prefix)
        run("cmake", "--install", BUILD, "--prefix", prefix, "--component", "runtime")
        run("cmake", "--install", BUILD, "--prefix", prefix, "--component", "command")
        self.assertFalse(os.path.exists(os.path.join(prefix, "libexec/devsan-check")))
        run(os.path.join(prefix, "bin/devsan"), "run", "--sim=2", "--", sys.executable, "-c", "import devsan, torch",
            env={**os.environ, "PYTHONDONTWRITEBYTECODE": ""})
        self.assertTrue(os.path.exists(os.path.join(prefix, "python/devsan/__pycache__")))
        shutil.copytree(prefix, os.path.join(self.folder, "kept"))
        # By the records of this installation alone: others of the same build are other tests'.
        records = os.path.join(self.folder, "records")
        os.mkdir(records)
        for component in ("runtime", "command"):
            shutil.move(os.path.join(BUILD, f"install_manifest_{component}.txt"), records)
        run("cmake", f"-DBUILD={records}", "-P", os.path.join(SOURCE, "cmake/uninstall.cmake"))
        self.assertFalse(os.path.exists(prefix), os.path.exists(prefix) and list(os.walk(prefix)))
        self.assertTrue(os.path.exists(self.folder))


if __name__ == "__main__":
    unittest.main()
