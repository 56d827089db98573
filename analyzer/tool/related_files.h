// Other files of the project, read for the sake of the run's own: their callers, what they launch.
#pragma once

#include "analyzer/run/across_files.h"
#include "analyzer/run/schedule.h"
#include "analyzer/settings/options.h"
#include "analyzer/settings/project_settings.h"

#include <functional>
#include <optional>
#include <string>
#include <vector>

namespace devsan::analyzer {

// More files than a run looks at: those of its inputs that it leaves out, and the sources of the
// projects that `files` belong to; of projects that are packages of a repository, what lies beside
// them.
std::vector<std::string> otherProjectFiles(const std::vector<std::string> &files, Around around,
                                           const std::vector<CompileCommand> &looked_at,
                                           const std::vector<std::string> &inputs,
                                           const ProjectSettings &settings, const Options &options);

// Reads them for as long as the run's own files took, or as one of them may take.
class RelatedFiles {
public:
  using Clock = Processes::Clock;
  using Analyze = std::function<std::vector<FileOutcome>(const std::vector<CompileCommand> &,
                                                         const AnalysisSettings &)>;

  RelatedFiles(const AnalysisSettings &settings, Clock::duration own_time);

  std::vector<FileOutcome> read(const std::vector<CompileCommand> &commands,
                                const Analyze &analyze);
  // Empty where all were read.
  std::string note() const;

private:
  const AnalysisSettings &settings_;
  Clock::duration time_;
  std::optional<Clock::time_point> deadline_;
  std::vector<std::string> missing_;
};

} // namespace devsan::analyzer
