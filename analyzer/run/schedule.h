// Spreads the analysis of many files over processes.
#pragma once

#include "analyzer/flags/compile_commands.h"
#include "analyzer/parse/clang_run.h"
#include "analyzer/run/file_result.h"
#include "analyzer/system/processes.h"

#include <llvm/ADT/ArrayRef.h>
#include <llvm/ADT/STLFunctionalExtras.h>

#include <cstddef>
#include <optional>
#include <string>

namespace devsan::analyzer {

struct AnalysisSettings {
  std::string checks; // clang-tidy's list of globs
  std::string torch_version;
  unsigned jobs = 1;
  Seconds limit{0};                                  // for one file; 0: none
  std::optional<Processes::Clock::time_point> until; // for all
  bool use_cache = true;
  bool stores_behind = false;           // LibTorch's headers are kept after the run has ended
  std::vector<MemoryFile> instead = {}; // of the files with these names
};

// Nothing where the analysis of the file died.
struct FileOutcome {
  std::optional<FileResult> result;
  int signal = 0;
  Limit limit = Limit::kNone;
  int signal_behind_headers = 0; // ended the first attempt, behind shared headers
  std::string encoding;          // of a file that is not in UTF-8 and was not looked at
};

// Analyses each of `commands` and hands its index and outcome over, in the order in which they end.
// Files that begin with the same headers of LibTorch share one server of these; whatever fails
// there is tried again by itself. `parses_headers` is told when LibTorch's headers are not at hand,
// before their first file.
void analyzeAll(llvm::ArrayRef<CompileCommand> commands, const AnalysisSettings &settings,
                llvm::function_ref<void(std::size_t, FileOutcome)> done,
                llvm::function_ref<void()> parses_headers);

} // namespace devsan::analyzer
