// The recorded events that a finding is made of, and what was read from them, as text for a report
// that DevSan is wrong (see core/report/explain.h). Offline only.
#pragma once

#include "core/finding/finding.h"
#include "runtime/analysis/trace.h"

#include <string>

namespace devsan::runtime {

std::string explainEvents(const ObservedProcesses &run, const core::Finding &finding);

} // namespace devsan::runtime
