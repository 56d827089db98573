// Whether a file belongs to programs that have nothing on any device but the CPU, told from the
// words of their files: where nobody names another device, no tensor lies on one.
#pragma once

#include <map>
#include <string>
#include <vector>

#include <llvm/ADT/StringMap.h>
#include <llvm/ADT/StringRef.h>

namespace devsan::analyzer {

// What the text of one file says; comments aside.
struct DeviceWords {
  bool names_device = false; // `kCUDA`, `"mps"`, `Device(argv[1])`
  bool has_main = false;
  bool is_library = false; // registers operators, or is bound to Python
  std::vector<std::string> includes;
  bool includes_unknown = false; // by a macro, or as a module
};
DeviceWords deviceWordsIn(llvm::StringRef text);

class ProjectDevices {
public:
  // Of the project of `file`, by all of its sources and headers, or of each program in it that the
  // file is a part of; false for a lone file.
  bool isOnHostOnly(const std::string &file);

private:
  struct File {
    std::string path;
    DeviceWords words;
    bool is_header = false;
    std::vector<unsigned> includes;
    std::vector<unsigned> included_by; // of a header: files without main()
  };
  struct Project {
    bool is_read = false; // else it is too large, or called from elsewhere
    bool is_on_host_only = false;
    std::vector<File> files;
    llvm::StringMap<std::vector<unsigned>> by_name; // without their folders
    // Of each program, whether it is on the host only, and its files.
    std::vector<std::pair<bool, std::vector<unsigned>>> programs;

    void link();
    std::vector<unsigned> included(const File &by, const std::string &spelling) const;
    void addProgram(unsigned main);
  };
  static Project read(const std::string &root);

  std::map<std::string, Project> by_root_;
};

} // namespace devsan::analyzer
