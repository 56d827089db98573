// Which devices and streams the programs of a file may use, told from the words of all their files:
// where nobody names another device than the CPU, no tensor lies on one.
#pragma once

#include "analyzer/files/device_words.h"

#include <map>
#include <string>
#include <vector>

#include <llvm/ADT/StringMap.h>

namespace devsan::analyzer {

class ProjectDevices {
public:
  // Of the project of `file`, by all of its sources and headers, or of the programs in it that the
  // file is a part of; anything for a lone file.
  DeviceUse useAround(const std::string &file);

private:
  struct File {
    std::string path;
    DeviceWords words;
    bool is_header = false;
    std::vector<unsigned> includes;
    std::vector<unsigned> included_by; // of a header: files without main()
    DeviceUse use_of_programs;         // that it is a part of
    bool is_part = false;
  };
  struct Project {
    DeviceUse use = DeviceUse::all(); // too large, or called from elsewhere
    std::vector<File> files;
    llvm::StringMap<unsigned> by_path;
    llvm::StringMap<std::vector<unsigned>> by_name; // without their folders
    // What each program uses, and its files.
    std::vector<std::pair<DeviceUse, std::vector<unsigned>>> programs;

    void link();
    std::vector<unsigned> included(const File &by, const std::string &spelling) const;
    std::size_t addProgram(unsigned main);
  };
  static Project read(const std::string &root);

  std::map<std::string, Project> by_root_;
};

} // namespace devsan::analyzer
