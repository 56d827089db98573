// What of a project's code may run, as its text says: not what `#if 0` or `if (false && ready)`
// leave out, nor what only runs if a switch is on that nothing turns on.
#pragma once

#include "analyzer/programs/project_files.h"
#include "analyzer/programs/switches.h"

#include <map>
#include <optional>
#include <string>

namespace devsan::analyzer {

// Spaces stand for the rest, so that lines stay what they are.
std::string liveCodeOf(std::string text, const Switches &switches);

// Of each file of a project that may hold code.
class LiveTexts {
public:
  explicit LiveTexts(const ProjectFiles &files);
  const std::string &written(const std::string &path);
  const std::string &of(const std::string &path);

private:
  struct Text {
    std::string written;
    std::optional<std::string> live = std::nullopt;
  };
  Switches switches_;
  std::map<std::string, Text> by_path_;
};

} // namespace devsan::analyzer
