// What a rule says: data, with handles for places. The adapter for clang-tidy
// (analyzer/answers/facts_check.h) makes text and fix-its of it.
#pragma once

#include "analyzer/facts/handle.h"

#include <cstdint>
#include <optional>
#include <string>
#include <tuple>
#include <vector>

namespace devsan::analyzer {

// A parameter, a member, or what a function returns: what tensors pass through on their way from
// one file of a program to another.
struct DataHolder {
  std::string usr;    // of the function or member: clang's name for a declaration across files
  int parameter = -1; // index of the function's parameter
  std::string name;   // of the function or member, without its scope
  std::string owner;  // the member's class, whose aggregates set it without its name
  std::string place;  // "file:line" of the function's body or of the member, where it is known

  // Whatever file tells of it.
  auto key() const { return std::tie(usr, parameter); }
};

// A part of a fix. Rules get it from Program by what it is to do, and hand it on.
struct Edit {
  std::uint32_t begin = 0, end = 0; // of what it replaces, as the front end counts
  bool by_token = false;            // `end` is where the last token begins
  std::string text;                 // that it puts there
};
using Edits = std::vector<Edit>;

// What the rest of the program has to do for a finding to hold.
enum class Needs {
  kNothing,
  kDevice,            // something lies on another device than the CPU
  kDeviceData,        // and so do the data, of which the file tells nothing
  kOtherDevice,       // not only on the first one
  kOtherDeviceOrHost, // the same, or on the one that a setting says, or the machine has
  kOtherStream,       // not all work is on the default streams
  kOtherCaller,       // the same as kDevice, and others than constructors call the function
  kForeignFile,       // something lies on a device, and others save what the program loads
};

struct RuleFinding {
  struct Note {
    Code code = {}; // or
    Variable variable = {};
    std::string message = {};
  };

  Code at = {}; // the first finding of a rule about it counts; or
  Variable at_variable = {};
  std::uint32_t at_position = 0; // in a macro, of which `at` is a use
  std::string message;
  // As at run time: "aten::item", "ns::kernel"; "cpu", "cuda:1", "cuda" where the index is that of
  // the current device. Empty where the facts do not tell.
  std::string op = {};
  std::string from = {};   // the device that the data is on
  std::string to = {};     // the one that it comes to, or that the others are on
  std::string remedy = {}; // where the rule's own does not fit
  std::vector<Note> related = {};
  Edits fix = {};
  std::string caution = {}; // what the fix changes beside the code: it is made only when asked for
  Needs needs = Needs::kNothing;
  // What a program does so with its own data, it wants: only others, who call a library, may not.
  bool is_for_libraries = false;
  // The finding holds only where others do: USR of a function of another file that has to launch,
  // USRs of functions of which a function with tensors has to call one.
  std::string launcher = {};
  std::vector<std::string> servants = {};
  // USRs of functions of which one has to run on every step of the program.
  std::vector<std::string> steps = {};
  // Or only where what this holds is not on the host.
  std::optional<DataHolder> holder = {};
};
using Findings = std::vector<RuleFinding>;

} // namespace devsan::analyzer
