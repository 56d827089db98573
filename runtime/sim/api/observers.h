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

// A tensor with memory of its own was made on a device (ops/factory.cpp); `on_current_device` where
// the call named the kind of device alone and there are several.
using DevSanFactoryObserver = void (*)(const at::Tensor &made, bool on_current_device);
DEVSAN_SIM_OBSERVABLE void devsan_sim_set_factory_observer(DevSanFactoryObserver observer);

// Host code touched device memory, which is protected (memory/protection.cpp). Called on the
// touching thread, outside of any signal handler, as if by the touching instruction; once for a
// block until the next simulated operator.
enum DevSanSimAccess { DEVSAN_SIM_UNKNOWN, DEVSAN_SIM_READ, DEVSAN_SIM_WRITE };
struct DevSanHostAccess {
  const void *address;
  const void *pc;     // of the touching instruction
  const void *block;  // where the block begins; nullptr where no block ever was
  std::size_t offset; // of the address in the block
  std::size_t size;   // of the block, as it was asked for
  int device;         // index of the simulated CUDA device
  int kind;           // DevSanSimAccess
  bool freed;         // the block is not in use
};
using DevSanHostAccessObserver = void (*)(const DevSanHostAccess *access);
DEVSAN_SIM_OBSERVABLE void devsan_sim_set_host_access_observer(DevSanHostAccessObserver observer);
// The host has waited for device `index` without an operator: `function` is the CUDA function that
// torch.cuda.synchronize() and its kin call (blocking.cpp).
using DevSanWaitObserver = void (*)(const char *function, int index, std::uint64_t blocked_ns);
DEVSAN_SIM_OBSERVABLE void devsan_sim_set_wait_observer(DevSanWaitObserver observer);

// One of the first kNotedUses uses of device `index` by the process (devices/devices.h): work or
// memory, else what makes CUDA create a context and no more. `function` is the CUDA function, or
// null where an operator says it.
using DevSanDeviceUseObserver = void (*)(int index, bool works, const char *function);
DEVSAN_SIM_OBSERVABLE void devsan_sim_set_device_use_observer(DevSanDeviceUseObserver observer);

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
  // The host has waited in between for what was issued after `first`, and it was this once: on a
  // GPU `first` is over in practice.
  bool settled;
};
// Names the calling place; called for every operator while streams are watched.
using DevSanPlaceObserver = std::uint64_t (*)();
using DevSanStreamRaceObserver = void (*)(const DevSanStreamRace *race);
DEVSAN_SIM_OBSERVABLE void devsan_sim_set_stream_race_observer(DevSanPlaceObserver place,
                                                               DevSanStreamRaceObserver observer);
// `first` used memory that was then released without record_stream, and that an allocation of the
// stream it belongs to (`second`) has been given although `first` may still run.
DEVSAN_SIM_OBSERVABLE void
devsan_sim_set_stream_lifetime_observer(DevSanStreamRaceObserver observer);

// Host code touched the destination of a non_blocking copy from a device before anything waited for
// the copy (memory/host_watch.cpp). Called like the host access observer, once for a copy.
struct DevSanEarlyAccess {
  const void *address;
  const void *pc;      // of the touching instruction
  std::size_t bytes;   // of the copy
  int device;          // that it comes from
  std::int64_t stream; // on which it was issued
  int kind;            // DevSanSimAccess
  std::uint64_t place; // where it was issued: what the place observer gave
};
using DevSanEarlyAccessObserver = void (*)(const DevSanEarlyAccess *access);
DEVSAN_SIM_OBSERVABLE void devsan_sim_set_early_access_observer(DevSanEarlyAccessObserver observer);
