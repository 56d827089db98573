#include "memory.h"

#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <cstdlib>
#include <cstring>
#include <map>
#include <mutex>

#include <c10/core/CPUAllocator.h>
#include <c10/core/CachingDeviceAllocator.h>

#include "devices.h"
#include "stream_accesses.h"
#include "streams.h"

namespace devsan::sim {
namespace {

// ATen's CPU kernels expect 64-byte alignment of the data, so the header takes as much.
constexpr std::size_t kAlignment = 64;

struct Header {
  std::size_t bytes;
  c10::DeviceIndex device;
  std::atomic<c10::StorageImpl *> cpu_twin; // one reference, or nullptr
};
static_assert(sizeof(Header) <= kAlignment);

// CUDA's caching allocator hands out multiples of this; programs compare its figures.
constexpr std::int64_t kGranularity = 512;

std::int64_t rounded(std::int64_t bytes) {
  return (bytes + kGranularity - 1) / kGranularity * kGranularity;
}

class Counter {
public:
  void add(std::int64_t amount) {
    std::int64_t now = current_.fetch_add(amount, std::memory_order_relaxed) + amount;
    allocated_.fetch_add(amount, std::memory_order_relaxed);
    std::int64_t seen = peak_.load(std::memory_order_relaxed);
    while (seen < now && !peak_.compare_exchange_weak(seen, now, std::memory_order_relaxed)) {
    }
  }
  void remove(std::int64_t amount) {
    current_.fetch_sub(amount, std::memory_order_relaxed);
    freed_.fetch_add(amount, std::memory_order_relaxed);
  }
  std::int64_t current() const { return current_.load(std::memory_order_relaxed); }
  void resetPeak() { peak_ = current_.load(); }
  void resetAccumulated() { allocated_ = freed_ = 0; }
  c10::CachingAllocator::StatArray stats() const {
    c10::CachingAllocator::StatArray all;
    auto &stat = all[static_cast<std::size_t>(c10::CachingAllocator::StatType::AGGREGATE)];
    stat.current = current_;
    stat.peak = peak_;
    stat.allocated = allocated_;
    stat.freed = freed_;
    return all;
  }

private:
  std::atomic<std::int64_t> current_{0}, peak_{0}, allocated_{0}, freed_{0};
};

struct Counters {
  Counter blocks, bytes, requested;
};
Counters counters[kMaxDevices];

// No cache: what is allocated is what is reserved.
c10::CachingDeviceAllocator::DeviceStats deviceStats(c10::DeviceIndex index) {
  const Counters &c = counters[index];
  c10::CachingDeviceAllocator::DeviceStats stats;
  stats.allocation = stats.segment = stats.active = c.blocks.stats();
  stats.allocated_bytes = stats.reserved_bytes = stats.active_bytes = c.bytes.stats();
  stats.requested_bytes = c.requested.stats();
  stats.num_device_alloc = stats.allocation[0].allocated;
  stats.num_device_free = stats.allocation[0].freed;
  return stats;
}

void countAllocation(c10::DeviceIndex device, std::int64_t bytes) {
  counters[device].blocks.add(1);
  counters[device].bytes.add(rounded(bytes));
  counters[device].requested.add(bytes);
}

void countRelease(c10::DeviceIndex device, std::int64_t bytes) {
  counters[device].blocks.remove(1);
  counters[device].bytes.remove(rounded(bytes));
  counters[device].requested.remove(bytes);
}

Header *headerOf(void *data) {
  return reinterpret_cast<Header *>(static_cast<char *>(data) - kAlignment);
}

void releaseBlock(void *data) {
  if (data == nullptr)
    return;
  if (C10_UNLIKELY(areAccessesNoted()))
    noteRelease(data);
  Header *header = headerOf(data);
  countRelease(header->device, static_cast<std::int64_t>(header->bytes));
  if (c10::StorageImpl *twin = header->cpu_twin.load(std::memory_order_acquire))
    c10::intrusive_ptr<c10::StorageImpl>::reclaim(twin);
  header->~Header();
  std::free(header);
}

c10::DataPtr allocateBlock(std::size_t bytes, c10::DeviceIndex index, c10::Device label) {
  if (bytes == 0)
    return {nullptr, nullptr, &releaseBlock, label};
  void *memory = nullptr;
  if (bytes > SIZE_MAX - kAlignment || posix_memalign(&memory, kAlignment, bytes + kAlignment) != 0)
    TORCH_CHECK_WITH(OutOfMemoryError, false, "CUDA out of memory. Tried to allocate ", bytes,
                     " bytes. GPU ", static_cast<int>(index), " is simulated in host memory.");
  new (memory) Header{bytes, index, nullptr};
  countAllocation(index, static_cast<std::int64_t>(bytes));
  void *data = static_cast<char *>(memory) + kAlignment;
  if (C10_UNLIKELY(areAccessesNoted()))
    noteAllocation(data, bytes, index);
  return {data, data, &releaseBlock, label};
}

class DeviceAllocator final : public c10::DeviceAllocator {
public:
  bool initialized() override { return true; }
  void emptyCache(c10::MempoolId_t) override {}
  void recordStream(const c10::DataPtr &data, c10::Stream stream) override {
    sim::recordStream(data.get(), stream);
  }
  c10::CachingDeviceAllocator::DeviceStats getDeviceStats(c10::DeviceIndex index) override {
    checkDeviceIndex(index);
    return deviceStats(index);
  }
  void resetAccumulatedStats(c10::DeviceIndex index) override {
    checkDeviceIndex(index);
    counters[index].blocks.resetAccumulated();
    counters[index].bytes.resetAccumulated();
    counters[index].requested.resetAccumulated();
  }
  void resetPeakStats(c10::DeviceIndex index) override {
    checkDeviceIndex(index);
    counters[index].blocks.resetPeak();
    counters[index].bytes.resetPeak();
    counters[index].requested.resetPeak();
  }
  std::pair<std::size_t, std::size_t> getMemoryInfo(c10::DeviceIndex index) override {
    checkDeviceIndex(index);
    auto total = static_cast<std::size_t>(sysconf(_SC_PHYS_PAGES)) * sysconf(_SC_PAGESIZE);
    auto used = static_cast<std::size_t>(counters[index].bytes.current());
    return {total - std::min(used, total), total};
  }
  c10::DataPtr allocate(std::size_t bytes) override {
    return allocateBlock(bytes, currentDevice(), c10::Device(c10::kCUDA, currentDevice()));
  }
  c10::DeleterFnPtr raw_deleter() const override { return &releaseBlock; }
  void copy_data(void *to, const void *from, std::size_t bytes) const override {
    std::memcpy(to, from, bytes);
  }
};

thread_local c10::DeviceIndex kernel_device = -1;

// Takes the place of the CPU allocator; outside kernels it is the one that was there.
class KernelAllocator final : public c10::Allocator {
public:
  explicit KernelAllocator(c10::Allocator *host) : host_(host) {}
  c10::DataPtr allocate(std::size_t bytes) override {
    if (kernel_device < 0)
      return host_->allocate(bytes);
    return allocateBlock(bytes, kernel_device, c10::Device(c10::kCPU));
  }
  // Raw allocations pair allocate() with this; both see the same scope because a kernel frees what
  // it takes raw.
  c10::DeleterFnPtr raw_deleter() const override {
    return kernel_device < 0 ? host_->raw_deleter() : &releaseBlock;
  }
  void copy_data(void *to, const void *from, std::size_t bytes) const override {
    std::memcpy(to, from, bytes);
  }

private:
  c10::Allocator *host_;
};

class PinnedAllocator final : public c10::Allocator {
public:
  explicit PinnedAllocator(c10::Allocator *host) : host_(host) {}
  c10::DataPtr allocate(std::size_t bytes) override {
    c10::DataPtr data = host_->allocate(bytes);
    if (void *start = data.get()) {
      std::lock_guard lock(mutex_);
      ranges_[start] = {static_cast<char *>(start) + bytes, data.get_deleter()};
      (void)data.release_context();
      return {start, start, &release, c10::Device(c10::kCPU)};
    }
    return data;
  }
  c10::DeleterFnPtr raw_deleter() const override { return &release; }
  void copy_data(void *to, const void *from, std::size_t bytes) const override {
    std::memcpy(to, from, bytes);
  }
  bool holds(const void *data) {
    std::lock_guard lock(mutex_);
    auto after = ranges_.upper_bound(data);
    return after != ranges_.begin() && data < std::prev(after)->second.end;
  }

private:
  struct Range {
    const void *end;
    c10::DeleterFnPtr host_deleter;
  };

  static void release(void *start);

  c10::Allocator *host_;
  std::mutex mutex_;
  std::map<const void *, Range> ranges_;
};

// Made when the library is loaded, never destroyed: tensors of static storage duration outlive this
// library's.
struct Allocators {
  DeviceAllocator device;
  c10::Allocator *host = c10::GetCPUAllocator();
  KernelAllocator kernel{host};
  PinnedAllocator pinned{host};
};
Allocators &allocators() {
  static auto *all = new Allocators;
  return *all;
}

void PinnedAllocator::release(void *start) {
  PinnedAllocator &self = allocators().pinned;
  c10::DeleterFnPtr host_deleter = nullptr;
  {
    std::lock_guard lock(self.mutex_);
    auto range = self.ranges_.find(start);
    if (range == self.ranges_.end())
      return;
    host_deleter = range->second.host_deleter;
    self.ranges_.erase(range);
  }
  host_deleter(start);
}

const bool registered = [] {
  c10::SetAllocator(c10::kCUDA, &allocators().device);
  c10::SetAllocator(c10::kCPU, &allocators().kernel);
  return true;
}();

} // namespace

c10::Allocator *deviceAllocator() {
  return &allocators().device;
}
c10::Allocator *pinnedAllocator() {
  return &allocators().pinned;
}
c10::Allocator *kernelAllocator() {
  return &allocators().kernel;
}
bool isPinned(const void *data) {
  return allocators().pinned.holds(data);
}

bool ownsDeviceBlock(const c10::DataPtr &data) {
  return data.get() != nullptr && data.get_deleter() == &releaseBlock &&
         data.get() == data.get_context();
}

c10::StorageImpl *cachedCpuTwin(c10::StorageImpl &storage) {
  const c10::DataPtr &data = storage._mutable_data_ptr_no_checks();
  if (C10_UNLIKELY(!ownsDeviceBlock(data)))
    return nullptr;
  Header *header = headerOf(data.get());
  c10::StorageImpl *twin = header->cpu_twin.load(std::memory_order_acquire);
  auto label = [&] {
    return c10::DataPtr(data.get(), data.get(), &c10::NoDelete, c10::Device(c10::kCPU));
  };
  if (C10_UNLIKELY(twin == nullptr)) {
    auto made = c10::make_intrusive<c10::StorageImpl>(c10::StorageImpl::use_byte_size_t(),
                                                      static_cast<std::int64_t>(storage.nbytes()),
                                                      label(), kernelAllocator(), true);
    if (header->cpu_twin.compare_exchange_strong(twin, made.get(), std::memory_order_acq_rel))
      twin = made.release();
  }
  // A kernel that resized the twin and then threw has left it over other memory.
  if (C10_UNLIKELY(twin->_mutable_data_ptr_no_checks().get() != data.get()))
    twin->set_data_ptr_noswap(label());
  if (C10_UNLIKELY(twin->nbytes() != storage.nbytes()))
    twin->set_nbytes(storage.nbytes());
  return twin;
}

KernelScope::KernelScope(c10::DeviceIndex index) : previous_(kernel_device) {
  kernel_device = index;
}
KernelScope::~KernelScope() {
  kernel_device = previous_;
}

} // namespace devsan::sim
