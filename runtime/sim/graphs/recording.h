// Recording: every kernel of the simulated devices that a captured stream is given comes by here,
// below autograd and autocast, where a GPU would see kernels.
#pragma once

#include <ATen/core/dispatch/Dispatcher.h>
#include <ATen/core/stack.h>
#include <c10/util/FunctionRef.h>

namespace devsan::sim {

// Calls the kernel `run` of `op`, whose arguments and results are on the stack, and records the
// call in the graph that is captured, if the stream that it goes to is and it is no part of another
// recorded call.
void runRecorded(const c10::OperatorHandle &op, c10::DispatchKeySet keys, torch::jit::Stack *stack,
                 c10::function_ref<void()> run);

// Puts that over all CUDA kernels that are there by now and do not call it themselves.
void recordOwnKernels();

} // namespace devsan::sim
