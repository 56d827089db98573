#include "analyzer/run/through_sources.h"

#include "analyzer/files/source_files.h"
#include "analyzer/run/changes.h"

#include <llvm/ADT/STLExtras.h>
#include <llvm/ADT/SmallString.h>
#include <llvm/Support/FileSystem.h>
#include <llvm/Support/Path.h>

#include <algorithm>
#include <set>

namespace devsan::analyzer {
namespace {

// A source beside the header, or of its name, is the likeliest to include it.
std::vector<std::string> nearestFirst(std::vector<std::string> sources, const std::string &header) {
  const llvm::StringRef stem = llvm::sys::path::stem(header);
  const llvm::StringRef folder = llvm::sys::path::parent_path(header);
  const auto distance = [&](const std::string &source) {
    return llvm::sys::path::stem(source) == stem            ? 0
           : llvm::sys::path::parent_path(source) == folder ? 1
                                                            : 2;
  };
  std::ranges::sort(sources, {},
                    [&](const std::string &source) { return std::pair(distance(source), source); });
  return sources;
}

std::string realPath(const std::string &file) {
  llvm::SmallString<256> real;
  return llvm::sys::fs::real_path(file, real) ? file : std::string(real);
}

} // namespace

std::vector<CompileCommand> lookThroughSources(
    std::vector<CompileCommand> &commands,
    llvm::function_ref<std::vector<std::string>(const std::string &header)> sources_around,
    llvm::function_ref<core::Result<CompileCommand>(const std::string &source)> command_of) {
  Includes includes;
  std::vector<CompileCommand> kept, replaced;
  std::map<std::string, CompileCommand> others; // sources that the run does not look at
  for (CompileCommand &command : commands)
    if (!isHeader(command.file))
      kept.push_back(std::move(command));
  for (CompileCommand &header : commands) {
    if (header.file.empty()) // moved
      continue;
    const auto reaches = [&](const CompileCommand &command) {
      return includes.reachedFrom(command).contains(header.file);
    };
    if (const auto known = llvm::find_if(kept, reaches); known != kept.end()) {
      if (!known->only.empty())
        known->only.push_back(header.file);
      replaced.push_back(std::move(header));
      continue;
    }
    bool found = false;
    for (const std::string &source : nearestFirst(sources_around(header.file), header.file)) {
      if (isHeader(source))
        continue;
      auto other = others.find(source);
      if (other == others.end()) {
        auto command = command_of(source);
        if (!command)
          continue;
        other = others.emplace(source, std::move(*command)).first;
      }
      if (!reaches(other->second))
        continue;
      kept.push_back(other->second);
      kept.back().only = {header.file};
      found = true;
      break;
    }
    if (found)
      replaced.push_back(std::move(header));
    else
      kept.push_back(std::move(header));
  }
  commands = std::move(kept);
  return replaced;
}

std::vector<CompileCommand> headersNotRead(std::vector<CompileCommand> headers,
                                           const std::vector<FileOutcome> &outcomes) {
  std::set<std::string> read;
  if (!headers.empty())
    for (const FileOutcome &outcome : outcomes)
      if (outcome.result)
        for (const auto &[file, sum] : outcome.result->files_read)
          read.insert(realPath(file));
  llvm::erase_if(
      headers, [&](const CompileCommand &header) { return read.contains(realPath(header.file)); });
  return headers;
}

void keepHeadersOnly(const std::vector<CompileCommand> &commands,
                     std::vector<FileOutcome> &outcomes) {
  for (const auto &[command, outcome] : llvm::zip_equal(commands, outcomes)) {
    if (command.only.empty() || !outcome.result)
      continue;
    std::set<std::string> headers;
    for (const std::string &header : command.only)
      headers.insert(realPath(header));
    dropFindings(*outcome.result, [&](const core::Finding &finding, const FindingContext &) {
      return !headers.contains(realPath(finding.locations.front().file));
    });
    std::erase_if(outcome.result->files_read,
                  [&](const auto &file) { return !headers.contains(realPath(file.first)); });
    outcome.result->suppressed = 0; // of the whole source
  }
}

} // namespace devsan::analyzer
