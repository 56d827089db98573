// Results of files that have not changed, in the user's cache.
//
// An entry is keyed by the file's path and content, its compiler arguments, the checks, LibTorch's
// version and this program. It holds the result and the content, as checksums, of every other file
// of the user that was read for it, and it counts only where all of these are as they were, and
// where headers that were missing are still missing. An entry that is damaged does not count.
#pragma once

#include "analyzer/flags/compile_commands.h"
#include "analyzer/run/file_result.h"

#include <chrono>
#include <map>
#include <optional>
#include <string>

namespace devsan::analyzer {

class ResultCache {
public:
  // `configuration` is what results depend on besides files and arguments.
  ResultCache(bool enabled, std::string configuration);

  std::optional<FileResult> find(const CompileCommand &command);
  void store(const CompileCommand &command, const FileResult &result);

  // After the last store().
  void trim();

private:
  std::string entryFile(const CompileCommand &command);
  // Of the content; empty where it cannot be read. Each file is read once.
  const std::string &sumOf(const std::string &file);

  std::string folder_; // empty: disabled
  std::string configuration_;
  std::chrono::system_clock::time_point started_;
  std::map<std::string, std::string> sums_;
  bool stored_ = false;
};

// What tells this program from every other build of it.
std::string programIdentity();
// The same for copies of a build, whatever machine they are on.
std::string programVersion();

} // namespace devsan::analyzer
