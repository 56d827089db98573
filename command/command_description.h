// The commands and options of `devsan` as data, for what is generated from them: shell completions
// and the manual page. main.cpp fills it from CLI11's own, so nothing is written down twice.
#pragma once

#include <span>
#include <string>
#include <vector>

namespace devsan::command {

struct OptionDescription {
  std::vector<std::string> names; // "--format", "-o"; empty for a positional argument
  std::string value;              // "FILE", "on|off"; empty for a flag
  std::string description;
  std::string default_value;
};

struct CommandDescription {
  std::string name; // empty: `devsan` itself
  std::string description;
  std::string footer;
  std::vector<OptionDescription> options;
};

// The shells: bash, zsh, fish. The first description is that of `devsan` itself.
std::string completionFor(const std::string &shell, std::span<const CommandDescription> commands);
std::string manualPage(std::span<const CommandDescription> commands);

int printCompletion(const std::string &shell, std::span<const CommandDescription> commands);

} // namespace devsan::command
