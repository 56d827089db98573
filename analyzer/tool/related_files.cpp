#include "analyzer/tool/related_files.h"

#include "analyzer/files/report_paths.h"
#include "analyzer/files/source_files.h"
#include "analyzer/tool/collect.h"

#include <llvm/ADT/STLExtras.h>

#include <algorithm>
#include <chrono>
#include <filesystem>
#include <set>

namespace devsan::analyzer {

namespace fs = std::filesystem;

std::vector<std::string> otherProjectFiles(const std::vector<std::string> &files, Around around,
                                           const std::vector<CompileCommand> &looked_at,
                                           const std::vector<std::string> &inputs,
                                           const ProjectSettings &settings,
                                           const Options &options) {
  std::vector<std::string> others;
  std::set<fs::path> known; // whatever links lead to a file
  const auto is_new = [&](const std::string &file) {
    std::error_code error;
    const fs::path real = fs::canonical(file, error);
    return known.insert(error ? fs::path(file) : real).second;
  };
  for (const CompileCommand &command : looked_at)
    is_new(command.file);
  if (around == Around::kProject)
    llvm::copy_if(inputs, std::back_inserter(others), is_new);
  if (options.alone)
    return others;
  std::set<fs::path> folders;
  for (const std::string &file : files)
    if (folders.insert(fs::path(file).parent_path()).second)
      for (const std::string &source :
           around == Around::kProject ? sourcesAround(file) : sourcesBeside(file)) {
        folders.insert(fs::path(source).parent_path());
        if (!settings.excludes(source) && is_new(source))
          others.push_back(source);
      }
  return others;
}

RelatedFiles::RelatedFiles(const AnalysisSettings &settings, Clock::duration own_time)
    : settings_(settings), time_(std::max<Clock::duration>(settings.limit, own_time)) {}

std::vector<FileOutcome> RelatedFiles::read(const std::vector<CompileCommand> &commands,
                                            const Analyze &analyze) {
  AnalysisSettings settings = settings_;
  if (settings_.limit.count() != 0) {
    deadline_ = deadline_.value_or(Clock::now() + time_);
    settings.until = std::min(settings.until.value_or(*deadline_), *deadline_);
  }
  std::vector<FileOutcome> outcomes = analyze(commands, settings);
  for (const auto &[command, outcome] : llvm::zip_equal(commands, outcomes))
    if (!outcome.result)
      missing_.push_back(shortPath(command.file));
  return outcomes;
}

std::string RelatedFiles::note() const {
  if (missing_.empty())
    return {};
  const auto seconds = std::chrono::ceil<Seconds>(time_).count();
  return "out of time after " + std::to_string(seconds) +
         " s (--timeout), not searched for callers: " + firstOf(missing_, "file");
}

} // namespace devsan::analyzer
