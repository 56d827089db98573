// What the analysis of one file yields. It is made in a child process, so that a crash of the
// compiler costs one file, and comes back as text.
#pragma once

#include "core/finding.h"
#include "core/result.h"

#include <string>
#include <utility>
#include <vector>

namespace devsan::analyzer {

struct FileResult {
  std::vector<core::Finding> findings; // absolute paths
  // For each finding, first and last line of the function around it; 0 where there is none.
  std::vector<std::pair<unsigned, unsigned>> functions;
  std::vector<std::string> missing_headers;
  std::vector<std::string> files_read; // absolute; no system headers
  std::string first_error; // "file:line: text" of the first thing that did not parse
  unsigned errors = 0;
  unsigned errors_elsewhere = 0; // of them, in files that are not the user's
  unsigned suppressed = 0; // by NOLINT
  bool has_functions = false; // with bodies, in the user's code

  bool isPartial() const { return errors != 0 || !missing_headers.empty(); }
  // What did not parse left nothing to look at.
  bool isUnread() const { return errors != 0 && !has_functions; }
};

std::string serialize(const FileResult &result);
core::Result<FileResult> parseFileResult(const std::string &text);

} // namespace devsan::analyzer
