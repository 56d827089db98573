// Steps of the program's main loop. The program says where one ends (devsan::step()), or it is seen
// from optimizers: LibTorch's own by redirected calls, Python's by torch's hook for all optimizers
// (runtime/python/devsan/steps.py). Once the program has said so itself, optimizers are ignored.
// Operators cost nothing more. Any thread.
#pragma once

namespace devsan::runtime {

// Once at start, after LibTorch is loaded.
void observeOptimizers();

} // namespace devsan::runtime
