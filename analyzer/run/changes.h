// What a change touches, for --diff: lines of files, by git.
#pragma once

#include "analyzer/files/include_folders.h"
#include "analyzer/flags/compile_commands.h"
#include "analyzer/run/file_result.h"
#include "core/finding/finding.h"
#include "core/system/result.h"

#include <llvm/ADT/STLFunctionalExtras.h>

#include <map>
#include <set>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace devsan::analyzer {

class Changes {
public:
  // Since the commit at which HEAD and `revision` part, in the working tree, with files that git
  // does not know yet. `files` tell the repositories; the revision is one of each.
  static core::Result<Changes> since(const std::string &revision,
                                     const std::vector<std::string> &files);

  // From `git diff --unified=0`, which replaces what was known of its files.
  void addDiff(std::string_view diff, const std::string &repository);

  bool touchesFile(const std::string &file) const { return lines_.contains(file); }
  // Any of the lines, first and last included.
  bool touches(const std::string &file, unsigned first, unsigned last) const;

  // Its place, the function around it, or a place that explains it.
  bool touches(const core::Finding &finding, const FindingContext &context) const;

private:
  core::Result<void> addRepository(const std::string &repository, const std::string &revision);
  void addWholeFile(const std::string &file);

  std::map<std::string, std::vector<std::pair<unsigned, unsigned>>> lines_; // first and last
};

// Which files read which, by their #include lines, conditions aside.
class Includes {
public:
  // Whether the command's file is changed or includes, however deep, one that is.
  bool reaches(const CompileCommand &command, const Changes &changes);
  // What the command's file includes, however deep, itself among it.
  const std::set<std::string> &reachedFrom(const CompileCommand &command);

private:
  const std::vector<Include> &in(const std::string &file);
  // Until `visit` returns true.
  bool walk(const CompileCommand &command, llvm::function_ref<bool(const std::string &file)> visit);

  std::map<std::string, std::vector<Include>> known_;
  std::map<std::string, std::set<std::string>> reached_;
};

} // namespace devsan::analyzer
