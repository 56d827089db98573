#include "core/project/project_file.h"

#include "core/finding/rule_table.h"
#include "core/system/project_root.h"
#include "core/system/user_cache.h"
#include "core/system/whole_file.h"
#include "core/text/suggestion.h"
#include "core/text/toml_text.h"

#include <algorithm>
#include <array>
#include <filesystem>
#include <fmt/format.h>
#include <span>
#include <sys/stat.h>
#include <unistd.h>

namespace devsan::core {
namespace {

namespace fs = std::filesystem;

constexpr std::array<std::string_view, 4> kTables = {"budgets", "check", "run", "suppressions"};

enum class Kind { kText, kTextOrList, kPath, kPaths, kCount, kSwitch };

struct Key {
  std::string_view name;
  Kind kind;
};

constexpr Key kCheckKeys[] = {
    {"baseline", Kind::kPath},      {"checks", Kind::kTextOrList},
    {"exclude", Kind::kTextOrList}, {"extra-flags", Kind::kTextOrList},
    {"fail-on", Kind::kTextOrList}, {"strict", Kind::kSwitch},
    {"timeout", Kind::kCount},
};

constexpr Key kRunKeys[] = {
    {"baseline", Kind::kPath},       {"fail-on", Kind::kTextOrList}, {"own", Kind::kTextOrList},
    {"report", Kind::kPaths},        {"sim", Kind::kCount},          {"sim-memory", Kind::kText},
    {"sim-protect", Kind::kText},    {"strict", Kind::kSwitch},      {"sync", Kind::kText},
    {"transfer", Kind::kTextOrList}, {"warmup", Kind::kCount},
};

// Whoever can write the file's folder decides what lies there. For root that is enough: in a
// container the sources are often a user's.
bool isOurs(const fs::path &path) {
  struct stat link, file, folder;
  if (lstat(path.c_str(), &link) != 0 || stat(path.c_str(), &file) != 0 ||
      stat(path.parent_path().c_str(), &folder) != 0)
    return false;
  const auto is_ours = [&](const struct stat &status) {
    return !isForeign(status) || (geteuid() == 0 && status.st_uid == folder.st_uid);
  };
  return is_ours(link) && is_ours(file);
}

bool isPath(Kind kind) {
  return kind == Kind::kPath || kind == Kind::kPaths;
}

std::string_view form(Kind kind) {
  switch (kind) {
  case Kind::kText:
    return "a string";
  case Kind::kTextOrList:
    return "a string, or a list of strings";
  case Kind::kPath:
    return "the path of a file, as a string";
  case Kind::kPaths:
    return "the path of a file, as a string, or a list of them";
  case Kind::kCount:
    return "a number";
  case Kind::kSwitch:
    return "true or false";
  }
  return {};
}

std::string notAKey(std::string_view key, std::string_view table, std::span<const Key> keys) {
  std::vector<std::string> names;
  for (const Key &valid : keys)
    names.emplace_back(valid.name);
  return fmt::format("unknown key '{}'{}; valid in [{}]: {}", key, didYouMean(key, names), table,
                     fmt::join(names, ", "));
}

class Reader {
public:
  explicit Reader(const std::string &source) : source_(source) {}

  Result<ProjectFile> read(const toml::table &tables) {
    for (const auto &[key, value] : tables) {
      if (!isProjectTable(key.str()))
        return failure(fmt::format("{}: {}", where(key.source()), notATable(key.str())));
      const toml::table *table = value.as_table();
      if (!table)
        return failure(fmt::format("{}: '{}' must be a table", where(value.source()), key.str()));
      if (key.str() != "suppressions")
        if (Result<void> done = read(key.str(), *table); !done)
          return tl::unexpected(done.error());
    }
    return std::move(file_);
  }

private:
  std::string where(const toml::source_region &region) const {
    return fmt::format("{}:{}", source_, region.begin.line);
  }

  Result<void> read(std::string_view name, const toml::table &table) {
    if (name == "run")
      return settings(name, table, kRunKeys, file_.run);
    if (name == "check")
      return settings(name, table, kCheckKeys, file_.check);
    return budgets(table);
  }

  Result<void> settings(std::string_view name, const toml::table &table, std::span<const Key> keys,
                        ProjectTable &settings) {
    for (const auto &[key, value] : table) {
      const auto known = std::ranges::find(keys, key.str(), &Key::name);
      if (known == keys.end())
        return failure(fmt::format("{}: {}", where(key.source()), notAKey(key.str(), name, keys)));
      const std::optional<std::vector<std::string>> texts = textsOf(value, known->kind);
      if (!texts)
        return failure(fmt::format("{}: '{}' must be {}", where(value.source()), key.str(),
                                   form(known->kind)));
      if (isPath(known->kind))
        for (const std::string &path : *texts)
          if (!staysBelow(path))
            return failure(
                fmt::format("{}: '{}' must stay below {}, the folder of the project file, "
                            "and {} does not; name a file there, or say --{}=FILE on the "
                            "command line",
                            where(value.source()), key.str(), folder().string(), path, key.str()));
      if (std::vector<ProjectSetting> *list = listOf(known->name)) {
        for (const std::string &text : *texts)
          list->push_back({text, where(value.source())});
        continue;
      }
      std::string joined;
      for (const std::string &text : *texts)
        joined += (joined.empty() ? "" : ",") + text;
      settings.set(key.str(), {joined, where(value.source())});
    }
    return {};
  }

  // Null for a key whose values are joined with commas.
  std::vector<ProjectSetting> *listOf(std::string_view key) {
    return key == "report"        ? &file_.reports
           : key == "own"         ? &file_.own
           : key == "exclude"     ? &file_.exclude
           : key == "extra-flags" ? &file_.extra_flags
                                  : nullptr;
  }

  // Nothing where the value is of another form. An empty text or list says nothing, so it is one.
  std::optional<std::vector<std::string>> textsOf(const toml::node &value, Kind kind) const {
    std::vector<std::string> texts;
    const auto take = [&](const toml::node &node) {
      if (kind == Kind::kCount) {
        if (const auto number = node.value_exact<std::int64_t>())
          texts.push_back(std::to_string(*number));
        return node.is_integer();
      }
      if (kind == Kind::kSwitch) {
        if (const auto on = node.value_exact<bool>())
          texts.push_back(*on ? "true" : "false");
        return node.is_boolean();
      }
      const auto text = node.value_exact<std::string>();
      if (!text || text->empty() || text->find('\0') != std::string::npos)
        return false;
      texts.push_back(isPath(kind) ? (folder() / *text).lexically_normal().string() : *text);
      return true;
    };
    const toml::array *list = value.as_array();
    const bool may_be_list = kind == Kind::kTextOrList || kind == Kind::kPaths;
    const bool good = list && may_be_list ? std::ranges::all_of(*list, take) : take(value);
    return good && !texts.empty() ? std::optional(texts) : std::nullopt;
  }

  // Links are followed, also where the file is still to be made.
  bool staysBelow(const std::string &path) const {
    std::error_code error;
    const fs::path top = fs::weakly_canonical(folder(), error);
    const fs::path real = error ? fs::path() : fs::weakly_canonical(path, error);
    // What is a link still leads to where nothing is yet.
    return !error && isWithin(real, top) && !fs::is_symlink(fs::symlink_status(real, error));
  }

  fs::path folder() const {
    std::error_code error;
    return fs::absolute(source_, error).parent_path();
  }

  Result<void> budgets(const toml::table &table) {
    for (const auto &[key, value] : table) {
      if (!findRule(key.str()))
        return failure(
            fmt::format("{}: unknown rule {}", where(key.source()), notARule(key.str())));
      const auto number = value.value_exact<std::int64_t>();
      const auto text = value.value_exact<std::string>();
      if (!number && !text)
        return failure(fmt::format("{}: '{}' must be a number, or a string such as \"1/step\"",
                                   where(value.source()), key.str()));
      file_.budgets.push_back(
          {fmt::format("{}={}", key.str(), text ? *text : std::to_string(*number)),
           where(value.source())});
    }
    return {};
  }

  const std::string &source_;
  ProjectFile file_;
};

} // namespace

const ProjectSetting *ProjectTable::find(std::string_view key) const {
  const auto setting = settings_.find(key);
  return setting == settings_.end() ? nullptr : &setting->second;
}

void ProjectTable::set(std::string_view key, ProjectSetting setting) {
  settings_.insert_or_assign(std::string(key), std::move(setting));
}

bool isProjectTable(std::string_view name) {
  return std::ranges::find(kTables, name) != kTables.end();
}

std::string notATable(std::string_view name) {
  const std::vector<std::string> tables(kTables.begin(), kTables.end());
  return fmt::format("unknown key '{}'{}; valid are the tables [{}]", name,
                     didYouMean(name, tables), fmt::join(tables, "], ["));
}

Result<FoundProjectFile> findProjectSettings(const fs::path &folder) {
  FoundProjectFile found;
  const fs::path path = findProjectFile(folder);
  if (path.empty())
    return found;
  if (!isOurs(path)) {
    found.passed_over = path.string() +
                        " is ignored: it belongs to another user; make it your own with chown, "
                        "or give its settings on the command line";
    return found;
  }
  std::error_code error;
  const fs::path here = fs::canonical(path.parent_path(), error);
  const fs::path real = fs::weakly_canonical(path, error);
  if (const fs::path project = projectAround(here).value_or(here); !isWithin(real, project))
    return failure(path.string() + " is a link that leads out of " + project.string() +
                   "; put the file itself there, or remove the link");
  Result<std::string> text = readFile(path, kMaxSettings);
  if (!text)
    return tl::unexpected(text.error());
  Result<ProjectFile> file = parseProjectFile(*text, path);
  if (!file)
    return tl::unexpected(file.error());
  found.path = path;
  found.text = std::move(*text);
  found.file = std::move(*file);
  return found;
}

std::string notWhenStrict(const std::string &passed_over) {
  return passed_over + ", without --strict";
}

Result<ProjectFile> parseProjectFile(std::string_view toml_text, const std::string &source) {
  const Result<toml::table> parsed = parseToml(toml_text, source);
  if (!parsed)
    return tl::unexpected(parsed.error());
  return Reader(source).read(*parsed);
}

} // namespace devsan::core
