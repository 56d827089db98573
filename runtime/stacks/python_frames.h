// The Python frames of the calling thread. The interpreter is found by its symbols, because it may
// be the executable itself; no Python header is needed to build this. Works without the GIL: only
// frames of the own thread are read, no reference is taken, nothing is allocated.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string_view>

namespace devsan::runtime {

struct PythonFrame {
  std::string_view file;
  std::string_view function;
  std::uint32_t line = 0;
  std::uint32_t instruction = 0; // bytes from the beginning of the function's code
};

// The versions of CPython whose frames can be read, as `devsan doctor` names them.
inline constexpr std::string_view kReadablePythons = "3.10 to 3.15";

// Looks for an interpreter in the process. True once one is found whose frames can be read: those
// of a version that python_layout.cpp knows.
bool findPython();

// 0x030d where the process holds CPython 3.13 and its frames cannot be read, else 0.
std::uint32_t unreadablePython();

// The address range of the interpreter's evaluation function; a native frame inside it runs Python
// frames.
bool isEvaluationFrame(std::uintptr_t pc);

// A native frame of the interpreter itself, of no interest to a reader, where the interpreter is a
// binary of its own.
bool isInterpreterHelper(std::uintptr_t pc);

// Walks the calling thread's Python frames, innermost first.
class PythonFrameWalker {
public:
  PythonFrameWalker();
  bool atEnd() const { return frame_ == nullptr; }

  // A hash of the frames, of the innermost `most` in a deep recursion: which code, at which
  // instruction, in the frames of which native ones.
  // The address of a code object that was freed may come again with another one; names, first line
  // and tables of lines tell those apart, without a reference to them.
  std::uint64_t identity(std::uint64_t seed, std::size_t most) const;

  // Writes the frames that one native evaluation frame runs, at most `capacity`, and returns how
  // many. `text` is room for names that are not plain ASCII; it must outlive the frames.
  struct TextBuffer {
    char data[4096];
    std::size_t used = 0;
  };
  std::size_t next(PythonFrame *frames, std::size_t capacity, TextBuffer &text);

private:
  const char *frame_ = nullptr;
};

} // namespace devsan::runtime
