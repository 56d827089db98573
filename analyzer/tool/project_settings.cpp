#include "analyzer/tool/project_settings.h"

#include "analyzer/check_registry.h"
#include "analyzer/tool/source_files.h"
#include "core/project_file.h"
#include "core/rule_table.h"
#include "core/whole_file.h"

#include <clang-tidy/GlobList.h>
#include <llvm/ADT/STLExtras.h>
#include <llvm/ADT/StringExtras.h>
#include <llvm/Support/Path.h>

namespace devsan::analyzer {
namespace {

constexpr char kProjectFile[] = ".devsan.toml";

std::string checkNames() {
  return llvm::join(
      llvm::map_range(allChecks(), [](const CheckEntry &check) { return check.rule; }), ", ");
}

bool anyCheckIn(llvm::StringRef globs) {
  const clang::tidy::GlobList list(globs);
  return llvm::any_of(allChecks(),
                      [&](const CheckEntry &check) { return list.contains(check.rule); });
}

// Empty where there is none.
std::string projectFileOf(const std::string &first_file) {
  const std::string folder = nearestFolderWith(first_file, {kProjectFile});
  return folder.empty() ? folder : folder + "/" + kProjectFile;
}

core::Result<void> take(Options &options, const core::ProjectFile &file,
                        const std::string &folder) {
  // Judged even where the command line goes before it: a mistake should not wait for its day.
  if (const core::ProjectSetting *checks = file.check.find("checks")) {
    if (auto valid = validChecks(checks->text); !valid)
      return core::failure(checks->where + ": " + valid.error().message);
    if (!options.checks)
      options.checks = checks->text;
  }
  if (const core::ProjectSetting *timeout = file.check.find("timeout")) {
    long seconds = -1;
    if (llvm::StringRef(timeout->text).getAsInteger(10, seconds) || seconds < 0 ||
        seconds > kLongestLimit.count())
      return core::failure(timeout->where + ": 'timeout' must be from 0 to " +
                           std::to_string(kLongestLimit.count()) + " seconds");
    if (!options.limit)
      options.limit = Seconds(seconds);
  }
  if (const core::ProjectSetting *baseline = file.check.find("baseline");
      baseline && options.baseline.empty())
    options.baseline = baseline->text;
  if (const core::ProjectSetting *strict = file.check.find("strict"))
    options.strict |= strict->text == "true";
  for (const core::ProjectSetting &flag : file.extra_flags)
    options.extra_flags.push_back(flag.text);
  options.extra_flags_folder = folder;
  return {};
}

} // namespace

core::Result<std::string> validChecks(const std::string &globs) {
  llvm::SmallVector<llvm::StringRef> parts;
  llvm::StringRef(globs).split(parts, ',', -1, /*KeepEmpty=*/false);
  if (parts.empty())
    return core::failure("--checks is empty; the rules are " + checkNames());
  for (llvm::StringRef part : parts) {
    llvm::StringRef glob = part.trim();
    glob.consume_front("-");
    if (anyCheckIn(glob))
      continue;
    if (const core::Rule *rule = core::findRule(glob.str()))
      return core::failure(
          "--checks: '" + std::string(rule->id) +
          "' is found at run time only, by devsan run; the rules for sources are " + checkNames());
    return core::failure("--checks: no rule is called '" + glob.str() + "'; the rules are " +
                         checkNames());
  }
  std::string valid = parts.front().trim().starts_with("-") ? "device-*," + globs : globs;
  if (!anyCheckIn(valid))
    return core::failure("--checks=" + globs + " leaves no rule; the rules are " + checkNames());
  return valid;
}

core::Result<void> applyProjectFile(Options &options, const std::string &first_file) {
  const std::string path = projectFileOf(first_file);
  if (path.empty())
    return {};
  const core::Result<std::string> text = core::readFile(path);
  if (!text)
    return tl::unexpected(text.error());
  const core::Result<core::ProjectFile> file = core::parseProjectFile(*text, path);
  if (!file)
    return tl::unexpected(file.error());
  return take(options, *file, llvm::sys::path::parent_path(path).str());
}

core::Result<core::Suppressions> readSuppressions(const Options &options,
                                                  const std::string &first_file) {
  core::Suppressions suppressions;
  for (const std::string &path : options.suppressions) {
    const core::Result<std::string> text = core::readFile(path);
    if (!text)
      return core::failure("--suppressions: " + text.error().message);
    if (auto added = suppressions.add(*text, path, ""); !added)
      return tl::unexpected(added.error());
  }
  if (const std::string path = projectFileOf(first_file); !path.empty()) {
    const core::Result<std::string> text = core::readFile(path);
    if (!text)
      return tl::unexpected(text.error());
    if (auto added = suppressions.add(*text, path, "suppressions"); !added)
      return tl::unexpected(added.error());
  }
  return suppressions;
}

} // namespace devsan::analyzer
