// Suppressions take findings away by rule and place. They come from `[suppressions]` of
// .devsan.toml and from the files given with --suppressions, which hold the same table at their top
// level:
//
//   device-host-sync = ["src/logging.cpp", "function:*::printLoss"]
//
// A pattern is a glob (file_glob.h) on the file of the finding or of a frame of its stack, as
// reports show it or relative to the folder of the file that holds the pattern; `function:` applies
// it to function names.
#pragma once

#include "core/finding/finding.h"
#include "core/finding/rule_table.h"
#include "core/system/result.h"

#include <functional>
#include <optional>
#include <string>
#include <vector>

namespace devsan::core {

class Suppressions {
public:
  // `source` is the path of the file that `toml_text` was read from. `table` is the name of the
  // TOML table that holds the rules, and then the file may hold no other; empty where they stand at
  // the top level or in [suppressions]. An unknown rule or key or a malformed value is an error
  // that names file and line.
  Result<void> add(const std::string &toml_text, const std::string &source,
                   const std::string &table);

  // True, and counted, where a suppression covers the finding.
  bool covers(const Finding &finding);

  // Whether no finding of the rule in the file, an absolute path, could be left over.
  bool coverAll(const std::string &rule, const std::string &file) const;

  // What a run over some sources has seen, as absolute paths.
  struct Seen {
    std::vector<std::string> inputs; // folders and files that it was to look at
    std::vector<std::string> files;  // that it read; also as reports show them
  };

  // "device-host-sync = src/old.cpp (.devsan.toml:4)" for each suppression that covered nothing,
  // of the rules that were looked for: the others are another command's. A run over a part of what
  // a file of suppressions is for tells nothing of those that no file it read matches.
  std::vector<std::string> unused(const std::function<bool(const Rule &)> &looked_for,
                                  const std::optional<Seen> &seen = {}) const;

private:
  struct Entry {
    std::string rule;
    std::string pattern;
    bool on_function = false;
    std::string folder; // of the file that holds the pattern, with a slash at its end
    std::string where;
    std::uint64_t hits = 0;

    bool matchesFile(const std::string &file) const;
    bool isJudgedBy(const Seen &seen) const;
  };
  std::vector<Entry> entries_;
};

} // namespace devsan::core
