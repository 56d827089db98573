// Whose code a stack frame is. "User" is everything that is not known to be somebody else's: a
// library on top of LibTorch is the user's code in this sense.
#pragma once

#include <string_view>

namespace devsan::runtime {

enum class FrameKind {
  kUser,
  kTorch,       // LibTorch, its headers inlined into the program, torch's Python package
  kInterpreter, // Python's own C frames
  kSystem,      // C and C++ libraries, Python's standard library
  kDevSan,
};

// `function` is a qualified name (see function_name.h), `file` is empty where unknown.
FrameKind nativeFrameKind(std::string_view module, std::string_view function,
                          std::string_view file);
FrameKind pythonFrameKind(std::string_view file);

// The kind that the module alone decides, for modules in which no frame can be of another kind.
bool moduleIsOpaque(std::string_view module);

} // namespace devsan::runtime
