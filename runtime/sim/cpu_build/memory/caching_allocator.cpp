#include "caching_allocator.h"

#include <algorithm>
#include <bit>
#include <cstdio>

#include <c10/core/AllocatorConfig.h>

#include "runtime/sim/devices/devices.h"
#include "runtime/sim/memory/arena.h"
#include "runtime/sim/memory/fork_locks.h"
#include "runtime/sim/memory/protection.h"
#include "runtime/sim/memory/settings.h"
#include "runtime/sim/streams/blocking.h"
#include "runtime/sim/streams/events.h"

namespace devsan::sim {

struct StreamUses {
  std::vector<c10::Stream> streams; // each once
};

namespace {

using c10::CachingAllocator::AcceleratorAllocatorConfig;
using c10::CachingAllocator::StatArray;
using c10::CachingAllocator::StatType;

using c10::CachingAllocator::kMinBlockSize;  // 512 bytes
using c10::CachingAllocator::kMinLargeAlloc; // 10 MiB
using c10::CachingAllocator::kRoundLarge;    // 2 MiB
using c10::CachingAllocator::kSmallBuffer;   // 2 MiB
using c10::CachingAllocator::kSmallSize;     // 1 MiB

constexpr std::size_t kExaByte = std::size_t{1} << 60;
constexpr auto kAll = static_cast<std::size_t>(StatType::AGGREGATE);

// Pages are given back in pieces of this size.
constexpr std::size_t kGranule = 64 << 10;

std::size_t roundUp(std::size_t size, std::size_t multiple) {
  return (size + multiple - 1) / multiple * multiple;
}

// What CUDA's allocator can be told beside what all can. It has no effect here; but where a device
// has such keys, c10 refuses unknown ones.
constexpr const char *kCudasKeys[] = {
    "backend",
    "graph_capture_record_stream_reuse",
    "per_process_memory_fraction",
    "pinned_free_catch_all",
    "pinned_num_register_threads",
    "pinned_reserve_segment_size_mb",
    "pinned_use_cuda_host_register",
    "pinned_use_hip_host_register",
    "release_lock_on_cudamalloc",
    "release_lock_on_hipmalloc",
    "throw_on_cudamalloc_oom",
};

void checkCudasSettings(const std::string &settings) {
  const c10::CachingAllocator::ConfigTokenizer tokens(settings);
  for (std::size_t i = 0; i < tokens.size(); i = tokens.skipKey(i) + 2)
    TORCH_CHECK_VALUE(tokens[i] != "backend" || tokens[i + 2] == "native" ||
                          tokens[i + 2] == "cudaMallocAsync",
                      "Unknown allocator backend, options are native and cudaMallocAsync");
}

// Before the first use of the settings, which reads them.
[[maybe_unused]] const bool registered = [] {
  std::unordered_set<std::string> keys;
  for (const char *key : kCudasKeys)
    if (!AcceleratorAllocatorConfig::getKeys().contains(key)) // of a release where all have it
      keys.insert(key);
  AcceleratorAllocatorConfig::registerDeviceConfigParserHook(&checkCudasSettings, keys);
  return true;
}();

// The next of `divisions` equal steps between two powers of two.
std::size_t roundUpToDivision(std::size_t size, std::size_t divisions) {
  if (std::has_single_bit(size))
    return size;
  std::size_t power = std::bit_floor(size), step = power / divisions;
  return step == 0 ? 2 * power : roundUp(size, step);
}

std::size_t roundedSize(std::size_t size) {
  if (size < kMinBlockSize)
    return kMinBlockSize;
  std::size_t divisions = AcceleratorAllocatorConfig::roundup_power2_divisions(size);
  if (divisions > 1 && size > kMinBlockSize * divisions)
    return roundUpToDivision(size, divisions);
  return roundUp(size, kMinBlockSize);
}

std::size_t segmentSizeFor(std::size_t size) {
  // c10 asks the hook about later settings alone.
  [[maybe_unused]] static const bool checked =
      (checkCudasSettings(AcceleratorAllocatorConfig::last_allocator_settings()), true);
  if (size <= kSmallSize)
    return kSmallBuffer;
  std::size_t large = AcceleratorAllocatorConfig::large_segment_size();
  if (size < kMinLargeAlloc && size <= large)
    return large;
  return roundUp(size, kRoundLarge);
}

void increase(StatArray &stats, const Pool &pool, std::size_t amount) {
  stats[kAll].increase(amount);
  stats[static_cast<std::size_t>(pool.small ? StatType::SMALL_POOL : StatType::LARGE_POOL)]
      .increase(amount);
}

void decrease(StatArray &stats, const Pool &pool, std::size_t amount) {
  stats[kAll].decrease(amount);
  stats[static_cast<std::size_t>(pool.small ? StatType::SMALL_POOL : StatType::LARGE_POOL)]
      .decrease(amount);
}

std::string formatSize(std::uint64_t bytes) {
  char text[64];
  if (bytes <= 1024)
    std::snprintf(text, sizeof text, "%llu bytes", static_cast<unsigned long long>(bytes));
  else if (bytes <= 1048576)
    std::snprintf(text, sizeof text, "%.2f KiB", static_cast<double>(bytes) / 1024.0);
  else if (bytes <= 1073741824ull)
    std::snprintf(text, sizeof text, "%.2f MiB", static_cast<double>(bytes) / 1048576.0);
  else
    std::snprintf(text, sizeof text, "%.2f GiB", static_cast<double>(bytes) / 1073741824.0);
  return text;
}

} // namespace

void DeviceMemory::start(c10::DeviceIndex device) {
  device_ = device;
  total_ = std::min<std::size_t>(memoryOfDevice(), arena_layout.per_device);
  auto *begin = reinterpret_cast<char *>(arena_layout.begin + static_cast<std::uintptr_t>(device) *
                                                                  arena_layout.per_device);
  gaps_.emplace(begin, arena_layout.per_device);
  holdOverForks(mutex_);
}

Pool &DeviceMemory::poolFor(std::size_t size, PoolKey key) {
  if (C10_UNLIKELY(key != last_key_ || last_pools_ == nullptr)) {
    auto [pools, made] = pools_.try_emplace(key);
    if (made) {
      pools->second.small.key = pools->second.large.key = key;
      pools->second.small.small = true;
    }
    last_pools_ = &pools->second;
    last_key_ = key;
  }
  return size <= kSmallSize ? last_pools_->small : last_pools_->large;
}

Block *DeviceMemory::takeFree(Pool &pool, std::size_t size) {
  Block *block = pool.free.smallestAtLeast(size);
  if (block == nullptr)
    return nullptr;
  std::size_t most_split = AcceleratorAllocatorConfig::max_split_size();
  if (C10_UNLIKELY(size < most_split && block->size >= most_split))
    return nullptr;
  if (C10_UNLIKELY(size >= most_split &&
                   block->size >= size + AcceleratorAllocatorConfig::max_non_split_rounding_size()))
    return nullptr;
  pool.free.erase(block);
  return block;
}

bool DeviceMemory::fits(std::size_t bytes) const {
  std::size_t allowed =
      fraction_ ? static_cast<std::size_t>(*fraction_ * static_cast<double>(total_)) : total_;
  return bytes <= allowed && reserved_ <= allowed - bytes;
}

Segment *DeviceMemory::newSegment(std::size_t bytes) {
  std::size_t room = roundUp(bytes, kGranule);
  auto gap = gaps_.begin();
  while (gap != gaps_.end() && gap->second < room)
    ++gap;
  if (gap == gaps_.end())
    return nullptr;
  auto [begin, length] = *gap;
  gaps_.erase(gap);
  if (length > room)
    gaps_.emplace(begin + room, length - room);
  auto segment = std::make_unique<Segment>();
  segment->begin = begin;
  segment->size = bytes;
  segment->device = device_;
  Segment *made = segment.get();
  segments_.emplace(begin, std::move(segment));
  Block *block = newBlock();
  block->data = begin;
  block->size = bytes;
  block->segment = made;
  made->first = block;
  reserved_ += bytes;
  return made;
}

void DeviceMemory::deleteSegment(Segment *segment) {
  char *begin = segment->begin;
  std::size_t room = roundUp(segment->size, kGranule);
  auto address = reinterpret_cast<std::uintptr_t>(begin);
  releasePages(address, address + room);
  for (std::uint64_t word : segment->touched)
    touched_ -= static_cast<std::size_t>(std::popcount(word)) * kGranule;
  reserved_ -= segment->size;
  deleteBlock(segment->first);
  segments_.erase(begin);
  auto after = gaps_.lower_bound(begin);
  if (after != gaps_.end() && after->first == begin + room) {
    room += after->second;
    after = gaps_.erase(after);
  }
  if (after != gaps_.begin()) {
    auto before = std::prev(after);
    if (before->first + before->second == begin) {
      before->second += room;
      return;
    }
  }
  gaps_.emplace(begin, room);
}

Block *DeviceMemory::takeNewSegment(Pool &pool, std::size_t bytes, bool retry) {
  if (retry)
    ++stats_.num_alloc_retries;
  Segment *segment = fits(bytes) ? newSegment(bytes) : nullptr;
  if (segment == nullptr)
    return nullptr;
  segment->pool = &pool;
  if (!pool.small)
    segment->touched.resize((bytes / kGranule + 63) / 64);
  increase(stats_.segment, pool, 1);
  increase(stats_.reserved_bytes, pool, bytes);
  if (bytes >= AcceleratorAllocatorConfig::max_split_size())
    stats_.oversize_segments.increase(1);
  ++stats_.num_device_alloc;
  return segment->first;
}

Block *DeviceMemory::allocate(std::size_t bytes, PoolKey key, bool cached) {
  TORCH_CHECK_WITH(OutOfMemoryError, bytes < kExaByte,
                   "CUDA out of memory. Tried to allocate more than 1EB memory.");
  Lock lock(mutex_);
  if (C10_UNLIKELY(!cached)) {
    Segment *segment = fits(bytes) ? newSegment(bytes) : nullptr;
    if (segment == nullptr)
      throwOutOfMemory(bytes, lock);
    segment->cached = false;
    segment->first->allocated = true;
    segment->first->requested = bytes;
    blockBeginningAt(segment->begin) = segment->first;
    return segment->first;
  }
  if (C10_UNLIKELY(!waiting_.empty()))
    freeWhatIsDone(/*wait=*/false, lock);
  std::size_t size = roundedSize(bytes);
  Pool &pool = poolFor(size, key);
  Block *block = takeFree(pool, size);
  if (C10_UNLIKELY(block == nullptr)) {
    std::size_t segment_size = segmentSizeFor(size);
    block = takeNewSegment(pool, segment_size, false);
    if (block == nullptr) {
      freeWhatIsDone(/*wait=*/true, lock);
      ++stats_.num_sync_all_streams;
      releaseFreeSegments();
      block = takeNewSegment(pool, segment_size, true);
    }
    if (block == nullptr)
      throwOutOfMemory(segment_size, lock);
  }
  give(block, pool, size, bytes);
  if (C10_UNLIKELY(!pool.small))
    touch(*block);
  auto allocated = stats_.allocated_bytes[kAll].current,
       reserved = stats_.reserved_bytes[kAll].current;
  lock.unlock();
  c10::reportMemoryUsageToProfiler(
      block->data, static_cast<std::int64_t>(size), static_cast<std::size_t>(allocated),
      static_cast<std::size_t>(reserved), c10::Device(c10::kCUDA, device_));
  return block;
}

void DeviceMemory::give(Block *block, Pool &pool, std::size_t size, std::size_t requested) {
  const bool was_split = block->isSplit();
  const std::size_t rest = block->size - size;
  const bool split = pool.small
                         ? rest >= kMinBlockSize
                         : size < AcceleratorAllocatorConfig::max_split_size() && rest > kSmallSize;
  if (split) {
    Block *remainder = newBlock();
    remainder->data = block->data + size;
    remainder->size = rest;
    remainder->segment = block->segment;
    remainder->previous = block;
    remainder->next = block->next;
    if (block->next)
      block->next->previous = remainder;
    block->next = remainder;
    block->size = size;
    pool.free.insert(remainder);
    if (was_split) {
      decrease(stats_.inactive_split_bytes, pool, size);
    } else {
      increase(stats_.inactive_split_bytes, pool, rest);
      increase(stats_.inactive_split, pool, 1);
    }
  } else if (was_split) {
    decrease(stats_.inactive_split_bytes, pool, block->size);
    decrease(stats_.inactive_split, pool, 1);
  }
  block->allocated = true;
  block->requested = requested;
  blockBeginningAt(block->data) = block;
  increase(stats_.allocation, pool, 1);
  increase(stats_.allocated_bytes, pool, block->size);
  increase(stats_.active, pool, 1);
  increase(stats_.active_bytes, pool, block->size);
  increase(stats_.requested_bytes, pool, requested);
  if (C10_UNLIKELY(block->size >= AcceleratorAllocatorConfig::max_split_size()))
    stats_.oversize_allocations.increase(1);
}

void DeviceMemory::free(Block *block) {
  Lock lock(mutex_);
  if (C10_UNLIKELY(!block->segment->cached)) {
    deleteSegment(block->segment);
    return;
  }
  Pool &pool = *block->segment->pool;
  void *data = block->data;
  const std::size_t size = block->size;
  block->allocated = false;
  decrease(stats_.allocation, pool, 1);
  decrease(stats_.allocated_bytes, pool, size);
  if (C10_UNLIKELY(size >= AcceleratorAllocatorConfig::max_split_size()))
    stats_.oversize_allocations.decrease(1);
  auto allocated = stats_.allocated_bytes[kAll].current,
       reserved = stats_.reserved_bytes[kAll].current;
  if (C10_LIKELY(block->uses == nullptr)) {
    putBack(block);
    lock.unlock();
  } else {
    block->waits = true;
    std::unique_ptr<StreamUses> uses(std::exchange(block->uses, nullptr));
    // Recording asks the streams, which may free memory themselves.
    lock.unlock();
    Waiting waiting{block, {}};
    for (const c10::Stream &stream : uses->streams)
      waiting.uses.emplace_back(stream, c10::kCUDA).second.record(stream);
    lock.lock();
    waiting_.push_back(std::move(waiting));
    lock.unlock();
  }
  c10::reportMemoryUsageToProfiler(
      data, -static_cast<std::int64_t>(size), static_cast<std::size_t>(allocated),
      static_cast<std::size_t>(reserved), c10::Device(c10::kCUDA, device_));
}

std::size_t DeviceMemory::absorb(Block *block, Block *neighbour, Pool &pool) {
  if (neighbour == nullptr || neighbour->allocated || neighbour->waits)
    return 0;
  const std::size_t size = neighbour->size;
  pool.free.erase(neighbour);
  if (block->previous == neighbour) {
    block->data = neighbour->data;
    block->previous = neighbour->previous;
    if (block->previous)
      block->previous->next = block;
    else
      block->segment->first = block;
  } else {
    block->next = neighbour->next;
    if (block->next)
      block->next->previous = block;
  }
  block->size += size;
  deleteBlock(neighbour);
  return size;
}

void DeviceMemory::putBack(Block *block) {
  Pool &pool = *block->segment->pool;
  const std::size_t size = block->size, requested = block->requested;
  block->waits = false;
  std::int64_t count = 0, bytes = 0;
  for (Block *neighbour : {block->previous, block->next}) {
    if (std::size_t merged = absorb(block, neighbour, pool)) {
      --count;
      bytes -= static_cast<std::int64_t>(merged);
    }
  }
  pool.free.insert(block);
  if (block->isSplit()) {
    ++count;
    bytes += static_cast<std::int64_t>(block->size);
  }
  if (count > 0)
    increase(stats_.inactive_split, pool, static_cast<std::size_t>(count));
  else if (count < 0)
    decrease(stats_.inactive_split, pool, static_cast<std::size_t>(-count));
  if (bytes > 0)
    increase(stats_.inactive_split_bytes, pool, static_cast<std::size_t>(bytes));
  else if (bytes < 0)
    decrease(stats_.inactive_split_bytes, pool, static_cast<std::size_t>(-bytes));
  decrease(stats_.active, pool, 1);
  decrease(stats_.active_bytes, pool, size);
  decrease(stats_.requested_bytes, pool, requested);
}

void DeviceMemory::recordStream(Block *block, c10::Stream stream) {
  Lock lock(mutex_);
  if (!block->segment->cached || stream.id() == block->segment->pool->key.stream)
    return;
  if (block->uses == nullptr)
    block->uses = new StreamUses;
  for (const c10::Stream &known : block->uses->streams)
    if (known == stream)
      return;
  block->uses->streams.push_back(stream);
}

void DeviceMemory::freeWhatIsDone(bool wait, Lock &lock) {
  const std::uint64_t gone = copiesGone();
  if (!wait && waiting_.size() == asked_ && gone == asked_at_)
    return;
  std::deque<Waiting> waiting = std::exchange(waiting_, {}), unfinished;
  lock.unlock();
  std::vector<Block *> done;
  std::vector<c10::Stream> busy; // what comes later on these is not done either
  auto isDone = [&](std::pair<c10::Stream, c10::Event> &use) {
    if (wait) {
      use.second.synchronize(); // NOLINT(device-host-sync): the caller asked for it
      return true;
    }
    if (std::ranges::find(busy, use.first) != busy.end())
      return false;
    if (hasHappened(use.second))
      return true;
    busy.push_back(use.first);
    return false;
  };
  for (Waiting &one : waiting) {
    while (!one.uses.empty() && isDone(one.uses.back()))
      one.uses.pop_back();
    if (one.uses.empty())
      done.push_back(one.block);
    else
      unfinished.push_back(std::move(one));
  }
  lock.lock();
  for (Block *block : done)
    putBack(block);
  for (Waiting &one : unfinished)
    waiting_.push_back(std::move(one));
  asked_ = waiting_.size() == unfinished.size() ? waiting_.size() : 0;
  asked_at_ = gone;
}

void DeviceMemory::releaseFreeSegments() {
  std::vector<Segment *> free;
  for (auto &[begin, segment] : segments_)
    if (segment->cached && !segment->first->isSplit() && !segment->first->allocated &&
        !segment->first->waits && !held_mempools_.contains(segment->pool->key.mempool))
      free.push_back(segment.get());
  for (Segment *segment : free) {
    Pool &pool = *segment->pool;
    pool.free.erase(segment->first);
    decrease(stats_.segment, pool, 1);
    decrease(stats_.reserved_bytes, pool, segment->size);
    if (segment->size >= AcceleratorAllocatorConfig::max_split_size())
      stats_.oversize_segments.decrease(1);
    ++stats_.num_device_free;
    deleteSegment(segment);
  }
}

void DeviceMemory::emptyCache() {
  Lock lock(mutex_);
  freeWhatIsDone(/*wait=*/true, lock);
  ++stats_.num_sync_all_streams;
  const std::int64_t freed_before = stats_.num_device_free;
  releaseFreeSegments();
  const std::int64_t freed = stats_.num_device_free - freed_before;
  lock.unlock(); // whoever observes a wait may allocate
  for (std::int64_t i = 0; i < freed; ++i)
    const ExplicitWait wait("cudaFree", device_);
}

void DeviceMemory::holdMempool(std::uint64_t mempool) {
  Lock lock(mutex_);
  ++held_mempools_[mempool];
}

void DeviceMemory::releaseMempool(std::uint64_t mempool) {
  Lock lock(mutex_);
  auto held = held_mempools_.find(mempool);
  if (held != held_mempools_.end() && --held->second == 0)
    held_mempools_.erase(held);
}

void DeviceMemory::throwOutOfMemory(std::size_t bytes, Lock &lock) {
  ++stats_.num_ooms;
  auto allocated = static_cast<std::size_t>(stats_.allocated_bytes[kAll].current);
  auto reserved = static_cast<std::size_t>(stats_.reserved_bytes[kAll].current);
  std::size_t free = total_ - std::min(reserved_, total_);
  std::string allowed;
  if (fraction_)
    allowed = formatSize(static_cast<std::uint64_t>(*fraction_ * static_cast<double>(total_))) +
              " allowed; ";
  std::string in_use = "this process has " + formatSize(reserved_) + " memory in use. ";
  lock.unlock();
  c10::reportOutOfMemoryToProfiler(static_cast<std::int64_t>(bytes), allocated, reserved,
                                   c10::Device(c10::kCUDA, device_));
  TORCH_CHECK_WITH(
      OutOfMemoryError, false, "CUDA out of memory. Tried to allocate ", formatSize(bytes),
      ". GPU ", static_cast<int>(device_), " has a total capacity of ", formatSize(total_),
      " of which ", formatSize(free), " is free. Including non-PyTorch memory, ", in_use, allowed,
      "Of the allocated memory ", formatSize(allocated), " is allocated by PyTorch, and ",
      formatSize(reserved - allocated),
      " is reserved by PyTorch but unallocated. If reserved but unallocated memory is large try "
      "setting PYTORCH_CUDA_ALLOC_CONF=expandable_segments:True to avoid fragmentation.  See "
      "documentation for Memory Management  "
      "(https://docs.pytorch.org/docs/stable/notes/"
      "cuda.html#optimizing-memory-usage-with-pytorch-cuda-alloc-conf)");
}

// The pages that a block reaches count as used once it is given out.
void DeviceMemory::touch(const Block &block) {
  Segment &segment = *block.segment;
  auto offset = static_cast<std::size_t>(block.data - segment.begin);
  std::size_t first = offset / kGranule, last = (offset + block.size - 1) / kGranule;
  for (std::size_t word = first / 64; word <= last / 64; ++word) {
    std::uint64_t mask = ~std::uint64_t{0};
    if (word == first / 64)
      mask &= ~std::uint64_t{0} << first % 64;
    if (word == last / 64)
      mask &= ~std::uint64_t{0} >> (63 - last % 64);
    touched_ += static_cast<std::size_t>(std::popcount(mask & ~segment.touched[word])) * kGranule;
    segment.touched[word] |= mask;
  }
  auto needed = static_cast<std::size_t>(
      stats_.active_bytes[static_cast<std::size_t>(StatType::LARGE_POOL)].current);
  most_needed_ = std::max(most_needed_, needed);
  if (C10_UNLIKELY(touched_ > most_needed_ + most_needed_ / 64 + (4 << 20)))
    trim();
}

// The device has never needed so much at once: free blocks give their pages back.
void DeviceMemory::trim() {
  for (auto &[stream, pools] : pools_) {
    pools.large.free.forEach([this](Block *block) {
      if (touched_ <= most_needed_)
        return;
      Segment &segment = *block->segment;
      auto begin = static_cast<std::size_t>(block->data - segment.begin);
      std::size_t first = (begin + kGranule - 1) / kGranule;
      std::size_t end = (begin + block->size) / kGranule;
      std::size_t count = 0;
      for (std::size_t granule = first; granule < end; ++granule) {
        std::uint64_t bit = std::uint64_t{1} << granule % 64;
        count += (segment.touched[granule / 64] & bit) != 0;
        segment.touched[granule / 64] &= ~bit;
      }
      if (count == 0)
        return;
      auto address = reinterpret_cast<std::uintptr_t>(segment.begin);
      releasePages(address + first * kGranule, address + end * kGranule);
      touched_ -= count * kGranule;
    });
  }
}

Block *DeviceMemory::newBlock() {
  if (unused_blocks_.empty())
    return &blocks_.emplace_back();
  Block *block = unused_blocks_.back();
  unused_blocks_.pop_back();
  return block;
}

void DeviceMemory::deleteBlock(Block *block) {
  block->previous = block->next = nullptr;
  block->allocated = block->waits = false;
  block->segment = nullptr;
  unused_blocks_.push_back(block);
}

DeviceMemory::Stats DeviceMemory::stats() {
  Lock lock(mutex_);
  Stats stats = stats_;
  stats.max_split_size = static_cast<std::int64_t>(AcceleratorAllocatorConfig::max_split_size());
  return stats;
}

namespace {

template <typename Change> void forEachStat(DeviceMemory::Stats &stats, Change change) {
  for (StatArray *array : {&stats.allocation, &stats.segment, &stats.active, &stats.inactive_split,
                           &stats.allocated_bytes, &stats.reserved_bytes, &stats.active_bytes,
                           &stats.inactive_split_bytes, &stats.requested_bytes})
    for (auto &stat : *array)
      change(stat);
  change(stats.oversize_allocations);
  change(stats.oversize_segments);
}

} // namespace

void DeviceMemory::resetPeakStats() {
  Lock lock(mutex_);
  forEachStat(stats_, [](auto &stat) { stat.reset_peak(); });
}

void DeviceMemory::resetAccumulatedStats() {
  Lock lock(mutex_);
  forEachStat(stats_, [](auto &stat) { stat.reset_accumulated(); });
  stats_.num_alloc_retries = stats_.num_ooms = 0;
  stats_.num_sync_all_streams = 0;
  stats_.num_device_alloc = stats_.num_device_free = 0;
}

std::pair<std::size_t, std::size_t> DeviceMemory::info() {
  Lock lock(mutex_);
  return {total_ - std::min(reserved_, total_), total_};
}

void DeviceMemory::setFraction(double fraction) {
  Lock lock(mutex_);
  fraction_ = fraction;
}

double DeviceMemory::fraction() {
  Lock lock(mutex_);
  return fraction_.value_or(1.0);
}

std::vector<c10::CachingDeviceAllocator::SegmentInfo> DeviceMemory::snapshot() {
  Lock lock(mutex_);
  std::vector<c10::CachingDeviceAllocator::SegmentInfo> all;
  for (auto &[begin, segment] : segments_) {
    if (!segment->cached)
      continue;
    auto &info = all.emplace_back();
    info.device = device_;
    info.address = reinterpret_cast<std::size_t>(begin);
    info.total_size = segment->size;
    info.stream = reinterpret_cast<void *>(segment->pool->key.stream);
    info.owner_private_pool_id = {0, segment->pool->key.mempool};
    info.is_large = !segment->pool->small;
    for (const Block *block = segment->first; block; block = block->next) {
      auto &part = info.blocks.emplace_back();
      part.size = block->size;
      part.requested_size = block->requested;
      part.allocated = block->allocated;
      part.active = block->allocated || block->waits;
      if (part.allocated)
        info.allocated_size += block->size;
      if (part.active) {
        info.active_size += block->size;
        info.requested_size += block->requested;
      }
    }
  }
  return all;
}

Block *DeviceMemory::blockOf(const void *address) const {
  auto after = segments_.upper_bound(static_cast<char *>(const_cast<void *>(address)));
  if (after == segments_.begin())
    return nullptr;
  const Segment &segment = *std::prev(after)->second;
  for (Block *block = segment.first; block; block = block->next)
    if (address < block->data + block->size)
      return block;
  return nullptr;
}

std::optional<BlockPlace> DeviceMemory::placeOf(const void *address) {
  Lock lock(mutex_);
  Block *block = blockOf(address);
  if (block == nullptr)
    return std::nullopt;
  return BlockPlace{block->data, block->allocated ? block->requested : block->size,
                    !block->allocated};
}

DeviceMemory &deviceMemory(c10::DeviceIndex device) {
  static auto *devices = [] {
    makeArena();
    if (arenaIsProtected())
      installFaultHandler();
    auto *all = new DeviceMemory[static_cast<std::size_t>(deviceCount())];
    for (c10::DeviceIndex i = 0; i < deviceCount(); ++i)
      all[i].start(i);
    return all;
  }();
  return devices[device];
}

} // namespace devsan::sim
