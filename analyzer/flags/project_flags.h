// Compiler flags of files without a compile_commands.json: from the project's setup.py, else from
// its CMakeLists.txt files. Both are read, never executed.
#pragma once

#include "analyzer/flags/setup_script.h"
#include "core/system/result.h"

#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace devsan::analyzer {

// A macro of a platform that we do not look at: scripts and code ask for it where they build for
// that.
bool isOfOtherPlatform(std::string_view macro);

class ProjectFlags {
public:
  // As on a command line. A script that cannot be read is an error that names it.
  core::Result<std::vector<std::string>> of(const std::string &file);

private:
  std::vector<std::string> derived(const std::string &file);
  const std::vector<SetupExtension> &setupScript(const std::string &folder);
  const std::vector<std::string> &cmakeScripts(const std::string &file);

  std::optional<core::Error> error_;
  std::map<std::string, std::vector<SetupExtension>> setup_scripts_; // by folder
  std::map<std::string, std::vector<std::string>> cmake_flags_;      // by innermost folder
};

} // namespace devsan::analyzer
