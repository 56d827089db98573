// What the analysis of one file yields. It is made in a child process, so that a crash of the
// compiler costs one file, and comes back as text.
#pragma once

#include "analyzer/calls/file_calls.h"
#include "analyzer/model/data/file_data.h"
#include "core/finding/finding.h"
#include "core/system/result.h"

#include <llvm/ADT/StringRef.h>

#include <cstddef>
#include <map>
#include <optional>
#include <string>
#include <utility>
#include <vector>

namespace devsan::analyzer {

struct FindingContext {
  // Of the function around it; nothing outside of functions.
  unsigned first_line = 0;
  unsigned last_line = 0;
  std::string function;           // USR
  bool is_called_by_name = false; // see FunctionNames
  Needs needs = Needs::kNothing;
  bool is_for_libraries = false; // see RuleFinding
  // USR of a function whose body is in another file: the finding holds where that one launches.
  std::string launcher;
  // USRs of the functions around it, several where a macro writes it: the finding holds where a
  // function with tensors calls one of them.
  std::vector<std::string> servants;
  // USRs: the finding holds where one of these runs on every step of the program.
  std::vector<std::string> steps;
  // The finding holds where this is not on the host.
  std::optional<DataHolder> holder;
};

struct FileResult {
  std::vector<core::Finding> findings;  // absolute paths
  std::vector<FindingContext> contexts; // of each finding
  FileCalls calls;
  FileData data;
  std::vector<std::string> missing_headers;
  std::vector<std::string> refused; // "/dev/zero is no regular file": what it includes, unread
  // Absolute paths, no system headers, each with the checksum of the text that was analysed.
  std::map<std::string, std::string> files_read;
  std::string first_error; // "file:line: text" of the first thing that did not parse
  unsigned errors = 0;
  unsigned errors_elsewhere = 0; // of them, in files that are not the user's
  unsigned suppressed = 0;       // by NOLINT
  unsigned lines = 0;            // with code; counted where the file parsed in part
  unsigned lines_seen = 0;
  bool has_functions = false; // with bodies, in the user's code
  bool found_torch = false;   // a header of LibTorch that it includes is there
  bool is_cut_off = false;    // an error ended the parsing

  bool isPartial() const { return errors != 0 || !missing_headers.empty() || !refused.empty(); }
  // What did not parse left nothing to look at, or what else there is was not parsed.
  bool isNotAnalyzed() const {
    return (errors != 0 && !has_functions) || is_cut_off || !refused.empty();
  }
};

// What they find in a function is none of it where all callers have set the device.
inline constexpr llvm::StringLiteral kRulesOfCallers[] = {"device-missing-guard",
                                                          "device-index-lost"};
// These need to know who calls whom.
inline constexpr llvm::StringLiteral kRulesAcrossFiles[] = {
    "device-missing-guard", "device-index-lost", "device-wrong-stream"};
// And these what others give the functions and members of a file.
inline constexpr llvm::StringLiteral kRulesOfData[] = {"device-discarded-move", "device-host-sync",
                                                       "device-missing-device"};

template <typename Predicate> void dropFindings(FileResult &result, Predicate is_dropped) {
  std::size_t kept = 0;
  for (std::size_t i = 0; i < result.findings.size(); ++i) {
    if (is_dropped(result.findings[i], result.contexts[i]))
      continue;
    if (kept != i) {
      result.findings[kept] = std::move(result.findings[i]);
      result.contexts[kept] = std::move(result.contexts[i]);
    }
    ++kept;
  }
  result.findings.resize(kept);
  result.contexts.resize(kept);
}

// Of what was found by way of addresses: the same sources give the same result.
void putInOrder(FileResult &result);

std::string serialize(const FileResult &result);
core::Result<FileResult> parseFileResult(const std::string &text);

} // namespace devsan::analyzer
