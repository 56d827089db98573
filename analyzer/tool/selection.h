// Which files a run looks at, and what keeps it from looking at any.
#pragma once

#include "analyzer/flags/compile_commands.h"
#include "analyzer/run/changes.h"
#include "analyzer/settings/options.h"
#include "analyzer/settings/project_settings.h"

#include <cstddef>
#include <optional>
#include <set>
#include <string>
#include <vector>

namespace devsan::analyzer {

// The places in `files` of those that are in the part, ascending. In an order that mixes the
// folders, because files of one folder take alike long. It rests on the names alone, so that every
// machine comes to the same parts.
std::vector<std::size_t> shardOf(const std::vector<std::string> &files, const Shard &shard,
                                 const std::string &repository);

template <typename Item>
void keepAt(std::vector<Item> &items, const std::vector<std::size_t> &places) {
  std::vector<Item> kept;
  for (const std::size_t i : places)
    kept.push_back(std::move(items[i]));
  items = std::move(kept);
}

core::Result<std::vector<CompileCommand>> commandsOf(const std::vector<std::string> &files,
                                                     CompileCommands &compile_commands);

// Drops the commands that the changes of --diff do not reach; nothing without that option.
core::Result<std::optional<Changes>> keepChanged(std::vector<CompileCommand> &commands,
                                                 const Options &options,
                                                 const std::vector<std::string> &files);

// Whether the project file keeps the run from looking at anything: it leaves nothing of a folder
// that was to be looked at, or nothing of the project. Empty where it does not.
std::string silenceOf(const std::vector<std::string> &files, std::size_t excluded,
                      const std::vector<std::string> &rules, const ProjectSettings &settings,
                      const Options &options);

// The first file by which a part of the project passes for a build or an environment: what those
// leave behind is not tracked. Empty where there is none.
std::string firstHidingFile(const std::set<std::string> &hiding);

} // namespace devsan::analyzer
