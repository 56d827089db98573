// Paths as reports show them: relative to the project's root inside it, absolute elsewhere. So
// fingerprints are the same on other machines.
#pragma once

#include <filesystem>
#include <string>
#include <unordered_map>

namespace devsan::runtime {

class SourcePaths {
public:
  explicit SourcePaths(const std::filesystem::path &working_directory);

  const std::string &shown(const std::string &path);

private:
  std::filesystem::path working_directory_;
  std::filesystem::path root_;
  std::unordered_map<std::string, std::string> known_;
};

} // namespace devsan::runtime
