// Which streams have read and written which memory, kept from the moment when the process makes its
// first stream besides the default ones. Two accesses of the same memory, one of them a write, that
// no event and no wait orders are told to the stream race observer; memory that was released while
// another stream may still use it, and is given out again, to the stream lifetime observer. See
// observers.h.
//
// What is issued while a CUDA graph is captured does not run, and counts when it is replayed, on
// the stream of the replay. The graph keeps the memory that it made.
//
// Memory is known by the start of its block, so views and storages over the same block are one.
// Kernels and the allocator call this, from any thread.
#pragma once

#include <span>

#include <ATen/core/stack.h>
#include <c10/util/SmallVector.h>

#include "runtime/sim/operators/operator_facts.h"
#include "streams.h"

namespace devsan::sim {

// A kernel's pointer to mutable memory: it counts as written where nothing else has written the
// memory since it was given out, since nobody reads what was never written; else as read.
enum class AccessKind : std::uint8_t { kReads, kWrites, kMayWrite };

// The memory that one operator, or one kernel, uses.
class TouchedMemory {
public:
  void add(const at::Tensor &tensor, AccessKind access);
  // The block around the address, if there is one.
  void add(const void *address, AccessKind access);
  // Tensor arguments of the operator, or its results.
  void addArguments(const c10::OperatorHandle &op, const OperatorFacts &facts,
                    const c10::IValue *arguments);
  void addResults(std::span<const c10::IValue> results);

  struct Part {
    const void *block;
    std::size_t bytes; // 0: all of the block
    AccessKind access;
  };
  std::span<const Part> parts() const { return {parts_.data(), parts_.size()}; }

private:
  void add(const c10::IValue &value, AccessKind access);
  void addBlock(const void *block, std::size_t bytes, AccessKind access);

  c10::SmallVector<Part, 8> parts_;
};

// What the place observer says of the calling place; 0 without one.
std::uint64_t currentPlace();

// Views and the like start no work on the device.
bool startsWork(const c10::OperatorHandle &op, const OperatorFacts &facts);

// Work on `stream` uses the memory; `op` lives for ever. Call while areAccessesNoted() alone.
void noteAccesses(const char *op, const TouchedMemory &memory, c10::Stream stream);

// As the caching allocator's recordStream: the memory is not given out again before the stream's
// work until its release is done.
void noteRecordedStream(const void *block, c10::Stream stream);

// Switches all of this off and on for the calling thread: for work that a GPU would not do.
void noteAccessesOfThread(bool noted);

// The block was given out to what the stream does next. What is found to be in use still is told by
// tellWhatWasGivenOut() on the same thread, with the place where that is called: an allocator may
// hold its lock.
void noteAllocation(const void *block, std::size_t size, c10::Stream stream);
void tellWhatWasGivenOut();
void noteRelease(const void *block);

} // namespace devsan::sim
