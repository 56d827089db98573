#include "analyzer/tool/selection.h"

#include "analyzer/files/git_repository.h"
#include "analyzer/files/source_files.h"
#include "analyzer/system/cache_folder.h"

#include <llvm/ADT/STLExtras.h>
#include <llvm/Support/FileSystem.h>

#include <algorithm>
#include <filesystem>
#include <map>

namespace devsan::analyzer {

namespace fs = std::filesystem;

std::vector<std::size_t> shardOf(const std::vector<std::string> &files, const Shard &shard,
                                 const std::string &repository) {
  std::vector<std::pair<std::string, std::size_t>> order;
  for (std::size_t i = 0; i < files.size(); ++i) {
    llvm::StringRef name = files[i];
    if (!repository.empty())
      name.consume_front(repository);
    order.emplace_back(checksum(name), i);
  }
  std::ranges::sort(order);
  std::vector<std::size_t> places;
  for (std::size_t i = shard.index - 1; i < order.size(); i += shard.count)
    places.push_back(order[i].second);
  std::ranges::sort(places);
  return places;
}

core::Result<std::vector<CompileCommand>> commandsOf(const std::vector<std::string> &files,
                                                     CompileCommands &compile_commands) {
  std::vector<CompileCommand> commands;
  for (const std::string &file : files) {
    auto command = compile_commands.of(file);
    if (!command)
      return tl::unexpected(command.error());
    commands.push_back(std::move(*command));
  }
  return commands;
}

core::Result<std::optional<Changes>> keepChanged(std::vector<CompileCommand> &commands,
                                                 const Options &options,
                                                 const std::vector<std::string> &files) {
  if (options.diff.empty())
    return std::nullopt;
  auto changes = Changes::since(options.diff, files);
  if (!changes)
    return tl::unexpected(changes.error());
  Includes includes;
  std::erase_if(commands, [&](const CompileCommand &c) { return !includes.reaches(c, *changes); });
  return std::move(*changes);
}

std::string silenceOf(const std::vector<std::string> &files, std::size_t excluded,
                      const std::vector<std::string> &rules, const ProjectSettings &settings,
                      const Options &options) {
  const auto is_folder = [](const std::string &input) {
    return llvm::sys::fs::is_directory(input);
  };
  if (files.empty() && llvm::any_of(options.inputs, is_folder))
    return (excluded == 1 ? "the only file is" : "all " + std::to_string(excluded) + " files are") +
           (" excluded by " + settings.path());
  if (settings.path().empty() || !settings.silences(files, rules))
    return {};
  // Of a few files, as a commit has them, this may be meant.
  const auto all = expandInputs({fs::path(settings.path()).parent_path()});
  return !all || settings.silences(*all, rules)
             ? settings.path() + " excludes or suppresses whatever could be found"
             : std::string();
}

std::string firstHidingFile(const std::set<std::string> &hiding) {
  std::map<std::string, core::Result<GitRepository>> repositories;
  for (const std::string &file : hiding) {
    const std::string root = nearestFolderWith(file, {".git"});
    if (root.empty())
      continue;
    auto known = repositories.find(root);
    if (known == repositories.end())
      known = repositories.emplace(root, GitRepository::open(root)).first;
    if (known->second && known->second->tracks(file))
      return file;
  }
  return {};
}

} // namespace devsan::analyzer
