// NOLINT comments, for findings that clang-tidy does not see: those of a run. Only a comment that
// names the rule counts, `NOLINT(device-host-sync)` on the line of the finding or
// `NOLINTNEXTLINE(…)` above it, in whatever comment syntax the language has; a bare NOLINT may be
// meant for another tool.
#pragma once

#include "core/finding.h"
#include "core/source_lines.h"

namespace devsan::core {

bool hasNolint(const Finding &finding, SourceLines &lines);

} // namespace devsan::core
