// The command line of devsan-check, which is `devsan check`.
#pragma once

#include "analyzer/system/processes.h"
#include "core/project/fail_on.h"
#include "core/report/reports.h"
#include "core/system/result.h"

#include <optional>
#include <string>
#include <vector>

namespace devsan::analyzer {

struct Shard {
  unsigned index = 1; // from 1
  unsigned count = 1;
};

constexpr Seconds kDefaultLimit{30};
constexpr Seconds kLongestLimit{86'400};

struct Options {
  std::string build_dir;
  std::optional<std::string> checks; // globs
  core::ReportFormat format = core::ReportFormat::kText;
  std::string output;
  core::ColorMode color = core::ColorMode::kAuto;
  std::string diff; // a revision of git; empty: everything
  std::string baseline;
  bool baseline_is_found = false; // in the project file
  std::string torch;
  std::string python;
  std::vector<std::string> suppressions;
  std::vector<std::string> inputs;
  std::vector<std::string> flags;       // what stood after `--`
  std::vector<std::string> extra_flags; // of the project file, after those of each file
  std::string extra_flags_folder;       // where their relative paths start
  std::optional<core::FailOn> fail_on;  // default: any finding
  unsigned jobs = 0;
  Shard shard;
  std::string summary;          // where to write it; empty: report
  bool from_summaries = false;  // the inputs are these
  std::string root;             // of the project; empty: looked for
  std::optional<Seconds> limit; // for one file; 0: none
  Seconds total_limit{0};       // for the run; 0: none
  unsigned memory = 0;          // megabytes, of each process; 0: any
  bool fix = false;
  bool fix_all = false; // also what changes more than the code
  bool only_show_fixes = false;
  bool update_baseline = false;
  bool use_cache = true;
  bool alone = false; // no other file of the project is looked at
  std::optional<bool> strict;
  bool print_commands = false;
  bool dump_facts = false; // of the one file
  bool has_flags = false;
};

// "2/8".
core::Result<Shard> parseShard(const std::string &text);

// Nothing where the answer has been printed already (--help, --version).
core::Result<std::optional<Options>> parseOptions(int argc, const char *const *argv);

} // namespace devsan::analyzer
