// For python_frames_test.py: the walker alone, in any interpreter.
#include "runtime/stacks/python_frames.h"
#include "runtime/stacks/python_layout.h"

#include <cstdio>

// The calling thread's frames, one a line: "file:line function instruction", an empty line after
// each native frame's; returns how many bytes there are, -1 where the interpreter cannot be read.
extern "C" __attribute__((visibility("default"))) int devsan_probe_frames(char *out, int size) {
  using namespace devsan::runtime;
  if (!findPython())
    return -1;
  PythonFrameWalker walker;
  PythonFrameWalker::TextBuffer text;
  int used = 0;
  while (!walker.atEnd() && used < size) {
    PythonFrame frames[64];
    const std::size_t count = walker.next(frames, 64, text);
    for (std::size_t i = 0; i < count && used < size; ++i)
      used += std::snprintf(out + used, std::size_t(size - used), "%.*s:%u %.*s %u\n",
                            int(frames[i].file.size()), frames[i].file.data(), frames[i].line,
                            int(frames[i].function.size()), frames[i].function.data(),
                            frames[i].instruction);
    if (used < size)
      used += std::snprintf(out + used, std::size_t(size - used), "\n");
  }
  return used;
}

extern "C" __attribute__((visibility("default"))) unsigned long long devsan_probe_identity() {
  using namespace devsan::runtime;
  return findPython() ? PythonFrameWalker().identity(1, 1000) : 0;
}

extern "C" __attribute__((visibility("default"))) const char *devsan_probe_readable() {
  return devsan::runtime::kReadablePythons.data();
}

extern "C" __attribute__((visibility("default"))) bool
devsan_probe_reads_offsets(const unsigned long long *words, int minor) {
  devsan::runtime::PythonLayout layout;
  return devsan::runtime::readPythonOffsets(reinterpret_cast<const std::uint64_t *>(words), minor,
                                            layout);
}
