// The memory of one simulated device, divided as CUDA's caching allocator of PyTorch divides it, so
// that addresses, statistics and the moment where memory ends are those of hardware: segments of 2
// and 20 MiB or whole multiples of 2 MiB, blocks of 512 bytes and up, best fit, splitting and
// merging, a pool per stream. Called by the simulator's allocators (device_memory.cpp) from any
// thread; one lock per device. Only addresses are kept cached without bound: pages of free blocks
// beyond what the device needed at its peak go back to the machine.
#pragma once

#include <cstddef>
#include <deque>
#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <unordered_map>
#include <vector>

#include <c10/core/CachingDeviceAllocator.h>
#include <c10/core/Event.h>

#include "free_blocks.h"
#include "runtime/sim/memory/place.h"

namespace devsan::sim {

struct PoolKey {
  c10::StreamId stream = 0;
  std::uint64_t mempool = 0; // of CUDA graphs, which share it; 0: the one for everything else
  auto operator<=>(const PoolKey &) const = default;
};

struct Pool {
  FreeBlocks free;
  PoolKey key;
  bool small = false;
};

struct Segment {
  char *begin = nullptr; // device address
  std::size_t size = 0;
  Pool *pool = nullptr;
  c10::DeviceIndex device = 0;
  bool cached = true; // false: an allocation of its own, see PYTORCH_NO_CUDA_MEMORY_CACHING
  Block *first = nullptr;
  std::vector<std::uint64_t> touched; // a bit for each granule that was ever used; large pools only
};

class DeviceMemory {
public:
  using Stats = c10::CachingDeviceAllocator::DeviceStats;

  void start(c10::DeviceIndex device);

  // Throws OutOfMemoryError.
  Block *allocate(std::size_t bytes, PoolKey key, bool cached);
  void free(Block *block);
  // The block is not given out again before the work that `stream` has now, is done.
  void recordStream(Block *block, c10::Stream stream);
  void emptyCache();
  // A graph knows addresses of the mempool's memory, which keeps its segments until as many graphs
  // have released it.
  void holdMempool(std::uint64_t mempool);
  void releaseMempool(std::uint64_t mempool);

  Stats stats();
  void resetPeakStats();
  void resetAccumulatedStats();
  // Free and total bytes.
  std::pair<std::size_t, std::size_t> info();
  void setFraction(double fraction);
  double fraction();
  std::vector<c10::CachingDeviceAllocator::SegmentInfo> snapshot();

  std::optional<BlockPlace> placeOf(const void *address);

private:
  using Lock = std::unique_lock<std::mutex>;
  struct Pools {
    Pool small, large;
  };
  struct Waiting {
    Block *block;
    std::vector<std::pair<c10::Stream, c10::Event>> uses;
  };

  Pool &poolFor(std::size_t size, PoolKey key);
  Block *takeFree(Pool &pool, std::size_t size);
  Block *takeNewSegment(Pool &pool, std::size_t bytes, bool retry);
  void give(Block *block, Pool &pool, std::size_t size, std::size_t requested);
  void putBack(Block *block);
  std::size_t absorb(Block *block, Block *neighbour, Pool &pool);
  void releaseFreeSegments();
  void freeWhatIsDone(bool wait, Lock &lock);
  [[noreturn]] void throwOutOfMemory(std::size_t bytes, Lock &lock);

  Segment *newSegment(std::size_t bytes);
  void deleteSegment(Segment *segment);
  bool fits(std::size_t bytes) const;

  void touch(const Block &block);
  void trim();

  Block *newBlock();
  void deleteBlock(Block *block);
  Block *blockOf(const void *address) const;

  std::mutex mutex_;
  c10::DeviceIndex device_ = 0;
  std::size_t total_ = 0, reserved_ = 0;
  std::optional<double> fraction_;
  Stats stats_;

  std::map<PoolKey, Pools> pools_;
  Pools *last_pools_ = nullptr;
  PoolKey last_key_;
  std::map<std::uint64_t, int> held_mempools_; // and by how many graphs

  std::map<char *, std::unique_ptr<Segment>> segments_;
  std::map<char *, std::size_t> gaps_; // free parts of the device's address range
  std::deque<Waiting> waiting_;
  // All these waited when so many copies were gone (pending_copies.h).
  std::size_t asked_ = 0;
  std::uint64_t asked_at_ = 0;

  std::size_t touched_ = 0, most_needed_ = 0; // bytes in large pools

  std::deque<Block> blocks_; // storage of all, never shrinks
  std::vector<Block *> unused_blocks_;
};

// Makes the arena where it is not made yet.
DeviceMemory &deviceMemory(c10::DeviceIndex device);

} // namespace devsan::sim
