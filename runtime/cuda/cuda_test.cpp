// The runtime in a program whose own code calls CUDA, here the stand-in: this program starts itself
// again under the preload shim, without simulated devices, and reads its own event log while it
// runs. It brings kernels for a few of LibTorch's operators on CUDA devices, written as those of
// LibTorch's CUDA library are.
#include "declarations.h"
#include "runtime/cuda/standin/standin.h"
#include "runtime/protocol/staged_upload.h"
#include "runtime/read/log_reader.h"

#include <ATen/core/dispatch/Dispatcher.h>
#include <ATen/ops/_local_scalar_dense.h>
#include <ATen/ops/bincount.h>
#include <ATen/ops/empty.h>
#include <ATen/ops/nonzero.h>
#include <c10/core/TensorImpl.h>
#include <cstdlib>
#include <dlfcn.h>
#include <filesystem>
#include <gtest/gtest.h>
#include <set>
#include <spawn.h>
#include <sys/wait.h>
#include <thread>
#include <torch/library.h>
#include <unistd.h>
#include <vector>

extern char **environ;

namespace devsan::runtime {
namespace {

namespace fs = std::filesystem;

enum { kHostToDevice = 1, kDeviceToHost = 2, kDeviceToDevice = 3, kByAddress = 4 };
enum { kNotReady = 600 };

// Kernels as LibTorch's own, on CUDA's functions.
at::Scalar readScalar(const at::Tensor &self) {
  float value = 0;
  cudaMemcpyAsync(&value, self.data_ptr(), sizeof value, kDeviceToHost, nullptr);
  cudaStreamSynchronize(nullptr);
  return value;
}

// The table of effects says that nonzero waits. This one knows its result's size beforehand.
at::Tensor nonzeroWithoutWaiting(const at::Tensor &self) {
  return self.alias();
}

at::Tensor alias(const at::Tensor &self) {
  return at::Tensor(self.unsafeGetTensorImpl()->shallow_copy_and_detach(0, false));
}

at::Tensor &copyToHost(at::Tensor &self, const at::Tensor &source, bool non_blocking) {
  cudaMemcpyAsync(self.data_ptr(), source.data_ptr(), self.nbytes(), kDeviceToHost, nullptr);
  if (!non_blocking)
    cudaStreamSynchronize(nullptr);
  return self;
}

// As LibTorch's: it reads the largest value by a copy to the host.
at::Tensor bincount(const at::Tensor &self, const std::optional<at::Tensor> &, c10::SymInt) {
  return at::empty({1}).copy_(self);
}

// That there is one says that LibTorch knows the device.
at::Tensor empty(c10::SymIntArrayRef, std::optional<at::ScalarType>, std::optional<at::Layout>,
                 std::optional<at::Device>, std::optional<bool>, std::optional<at::MemoryFormat>) {
  TORCH_CHECK(false, "not for this test");
}

// Registered before main, and so before the runtime wraps what there is.
TORCH_LIBRARY_IMPL(aten, CUDA, library) {
  library.impl("empty.memory_format", empty);
  library.impl("_local_scalar_dense", readScalar);
  library.impl("nonzero", nonzeroWithoutWaiting);
  library.impl("alias", alias);
  library.impl("copy_", copyToHost);
  library.impl("bincount", bincount);
}

ProcessLog readOwnLog() {
  for (const auto &entry : fs::directory_iterator(std::getenv("DEVSAN_LOG_DIR"))) {
    auto log = readLog(entry.path());
    EXPECT_TRUE(log) << (log ? "" : log.error().message);
    if (log && log->header.pid == std::uint32_t(getpid()))
      return *log;
  }
  return {};
}

struct Recorded {
  ProcessLog log;
  std::vector<Event> events;

  std::string op(std::size_t i) const { return log.string(events.at(i).op); }
  std::string detail(std::size_t i) const { return log.string(events.at(i).detail); }
};

std::uint64_t countOfEvents(const ProcessLog &log) {
  std::uint64_t count = 0;
  for (const Tally &tally : log.tallies)
    count += tally.occurrences.count;
  return count;
}

template <typename Body> Recorded record(Body body) {
  const std::size_t before = readOwnLog().events.size();
  body();
  Recorded recorded{readOwnLog(), {}};
  recorded.events.assign(recorded.log.events.begin() + std::ptrdiff_t(before),
                         recorded.log.events.end());
  return recorded;
}

#define EXPECT_ONE(recorded, expected_kind, expected_op, is_blocking)                              \
  do {                                                                                             \
    const Recorded &one = recorded;                                                                \
    ASSERT_EQ(one.events.size(), 1u);                                                              \
    EXPECT_EQ(one.events[0].kind, EventKind::expected_kind);                                       \
    EXPECT_EQ(one.op(0), expected_op);                                                             \
    EXPECT_EQ((one.events[0].flags & kBlocks) != 0, is_blocking);                                  \
  } while (false)

constexpr DeviceId kHost{0, -1};
constexpr DeviceId cuda(int index) {
  return {1, std::int8_t(index)};
}

constexpr std::size_t kBytes = 4096;

// Device memory, with contexts on both devices and device 0 current.
struct Cuda : testing::Test {
  void *memory = nullptr;
  void *other_memory = nullptr;
  void *pinned = nullptr;
  void *stream = nullptr;
  std::vector<char> pageable = std::vector<char>(kBytes);

  void SetUp() override {
    cudaSetDevice(1);
    cudaMalloc(&other_memory, kBytes);
    cudaSetDevice(0);
    cudaMalloc(&memory, kBytes);
    cudaMallocHost(&pinned, kBytes);
    cudaStreamCreate(&stream);
    cudaGetLastError(); // of the test before
  }

  void launch(void *on, const void *kernel = &kKernel) {
    void *arguments[] = {&memory};
    cudaLaunchKernel(kernel, {1, 1, 1}, {32, 1, 1}, arguments, 0, on);
  }

  at::Tensor tensor() {
    c10::Storage storage(c10::Storage::use_byte_size_t{}, kBytes,
                         c10::DataPtr(memory, c10::Device(c10::kCUDA, 0)));
    auto impl = c10::make_intrusive<c10::TensorImpl>(std::move(storage),
                                                     c10::DispatchKeySet(c10::DispatchKey::CUDA),
                                                     caffe2::TypeMeta::Make<float>());
    impl->set_sizes_contiguous({1});
    return at::Tensor(std::move(impl));
  }

  static const int kKernel;
};
const int Cuda::kKernel = 0;

TEST_F(Cuda, CopiesAreRecordedWithDirectionAndSize) {
  auto to_device = record([&] { cudaMemcpy(memory, pageable.data(), kBytes, kHostToDevice); });
  EXPECT_ONE(to_device, kCopy, "cudaMemcpy", true);
  EXPECT_EQ(to_device.events[0].from, kHost);
  EXPECT_EQ(to_device.events[0].to, cuda(0));
  EXPECT_EQ(to_device.events[0].bytes, kBytes);
  EXPECT_GT(to_device.events[0].blocked_ns, 0u);

  auto to_host = record([&] { cudaMemcpy(pageable.data(), other_memory, kBytes, kByAddress); });
  EXPECT_ONE(to_host, kCopy, "cudaMemcpy", true);
  EXPECT_EQ(to_host.events[0].from, cuda(1));
  EXPECT_EQ(to_host.events[0].to, kHost);

  auto across = record([&] { cudaMemcpyPeer(other_memory, 1, memory, 0, kBytes); });
  EXPECT_ONE(across, kCopy, "cudaMemcpyPeer", false);
  EXPECT_EQ(across.events[0].from, cuda(0));
  EXPECT_EQ(across.events[0].to, cuda(1));
}

TEST_F(Cuda, CopiesWithinADeviceAreSilent) {
  EXPECT_TRUE(record([&] {
                cudaMemcpy(memory, static_cast<char *>(memory) + 64, 64, kDeviceToDevice);
                cudaMemcpyAsync(memory, pageable.data(), 0, kHostToDevice, stream);
              }).events.empty());
}

TEST_F(Cuda, AsynchronousCopiesWaitUnlessPinned) {
  constexpr std::size_t kLarge = 2 * kDevSanStagedUpload;
  std::vector<char> large(kLarge);
  void *to = nullptr;
  cudaMalloc(&to, kLarge);
  auto waits = record([&] { cudaMemcpyAsync(to, large.data(), kLarge, kHostToDevice, stream); });
  EXPECT_ONE(waits, kCopy, "cudaMemcpyAsync", true);
  EXPECT_TRUE(waits.events[0].flags & kNonBlocking);
  auto staged =
      record([&] { cudaMemcpyAsync(memory, pageable.data(), kBytes, kHostToDevice, stream); });
  EXPECT_ONE(staged, kCopy, "cudaMemcpyAsync", false);
  EXPECT_FALSE(staged.events[0].flags & kPinned);
  auto to_host =
      record([&] { cudaMemcpyAsync(pageable.data(), memory, kBytes, kDeviceToHost, stream); });
  EXPECT_ONE(to_host, kCopy, "cudaMemcpyAsync", true);
  auto free = record([&] { cudaMemcpyAsync(memory, pinned, kBytes, kHostToDevice, stream); });
  EXPECT_ONE(free, kCopy, "cudaMemcpyAsync", false);
  EXPECT_TRUE(free.events[0].flags & kPinned);
  EXPECT_EQ(free.events[0].blocked_ns, 0u);
}

TEST_F(Cuda, MemoryThatIsSetBlocksOnTheHostAlone) {
  EXPECT_TRUE(record([&] { cudaMemset(memory, 0, kBytes); }).events.empty());
  EXPECT_TRUE(record([&] { cudaMemsetAsync(pinned, 0, kBytes, stream); }).events.empty());
  EXPECT_ONE(record([&] { cudaMemset(pinned, 0, kBytes); }), kBlock, "cudaMemset", true);
}

TEST_F(Cuda, WaitsAreRecordedWithTheirTime) {
  void *event;
  cudaEventCreate(&event);
  auto stream_wait = record([&] {
    cudaMemcpyAsync(memory, static_cast<char *>(memory) + 64, 64, kDeviceToDevice, stream);
    cudaStreamSynchronize(stream);
  });
  EXPECT_ONE(stream_wait, kBlock, "cudaStreamSynchronize", true);
  EXPECT_EQ(stream_wait.events[0].from, cuda(0));
  EXPECT_GT(stream_wait.events[0].blocked_ns, 0u);
  EXPECT_ONE(record([] { cudaDeviceSynchronize(); }), kBlock, "cudaDeviceSynchronize", true);
  EXPECT_ONE(record([&] { cudaEventSynchronize(event); }), kBlock, "cudaEventSynchronize", true);
  EXPECT_ONE(record([&] { cudaStreamSynchronize_ptsz(nullptr); }), kBlock,
             "cudaStreamSynchronize_ptsz", true);
}

TEST_F(Cuda, AWaitIsAsLongAsTheDeviceWorks) {
  setenv("DEVSAN_STANDIN_KERNEL_US", "20000", 1);
  launch(stream);
  auto wait = record([&] { cudaStreamSynchronize(stream); });
  EXPECT_GT(wait.events.at(0).blocked_ns, 1'000'000u);
  EXPECT_LT(wait.events.at(0).blocked_ns, 10'000'000'000u);
  unsetenv("DEVSAN_STANDIN_KERNEL_US");
}

TEST_F(Cuda, AskingInALoopIsAWait) {
  setenv("DEVSAN_STANDIN_KERNEL_US", "20000", 1);
  launch(stream);
  auto spin = record([&] {
    while (cudaStreamQuery(stream) == kNotReady)
      ;
  });
  // One, or more where the machine is so busy that this thread was away for long.
  ASSERT_FALSE(spin.events.empty());
  std::uint64_t blocked_ns = 0;
  for (std::size_t i = 0; i < spin.events.size(); ++i) {
    EXPECT_EQ(spin.events[i].kind, EventKind::kBlock);
    EXPECT_EQ(spin.op(i), "cudaStreamQuery");
    blocked_ns += spin.events[i].blocked_ns;
  }
  EXPECT_GT(blocked_ns, 1'000'000u);
  // A glance, or many with something else between them, is none.
  setenv("DEVSAN_STANDIN_KERNEL_US", "500000", 1);
  launch(stream);
  EXPECT_TRUE(record([&] {
                for (int i = 0; i < 5; ++i) {
                  cudaStreamQuery(stream);
                  cudaSetDevice(0);
                }
              }).events.empty());
  unsetenv("DEVSAN_STANDIN_KERNEL_US");
}

TEST_F(Cuda, ReleasesWait) {
  EXPECT_ONE(record([&] { cudaFree(memory); }), kBlock, "cudaFree", true);
  EXPECT_ONE(record([&] { cudaFreeHost(pinned); }), kBlock, "cudaFreeHost", true);
  EXPECT_TRUE(record([] { cudaFree(nullptr); }).events.empty());
}

TEST_F(Cuda, WhatCudasLibrariesDoForThemselvesIsSilent) {
  void *library = dlopen(DEVSAN_CUDA_LIBRARY, RTLD_NOW);
  ASSERT_NE(library, nullptr) << dlerror();
  auto use = reinterpret_cast<void (*)()>(dlsym(library, "useCudaLibrary"));
  use();
  auto used = record(use);
  ASSERT_EQ(used.events.size(), 2u);
  EXPECT_EQ(used.op(0), "cudaMalloc");
  EXPECT_EQ(used.op(1), "cudaDeviceSynchronize");
}

TEST_F(Cuda, AllocationsAreRecorded) {
  auto allocation = record([&] { cudaMalloc(&memory, 2 * kBytes); });
  EXPECT_ONE(allocation, kAllocation, "cudaMalloc", false);
  EXPECT_EQ(allocation.events[0].bytes, 2 * kBytes);
  EXPECT_EQ(allocation.events[0].from, cuda(0));
}

TEST_F(Cuda, CallsThatFailAreSilent) {
  EXPECT_TRUE(record([] {
                cudaEventSynchronize(nullptr);
                cudaMemcpy(nullptr, nullptr, 64, kHostToDevice);
                cudaMemcpy3D(nullptr);
              }).events.empty());
}

TEST_F(Cuda, ACallOfTheDriverWithinTheRuntimeIsNotCounted) {
  auto through_driver = record([] { cuCtxSynchronize(); });
  EXPECT_ONE(through_driver, kBlock, "cuCtxSynchronize", true);
  EXPECT_EQ(record([] { cudaDeviceSynchronize(); }).events.size(), 1u);
}

TEST_F(Cuda, ContextsAreRecordedOnce) {
  auto contexts = record([] {
    std::thread([] {
      void *ignored = nullptr;
      cudaSetDevice(3);
      cudaMalloc(&ignored, 64);
      cudaSetDevice(3);
    }).join();
  });
  ASSERT_EQ(contexts.events.size(), 2u);
  EXPECT_EQ(contexts.events[0].kind, EventKind::kContext);
  EXPECT_EQ(contexts.events[0].from, cuda(3));
  EXPECT_EQ(contexts.op(0), "cudaSetDevice");
  EXPECT_EQ(contexts.detail(0), "primary");
  EXPECT_EQ(contexts.events[1].kind, EventKind::kAllocation);
}

TEST_F(Cuda, AContextThatTheDriverMakesIsRecorded) {
  auto context = record([] {
    void *made = nullptr;
    cuDevicePrimaryCtxRetain(&made, 2);
  });
  EXPECT_ONE(context, kContext, "cuDevicePrimaryCtxRetain", false);
  EXPECT_EQ(context.events[0].from, cuda(2));
}

TEST_F(Cuda, LaunchesAreRecordedOncePerPlaceDeviceAndStream) {
  static const int kernel = 0;
  auto repeated = record([&] {
    for (int i = 0; i < 100; ++i)
      launch(stream, &kernel);
  });
  EXPECT_ONE(repeated, kLaunch, "cudaLaunchKernel", false);
  EXPECT_EQ(repeated.events[0].from, cuda(0));
  EXPECT_FALSE(repeated.events[0].flags & kDefaultStream);
  EXPECT_NE(repeated.detail(0).substr(0, 2), "0 ");
  auto legacy = record([&] { launch(nullptr, &kernel); });
  EXPECT_ONE(legacy, kLaunch, "cudaLaunchKernel", false);
  EXPECT_TRUE(legacy.events[0].flags & kDefaultStream);
  EXPECT_EQ(legacy.detail(0), "0 ?");
  auto elsewhere = record([&] {
    cudaSetDevice(1);
    launch(nullptr, &kernel);
    cudaSetDevice(0);
  });
  EXPECT_ONE(elsewhere, kLaunch, "cudaLaunchKernel", false);
  EXPECT_EQ(elsewhere.events[0].from, cuda(1));
}

constexpr std::size_t kPointer = sizeof(void *);

TEST_F(Cuda, ALaunchTellsOfMemoryOnAnotherDevice) {
  static const DevSanStandinKernel kernel = {
      kDevSanStandinKernel, "scale", {kPointer, 4, kPointer}};
  float factor = 2;
  auto launchOn = [&](void *from, void *to) {
    void *arguments[] = {&from, &factor, &to};
    cudaLaunchKernel(&kernel, {1, 1, 1}, {32, 1, 1}, arguments, 0, stream);
  };
  auto recorded = record([&] {
    for (int i = 0; i < 3; ++i)
      launchOn(memory, memory);
    for (int i = 0; i < 3; ++i)
      launchOn(memory, other_memory);
  });
  // Three places of the compiler's making at most: it may unroll the loops.
  std::set<int> others;
  for (const Event &event : recorded.events) {
    EXPECT_EQ(event.kind, EventKind::kLaunch);
    EXPECT_EQ(event.from, cuda(0));
    EXPECT_EQ(recorded.log.string(event.operand), "scale");
    others.insert(event.to.index);
  }
  EXPECT_EQ(others, (std::set<int>{-1, 1}));
}

TEST_F(Cuda, ALaunchTellsOfMemoryInAStruct) {
  struct Tensors {
    int size;
    void *first;
    void *second;
  };
  static const DevSanStandinKernel kernel = {kDevSanStandinKernel, "add", {sizeof(Tensors)}};
  Tensors tensors = {4, memory, other_memory};
  void *arguments[] = {&tensors};
  auto launched =
      record([&] { cudaLaunchKernel(&kernel, {1, 1, 1}, {32, 1, 1}, arguments, 0, stream); });
  EXPECT_ONE(launched, kLaunch, "cudaLaunchKernel", false);
  EXPECT_EQ(launched.events[0].to, cuda(1));
}

TEST_F(Cuda, ALaunchLeavesTheLastErrorAlone) {
  static const DevSanStandinKernel kernels[] = {
      {kDevSanStandinForeignKernel, "first", {kPointer}},
      {kDevSanStandinForeignKernel, "second", {kPointer}},
  };
  launch(stream, &kernels[0]);
  EXPECT_EQ(cudaGetLastError(), 0);
  const int error = cudaEventSynchronize(nullptr);
  launch(stream, &kernels[1]);
  EXPECT_NE(error, 0);
  EXPECT_EQ(cudaGetLastError(), error);
}

TEST_F(Cuda, AHandleThatComesAgainMeansAnotherKernel) {
  DevSanStandinKernel kernel = {kDevSanStandinKernel, "two", {kPointer, kPointer}};
  auto launchFromOnePlace = [&](void **arguments) __attribute__((noinline)) {
    cuLaunchKernel(&kernel, 1, 1, 1, 32, 1, 1, 0, stream, arguments, nullptr);
  };
  void *const invalid = reinterpret_cast<void *>(8);
  void *two[] = {&memory, &memory}, *one[] = {&memory, invalid};
  launchFromOnePlace(two);
  kernel = {kDevSanStandinKernel, "one", {kPointer}};
  launchFromOnePlace(one);
}

TEST_F(Cuda, CallsWithinAnOperatorAreTheOperators) {
  at::Tensor on_device = tensor();
  auto item = record([&] { at::_local_scalar_dense(on_device); });
  EXPECT_ONE(item, kBlock, "aten::_local_scalar_dense", true);
  EXPECT_GT(item.events[0].blocked_ns, 0u);
}

TEST_F(Cuda, AnOperatorWaitsIfItsCallsDo) {
  at::Tensor on_device = tensor();
  EXPECT_TRUE(record([&] { at::nonzero(on_device); }).events.empty());

  at::Tensor host = at::empty({1});
  auto pageable_copy = record([&] { host.copy_(on_device, /*non_blocking=*/true); });
  EXPECT_ONE(pageable_copy, kCopy, "aten::copy_", true);
}

TEST_F(Cuda, AnOperatorThatReadsByACopyWaits) {
  at::Tensor on_device = tensor();
  EXPECT_ONE(record([&] { at::bincount(on_device); }), kBlock, "aten::bincount", true);
}

TEST_F(Cuda, ManyThreadsLoseNothing) {
  constexpr std::size_t kThreads = 32, kCalls = 100; // more than are written one by one
  const std::uint64_t before = countOfEvents(readOwnLog());
  auto waits = record([] {
    std::vector<std::thread> threads;
    for (std::size_t i = 0; i < kThreads; ++i)
      threads.emplace_back([] {
        for (std::size_t k = 0; k < kCalls; ++k)
          cudaDeviceSynchronize();
      });
    for (std::thread &thread : threads)
      thread.join();
  });
  EXPECT_EQ(countOfEvents(waits.log) - before, kThreads * kCalls);
}

// As what LibTorch keeps for CUDA's libraries: taken down by exit(), where nothing is recorded.
struct WaitAtExit {
  ~WaitAtExit() {
    if (std::getenv("DEVSAN_LOG_DIR"))
      cudaThreadSynchronize();
  }
} wait_at_exit;

bool waitedAtExit(const std::string &log_directory) {
  for (const auto &entry : fs::directory_iterator(log_directory))
    if (const auto log = readLog(entry.path()))
      for (const Event &event : log->events)
        if (log->string(event.op) == "cudaThreadSynchronize")
          return true;
  return false;
}

int runUnderTheShim(char **argv) {
  std::string directory = (fs::temp_directory_path() / "devsan-cuda-XXXXXX").string();
  if (!mkdtemp(directory.data()))
    return 2;
  setenv("LD_PRELOAD", DEVSAN_PRELOAD_LIBRARY, 1);
  setenv("DEVSAN_LIBS", DEVSAN_RUNTIME_LIBRARY, 1);
  setenv("DEVSAN_LOG_DIR", directory.c_str(), 1);
  setenv("DEVSAN_STANDIN_DEVICES", "4", 1);
  pid_t child = -1;
  int status = -1;
  if (posix_spawn(&child, "/proc/self/exe", nullptr, nullptr, argv, environ) == 0)
    waitpid(child, &status, 0);
  if (waitedAtExit(directory)) {
    std::fprintf(stderr, "a wait within exit() was recorded\n");
    status = -1;
  }
  fs::remove_all(directory);
  return WIFEXITED(status) ? WEXITSTATUS(status) : 2;
}

} // namespace
} // namespace devsan::runtime

int main(int argc, char **argv) {
  if (!std::getenv("DEVSAN_LOG_DIR"))
    return devsan::runtime::runUnderTheShim(argv);
  testing::InitGoogleTest(&argc, argv);
  return RUN_ALL_TESTS();
}
