// What tests allowed while they ran (devsan/gtest.h, the pytest plugin): their session notes it in
// the folder of the run's logs, so that the run's own report does not hold it against the program.
#pragma once

#include "core/finding/finding.h"
#include "core/system/result.h"

#include <cstdint>
#include <filesystem>
#include <span>
#include <vector>

namespace devsan::command {

// Adds to what is noted in the folder; several processes may.
core::Result<void> noteAllowed(const std::filesystem::path &folder,
                               std::span<const core::Finding> findings);

// Takes the findings away that were allowed each time, and returns how many. What is damaged allows
// nothing.
std::uint64_t takeAllowed(const std::filesystem::path &folder,
                          std::vector<core::Finding> &findings);

} // namespace devsan::command
