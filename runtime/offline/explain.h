// The recorded events that a finding is made of, and what was read from them, as text for a report
// that DevSan is wrong (see core/explain.h). Offline only.
#pragma once

#include "core/finding.h"
#include "runtime/offline/trace.h"

#include <string>

namespace devsan::runtime {

// `first_process`: what the first process of `run` counts as in the finding's events.
std::string explainEvents(const ObservedProcesses &run, const core::Finding &finding,
                          std::uint32_t first_process = 0);

} // namespace devsan::runtime
