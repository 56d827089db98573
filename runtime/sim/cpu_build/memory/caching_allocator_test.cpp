// Addresses, figures and the end of a device's memory, as CUDA's caching allocator gives them.
#include <ATen/Context.h>
#include <c10/core/CachingDeviceAllocator.h>
#include <gtest/gtest.h>
#include <torch/torch.h>

namespace {

constexpr std::size_t kMiB = 1 << 20;
const at::Device kFirst(at::kCUDA, 0);
const auto kBytes = at::TensorOptions().dtype(at::kByte).device(kFirst);

at::Tensor bytes(std::size_t count) {
  return at::empty({static_cast<std::int64_t>(count)}, kBytes);
}

c10::CachingDeviceAllocator::DeviceStats stats() {
  return at::getDeviceAllocator(at::kCUDA)->getDeviceStats(0);
}

char *address(const at::Tensor &tensor) {
  return static_cast<char *>(tensor.data_ptr());
}

class CachingAllocator : public testing::Test {
protected:
  void SetUp() override {
    at::getDeviceAllocator(at::kCUDA)->emptyCache();
    before_ = stats();
  }
  std::int64_t allocated() {
    return stats().allocated_bytes[0].current - before_.allocated_bytes[0].current;
  }
  std::int64_t reserved() {
    return stats().reserved_bytes[0].current - before_.reserved_bytes[0].current;
  }

  c10::CachingDeviceAllocator::DeviceStats before_;
};

TEST_F(CachingAllocator, RoundsAndReservesSegments) {
  at::Tensor small = bytes(1);
  EXPECT_EQ(allocated(), 512);
  at::Tensor middle = bytes(kMiB + 1);
  EXPECT_EQ(allocated(), 512 + kMiB + 512);
  EXPECT_EQ(reserved() % (2 * kMiB), 0u);
  std::int64_t with_middle = reserved();
  EXPECT_GE(with_middle, 20 * kMiB);
  at::Tensor large = bytes(30 * kMiB + 1);
  EXPECT_EQ(reserved(), with_middle + 32 * kMiB);
  EXPECT_EQ(stats().segment[2].current - before_.segment[2].current, 2);
}

TEST_F(CachingAllocator, SplitsTakesTheBestFitAndMerges) {
  at::Tensor a = bytes(2 * kMiB), b = bytes(3 * kMiB), c = bytes(2 * kMiB), d = bytes(2 * kMiB);
  char *first = address(a), *third = address(c);
  EXPECT_EQ(address(b), first + 2 * kMiB);
  EXPECT_EQ(third, first + 5 * kMiB);
  std::int64_t split = stats().inactive_split[0].current;
  a.reset();
  c.reset();
  EXPECT_EQ(stats().inactive_split[0].current, split + 2);
  // Of two that fit equally, the one at the lower address.
  EXPECT_EQ(address(bytes(2 * kMiB)), first);
  b.reset();
  EXPECT_EQ(stats().inactive_split[0].current, split + 1);
  at::Tensor merged = bytes(7 * kMiB);
  EXPECT_EQ(address(merged), first);
}

TEST_F(CachingAllocator, KeepsFreedMemoryUntilTheCacheIsEmptied) {
  bytes(30 * kMiB);
  EXPECT_EQ(allocated(), 0);
  EXPECT_EQ(reserved(), 30 * kMiB);
  at::getDeviceAllocator(at::kCUDA)->emptyCache();
  EXPECT_EQ(reserved(), 0);
}

TEST_F(CachingAllocator, FailsAsCudaDoesAndGoesOn) {
  auto [free, total] = at::getDeviceAllocator(at::kCUDA)->getMemoryInfo(0);
  std::int64_t failures = stats().num_ooms, retries = stats().num_alloc_retries;
  try {
    bytes(total + 1);
    FAIL() << "more than the device has";
  } catch (const c10::OutOfMemoryError &error) {
    std::string text = error.what_without_backtrace();
    EXPECT_EQ(text.find("CUDA out of memory. Tried to allocate "), 0u) << text;
    EXPECT_NE(text.find(". GPU 0 has a total capacity of "), std::string::npos) << text;
  }
  EXPECT_EQ(stats().num_ooms, failures + 1);
  EXPECT_EQ(stats().num_alloc_retries, retries + 1);
  EXPECT_EQ(at::ones({4}, kFirst).sum().item<float>(), 4.0f);
  EXPECT_LE(free, total);
}

TEST_F(CachingAllocator, WaitsForRecordedStreams) {
  at::Tensor tensor = bytes(1000);
  c10::impl::VirtualGuardImpl guard(at::kCUDA);
  tensor.record_stream(guard.getStreamFromGlobalPool(kFirst));
  std::int64_t active = stats().active[0].current;
  tensor.reset();
  EXPECT_EQ(allocated(), 0);
  EXPECT_EQ(stats().active[0].current, active);
  at::Tensor next = bytes(1000);
  EXPECT_EQ(stats().active[0].current, active);
}

TEST_F(CachingAllocator, StreamsHavePoolsOfTheirOwn) {
  char *freed = address(bytes(1000));
  c10::impl::VirtualGuardImpl guard(at::kCUDA);
  c10::StreamGuard other(guard.getStreamFromGlobalPool(kFirst));
  EXPECT_NE(address(bytes(1000)), freed);
}

TEST_F(CachingAllocator, MemoryComesRaw) {
  auto *allocator = at::getDeviceAllocator(at::kCUDA);
  void *raw = allocator->raw_allocate(1000);
  EXPECT_EQ(allocated(), 1024);
  EXPECT_EQ(at::globalContext().getDeviceFromPtr(raw, at::kCUDA), kFirst);
  allocator->raw_deallocate(raw);
  EXPECT_EQ(allocated(), 0);
}

TEST_F(CachingAllocator, PeaksAreReset) {
  bytes(5 * kMiB);
  EXPECT_GE(stats().allocated_bytes[0].peak,
            before_.allocated_bytes[0].current + 5 * std::int64_t{kMiB});
  at::getDeviceAllocator(at::kCUDA)->resetPeakStats(0);
  EXPECT_EQ(stats().allocated_bytes[0].peak, stats().allocated_bytes[0].current);
}

} // namespace
