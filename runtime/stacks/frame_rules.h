// How to get from a return address to the caller's frame: the part of DWARF's call frame
// information that compilers emit for ordinary functions on x86-64, read from .eh_frame. Any
// thread; nothing is allocated. No LibTorch in here.
#pragma once

#include <cstdint>

namespace devsan::runtime {

struct FrameRule {
  enum Kind : std::uint8_t {
    kUnknown,   // what this reader does not know, such as frames of signals
    kFromRsp,   // the frame's end is rsp + `offset`
    kFromRbp,   // the frame's end is rbp + `offset`
    kFromSaved, // the frame's end is kept at rbp + `offset`, the caller's rbp at rbp: a function
                // that aligns its stack for vector registers
    kEnd,       // nobody called this function
  };
  static constexpr std::int32_t kRbpKept = 1; // no offset is odd

  Kind kind = kUnknown;
  std::int32_t offset = 0;
  std::int32_t caller_rbp = kRbpKept; // where the caller's rbp is saved, from the frame's end

  bool operator==(const FrameRule &) const = default;
};

// For the instruction at `pc`, which must lie in mapped code.
FrameRule frameRuleAt(std::uintptr_t pc);

// The same for given call frame information, for tests: the rule `offset` bytes into the function
// of the description entry at `fde`.
FrameRule frameRuleOf(const unsigned char *fde, std::uint64_t offset);

} // namespace devsan::runtime
