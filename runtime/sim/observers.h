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
