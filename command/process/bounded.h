// Work whose cost others' data decides, in a process of its own with limits of processor time and
// memory: where it dies, whoever waits for it goes on.
#pragma once

#include "core/system/result.h"

#include <cstdint>
#include <filesystem>
#include <functional>
#include <span>
#include <sys/types.h>

namespace devsan::command {

struct Bounds {
  unsigned seconds = 0;     // of the processor
  std::uint64_t memory = 0; // bytes
};

// What a report of these logs may take. Logs that are sparse count as what they hold.
Bounds boundsFor(std::span<const std::filesystem::path> logs, unsigned seconds);

// Ends this process, which has to be one that was forked for it, with what `work` returns.
[[noreturn]] void endWithin(const Bounds &bounds, const std::function<int()> &work);

// Why such a process, of which waitpid() told `wait_status`, returned nothing; else what it did.
core::Result<int> statusOf(int wait_status, const Bounds &bounds);

// In this process, for want of another: without bounds, but what is thrown is caught.
core::Result<int> runHere(const std::function<int()> &work);

// In a process of its own, or where that cannot be had, in this one. A signal that ends the process
// from outside ends this one too.
core::Result<int> runWithin(const Bounds &bounds, const std::function<int()> &work);

} // namespace devsan::command
