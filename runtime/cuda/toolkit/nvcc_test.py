"""The compiler's stand-in, with nvcc's options as PyTorch and extensions give them.

usage: nvcc_test.py NVCC [unittest's arguments]"""

import os
import shutil
import subprocess
import sys
import tempfile
import unittest
from pathlib import Path

NVCC = os.path.abspath(sys.argv[1])
SOURCE = """
__global__ void scale(float *values, float factor) { values[threadIdx.x] *= factor * FACTOR; }
extern "C" int launch(float *values, cudaStream_t stream) {
  int *own = nullptr;
  cudaDeviceProp properties;
  scale<<<1, 32, 0, stream>>>(values, 2);
  return cudaMalloc(&own, 4) + cudaGetDeviceProperties(&properties, 0) + cudaGetLastError();
}
"""
KERNELS = """
#include <assert.h>
#include <cmath>
#include <cstdio>
#include <cuda_fp16.h>
#include <curand_kernel.h>

template <typename T> __global__ void draw(T *values, int *bits, __half *halves, unsigned long long *counts, int n) {
  extern __shared__ float shared[];
  assert(n > 0);
  if (threadIdx.x == 0)
    printf("%d", n);
  curandState state;
  curand_init(n, threadIdx.x, 0, &state);
  shared[threadIdx.x] = powf(curand_uniform(&state), 2) + __expf(__int_as_float(bits[0]));
  values[0] = std::max(values[0], static_cast<T>(floor(values[1]) + std::pow(values[2], n) + fminf(shared[0], 1)));
  memset(bits, 0, n);
  atomicCAS(bits, __float_as_int(shared[0]), __popc(__ballot_sync(0xffffffff, n)));
  atomicAdd(halves, 1.0f);
  atomicAdd(counts, 1);
  atomicMax(bits, __shfl_down_sync(0xffffffff, n, 1));
  __syncthreads();
}
template <typename Function> void marked(const Function &) {
  static_assert(__nv_is_extended_host_device_lambda_closure_type(Function), "as ATen's Loops.cuh asks");
}
void launch(float *x, double *y, int *bits, __half *halves, unsigned long long *counts) {
  marked([] __host__ __device__ (float value) { return value; });
  draw<<<1, 32, 128>>>(x, bits, halves, counts, 1);
  draw<<<1, 32, 128>>>(y, bits, halves, counts, 1);
}
"""
OPTIONS = """-gencode=arch=compute_80,code=sm_80 -gencode arch=compute_90,code=sm_90 -arch=sm_80 --expt-relaxed-constexpr
    --expt-extended-lambda --use_fast_math -lineinfo --threads 2 -Xptxas -v --ptxas-options=-v -Xcudafe --diag_suppress=20012
    -rdc=true -maxrregcount=64 --compiler-options -fPIC,-Wall --compiler-options '-g' -Xcompiler=-fno-strict-aliasing -O3 -std=c++17 -DFACTOR=1
    --generate-dependencies-with-compile --dependency-output scale.d -ccbin g++""".split()


class Nvcc(unittest.TestCase):
    def setUp(self):
        self.folder = Path(self.enterContext(tempfile.TemporaryDirectory()))
        (self.folder / "scale.cu").write_text(SOURCE)

    def run_nvcc(self, *arguments, status=0, **environment):
        result = subprocess.run([NVCC, *arguments], cwd=self.folder, capture_output=True, text=True, env=os.environ | environment)
        self.assertEqual(result.returncode, status, result.stderr)
        return result.stdout if status == 0 else result.stderr

    def test_compiles_the_hosts_side_with_nvccs_options(self):
        self.run_nvcc(*OPTIONS, "-c", "scale.cu", "-o", "scale.o")
        symbols = subprocess.run(["nm", "scale.o"], cwd=self.folder, capture_output=True, text=True, check=True).stdout
        for symbol in ("T launch", "U cudaLaunchKernel", "U __cudaRegisterFunction", "U cudaMalloc"):
            self.assertIn(symbol, symbols)
        self.assertIn("scale.cu", (self.folder / "scale.d").read_text())

    def test_knows_the_functions_of_the_device(self):
        (self.folder / "draw.cu").write_text(KERNELS)
        for standard in ("c++17", "c++20"):
            self.run_nvcc("-c", "draw.cu", "-o", "draw.o", f"-std={standard}", "-Werror")

    def test_converts_halves_on_the_host(self):
        (self.folder / "halves.cu").write_text("""
#include <cmath>
#include <cuda_bf16.h>
static bool is(float x, float expected) { return x == expected; }
int main() {
  return is(__half(0.1f), 0.0999755859375f) && is(__half(1e6f), INFINITY) && is(__half2float(__float2half(6e-8f)), 5.9604645e-8f) &&
         is(__nv_bfloat16(0.1f), 0.10009765625f) && is(__nv_bfloat16(1.00390625f), 1) && is(__nv_bfloat16(1.01171875f), 1.015625f) &&
         std::isnan(float(__nv_bfloat16(NAN))) && is(__bfloat162float(__nv_bfloat16(3.4e38f)), INFINITY) ? 0 : 1;
}
""")
        self.run_on_the_host("halves")

    def test_computes_complex_numbers_on_the_host(self):
        (self.folder / "complex.cu").write_text("""
#include <thrust/complex.h>
int main() {
  const thrust::complex<float> z(3, 4), i(0, 1);
  return thrust::abs(z) == 5 && z * i == thrust::complex<float>(-4, 3) && thrust::sqrt(thrust::complex<double>(-4)).imag() == 2 &&
         thrust::norm(z) == 25 && thrust::abs(thrust::exp(i) - thrust::polar(1.0f, 1.0f)) < 1e-6f ? 0 : 1;
}
""")
        self.run_on_the_host("complex")

    def run_on_the_host(self, name):
        cudart = (Path(NVCC).parents[1] / "lib64/libcudart.so").resolve()
        self.run_nvcc(f"{name}.cu", "-o", name, "-std=c++17", str(cudart), f"-Wl,-rpath,{cudart.parent}")
        subprocess.run([self.folder / name], check=True)

    def test_links_no_device_code(self):
        self.run_nvcc("-dlink", "scale.o", "-o", "dlink.o", "-gencode=arch=compute_80,code=sm_80", "-L/nowhere", "-lcudadevrt")
        self.assertTrue((self.folder / "dlink.o").exists())

    def test_says_its_version_as_pytorch_reads_it(self):
        self.assertRegex(self.run_nvcc("--version"), r"release (\d+[.]\d+)")

    def test_gives_clangs_errors_and_its_own(self):
        self.assertIn("FACTOR", self.run_nvcc("-c", "scale.cu", status=1))
        self.assertIn("no .cu file among the arguments", self.run_nvcc("-c", "scale.cpp", status=1))
        programs = self.folder / "bin"
        programs.mkdir()
        for name in ("bash", "cut", "dirname", "env", "mktemp", "rm"):
            (programs / name).symlink_to(shutil.which(name))
        self.assertIn("no clang 17 or later", self.run_nvcc("-c", "scale.cu", status=1, PATH=str(programs)))


if __name__ == "__main__":
    unittest.main(argv=[sys.argv[0], *sys.argv[2:]])
