// The command line of devsan-check, which is `devsan check`.
#pragma once

#include "core/result.h"

#include <optional>
#include <string>
#include <vector>

namespace devsan::analyzer {

struct Options {
  std::string build_dir;
  std::string checks = "device-*";
  std::string format = "text";
  std::string output;
  std::string torch;
  std::vector<std::string> suppressions;
  std::vector<std::string> inputs;
  std::vector<std::string> flags; // what stood after `--`
  unsigned jobs = 0;
  bool fix = false;
  bool strict = false;
  bool print_commands = false;
  bool has_flags = false;
};

// Nothing where the answer has been printed already (--help, --version).
core::Result<std::optional<Options>> parseOptions(int argc, const char *const *argv);

} // namespace devsan::analyzer
