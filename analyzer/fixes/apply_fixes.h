// Writes fixes into the sources, or shows what it would write.
//
// A file is changed only where it is the user's to change and what it holds is what was analysed.
// It is replaced by a new file with the same owner and permissions that trades names with it; what
// comes out is looked at again, and goes back where somebody else has written it meanwhile. So a
// file holds what its user wrote or that with whole fixes, whoever edits it or fixes it at the same
// time. What a fix makes of a file is parsed before it is written, and a fix that adds an error is
// taken back.
#pragma once

#include "core/finding/finding.h"

#include <filesystem>
#include <functional>
#include <map>
#include <set>
#include <string>
#include <vector>

namespace devsan::analyzer {

struct FixRequest {
  std::string folder;                       // where relative paths start
  std::map<std::string, std::string> texts; // checksums of what was analysed, empty: not one text
  std::vector<std::filesystem::path> roots; // nothing outside of them is changed; without links
  bool only_show = false;
  bool all = false; // also fixes with a caution
  // Which of these files, by real path, do not parse any more with these texts. Findings that have
  // a fix are of files that parse.
  std::function<std::set<std::string>(const std::map<std::string, std::string> &texts)> broken;
};

struct FixOutcome {
  unsigned findings = 0;            // that were repaired
  std::vector<std::string> skipped; // "src/a.cpp: not fixed, …"
  std::string diff;                 // where it is only to be shown
};

// Takes the findings that it repairs out of the list. A fix that overlaps an earlier one is left,
// with its finding, for the next run; so is that of a known finding.
FixOutcome applyFixes(std::vector<core::Finding> &findings, const FixRequest &request);

// The projects of the inputs of a command, or their folders where they are in none.
std::vector<std::filesystem::path> rootsOf(const std::vector<std::string> &inputs);

} // namespace devsan::analyzer
