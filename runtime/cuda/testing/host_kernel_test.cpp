// Host implementations of kernels in C++, launched as compiled code launches them.
#include "declarations.h"

#include <cstring>
#include <devsan/host_kernel.h>
#include <gtest/gtest.h>
#include <vector>

extern "C" void __cudaRegisterFunction(void **handle, const char *function, char *device_function,
                                       const char *name, int thread_limit, void *tid, void *bid,
                                       void *block, void *grid, int *warp);

namespace devsan {
namespace {

struct Rows {
  float *data;
  int count;
};

// The host's function that stands for a kernel, here its name's address.
const void *registered(const char *mangled) {
  __cudaRegisterFunction(nullptr, mangled, nullptr, mangled, 0, nullptr, nullptr, nullptr, nullptr,
                         nullptr);
  return mangled;
}

float *onDevice(const std::vector<float> &values) {
  void *memory = nullptr;
  EXPECT_EQ(cudaMalloc(&memory, values.size() * sizeof(float)), 0);
  EXPECT_EQ(cudaMemcpy(memory, values.data(), values.size() * sizeof(float), 1), 0);
  return static_cast<float *>(memory);
}

std::vector<float> onHost(const float *memory, std::size_t count) {
  std::vector<float> values(count);
  EXPECT_EQ(cudaMemcpy(values.data(), memory, count * sizeof(float), 2), 0);
  return values;
}

TEST(HostKernel, TakesTheKernelsParameters) {
  const void *kernel = registered("_Z5scalePffi");
  const HostKernel scale("scale(float*, float, int)",
                         [](const Launch &launch, float *values, float factor, int count) {
                           EXPECT_STREQ(launch.kernel, "scale(float*, float, int)");
                           EXPECT_EQ(launch.grid[1], 5u);
                           EXPECT_EQ(launch.block[0], 32u);
                           EXPECT_EQ(launch.device, 1);
                           for (int i = 0; i < count; ++i)
                             values[i] *= factor;
                         });
  cudaSetDevice(1);
  float *values = onDevice({1, 2, 3}), factor = 3;
  int count = 2;
  void *arguments[] = {&values, &factor, &count};
  EXPECT_EQ(cudaLaunchKernel(kernel, {1, 5, 1}, {32, 1, 1}, arguments, 0, nullptr), 0);
  EXPECT_EQ(onHost(values, 3), (std::vector<float>{3, 6, 3}));
}

TEST(HostKernel, ReachesThePointersOfAStruct) {
  const void *kernel = registered("_Z4fill4Rowsf");
  const HostKernel fill("fill(Rows, float)", [](const Launch &launch, Rows rows, const float &x) {
    auto *data = static_cast<float *>(launch.reach(rows.data));
    std::fill(data, data + rows.count, x);
  });
  Rows rows = {onDevice({1, 2, 3}), 2};
  float x = 7;
  void *arguments[] = {&rows, &x};
  EXPECT_EQ(cudaLaunchKernel(kernel, {1, 1, 1}, {1, 1, 1}, arguments, 0, nullptr), 0);
  EXPECT_EQ(onHost(rows.data, 3), (std::vector<float>{7, 7, 3}));
}

TEST(HostKernel, TakesAllParametersOrNone) {
  const void *kernel = registered("_Z5scalePffi"), *unknown = registered("in_c");
  int calls = 0;
  const HostKernel in_c("in_c", [&](const Launch &, float *) { ++calls; });
  const HostKernel none("scale(*)", [&](const Launch &launch) { calls += launch.parameters; });
  float *values = onDevice({1}), factor = 3;
  int count = 1;
  void *arguments[] = {&values, &factor, &count};
  EXPECT_EQ(cudaLaunchKernel(kernel, {1, 1, 1}, {1, 1, 1}, arguments, 0, nullptr), 0);
  EXPECT_EQ(cudaLaunchKernel(unknown, {1, 1, 1}, {1, 1, 1}, arguments, 0, nullptr), 0);
  EXPECT_EQ(calls, 4);
  const HostKernel two("scale(*)", [&](const Launch &, float *, float) { ++calls; });
  ::testing::internal::CaptureStderr();
  EXPECT_EQ(cudaLaunchKernel(kernel, {1, 1, 1}, {1, 1, 1}, arguments, 0, nullptr), 719);
  EXPECT_EQ(::testing::internal::GetCapturedStderr(),
            "devsan: error: the host implementation of scale(float*, float, int) takes 2 "
            "parameters, the kernel has 3: take all of them, or none\n");
  EXPECT_EQ(calls, 4);
}

TEST(HostKernel, TheNewestThatMatchesCounts) {
  const void *one = registered("_Z3oneIfEvT_"), *two = registered("_Z3twov");
  std::vector<int> called;
  const HostKernel any("*", [&](const Launch &) { called.push_back(0); });
  const HostKernel ones("void one<*>(*)", [&](const Launch &, float) { called.push_back(1); });
  float x = 0;
  void *arguments[] = {&x};
  EXPECT_EQ(cudaLaunchKernel(one, {1, 1, 1}, {1, 1, 1}, arguments, 0, nullptr), 0);
  EXPECT_EQ(cudaLaunchKernel(two, {1, 1, 1}, {1, 1, 1}, nullptr, 0, nullptr), 0);
  EXPECT_EQ(called, (std::vector<int>{1, 0}));
  // None is taken back.
  const HostKernel last("*", [](const Launch &) {});
}

} // namespace
} // namespace devsan
