// The extern "C" functions of libdevsan_sim.so for its Python side (devsan/sim/torch_c.py, through
// ctypes). devsan_sim_set_mismatch_observer, for the runtime, is in device_check.cpp.
#pragma once

#include <cstddef>

#define DEVSAN_SIM_API extern "C" __attribute__((visibility("default")))

DEVSAN_SIM_API int devsan_sim_device_count();

// LibTorch's own part of what torch.cuda.init() does.
DEVSAN_SIM_API void devsan_sim_initialize();

// Whether the program has used device `index`, and that it does now (devices.h).
DEVSAN_SIM_API bool devsan_sim_is_used(int index);
DEVSAN_SIM_API void devsan_sim_mark_used(int index);

// The next generator that this thread asks CUDA hooks for is device `index`'s default generator,
// not a new one.
DEVSAN_SIM_API void devsan_sim_offer_default_generator(int index);

// `storage` is a c10::StorageImpl, as torch.UntypedStorage._cdata gives it.
DEVSAN_SIM_API void devsan_sim_resize_storage(void *storage, std::size_t bytes);

// Both are recorded events, as torch.Event.event_id gives them.
DEVSAN_SIM_API double devsan_sim_elapsed_milliseconds(const void *start, const void *end);

// As cudaHostRegister and cudaHostUnregister; both return CUDA's error code (host_registrations.h).
DEVSAN_SIM_API int devsan_sim_register_host(const void *data, std::size_t bytes);
DEVSAN_SIM_API int devsan_sim_unregister_host(const void *data);
