// What c10_cuda and torch_cuda export, as a C++ program calls it: by the symbols that LibTorch's
// headers declare.
#include <ATen/core/CachingHostAllocator.h>
#include <c10/core/StreamGuard.h>
#include <c10/cuda/CUDACachingAllocator.h>
#include <dlfcn.h>
#include <gtest/gtest.h>
#include <torch/torch.h>

#include <atomic>
#include <string>

namespace {

template <typename Type> Type *exported(const char *symbol) {
  void *address = dlsym(RTLD_DEFAULT, symbol);
  EXPECT_NE(address, nullptr) << symbol;
  return reinterpret_cast<Type *>(address);
}

using c10::cuda::CUDACachingAllocator::CUDAAllocator;

CUDAAllocator &allocator() {
  return **exported<std::atomic<CUDAAllocator *>>("_ZN3c104cuda20CUDACachingAllocator9allocatorE");
}

const at::Device kSecond(at::kCUDA, 1);
constexpr std::size_t kAll = 0; // of a statistic's pools

TEST(CudaAllocator, CountsAndGivesBack) {
  CUDAAllocator &cuda = allocator();
  cuda.init(2);
  EXPECT_TRUE(cuda.initialized());
  EXPECT_EQ(cuda.name(), "native");
  cuda.emptyCache();
  const auto before = cuda.getDeviceStats(1).reserved_bytes[kAll].current;
  {
    at::empty({32 << 20}, at::TensorOptions(kSecond).dtype(at::kByte));
  }
  cuda.resetPeakStats(1);
  cuda.resetAccumulatedStats(1);
  const auto held = cuda.getDeviceStats(1);
  EXPECT_GE(held.reserved_bytes[kAll].current, before + (32 << 20));
  EXPECT_EQ(held.allocated_bytes[kAll].peak, held.allocated_bytes[kAll].current);
  EXPECT_EQ(held.allocated_bytes[kAll].allocated, 0);
  const std::size_t free = cuda.getMemoryInfo(1).first;
  cuda.emptyCache();
  EXPECT_EQ(cuda.getDeviceStats(1).reserved_bytes[kAll].current, before);
  EXPECT_GT(cuda.getMemoryInfo(1).first, free);
  EXPECT_THROW(cuda.getDeviceStats(2), c10::Error);
  cuda.setMemoryFraction(0.5, 1);
  EXPECT_EQ(cuda.getMemoryFraction(1), 0.5);
  cuda.setMemoryFraction(1, 1);
  EXPECT_FALSE(cuda.isHistoryEnabled());
}

TEST(HostAllocator, ReusesBlocksAndKnowsThem) {
  at::HostAllocator *host = at::getHostAllocator(at::kCUDA);
  ASSERT_NE(host, nullptr);
  host->empty_cache();
  const at::HostStats before = host->get_stats();
  const c10::Stream stream = c10::impl::VirtualGuardImpl(at::kCUDA).getStream(kSecond);
  void *address = nullptr;
  {
    c10::DataPtr block = host->allocate(1000);
    address = block.get();
    EXPECT_TRUE(host->record_event(address, block.get_context(), stream));
    EXPECT_TRUE(host->record_event(address, &address, stream));
    EXPECT_FALSE(host->record_event(&address, &address, stream));
    EXPECT_TRUE(at::detail::getCUDAHooks().isPinnedPtr(static_cast<char *>(address) + 999));
    EXPECT_FALSE(at::detail::getCUDAHooks().isPinnedPtr(static_cast<char *>(address) + 1000));
    const at::HostStats held = host->get_stats();
    EXPECT_EQ(held.active_bytes.current, before.active_bytes.current + 1024);
    EXPECT_EQ(held.num_host_alloc, before.num_host_alloc + 1);
  }
  EXPECT_FALSE(at::detail::getCUDAHooks().isPinnedPtr(address));
  {
    const at::Tensor again = at::empty({513}, at::TensorOptions(at::kByte).pinned_memory(true));
    EXPECT_EQ(again.data_ptr(), address);
    EXPECT_NE(host->allocate(1000).get(), address);
  }
  host->reset_peak_stats();
  host->empty_cache();
  EXPECT_FALSE(host->record_event(address, address, stream));
  const at::HostStats after = host->get_stats();
  EXPECT_EQ(after.allocated_bytes.current, before.allocated_bytes.current);
  EXPECT_EQ(after.num_host_free, before.num_host_free + 2);
  host->reset_accumulated_stats();
  EXPECT_EQ(host->get_stats().num_host_alloc, 0);
  EXPECT_EQ(host->allocate(0).get(), nullptr);
}

TEST(CudaGenerators, AreTheDevicesOrNew) {
  auto *of_device = exported<const at::Generator &(c10::DeviceIndex)>(
      "_ZN2at4cuda6detail23getDefaultCUDAGeneratorEa");
  auto *made =
      exported<at::Generator(c10::DeviceIndex)>("_ZN2at4cuda6detail19createCUDAGeneratorEa");
  EXPECT_EQ(of_device(-1), at::globalContext().defaultGenerator(at::Device(at::kCUDA, 0)));
  EXPECT_EQ(of_device(1).device(), kSecond);
  EXPECT_EQ(made(1).device(), kSecond);
  EXPECT_NE(made(1), of_device(1));
  EXPECT_EQ(made(-1).current_seed(), c10::default_rng_seed_val);
  EXPECT_THROW(of_device(2), c10::Error);
  EXPECT_THROW(made(2), c10::Error);
}

TEST(CudaSleep, KeepsTheStreamBusy) {
  c10::impl::VirtualGuardImpl impl(at::kCUDA);
  const c10::StreamGuard guard(impl.getNewStream(kSecond));
  const c10::Stream stream = guard.current_stream();
  exported<void(std::int64_t)>("_ZN2at4cuda5sleepEl")(1000000);
  EXPECT_FALSE(stream.query());
  stream.synchronize();
  EXPECT_TRUE(stream.query());
}

TEST(CudaContexts, AreEnteredAndRequested) {
  auto *exchange = exported<c10::DeviceIndex(c10::DeviceIndex)>("_ZN3c104cuda14ExchangeDeviceEa");
  auto *maybe = exported<c10::DeviceIndex(c10::DeviceIndex)>("_ZN3c104cuda19MaybeExchangeDeviceEa");
  auto *current = exported<c10::DeviceIndex()>("_ZN3c104cuda14current_deviceEv");
  EXPECT_EQ(exchange(1), 0);
  EXPECT_EQ(current(), 1);
  EXPECT_TRUE(at::detail::getCUDAHooks().hasPrimaryContext(1));
  EXPECT_EQ(maybe(0), 1);
  EXPECT_EQ(current(), 0);
  EXPECT_THROW(exchange(-1), c10::Error);
  EXPECT_THROW(exchange(2), c10::Error);
  EXPECT_EQ(current(), 0);
}

} // namespace
