// Copies between the host and a device that have been issued and have not arrived: non_blocking
// ones from or to pinned memory. A copy to the host took its bytes when it was issued, and is
// written into the host's memory when the host waits for its stream (or for something ordered after
// it) or when a later copy to a device reads that memory. A copy to a device reads the host's
// memory when the device next uses the destination, or when the host waits. So a program that reads
// a result, or reuses a buffer, too early gets the bytes that a GPU could give it, in every run.
//
// A query of the stream or event answers false once for each copy before it, true the next time,
// and then the copy has arrived: a loop of queries ends. Copies that never arrive before the
// process ends are dropped.
//
// A waiting copy keeps the host's memory: the pinned allocator cannot hand it out again. One to a
// device is dropped with the block that it goes to. A device queues about as many launches as CUDA
// (1024); beyond that the oldest copy arrives.
//
// Any thread. No lock is held while a copy runs, which may allocate and come here again.
#pragma once

#include <ATen/core/Tensor.h>

#include "streams.h"

namespace devsan::sim {

// Whether CUDA would let the host go on before a non_blocking copy between `host` and `device` is
// done: `host` is pinned, and no temporary in pageable memory comes between.
bool mayCopyLater(const at::Tensor &host, const at::Tensor &device, bool to_host);

// `data` is a CPU tensor of `host`'s sizes, strides and type with what the copy will write.
void copyToHostLater(const at::Tensor &host, at::Tensor data, c10::Stream stream);
// False if the destination lies in no block of the simulator's: copy at once.
bool copyToDeviceLater(const at::Tensor &device, const at::Tensor &host, c10::Stream stream);

// The stream has work that takes long: as for a copy, the first query after it answers false.
void occupy(c10::Stream stream);

// Lets everything arrive that happened before `clock`.
void finishCopies(const VectorClock &clock);
// Whether all of it has arrived.
bool haveCopiesArrived(const VectorClock &clock);
// The same for a query of the program's, by the rule above.
bool askForCopies(const VectorClock &clock);
// A copy on `stream` is about to read `host`: what was to be written there before, arrives.
void finishCopiesInto(const at::Tensor &host, c10::Stream stream);

// The pinned memory is about to be given back: whatever is copied there or from there, arrives.
void finishCopiesAround(const void *host, std::size_t bytes);

namespace detail {
// A bit for every block that a copy waits for, by a hash.
inline std::atomic<std::uint64_t> awaited_blocks{0};
// How many copies have arrived or were dropped.
inline std::atomic<std::uint64_t> copies_gone{0};

inline unsigned blockBit(const void *block) {
  return static_cast<unsigned>(reinterpret_cast<std::uintptr_t>(block) * 0x9e3779b97f4a7c15u >> 58);
}
inline bool mayAwaitCopies(const void *block) {
  const std::uint64_t awaited = awaited_blocks.load(std::memory_order_relaxed);
  return C10_UNLIKELY(awaited != 0) && (awaited >> blockBit(block) & 1) != 0;
}
void finishCopiesToBlock(const void *block);
void finishCopiesToAddress(const void *address);
void dropCopiesToBlock(const void *block);
} // namespace detail

// The device is about to use the memory: what was to be copied into its block, arrives.
inline void finishCopiesTo(const void *address) {
  if (C10_UNLIKELY(detail::awaited_blocks.load(std::memory_order_relaxed) != 0))
    detail::finishCopiesToAddress(address);
}
inline void finishCopiesTo(c10::StorageImpl *storage) {
  finishCopiesTo(storage->_mutable_data_ptr_no_checks().get());
}

// The block is about to be released: nobody can see what arrives there.
inline void dropCopiesTo(const void *block) {
  if (detail::mayAwaitCopies(block))
    detail::dropCopiesToBlock(block);
}

// Changes whenever an event may have happened that had not.
inline std::uint64_t copiesGone() {
  return detail::copies_gone.load(std::memory_order_acquire);
}

} // namespace devsan::sim
