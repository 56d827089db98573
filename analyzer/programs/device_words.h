// What the words of one file say about the devices and streams that its program uses. Comments say
// nothing. What is not understood may be anything: of what uses nothing, all is known.
#pragma once

#include <string>
#include <vector>

#include <llvm/ADT/StringRef.h>

namespace devsan::analyzer {

struct DeviceUse {
  bool any = false;            // `kCUDA`, `"mps"`, `Device(argv[1])`
  bool host_or_other = false;  // the one or the other, as the machine has it: `is_available()`
  bool other_kind = false;     // than CUDA: `kMPS`
  bool second = false;         // not the first of its kind: `"cuda:1"`, `Device(kCUDA, rank)`
  bool told = false;           // whatever a text says when it runs: `Device(argv[1])`
  bool stream = false;         // not the default one: `getStreamFromPool()`
  bool saves = false;          // modules or tensors, to files
  bool from_elsewhere = false; // data come from others than the program: it is a library

  // A program has both; what is told of both is true of each.
  DeviceUse operator|(const DeviceUse &other) const;
  DeviceUse operator&(const DeviceUse &other) const;
  static DeviceUse all() { return {true, true, true, true, true, true, true, true}; }
  // Whoever calls this from elsewhere has devices and streams of its own.
  void chooseAny() { host_or_other = other_kind = second = told = stream = from_elsewhere = true; }
};

struct DeviceWords {
  DeviceUse use;
  bool has_main = false;
  bool is_library = false; // registers operators, or is bound to Python
  // Names of texts that may name a device, and of members that tensors are brought to.
  std::vector<std::string> texts_of_devices, targets;
  bool names_torch = false, names_gpu = false;
  bool is_for_others = false;             // exports something
  std::vector<std::string> export_macros; // that may mark what is for others
  std::vector<std::string> includes;
  bool includes_unknown = false; // by a macro, or as a module
};
DeviceWords deviceWordsIn(llvm::StringRef text);

} // namespace devsan::analyzer
