#include "analyzer/tool/collect.h"

#include "analyzer/files/report_paths.h"
#include "analyzer/run/torch_header.h"
#include "core/text/quantities.h"

#include <llvm/ADT/STLExtras.h>
#include <llvm/ADT/StringExtras.h>

#include <algorithm>
#include <tuple>

namespace devsan::analyzer {

namespace {

// A header's findings come with each file that includes it, in other words where the callers that
// run it are others.
void merge(std::vector<core::Finding> &all, std::vector<core::Finding> more,
           std::set<std::tuple<std::string, unsigned, unsigned, std::string>> &seen) {
  for (core::Finding &finding : more) {
    const core::Location &place = finding.locations.front();
    if (seen.emplace(place.file, place.line, place.column, finding.rule).second)
      all.push_back(std::move(finding));
  }
}

// A program of LibTorch without its headers: what remains of it names no tensor.
bool lacksTorch(const FileResult &result, const Options &options) {
  return options.torch != "none" && !result.found_torch &&
         llvm::any_of(result.missing_headers, isTorchInclude);
}

// Every C++ standard library has these: none is installed.
bool lacksStandardLibrary(const FileResult &result) {
  return llvm::any_of(result.missing_headers, [](llvm::StringRef header) {
    return llvm::is_contained({"algorithm", "cstddef", "cstdint", "cstdlib", "iostream", "memory",
                               "string", "utility", "vector"},
                              header);
  });
}

// Nobody looked at the file. Under --no-strict one that does not parse is analysed in part.
bool isAnalysed(const FileOutcome &outcome, const Options &options) {
  return outcome.result && (options.strict == false || (!outcome.result->isNotAnalyzed() &&
                                                        !lacksTorch(*outcome.result, options)));
}

// What an analysis did that was ended.
std::string reached(Limit limit, const Options &options) {
  switch (limit) {
  case Limit::kNone:
    break;
  case Limit::kTime:
    return "took longer than " + std::to_string(options.limit->count()) + " s (--timeout)";
  case Limit::kMemory:
    return "took more than " + std::to_string(options.memory) + " MB of memory (--memory)";
  case Limit::kTokens:
    return "reached the limit for includes and macro expansions";
  case Limit::kResult:
    return "found more than a report can hold";
  case Limit::kRun:
    return "was broken off, the run took longer than " +
           std::to_string(options.total_limit.count()) + " s (--total-timeout)";
  }
  return {};
}

// Why there is no result of a file, or only of a part of it; empty where it is whole.
std::string incompleteReason(const FileOutcome &outcome, const Options &options) {
  if (!outcome.encoding.empty())
    return "not analysed, it is in " + outcome.encoding + ", not in UTF-8";
  if (!outcome.result)
    return "not analysed, the analysis " +
           (outcome.limit != Limit::kNone ? reached(outcome.limit, options)
            : outcome.signal              ? "was ended by signal " + std::to_string(outcome.signal)
                                          : "failed");
  const FileResult &result = *outcome.result;
  if (!result.isPartial())
    return {};
  std::string text = isAnalysed(outcome, options)  ? "parsed in part"
                     : lacksTorch(result, options) ? "not analysed, LibTorch's headers are missing"
                     : !result.refused.empty() || result.is_cut_off
                         ? "not analysed as a whole"
                         : "not analysed, no function in it could be parsed";
  if (!result.refused.empty())
    text += ", of what it reads " + llvm::join(result.refused, ", ");
  if (!result.missing_headers.empty())
    text += ", not found: " + firstOf(result.missing_headers, "header");
  if (result.errors && result.refused.empty())
    text += "; " + core::countText(result.errors, "error") +
            ", the first: " + shortPath(result.first_error);
  if (result.lines)
    text +=
        "; " + std::to_string(100 * result.lines_seen / result.lines) + " % of its lines were seen";
  return text;
}

// What files that parsed in part have in common; empty for fewer than two.
std::string partsNote(const std::vector<FileOutcome> &outcomes) {
  constexpr std::size_t kShown = 8;
  std::size_t files = 0, lines = 0, seen = 0;
  std::map<std::string, std::size_t> missing;
  for (const FileOutcome &outcome : outcomes) {
    if (!outcome.result || !outcome.result->isPartial())
      continue;
    ++files;
    lines += outcome.result->lines;
    seen += outcome.result->lines_seen;
    for (const std::string &header : outcome.result->missing_headers)
      ++missing[header];
  }
  if (files < 2 || lines == 0)
    return {};
  std::vector<std::pair<std::size_t, std::string>> most;
  for (const auto &[header, count] : missing)
    most.emplace_back(count, header);
  std::ranges::sort(most, [](const auto &a, const auto &b) {
    return std::pair(b.first, a.second) < std::pair(a.first, b.second);
  });
  std::string text = core::countText(files, "file") +
                     " parsed in part: " + std::to_string(100 * seen / lines) +
                     " % of their lines were seen";
  for (std::size_t i = 0; i < std::min(most.size(), kShown); ++i)
    text += (i ? ", " : "; not found: ") + most[i].second + " (" +
            core::countText(most[i].first, "file") + ")";
  if (most.size() > kShown)
    text += " and " + core::countText(most.size() - kShown, "more header");
  return text;
}

} // namespace

std::string firstOf(llvm::ArrayRef<std::string> names, const std::string &what) {
  constexpr std::size_t kShown = 3;
  std::string text = llvm::join(names.take_front(kShown), ", ");
  if (names.size() > kShown)
    text += " and " + core::countText(names.size() - kShown, "more " + what);
  return text;
}

Collected collect(const std::vector<CompileCommand> &commands, std::vector<FileOutcome> outcomes,
                  const Options &options) {
  Collected all;
  if (std::string note = partsNote(outcomes); !note.empty())
    all.notes.push_back(std::move(note));
  std::set<std::tuple<std::string, unsigned, unsigned, std::string>> seen;
  for (std::size_t i = 0; i < commands.size(); ++i) {
    const std::string name = shortPath(commands[i].file);
    if (commands[i].missing_in_database)
      all.notes.push_back(name + ": not in compile_commands.json, its flags were derived");
    if (const std::string lacks = incompleteReason(outcomes[i], options); !lacks.empty()) {
      all.complete = false;
      all.notes.push_back(name + ": " + lacks);
    }
    if (outcomes[i].result && outcomes[i].signal_behind_headers)
      all.notes.push_back(name + ": clang crashed (signal " +
                          std::to_string(outcomes[i].signal_behind_headers) +
                          ") with the shared headers of LibTorch, so the file was parsed again by "
                          "itself; please report it");
    all.not_analysed += !isAnalysed(outcomes[i], options);
    if (!outcomes[i].result)
      continue;
    FileResult &result = *outcomes[i].result;
    all.lacks_torch |= lacksTorch(result, options);
    all.lacks_standard_library |= lacksStandardLibrary(result);
    all.suppressed += result.suppressed;
    if (commands[i].only.empty())
      all.files_read.insert(commands[i].file);
    for (const auto &[file, sum] : result.files_read) {
      all.files_read.insert(file);
      if (file == commands[i].file)
        all.readers[file] = i;
      else if (!result.isPartial())
        all.readers.emplace(file, i);
      if (const auto [known, is_new] = all.texts.emplace(file, sum);
          !is_new && known->second != sum)
        known->second.clear();
    }
    merge(all.findings, std::move(result.findings), seen);
  }
  std::ranges::sort(all.findings, {}, [](const core::Finding &finding) {
    const core::Location &place = finding.locations.front();
    return std::tie(place.file, place.line, place.column, finding.rule, finding.message);
  });
  return all;
}

} // namespace devsan::analyzer
