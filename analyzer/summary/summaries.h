// Summaries of the parts of one run, or of several runs, such as one for each target of a build.
#pragma once

#include "analyzer/summary/summary.h"

#include <llvm/ADT/STLFunctionalExtras.h>

#include <map>
#include <string>
#include <vector>

namespace devsan::analyzer {

// One checksum for a list of files, whatever folder the root is in.
std::string listSum(const std::vector<std::string> &files, const std::string &root);

// With checksums of what the files hold now in place of those of what clang was given, which may
// have been changed for it; without those in `of_program`, which come with it.
void noteContents(Summary &summary, const std::string &of_program);

// The remedy where sources differ.
inline constexpr char kWhereSourcesAre[] =
    "; put summaries together where the sources are as they were made of";

class Summaries {
public:
  // In the order that a run over all files has, whatever that of `files`. All parts of each run
  // have to be there, once, made with the same options of the same sources.
  static core::Result<Summaries> read(const std::vector<std::string> &files,
                                      const std::string &root);

  const Summary &front() const { return all_.front(); } // what its options are, those of all are
  std::vector<std::string> inputs() const;

  // Whether the inputs still come to the same files, and these hold what they held.
  core::Result<void> matchSources(
      const std::string &root,
      llvm::function_ref<core::Result<std::vector<std::string>>(const std::vector<std::string> &)>
          files_in) const;

  // What was analysed; headers that another part has read are left out.
  std::vector<Summary::Unit> take();

private:
  core::Result<void> matchEachOther() const;

  std::vector<std::string> names_;
  std::vector<Summary> all_;
};

} // namespace devsan::analyzer
