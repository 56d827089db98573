// The file of a trace: what `devsan run --trace` and `devsan report --format=trace` share.
#pragma once

#include "core/report/reports.h"
#include "core/system/result.h"
#include "runtime/analysis/trace.h"

#include <filesystem>
#include <ostream>
#include <span>

namespace devsan::command {

// Compressed where the name ends in .gz. Both say on stderr how much is left out.
core::Result<void> writeTraceFile(const std::filesystem::path &path,
                                  std::span<const runtime::ObservedProcesses> runs,
                                  const core::Report &report);
void writeTrace(std::ostream &out, std::span<const runtime::ObservedProcesses> runs,
                const core::Report &report);

} // namespace devsan::command
