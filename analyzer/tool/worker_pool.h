// Runs tasks in child processes. clang may crash or run out of memory on code it has never seen;
// that ends the child, and the others go on.
#pragma once

#include <llvm/ADT/STLFunctionalExtras.h>

#include <cstddef>
#include <optional>
#include <string>

namespace devsan::analyzer {

// Runs `task` for 0 … count-1, at most `jobs` at a time, and hands each one's text to `done` in
// this process, in the order in which they end; nothing where the child died, with the signal that
// killed it or 0. The caller has no other threads.
void runInProcesses(
    std::size_t count, unsigned jobs, llvm::function_ref<std::string(std::size_t)> task,
    llvm::function_ref<void(std::size_t, std::optional<std::string>, int signal)> done);

} // namespace devsan::analyzer
