// The folder of one run's event logs: a temporary one, or one that is kept for `devsan report`.
// Only its owner may look into it. run.json in a kept folder says what ran.
#pragma once

#include "core/system/result.h"

#include <cstdint>
#include <filesystem>
#include <string>
#include <string_view>
#include <vector>

namespace devsan::command {

// What the logs do not tell.
struct RunFacts {
  std::string command;
  std::filesystem::path working_directory;
  std::uint64_t wall_ns = 0;             // 0: unknown, or still running
  bool ended_early = false;              // by a signal, or with a status that is not 0
  std::vector<std::string> missing = {}; // what DevSan could not record, one sentence each
};

class RunFolder {
public:
  // Below `keep`, under a name of its own, where that is not empty; else temporary.
  static core::Result<RunFolder> make(const std::filesystem::path &keep);

  RunFolder(RunFolder &&other) noexcept;
  RunFolder &operator=(RunFolder &&) = delete;
  ~RunFolder(); // removes a temporary folder

  const std::filesystem::path &path() const { return path_; }
  bool kept() const { return kept_; }
  // Does nothing in a temporary folder.
  core::Result<void> write(const RunFacts &facts) const;

private:
  RunFolder(std::filesystem::path path, bool kept) : path_(std::move(path)), kept_(kept) {}

  std::filesystem::path path_;
  bool kept_;
};

// In the folder of the run around it, a run tells that it has made its report.
void noteInnerRun(const std::filesystem::path &outer);
std::size_t innerRuns(const std::filesystem::path &folder);

// Of a kept folder; one without run.json has no facts but the present directory.
core::Result<RunFacts> readRunFacts(const std::filesystem::path &folder);
// `path` is what errors name. Malformed text changes nothing.
core::Result<void> parseRunFacts(std::string_view text, const std::filesystem::path &path,
                                 RunFacts &facts);

} // namespace devsan::command
