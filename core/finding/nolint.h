// NOLINT comments, for findings that clang-tidy does not see: those of a run. Only a comment that
// names the rule counts, `NOLINT(device-host-sync)` on the line of the finding or
// `NOLINTNEXTLINE(…)` above it, in whatever comment syntax the language has; a bare NOLINT may be
// meant for another tool.
#pragma once

#include "core/finding/finding.h"
#include "core/system/source_lines.h"

#include <span>
#include <string>
#include <vector>

namespace devsan::core {

// At each of its places.
bool hasNolint(const Finding &finding, SourceLines &lines);

// Of what is not silenced: "train.py:7: NOLINT(device-host-snc) silences nothing, …" where the
// comment names a rule that does not exist.
std::vector<std::string> mistakenNolints(std::span<const Finding> findings, SourceLines &lines);

} // namespace devsan::core
