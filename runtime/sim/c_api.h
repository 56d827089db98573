// The extern "C" functions of libdevsan_sim.so for its Python side (devsan/sim/torch_c.py, through
// ctypes). devsan_sim_set_mismatch_observer, for the runtime, is in device_check.cpp.
#pragma once

#include <cstddef>
#include <cstdint>

#define DEVSAN_SIM_API extern "C" __attribute__((visibility("default")))

DEVSAN_SIM_API int devsan_sim_device_count();

// The next generator that this thread asks CUDA hooks for is device `index`'s default generator,
// not a new one.
DEVSAN_SIM_API void devsan_sim_offer_default_generator(int index);

// `storage` is a c10::StorageImpl, as torch.UntypedStorage._cdata gives it.
DEVSAN_SIM_API void devsan_sim_resize_storage(void *storage, std::size_t bytes);

// Both are recorded events, as torch.Event.event_id gives them.
DEVSAN_SIM_API double devsan_sim_elapsed_milliseconds(const void *start, const void *end);

// By the stream's id, as torch.Stream.stream_id gives it.
DEVSAN_SIM_API int devsan_sim_stream_priority(std::int64_t id, int device);
