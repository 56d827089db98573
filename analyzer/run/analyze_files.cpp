#include "analyzer/run/analyze_files.h"

#include "analyzer/files/source_files.h"
#include "analyzer/run/result_cache.h"
#include "analyzer/run/torch_header.h"
#include "analyzer/system/progress.h"
#include "analyzer/system/scratch_folder.h"

#include <clang/Basic/SourceManager.h>
#include <llvm/Support/FileSystem.h>

namespace devsan::analyzer {

// clang crashes on a main file with another byte order mark than UTF-8's.
static std::string foreignEncoding(const std::string &file) {
  const char *encoding = clang::SrcMgr::ContentCache::getInvalidBOM(textOf(file));
  return encoding ? encoding : "";
}

std::vector<FileOutcome> analyzeFiles(const std::vector<CompileCommand> &commands,
                                      const AnalysisSettings &settings,
                                      const std::optional<TorchLocation> &torch,
                                      const std::string &configuration) {
  ResultCache cache(settings.use_cache, configuration);
  std::vector<FileOutcome> outcomes(commands.size());
  std::vector<CompileCommand> changed;
  std::vector<std::size_t> indices;
  Progress progress(commands.size());
  for (std::size_t i = 0; i < commands.size(); ++i) {
    outcomes[i].encoding = foreignEncoding(commands[i].file);
    if (outcomes[i].encoding.empty())
      outcomes[i].result = cache.find(commands[i]);
    if (outcomes[i].result || !outcomes[i].encoding.empty()) {
      progress.step(commands[i].file);
      continue;
    }
    changed.push_back(commands[i]);
    indices.push_back(i);
  }
  std::optional<ScratchFolder> scratch;
  if (!changed.empty())
    scratch.emplace();
  analyzeAll(
      changed, settings,
      [&](std::size_t i, FileOutcome outcome) {
        progress.step(changed[i].file);
        if (outcome.result)
          cache.store(changed[i], *outcome.result);
        outcomes[indices[i]] = std::move(outcome);
      },
      [&] {
        progress.say("parsing LibTorch's headers" +
                     (torch ? " (" + torch->version + " in " + torch->folder + ")" : "") +
                     (!settings.use_cache      ? ""
                      : canStoreTorchHeaders() ? "; the next run takes them from the cache"
                                               : "; they cannot be kept: set XDG_CACHE_HOME to a "
                                                 "folder that you may write to"));
      });
  cache.trim();
  return outcomes;
}

std::set<std::string> brokenBy(const std::map<std::string, std::string> &texts,
                               const std::map<std::string, std::size_t> &readers,
                               const std::vector<CompileCommand> &commands,
                               AnalysisSettings settings) {
  std::map<std::size_t, std::set<std::string>> read_by;
  settings.instead.clear();
  for (const auto &[file, reader] : readers) {
    llvm::SmallString<256> real;
    if (llvm::sys::fs::real_path(file, real))
      continue;
    if (const auto text = texts.find(std::string(real)); text != texts.end()) {
      settings.instead.push_back({file, text->second});
      read_by[reader].insert(text->first);
    }
  }
  std::vector<CompileCommand> again;
  std::vector<const std::set<std::string> *> of;
  for (const auto &[reader, files] : read_by) {
    again.push_back(commands[reader]);
    of.push_back(&files);
  }
  std::set<std::string> broken;
  settings.checks = "-*";
  analyzeAll(
      again, settings,
      [&](std::size_t i, FileOutcome outcome) {
        if (!outcome.result || outcome.result->errors)
          broken.insert(of[i]->begin(), of[i]->end());
      },
      [] {});
  return broken;
}

} // namespace devsan::analyzer
