#include "core/project_file.h"
#include "core/rule_table.h"

#include <algorithm>
#include <array>
#include <filesystem>
#include <fmt/format.h>

#define TOML_EXCEPTIONS 0
#include <toml++/toml.h>

namespace devsan::core {
namespace {

constexpr std::array<std::string_view, 3> kTables = {"budgets", "run", "suppressions"};

enum class Kind { kText, kTextOrList, kPath, kPaths, kCount };

struct Key {
  std::string_view name;
  Kind kind;
};

constexpr Key kRunKeys[] = {
    {"baseline", Kind::kPath}, {"fail-on", Kind::kTextOrList},  {"report", Kind::kPaths},
    {"sim", Kind::kCount},     {"sim-memory", Kind::kText},     {"sim-protect", Kind::kText},
    {"sync", Kind::kText},     {"transfer", Kind::kTextOrList}, {"warmup", Kind::kCount},
};

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
  }
  return {};
}

std::string runKeys() {
  std::string text;
  for (const Key &key : kRunKeys)
    text += fmt::format("{}{}", text.empty() ? "" : ", ", key.name);
  return text;
}

class Reader {
public:
  explicit Reader(const std::string &source) : source_(source) {}

  Result<ProjectFile> read(const toml::table &tables) {
    for (const auto &[key, value] : tables) {
      if (!isProjectTable(key.str()))
        return failure(fmt::format("{}: unknown key '{}'; valid are the tables {}",
                                   where(key.source()), key.str(), projectTables()));
      const toml::table *table = value.as_table();
      if (!table)
        return failure(fmt::format("{}: '{}' must be a table", where(value.source()), key.str()));
      if (key.str() != "suppressions")
        if (Result<void> done = key.str() == "run" ? run(*table) : budgets(*table); !done)
          return tl::unexpected(done.error());
    }
    return std::move(file_);
  }

private:
  std::string where(const toml::source_region &region) const {
    return fmt::format("{}:{}", source_, region.begin.line);
  }

  Result<void> run(const toml::table &table) {
    for (const auto &[key, value] : table) {
      const auto known = std::ranges::find(kRunKeys, key.str(), &Key::name);
      if (known == std::end(kRunKeys))
        return failure(fmt::format("{}: unknown key '{}'; valid in [run]: {}", where(key.source()),
                                   key.str(), runKeys()));
      const std::optional<std::vector<std::string>> texts = textsOf(value, known->kind);
      if (!texts)
        return failure(fmt::format("{}: '{}' must be {}", where(value.source()), key.str(),
                                   form(known->kind)));
      if (known->name == "report") {
        for (const std::string &text : *texts)
          file_.reports.push_back({text, where(value.source())});
        continue;
      }
      std::string joined;
      for (const std::string &text : *texts)
        joined += (joined.empty() ? "" : ",") + text;
      file_.run[std::string(key.str())] = {joined, where(value.source())};
    }
    return {};
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
      const auto text = node.value_exact<std::string>();
      if (!text || text->empty() || text->find('\0') != std::string::npos)
        return false;
      const bool is_path = kind == Kind::kPath || kind == Kind::kPaths;
      texts.push_back(is_path ? (folder() / *text).lexically_normal().string() : *text);
      return true;
    };
    const toml::array *list = value.as_array();
    const bool may_be_list = kind == Kind::kTextOrList || kind == Kind::kPaths;
    const bool good = list && may_be_list ? std::ranges::all_of(*list, take) : take(value);
    return good && !texts.empty() ? std::optional(texts) : std::nullopt;
  }

  std::filesystem::path folder() const {
    std::error_code error;
    return std::filesystem::absolute(source_, error).parent_path();
  }

  Result<void> budgets(const toml::table &table) {
    for (const auto &[key, value] : table) {
      if (!findRule(key.str()))
        return failure(fmt::format("{}: unknown rule '{}'; the rules are {}", where(key.source()),
                                   key.str(), ruleIds()));
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

const ProjectSetting *ProjectFile::find(std::string_view key) const {
  const auto setting = run.find(key);
  return setting == run.end() ? nullptr : &setting->second;
}

bool isProjectTable(std::string_view name) {
  return std::ranges::find(kTables, name) != kTables.end();
}

std::string projectTables() {
  std::string text;
  for (std::string_view table : kTables)
    text += fmt::format("{}[{}]", text.empty() ? "" : ", ", table);
  return text;
}

Result<ProjectFile> parseProjectFile(std::string_view toml_text, const std::string &source) {
  const toml::parse_result parsed = toml::parse(toml_text);
  if (!parsed)
    return failure(fmt::format("{}:{}: {}", source, parsed.error().source().begin.line,
                               parsed.error().description()));
  return Reader(source).read(parsed.table());
}

} // namespace devsan::core
