// Many files analysed: those that did not change since an earlier run come from the cache.
#pragma once

#include "analyzer/flags/torch_location.h"
#include "analyzer/run/schedule.h"

#include <map>
#include <optional>
#include <set>
#include <string>
#include <vector>

namespace devsan::analyzer {

// `configuration` is all that a result depends on besides the file and its command.
std::vector<FileOutcome> analyzeFiles(const std::vector<CompileCommand> &commands,
                                      const AnalysisSettings &settings,
                                      const std::optional<TorchLocation> &torch,
                                      const std::string &configuration);

// Which of the files, by real path, does not parse any more with its text: each in a command that
// parsed it before.
std::set<std::string> brokenBy(const std::map<std::string, std::string> &texts,
                               const std::map<std::string, std::size_t> &readers,
                               const std::vector<CompileCommand> &commands,
                               AnalysisSettings settings);

} // namespace devsan::analyzer
