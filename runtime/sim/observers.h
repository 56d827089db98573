// What the simulator tells a runtime that asks: plain C functions that the runtime finds by dlsym,
// so that neither library links the other. An observer is called on the thread where it happened,
// may be called from several threads at once, and throws nothing. Strings live for the call alone.
#pragma once

#include <cstddef>
#include <cstdint>

#include <ATen/core/Tensor.h>

#define DEVSAN_SIM_OBSERVABLE extern "C" __attribute__((visibility("default")))

// An operator was refused because its operands live on several devices (device_check.cpp).
using DevSanMismatchObserver = void (*)(const char *op, const at::Tensor *const *operands,
                                        const char *const *names, std::size_t count,
                                        const char *message);
DEVSAN_SIM_OBSERVABLE void devsan_sim_set_mismatch_observer(DevSanMismatchObserver observer);

// Work on two streams used the same memory, one of them wrote, and nothing orders them
// (stream_accesses.cpp). Watched once the process has made a stream besides the default ones.
struct DevSanStreamAccess {
  const char *op;      // as the dispatcher names it; "allocation" where memory was given out
  int device;          // of the stream
  std::int64_t stream; // c10::Stream::id(), 0 for the default stream
  bool writes;
  std::uint64_t place; // what the place observer gave when it happened; 0 without one
};
struct DevSanStreamRace {
  DevSanStreamAccess first, second; // in the order of their calls
  const void *storage;
  std::size_t bytes; // of the storage
};
// Names the calling place; called for every operator while streams are watched.
using DevSanPlaceObserver = std::uint64_t (*)();
using DevSanStreamRaceObserver = void (*)(const DevSanStreamRace *race);
DEVSAN_SIM_OBSERVABLE void devsan_sim_set_stream_race_observer(DevSanPlaceObserver place,
                                                               DevSanStreamRaceObserver observer);
// `first` used memory that was then released without record_stream, and that an allocation of the
// stream it belongs to (`second`) may be given while `first` still runs.
DEVSAN_SIM_OBSERVABLE void
devsan_sim_set_stream_lifetime_observer(DevSanStreamRaceObserver observer);
