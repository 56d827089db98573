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
  // Some of what it gets is known to be on a device.
  bool isOnDevice(const DataHolder &holder) const;
  // Names of functions, members and their classes: files with them might change isOnHost() of
  // these, or isOnDevice().
  llvm::StringSet<> namesToLookFor(const std::vector<DataHolder> &holders,
                                   bool for_device = false) const;

private:
  struct Holder {
    std::string name, owner, place;
    bool gets_host = false;
    bool gets_other = false;
    bool gets_device = false;
    bool gets_parameters = false; // and, if it has nothing else, is_given: as its call is given
    bool is_given = false;
    bool is_on_host = false;
    bool is_on_device = false;
    std::vector<unsigned> from, from_tests; // holders
    std::vector<unsigned> devices;          // among `from`: holders of its device
  };
  unsigned index(const DataHolder &holder);
  const Holder *find(const DataHolder &holder) const;

  std::map<std::pair<std::string, int>, unsigned> indices_;
  std::vector<Holder> holders_;
};

} // namespace devsan::analyzer
