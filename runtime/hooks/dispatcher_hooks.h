// Wraps the hooked operators in LibTorch's dispatcher, for every kind of device that this LibTorch
// has kernels for. All other operators run the same instructions as before.
#pragma once

namespace devsan::runtime {

// Once, at start, after all back ends have registered their kernels.
void installDispatcherHooks();

} // namespace devsan::runtime
