#include "stream_accesses.h"

#include <algorithm>
#include <map>
#include <optional>
#include <unordered_map>
#include <utility>

#include "capturing.h"
#include "runtime/sim/api/observers.h"
#include "runtime/sim/devices/devices.h"
#include "runtime/sim/memory/memory.h"

namespace devsan::sim {
namespace {

std::atomic<DevSanPlaceObserver> place_observer{nullptr};
std::atomic<DevSanStreamRaceObserver> race_observer{nullptr};
std::atomic<DevSanStreamRaceObserver> lifetime_observer{nullptr};

thread_local bool noted_on_this_thread = true;

struct Access {
  Stamp stamp;
  const char *op;
  std::uint64_t place;
  bool writes;
  std::uint64_t issued = 0, waited_for = 0; // then, as StreamOrder counts on its device
};

struct UsedBlock {
  std::size_t size = 0;                           // as the allocator divides memory
  std::size_t bytes = 0;                          // of the storage that lies there
  std::optional<Stamp> allocated;                 // where it will be given out again
  std::optional<Access> write;                    // the last one
  c10::SmallVector<Access, 2> reads;              // since then: the last one of each stream
  c10::SmallVector<std::size_t, 2> kept_for = {}; // streams that recordStream() named
};

// Released, and used by a stream that nothing orders before the one that may give it out again.
struct ReleasedInUse {
  const void *block;
  std::size_t size, bytes;
  std::size_t slot; // of the stream that it was allocated for
  Access access;
};

struct Memory {
  std::unordered_map<const void *, UsedBlock> blocks;
  std::vector<ReleasedInUse> released;
  // By the places of two accesses that nothing orders: when the first of them was issued.
  std::map<std::pair<std::uint64_t, std::uint64_t>, std::uint64_t> unordered;
};

// Guarded by the lock of the streams' order. Never destroyed, as the streams.
Memory &memory() {
  static auto *one = new Memory;
  return *one;
}

struct Conflict {
  Access first, second;
  c10::Stream first_stream, second_stream;
  const void *block;
  std::size_t bytes;
  bool settled = false;
};

// Found by the thread and not told yet.
thread_local std::vector<Conflict> given_out;

DevSanStreamAccess describe(const Access &access, c10::Stream stream) {
  return {access.op, stream.device_index(), stream.id(), access.writes, access.place};
}

void tell(DevSanStreamRaceObserver observer, const Conflict &conflict) {
  if (observer == nullptr)
    return;
  DevSanStreamRace race{describe(conflict.first, conflict.first_stream),
                        describe(conflict.second, conflict.second_stream), conflict.block,
                        conflict.bytes, conflict.settled};
  observer(&race);
}

bool conflicts(const Access &earlier, const Access &now, const VectorClock &clock) {
  return (earlier.writes || now.writes) && earlier.stamp.slot != now.stamp.slot &&
         !happenedBefore(earlier.stamp, clock);
}

// Whether the earlier access is long over when the later one is issued, as far as a program can be
// seen to go: the host has waited for what was issued after it, and this is the only time. What
// comes again after another wait is a part of a loop, whose next round may be faster.
bool isSettled(const Access &earlier, c10::DeviceIndex device, const Access &now) {
  const auto first =
      memory().unordered.try_emplace({earlier.place, now.place}, earlier.issued).first;
  return earlier.issued < StreamOrder::waitedFor(device) && first->second >= earlier.waited_for;
}

void remember(UsedBlock &block, const Access &access) {
  if (access.writes) {
    block.write = access;
    block.reads.clear();
    return;
  }
  for (Access &read : block.reads)
    if (read.stamp.slot == access.stamp.slot) {
      read = access;
      return;
    }
  block.reads.push_back(access);
}

bool overlap(const void *a, std::size_t a_size, const void *b, std::size_t b_size) {
  auto begin = [](const void *address) { return reinterpret_cast<std::uintptr_t>(address); };
  return begin(a) < begin(b) + b_size && begin(b) < begin(a) + a_size;
}

} // namespace

std::uint64_t currentPlace() {
  DevSanPlaceObserver observer = place_observer.load(std::memory_order_acquire);
  return observer ? observer() : 0;
}

void TouchedMemory::add(const at::Tensor &tensor, AccessKind access) {
  if (!tensor.defined() || !tensor.is_cuda() || !tensor.has_storage() || tensor.numel() == 0)
    return;
  // Also of memory that came through another library, or from the middle of a block.
  const void *block = blockAround(tensor.unsafeGetTensorImpl()
                                      ->unsafe_storage()
                                      .unsafeGetStorageImpl()
                                      ->_mutable_data_ptr_no_checks()
                                      .get());
  if (block != nullptr)
    addBlock(block, tensor.storage().nbytes(), access);
}

void TouchedMemory::add(const void *address, AccessKind access) {
  if (const void *block = blockAround(address))
    addBlock(block, 0, access);
}

void TouchedMemory::addBlock(const void *block, std::size_t bytes, AccessKind access) {
  for (Part &part : parts_)
    if (part.block == block) {
      if (access == AccessKind::kWrites || part.access == AccessKind::kReads)
        part.access = access;
      return;
    }
  parts_.push_back({block, bytes, access});
}

void TouchedMemory::add(const c10::IValue &value, AccessKind access) {
  if (value.isTensor()) {
    add(value.toTensor(), access);
  } else if (value.isTensorList() || value.isOptionalTensorList()) {
    for (const c10::IValue &element : value.toListRef())
      if (element.isTensor())
        add(element.toTensor(), access);
  }
}

void TouchedMemory::addArguments(const c10::OperatorHandle &op, const OperatorFacts &facts,
                                 const c10::IValue *arguments) {
  for (const ArgumentFact &fact : facts.arguments) {
    const c10::AliasInfo *alias = op.schema().arguments()[fact.position].alias_info();
    add(arguments[fact.position],
        alias != nullptr && alias->isWrite() ? AccessKind::kWrites : AccessKind::kReads);
  }
}

void TouchedMemory::addResults(std::span<const c10::IValue> results) {
  // One in the memory of an argument is no write of it.
  for (const c10::IValue &result : results)
    add(result, AccessKind::kMayWrite);
}

bool startsWork(const c10::OperatorHandle &op, const OperatorFacts &facts) {
  const auto &returns = op.schema().returns();
  return facts.return_count == 0 ||
         std::any_of(returns.begin(), returns.end(), [](const c10::Argument &result) {
           return result.alias_info() == nullptr || result.alias_info()->isWrite();
         });
}

void noteAccesses(const char *op, const TouchedMemory &touched, c10::Stream stream) {
  tellWhatWasGivenOut();
  if (touched.parts().empty() || !noted_on_this_thread || isCapturing(stream))
    return;
  c10::SmallVector<Conflict, 1> found;
  const std::uint64_t place = currentPlace();
  {
    StreamOrder order;
    StreamState &state = order.of(stream);
    Access access{order.issue(state),
                  op,
                  place,
                  false,
                  order.issued(),
                  order.waitedFor(stream.device_index())};
    for (const TouchedMemory::Part &part : touched.parts()) {
      UsedBlock &block = memory().blocks[part.block];
      if (part.bytes != 0)
        block.bytes = part.bytes;
      access.writes = part.access == AccessKind::kWrites ||
                      (part.access == AccessKind::kMayWrite && block.allocated && !block.write);
      const Access *earlier = nullptr;
      if (block.write && conflicts(*block.write, access, state.clock))
        earlier = &*block.write;
      else
        for (const Access &read : block.reads)
          if (conflicts(read, access, state.clock))
            earlier = &read;
      if (earlier != nullptr) {
        const c10::Stream first = order.at(earlier->stamp.slot).stream;
        found.push_back({*earlier, access, first, state.stream, part.block, block.bytes,
                         isSettled(*earlier, first.device_index(), access)});
      }
      remember(block, access);
    }
  }
  for (const Conflict &conflict : found)
    tell(race_observer.load(std::memory_order_acquire), conflict);
}

void noteRecordedStream(const void *block, c10::Stream stream) {
  if (!areAccessesNoted())
    return;
  StreamOrder order;
  auto known = memory().blocks.find(block);
  if (known != memory().blocks.end())
    known->second.kept_for.push_back(order.of(stream).slot);
}

void noteAccessesOfThread(bool noted) {
  noted_on_this_thread = noted;
}

void noteAllocation(const void *block, std::size_t size, c10::Stream stream) {
  StreamOrder order;
  StreamState &state = order.of(stream);
  UsedBlock &made = memory().blocks[block];
  made = UsedBlock();
  made.size = made.bytes = size;
  if (order.isCapturing(state))
    return;
  made.allocated = Stamp{state.slot, 0};
  std::erase_if(memory().released, [&](const ReleasedInUse &old) {
    if (happenedBefore(old.access.stamp, order.at(old.slot).clock))
      return true;
    if (!overlap(old.block, old.size, block, size))
      return false;
    given_out.push_back({old.access, Access{{state.slot, 0}, "allocation", 0, true},
                         order.at(old.access.stamp.slot).stream, state.stream, old.block,
                         old.bytes});
    return true;
  });
}

void tellWhatWasGivenOut() {
  if (C10_LIKELY(given_out.empty()))
    return;
  const std::uint64_t place = currentPlace();
  for (Conflict &conflict : std::exchange(given_out, {})) {
    conflict.second.place = place;
    tell(lifetime_observer.load(std::memory_order_acquire), conflict);
  }
}

void noteRelease(const void *data) {
  StreamOrder order;
  auto known = memory().blocks.find(data);
  if (known == memory().blocks.end())
    return;
  UsedBlock &block = known->second;
  if (block.allocated) {
    const VectorClock &clock = order.at(block.allocated->slot).clock;
    auto check = [&](const Access &access) {
      const std::size_t slot = access.stamp.slot;
      if (slot == block.allocated->slot || happenedBefore(access.stamp, clock) ||
          std::ranges::find(block.kept_for, slot) != block.kept_for.end())
        return;
      memory().released.push_back({data, block.size, block.bytes, block.allocated->slot, access});
    };
    if (block.write)
      check(*block.write);
    for (const Access &read : block.reads)
      check(read);
  }
  memory().blocks.erase(known);
}

} // namespace devsan::sim

void devsan_sim_set_stream_race_observer(DevSanPlaceObserver place,
                                         DevSanStreamRaceObserver observer) {
  devsan::sim::place_observer.store(place, std::memory_order_release);
  devsan::sim::race_observer.store(observer, std::memory_order_release);
}

void devsan_sim_set_stream_lifetime_observer(DevSanStreamRaceObserver observer) {
  devsan::sim::lifetime_observer.store(observer, std::memory_order_release);
}
