// What each process of a run was: a rank of a distributed program, or a worker that one started.
#pragma once

#include "runtime/protocol/log_format.h"

#include <optional>
#include <span>
#include <vector>

namespace devsan::runtime {

struct ProcessRole {
  std::optional<int> rank; // of a worker: the rank that it works for
  // Started by another process of the run that has a log: a data loader's worker, a fork.
  bool worker = false;

  bool operator==(const ProcessRole &) const = default;
};

// The roles of the processes of one run on one machine, in the order of their logs' headers. A rank
// is inherited through the environment, so of several processes with one rank the first to start is
// the rank itself. Processes that the ranks' launcher is the parent of are no workers.
std::vector<ProcessRole> rolesOf(std::span<const FileHeader> headers);

} // namespace devsan::runtime
