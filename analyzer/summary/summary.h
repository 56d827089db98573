// What the runs over parts of a project hand to the run that puts them together: for each file what
// its analysis yields, before anything is decided across files. `devsan check --summary` writes it,
// `devsan check --from-summaries` reads it, maybe on another machine.
//
// The file is a line `devsan-summary/1`, a line that names the program, a line with the size and
// checksum of the rest, and the rest, compressed with zstd: a table of texts, then numbers of
// variable length (LEB128) in the order of summary.cpp, where texts are indices of the table. Paths
// below the project's root are relative to it, so machines may have it where they like; and no time
// or name of a machine is in it, so the same sources give the same bytes.
#pragma once

#include "analyzer/run/schedule.h"
#include "analyzer/settings/options.h"

#include <llvm/ADT/StringRef.h>

#include <string>
#include <vector>

namespace devsan::analyzer {

struct Summary {
  struct Unit {
    unsigned index = 0; // of the file in the run over all of them
    std::string file;
    std::vector<std::string> only; // see CompileCommand
    bool missing_in_database = false;
    bool in_database = false;
    // A header that was to be looked at and that no source of the part has read: it counts where
    // those of no other part have.
    bool is_unread_header = false;
    FileOutcome outcome;
  };
  std::string checks;         // globs
  std::string torch;          // its version; empty where none was found
  bool without_torch = false; // --torch=none
  bool alone = false;
  Shard shard;
  std::vector<std::string> inputs;       // what the command line named
  std::string list;                      // checksumOf() all files that the inputs come to
  std::vector<std::string> headers_read; // of those that were to be looked at
  std::vector<Unit> units;               // of the part
};

// `program` tells one version of the program from another, on a line.
std::string writeSummary(Summary summary, const std::string &root, const std::string &program);

// With the head before the rest, which is not packed yet.
std::string packSummary(llvm::StringRef rest, const std::string &program);

// The text may be anybody's. `name` is the file's, for errors.
core::Result<Summary> readSummary(llvm::StringRef text, const std::string &name,
                                  const std::string &root, const std::string &program);

} // namespace devsan::analyzer
