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

// The host has waited for device `index` without an operator: `function` is the CUDA function that
// torch.cuda.synchronize() and its kin call (blocking.cpp).
using DevSanWaitObserver = void (*)(const char *function, int index, std::uint64_t blocked_ns);
DEVSAN_SIM_OBSERVABLE void devsan_sim_set_wait_observer(DevSanWaitObserver observer);
