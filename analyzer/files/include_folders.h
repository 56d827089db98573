// Where a project without a compile_commands.json keeps the headers that a file includes: told from
// the spelling of its includes and the paths of the project's headers.
#pragma once

#include <map>
#include <string>
#include <string_view>
#include <vector>

namespace devsan::analyzer {

struct Include {
  std::string spelling; // empty where a macro stands for it
  bool angled;
};

// What a file includes, by its lines; conditions are not evaluated.
std::vector<Include> includesOf(const std::string &file);

class IncludeFolders {
public:
  // Walks the project once; third-party folders too, hidden and build folders not.
  explicit IncludeFolders(const std::string &root);

  struct Reached {
    std::vector<std::string> folders;
    bool needs_cuda = false; // a header on the way is nvcc's alone
  };
  // The folders, beyond `known`, from which the includes of `file` resolve, and those of the
  // project's headers that it reaches. Where several headers fit a spelling, the nearest to the
  // including file is meant.
  Reached of(const std::string &file, const std::vector<std::string> &known) const;

private:
  const std::string *nearest(std::string_view spelling, std::string_view from) const;

  std::multimap<std::string, std::string, std::less<>> headers_; // by name without folder
};

} // namespace devsan::analyzer
