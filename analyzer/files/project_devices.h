// Whether a project is a program that has nothing on any device but the CPU, told from the words of
// its files: where nobody names another device, no tensor lies on one.
#pragma once

#include <map>
#include <string>

#include <llvm/ADT/StringRef.h>

namespace devsan::analyzer {

// What the text of one file says; comments aside.
struct DeviceWords {
  bool names_device = false; // `kCUDA`, `"mps"`, `Device(argv[1])`
  bool has_main = false;
  bool is_library = false; // registers operators, or is bound to Python
};
DeviceWords deviceWordsIn(llvm::StringRef text);

class ProjectDevices {
public:
  // Of the project of `file`, by all of its sources and headers; false for a lone file.
  bool isOnHostOnly(const std::string &file);

private:
  std::map<std::string, bool> by_root_;
};

} // namespace devsan::analyzer
