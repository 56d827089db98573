// A trace of what a run observed, in Chrome's Trace Event Format, which Perfetto and
// chrome://tracing open: copies and waits as slices of the threads on which they happened, steps,
// and everything else as instants; what is a finding says so. Times are those of torch.profiler's
// traces. Offline only, one thread.
#pragma once

#include "core/finding/finding.h"
#include "runtime/read/processes.h"
#include "runtime/resolve/symbols.h"

#include <cstdint>
#include <filesystem>
#include <ostream>
#include <span>
#include <string>
#include <vector>

namespace devsan::runtime {

// What a trace needs beside the findings.
struct ObservedProcesses {
  struct Process {
    std::filesystem::path log;
    ProcessRole role;
    std::uint64_t start_time_ns = 0; // since 1970
  };
  std::vector<Process> processes;
  SymbolTable symbols;
  std::filesystem::path working_directory;
};

struct TraceContent {
  std::uint64_t events = 0;   // that are in the trace
  std::uint64_t left_out = 0; // that were counted, not written one by one
};

// Of one run or several, whose findings (with fingerprints) know their events by the processes of
// all runs in their order. `subject` names what ran. Memory is that of the largest log.
TraceContent writeTrace(std::ostream &out, std::span<const ObservedProcesses> runs,
                        std::span<const core::Finding> findings, const std::string &subject);

} // namespace devsan::runtime
