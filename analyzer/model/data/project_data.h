// The data sources of several files put together.
#pragma once

#include "analyzer/model/data/file_data.h"

#include <llvm/ADT/StringSet.h>

#include <map>
#include <utility>
#include <vector>

namespace devsan::analyzer {

class ProjectData {
public:
  // A test gives what is at hand: that this is the host's says nothing of the program.
  void add(const FileData &data, bool of_test);
  // After add().
  void settle();

  // All that it ever gets is data of the host.
  bool isOnHost(const DataHolder &holder) const;
  // Names of functions, members and their classes: files with them might change isOnHost() of
  // these.
  llvm::StringSet<> namesToLookFor(const std::vector<DataHolder> &holders) const;

private:
  struct Holder {
    std::string name, owner, place;
    bool gets_host = false;
    bool gets_other = false;
    bool is_on_host = false;
    std::vector<unsigned> from, from_tests; // holders
  };
  unsigned index(const DataHolder &holder);
  const Holder *find(const DataHolder &holder) const;

  std::map<std::pair<std::string, int>, unsigned> indices_;
  std::vector<Holder> holders_;
};

} // namespace devsan::analyzer
