// What the analyses of single files come to: findings, notes on what was not seen, what was read.
#pragma once

#include "analyzer/run/schedule.h"
#include "analyzer/settings/options.h"

#include <llvm/ADT/ArrayRef.h>

#include <map>
#include <set>
#include <string>
#include <vector>

namespace devsan::analyzer {

struct Collected {
  std::vector<core::Finding> findings; // sorted by place
  std::vector<std::string> notes;
  std::set<std::string> files_read;
  std::map<std::string, std::string> texts;   // checksums of what was analysed; empty: it differs
  std::map<std::string, std::size_t> readers; // a command that parsed this file as a whole
  std::size_t suppressed = 0;
  std::size_t not_analysed = 0;
  bool complete = true;     // every file parsed as a whole
  bool lacks_torch = false; // somewhere there was no header of LibTorch at all
  bool lacks_standard_library = false;
};

Collected collect(const std::vector<CompileCommand> &commands, std::vector<FileOutcome> outcomes,
                  const Options &options);

// "a.h, b.h, c.h and 5 more headers".
std::string firstOf(llvm::ArrayRef<std::string> names, const std::string &what);

} // namespace devsan::analyzer
