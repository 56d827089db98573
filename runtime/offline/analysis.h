// From a directory of event logs to findings: what `devsan run` does when the program has ended.
#pragma once

#include "core/finding.h"

#include <filesystem>
#include <string>
#include <vector>

namespace devsan::runtime {

struct Analysis {
  std::vector<core::Finding> findings;
  std::vector<std::string> notes; // what is not covered, one sentence each
  bool torch_was_loaded = false;
};

// Logs that cannot be read are named in the notes. `symbolizer` is libexec/devsan-symbolize.
Analysis analyse(const std::filesystem::path &log_directory,
                 const std::filesystem::path &symbolizer);

} // namespace devsan::runtime
