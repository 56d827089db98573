// The extern "C" functions of libdevsan_sim.so for its Python side (devsan/sim/torch_c.py, through
// ctypes). devsan_sim_set_mismatch_observer, for the runtime, is in device_check.cpp.
#pragma once

#include <cstddef>
#include <cstdint>

#define DEVSAN_SIM_API extern "C" __attribute__((visibility("default")))

DEVSAN_SIM_API int devsan_sim_device_count();
// The number that CUDA_VISIBLE_DEVICES would give now; devsan_sim_device_count() fixes it.
DEVSAN_SIM_API int devsan_sim_peek_device_count();
// The device's number within the machine.
DEVSAN_SIM_API int devsan_sim_physical_index(int index);

// LibTorch's own part of what torch.cuda.init() does.
DEVSAN_SIM_API void devsan_sim_initialize();

// Whether the program has used device `index`, and that it now calls a CUDA function that creates a
// context there (devices.h).
DEVSAN_SIM_API bool devsan_sim_is_used(int index);
DEVSAN_SIM_API void devsan_sim_mark_context(int index, const char *function);

// Whether a CUDA graph is captured on the stream (graphs/graph.h).
DEVSAN_SIM_API bool devsan_sim_is_capturing(std::int64_t stream, int device);

// The next generator that this thread asks CUDA hooks for is device `index`'s default generator,
// not a new one.
DEVSAN_SIM_API void devsan_sim_offer_default_generator(int index);

// `storage` is a c10::StorageImpl, as torch.UntypedStorage._cdata gives it.
DEVSAN_SIM_API void devsan_sim_resize_storage(void *storage, std::size_t bytes);

// What torch.cuda.caching_allocator_alloc and _delete do, on the current device; nullptr where the
// memory does not suffice, and `message` then says so in CUDA's words until the thread's next call.
DEVSAN_SIM_API void *devsan_sim_allocate(std::size_t bytes, std::int64_t stream,
                                         const char **message);
// False where no allocated block begins at `address`.
DEVSAN_SIM_API bool devsan_sim_release(void *address);

DEVSAN_SIM_API void devsan_sim_enable_caching(bool enabled);
DEVSAN_SIM_API bool devsan_sim_caching_is_enabled();
DEVSAN_SIM_API void devsan_sim_set_memory_fraction(int device, double fraction);
DEVSAN_SIM_API double devsan_sim_memory_fraction(int device);

// The segments of all devices and their blocks, as JSON; to be released with free().
DEVSAN_SIM_API char *devsan_sim_memory_snapshot();
// Waits until autograd's device threads, and the threads of TorchScript's forks, have dropped what
// they hold of what ran, which may be Python objects. To be called without Python's lock, before
// the interpreter ends.
DEVSAN_SIM_API void devsan_sim_finish_backward();

// Called by the preload shim once the libraries of a run are loaded and no other thread waits for
// them.
DEVSAN_SIM_API void devsan_after_loading();
// Called by the preload shim after each dlopen from then on.
DEVSAN_SIM_API void devsan_sim_modules_changed();

// Both are recorded events, as torch.Event.event_id gives them.
DEVSAN_SIM_API double devsan_sim_elapsed_milliseconds(const void *start, const void *end);

// torch.cuda._sleep(): the stream, by its id as torch.Stream.stream_id gives it, is busy.
DEVSAN_SIM_API void devsan_sim_occupy_stream(std::int64_t id, int device);

// By the stream's id, as torch.Stream.stream_id gives it.
DEVSAN_SIM_API int devsan_sim_stream_priority(std::int64_t id, int device);

// 0, 1 (warn) or 2 (error), as torch.cuda.set_sync_debug_mode (blocking.cpp).
DEVSAN_SIM_API int devsan_sim_sync_debug_mode();
DEVSAN_SIM_API void devsan_sim_set_sync_debug_mode(int mode);

// How often the host has waited for a device: for tests.
DEVSAN_SIM_API std::uint64_t devsan_sim_host_waits();
// Puts an "nccl" back end for CUDA beside the CPU back end of the process group that is registered
// as `group_name`; the CPU back end carries it. Returns nullptr, or why not (for the thread's next
// call).
DEVSAN_SIM_API const char *devsan_sim_make_nccl_backend(const char *group_name,
                                                        long long timeout_milliseconds,
                                                        int global_rank);
// As cudaHostRegister and cudaHostUnregister; both return CUDA's error code (host_registrations.h).
DEVSAN_SIM_API int devsan_sim_register_host(const void *data, std::size_t bytes);
DEVSAN_SIM_API int devsan_sim_unregister_host(const void *data);

// Gives a device storage the memory of a host storage, which it keeps alive; both are
// c10::StorageImpl. The memory stays visible to the host: for memory shared between processes.
DEVSAN_SIM_API void devsan_sim_adopt_host_storage(void *device, void *host);
