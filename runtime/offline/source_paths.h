// Paths as reports show them: relative to the repository of the working directory inside it,
// absolute elsewhere.
#pragma once

#include <filesystem>
#include <string>
#include <unordered_map>

namespace devsan::runtime {

// The repository that holds `directory`; empty where none does.
std::filesystem::path repositoryOf(const std::filesystem::path &directory);

class SourcePaths {
public:
  explicit SourcePaths(const std::filesystem::path &working_directory);

  const std::string &shown(const std::string &path);

private:
  std::filesystem::path working_directory_;
  std::filesystem::path repository_; // empty where there is none
  std::unordered_map<std::string, std::string> known_;
};

} // namespace devsan::runtime
