// .devsan.toml, the settings of a project:
//
//   [run]                             what `devsan run` takes where the command line says nothing
//   fail-on = "warning"               also a list of rules
//   baseline = "devsan-baseline.json" relative to this file
//   report = ["devsan.json"]          relative to this file, and below its folder, as every path
//   own = ["src", "tests"]            globs on the files that are the project's own code
//   sim = 2
//   sim-memory = "2GiB"
//   sim-protect = "off"
//   transfer = ["host_to_device:disallow"]
//   sync = "log"
//   warmup = 10
//   [check]                           what `devsan check` takes where the command line says nothing
//   checks = ["device-*", "-device-host-sync"]
//   baseline = "devsan-check.json"    relative to this file
//   exclude = ["third_party"]         globs on files and folders, relative to this file
//   extra-flags = ["-DUSE_FEATURE"]   for clang, after those of each file
//   fail-on = "error"                 also a list of rules
//   strict = true
//   timeout = 60
//   [budgets]
//   device-host-sync = 10             as --max; also "1/step"
//   [suppressions]
//   device-host-sync = "src/log.cpp"  see suppressions.h
//
// It comes with the sources, perhaps from a stranger, so it works below its folder, and lowers
// limits but does not raise them. Whoever uses a value judges it and names `where` in its error.
#pragma once

#include "core/system/result.h"

#include <filesystem>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace devsan::core {

struct ProjectSetting {
  std::string text;
  std::string where; // "/project/.devsan.toml:3"
};

class ProjectTable {
public:
  // Null where the file has no such key.
  const ProjectSetting *find(std::string_view key) const;
  void set(std::string_view key, ProjectSetting setting);
  const auto &all() const { return settings_; }

private:
  std::map<std::string, ProjectSetting, std::less<>> settings_;
};

struct ProjectFile {
  ProjectTable run;
  ProjectTable check;
  std::vector<ProjectSetting> reports;     // of [run]
  std::vector<ProjectSetting> own;         // of [run]
  std::vector<ProjectSetting> exclude;     // of [check]
  std::vector<ProjectSetting> extra_flags; // of [check]
  std::vector<ProjectSetting> budgets;     // "device-host-sync=10"
};

// A project file that was looked for.
struct FoundProjectFile {
  std::filesystem::path path; // empty where there is none that counts
  std::string text;
  ProjectFile file;
  std::string passed_over; // why the nearest one does not count, as a sentence
};

// The nearest .devsan.toml from `folder` upwards, but not above the repository. One of another user
// does not count; one that is a link out of the project is an error.
Result<FoundProjectFile> findProjectSettings(const std::filesystem::path &folder);

// The error of a strict run whose project file is passed over: what it asks for might be stricter.
std::string notWhenStrict(const std::string &passed_over);

// `source` is the path of the file; the text of `baseline` and of reports comes back absolute. A
// path out of the folder, an unknown table or key or a value of the wrong type is an error with
// file and line; suppressions are not looked at.
Result<ProjectFile> parseProjectFile(std::string_view toml_text, const std::string &source);

// The tables that a project file may hold, and what is said of another: "unknown key 'runs' (did
// you mean 'run'?); valid are the tables [budgets], …".
bool isProjectTable(std::string_view name);
std::string notATable(std::string_view name);

} // namespace devsan::core
