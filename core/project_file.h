// .devsan.toml, the settings of a project:
//
//   [run]                             what `devsan run` takes where the command line says nothing
//   fail-on = "warning"               also a list of rules
//   baseline = "devsan-baseline.json" relative to this file
//   report = ["devsan.json"]          relative to this file
//   sim = 2
//   sim-memory = "2GiB"
//   sim-protect = "off"
//   transfer = ["host_to_device:disallow"]
//   sync = "log"
//   warmup = 10
//   [budgets]
//   device-host-sync = 10             as --max; also "1/step"
//   [suppressions]
//   device-host-sync = "src/log.cpp"  see suppressions.h
//
// Whoever uses a value judges it and names `where` in its error.
#pragma once

#include "core/result.h"

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

struct ProjectFile {
  std::map<std::string, ProjectSetting, std::less<>> run; // by key
  std::vector<ProjectSetting> reports;
  std::vector<ProjectSetting> budgets; // "device-host-sync=10"

  // Null where the file has no such key.
  const ProjectSetting *find(std::string_view key) const;
};

// `source` is the path of the file; the text of `baseline` and of reports comes back absolute. An
// unknown table or key or a value of the wrong type is an error with file and line; suppressions
// are not looked at.
Result<ProjectFile> parseProjectFile(std::string_view toml_text, const std::string &source);

// The tables that a project file may hold: "[budgets], [run], [suppressions]".
bool isProjectTable(std::string_view name);
std::string projectTables();

} // namespace devsan::core
