// The baseline of a command line: --baseline=FILE and --update-baseline of `devsan run`, `devsan
// check` and `devsan report`.
#pragma once

#include "core/project/baseline.h"
#include "core/report/reports.h"

#include <filesystem>
#include <set>
#include <span>
#include <string>

namespace devsan::core {

class BaselineFile {
public:
  // Reads the file, unless it is absent and shall be made. Without a path there is no baseline.
  // `is_found`: a project file names it, and not the user, so that it must be no pipe.
  static Result<BaselineFile> open(const std::string &path, bool update, bool is_found = false);

  bool updates() const { return update_; }

  // Marks what is known, after making it so where an update is asked for, and lists in `summary`
  // the entries that nothing stands for any more. `origins` are those that were looked for.
  Result<void> apply(std::span<Finding> findings, const std::set<Origin> &origins, Summary &summary,
                     const IsAnalyzed &looked_at = everything);

private:
  std::filesystem::path path_; // absolute
  bool update_ = false;
  bool is_found_ = false;
  Baseline content_;
};

} // namespace devsan::core
