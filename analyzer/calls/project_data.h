// The data sources of all files of a run put together.
#pragma once

#include "analyzer/calls/file_data.h"

#include <llvm/ADT/STLFunctionalExtras.h>
#include <llvm/ADT/StringSet.h>

#include <map>
#include <vector>

namespace devsan::analyzer {

class ProjectData {
public:
  // A test gives what is at hand: that this is the host's says nothing of the program.
  void add(const FileData &data, bool of_test);
  // After add(). `is_open` tells whether a function may have callers that are in no file.
  void settle(llvm::function_ref<bool(llvm::StringRef usr)> is_open);

  // All that it ever gets is data of the host.
  bool isOnHost(const DataHolder &holder) const;
  // Names of functions and members: files with them might change isOnHost() of these.
  llvm::StringSet<> namesToLookFor(const std::vector<DataHolder> &holders) const;

private:
  struct Holder {
    bool gets_host = false;
    bool gets_other = false;
    bool is_on_host = false;
    std::vector<unsigned> from; // holders
  };
  unsigned index(const DataHolder &holder);

  std::map<DataHolder, unsigned> indices_;
  std::vector<Holder> holders_;
};

} // namespace devsan::analyzer
