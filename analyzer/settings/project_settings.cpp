#include "analyzer/settings/project_settings.h"

#include "analyzer/check_registry.h"
#include "analyzer/files/source_files.h"
#include "core/finding/rule_table.h"
#include "core/system/file_glob.h"
#include "core/system/project_root.h"
#include "core/system/whole_file.h"

#include <clang-tidy/GlobList.h>
#include <llvm/ADT/STLExtras.h>
#include <llvm/ADT/StringExtras.h>
#include <llvm/Support/Path.h>

#include <algorithm>
#include <set>

namespace devsan::analyzer {
namespace {

std::vector<std::string> checkNames() {
  std::vector<std::string> names;
  for (const CheckEntry &check : allChecks())
    names.emplace_back(check.rule);
  return names;
}

} // namespace

std::vector<std::string> checksIn(llvm::StringRef globs) {
  const clang::tidy::GlobList list(globs);
  std::vector<std::string> names = checkNames();
  llvm::erase_if(names, [&](const std::string &name) { return !list.contains(name); });
  return names;
}

namespace {

std::string checkList() {
  return llvm::join(checkNames(), ", ");
}

bool anyCheckIn(llvm::StringRef globs) {
  return !checksIn(globs).empty();
}

// The deepest folder that holds all of `folders`.
std::string commonFolder(const std::set<std::string> &folders) {
  std::string common = *folders.begin();
  for (const std::string &folder : folders)
    while (folder != common && !llvm::StringRef(folder).starts_with(common + "/") &&
           llvm::sys::path::has_relative_path(common))
      common = llvm::sys::path::parent_path(common).str();
  return common;
}

// -I and its like may have their value in the next element.
core::Result<void> checkFlags(const std::vector<core::ProjectSetting> &flags) {
  bool wants_value = false;
  for (const core::ProjectSetting &flag : flags) {
    const llvm::StringRef text = flag.text;
    if (!text.starts_with("-") && !wants_value)
      return core::failure(flag.where + ": 'extra-flags': '" + flag.text +
                           "' is no flag; flags begin with '-', each is an element of its own");
    if (text.starts_with("-") && text.contains(" -"))
      return core::failure(flag.where + ": 'extra-flags': '" + flag.text +
                           "' holds several flags; make each an element of its own");
    wants_value = !wants_value && text.starts_with("-") && !text.contains('=') &&
                  (text.size() == 2 || text.starts_with("-i"));
  }
  if (wants_value)
    return core::failure(flags.back().where + ": 'extra-flags': '" + flags.back().text +
                         "' has no value");
  return {};
}

} // namespace

core::Result<ProjectSettings> ProjectSettings::find(llvm::ArrayRef<std::string> files) {
  std::set<std::string> folders;
  for (const std::string &file : files)
    folders.insert(llvm::sys::path::parent_path(file).str());
  ProjectSettings settings;
  const std::string common = commonFolder(folders);
  std::set<std::string> others;
  for (const std::string &folder : folders)
    if (folder != common)
      others.insert(core::findProjectFile(folder));
  others.erase("");
  others.erase(core::findProjectFile(common));
  for (const std::string &other : others)
    settings.ignored_project_files_.push_back(other +
                                              " is ignored: it covers only some files of this run");
  core::Result<core::FoundProjectFile> found = core::findProjectSettings(common);
  if (!found)
    return tl::unexpected(found.error());
  if (!found->passed_over.empty())
    settings.ignored_project_files_.push_back(found->passed_over);
  settings.foreign_ = std::move(found->passed_over);
  settings.path_ = found->path;
  settings.text_ = std::move(found->text);
  settings.file_ = std::move(found->file);
  return settings;
}

core::Result<void> ProjectSettings::apply(Options &options) const {
  if (!foreign_.empty() && options.strict.value_or(false))
    return core::failure(core::notWhenStrict(foreign_));
  const core::ProjectTable &check = file_.check;
  // Judged even where the command line goes before it: a mistake should not wait for its day.
  if (const core::ProjectSetting *checks = check.find("checks")) {
    if (auto valid = validChecks(checks->text, checks->where + ": 'checks'"); !valid)
      return tl::unexpected(valid.error());
    if (!options.checks)
      options.checks = checks->text;
  }
  if (const core::ProjectSetting *setting = check.find("fail-on")) {
    core::Result<core::FailOn> fail_on =
        core::parseFailOn(setting->where + ": 'fail-on'", setting->text);
    if (!fail_on)
      return tl::unexpected(fail_on.error());
    if (!fail_on->severity && fail_on->rules.empty())
      return core::failure(setting->where +
                           ": 'fail-on' cannot be \"none\" here; only --fail-on=none on the "
                           "command line lets all findings pass");
    if (!options.fail_on)
      options.fail_on = std::move(*fail_on);
  }
  if (const core::ProjectSetting *timeout = check.find("timeout")) {
    long seconds = -1;
    if (llvm::StringRef(timeout->text).getAsInteger(10, seconds) || seconds < 1 ||
        seconds > kDefaultLimit.count())
      return core::failure(timeout->where + ": 'timeout' must be from 1 to " +
                           std::to_string(kDefaultLimit.count()) +
                           " seconds; --timeout of the command line may be longer");
    if (!options.limit)
      options.limit = Seconds(seconds);
  }
  if (const core::ProjectSetting *baseline = check.find("baseline");
      baseline && options.baseline.empty()) {
    options.baseline = baseline->text;
    options.baseline_is_found = true;
  }
  // It can ask for more. That files need not be analysed is for the command line to say.
  if (const core::ProjectSetting *strict = check.find("strict");
      strict && strict->text == "true" && !options.strict)
    options.strict = true;
  if (auto valid = checkFlags(file_.extra_flags); !valid)
    return valid;
  for (const core::ProjectSetting &flag : file_.extra_flags)
    options.extra_flags.push_back(flag.text);
  options.extra_flags_folder = llvm::sys::path::parent_path(path_).str();
  return {};
}

bool ProjectSettings::excludes(const std::string &file) const {
  llvm::StringRef name = file;
  name.consume_front((llvm::sys::path::parent_path(path_) + "/").str());
  return std::ranges::any_of(file_.exclude, [&](const core::ProjectSetting &glob) {
    return core::coversFile(glob.text, glob.text.starts_with('/') ? file : name.str());
  });
}

bool ProjectSettings::silences(const std::vector<std::string> &files,
                               llvm::ArrayRef<std::string> rules) const {
  core::Suppressions suppressions;
  if (path_.empty() || !suppressions.add(text_, path_, "suppressions"))
    return false;
  return llvm::all_of(files, [&](const std::string &file) {
    return excludes(file) || llvm::all_of(rules, [&](const std::string &rule) {
             return suppressions.coverAll(rule, file);
           });
  });
}

core::Result<core::Suppressions> ProjectSettings::suppressions(const Options &options) const {
  core::Suppressions suppressions;
  for (const std::string &path : options.suppressions) {
    const core::Result<std::string> text = core::readNamedFile(path, core::kMaxSettings);
    if (!text)
      return core::failure("--suppressions: " + text.error().message);
    if (auto added = suppressions.add(*text, path, ""); !added)
      return tl::unexpected(added.error());
  }
  if (!path_.empty())
    if (auto added = suppressions.add(text_, path_, "suppressions"); !added)
      return tl::unexpected(added.error());
  return suppressions;
}

core::Result<std::string> validChecks(const std::string &globs, const std::string &name) {
  llvm::SmallVector<llvm::StringRef> parts;
  llvm::StringRef(globs).split(parts, ',', -1, /*KeepEmpty=*/false);
  if (parts.empty())
    return core::failure(name + " is empty; the rules are " + checkList());
  for (llvm::StringRef part : parts) {
    llvm::StringRef glob = part.trim();
    glob.consume_front("-");
    if (anyCheckIn(glob))
      continue;
    if (const core::Rule *rule = core::findRule(glob.str()))
      return core::failure(
          name + ": '" + std::string(rule->id) +
          "' is found at run time only, by devsan run; the rules for sources are " + checkList());
    const std::vector<std::string> names = checkNames();
    return core::failure(name + ": no rule is called '" + glob.str() + "'" +
                         core::didYouMeanRule(glob.str(), names) + "; the rules are " +
                         llvm::join(names, ", "));
  }
  std::string valid = parts.front().trim().starts_with("-") ? "device-*," + globs : globs;
  if (!anyCheckIn(valid))
    return core::failure(name + ": '" + globs + "' leaves no rule; the rules are " + checkList());
  return valid;
}

} // namespace devsan::analyzer
