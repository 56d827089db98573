#include "runtime/stacks/python_frames.h"

#include "runtime/log/hash.h"
#include "runtime/stacks/python_layout.h"

#include <atomic>
#include <cstdio>
#include <cstring>
#include <dlfcn.h>
#include <link.h>

namespace devsan::runtime {
namespace {

using Layout = PythonLayout;
constexpr std::size_t kNone = Layout::kNone;

constexpr std::size_t kInstructionSize = 2;
constexpr char kOwnedByGenerator = 1;
constexpr char kOutside = 3; // this or more: no code belongs to it

struct Interpreter {
  Layout layout;
  void *(*this_thread_state)() = nullptr;
  int (*line_of)(const void *code, int byte_offset) = nullptr;
  std::uintptr_t eval_begin = 0;
  std::uintptr_t eval_end = 0;
  std::uintptr_t image_begin = 0;
  std::uintptr_t image_end = 0;
};

Interpreter interpreter;
std::atomic<bool> found{false};
std::atomic<std::uint32_t> unreadable{0};

// The mapped addresses of the interpreter, unless it is part of a program with another name, whose
// frames matter.
void findImage(Interpreter &out, const Dl_info &info) {
  const char *slash = std::strrchr(info.dli_fname, '/');
  const char *name = slash ? slash + 1 : info.dli_fname;
  if (std::strncmp(name, "python", 6) != 0 && std::strncmp(name, "libpython", 9) != 0)
    return;
  dl_iterate_phdr(
      [](dl_phdr_info *image, std::size_t, void *data) {
        auto &result = *static_cast<Interpreter *>(data);
        for (int i = 0; i < image->dlpi_phnum; ++i) {
          const auto &header = image->dlpi_phdr[i];
          std::uintptr_t begin = image->dlpi_addr + header.p_vaddr, end = begin + header.p_memsz;
          if (header.p_type == PT_LOAD && result.eval_begin >= begin && result.eval_begin < end) {
            result.image_begin = begin;
            result.image_end = end;
            return 1;
          }
        }
        return 0;
      },
      &out);
}

template <typename T> T read(const char *object, std::size_t offset) {
  T value;
  std::memcpy(&value, object + offset, sizeof value);
  return value;
}

void appendUtf8(PythonFrameWalker::TextBuffer &text, std::uint32_t c) {
  char *out = text.data + text.used;
  if (c < 0x80) {
    out[0] = char(c);
    text.used += 1;
  } else if (c < 0x800) {
    out[0] = char(0xc0 | c >> 6);
    out[1] = char(0x80 | (c & 0x3f));
    text.used += 2;
  } else if (c < 0x10000) {
    out[0] = char(0xe0 | c >> 12);
    out[1] = char(0x80 | (c >> 6 & 0x3f));
    out[2] = char(0x80 | (c & 0x3f));
    text.used += 3;
  } else {
    out[0] = char(0xf0 | c >> 18);
    out[1] = char(0x80 | (c >> 12 & 0x3f));
    out[2] = char(0x80 | (c >> 6 & 0x3f));
    out[3] = char(0x80 | (c & 0x3f));
    text.used += 4;
  }
}

std::string_view readText(const char *object, PythonFrameWalker::TextBuffer &text) {
  const Layout &layout = interpreter.layout;
  if (!object)
    return {};
  auto length = read<std::int64_t>(object, layout.text_length);
  // kind:3 compact:1 ascii:1
  auto state = read<std::uint32_t>(object, layout.text_state) >> layout.text_kind_bit;
  bool compact = state >> 3 & 1, ascii = state >> 4 & 1;
  unsigned kind = state & 7;
  if (!compact || length < 0)
    return {};
  if (ascii)
    return {object + layout.ascii_data, std::size_t(length)};
  const char *data = object + layout.compact_data;
  std::size_t begin = text.used;
  for (std::int64_t i = 0; i < length && text.used + 4 <= sizeof text.data; ++i) {
    std::uint32_t c = kind == 1   ? read<std::uint8_t>(data, std::size_t(i))
                      : kind == 2 ? read<std::uint16_t>(data, std::size_t(i) * 2)
                                  : read<std::uint32_t>(data, std::size_t(i) * 4);
    appendUtf8(text, c);
  }
  return {text.data + begin, text.used - begin};
}

// Equal for equal names, wherever they lie.
std::uint64_t nameIdentity(const char *text) {
  if (!text)
    return 0;
  const Layout &layout = interpreter.layout;
  // -1 until somebody asked for it.
  const auto hash = read<std::int64_t>(text, layout.text_length + sizeof(std::int64_t));
  if (hash != -1)
    return std::uint64_t(hash);
  // Data of ASCII, else partly its header: good enough.
  const char *data = text + layout.ascii_data;
  const auto length = read<std::int64_t>(text, layout.text_length);
  return hashBytes(data, std::size_t(length < 0 ? 0 : length));
}

// Null in a frame that is being made, or is cleared.
const char *codeOf(const char *frame, const Layout &layout) {
  constexpr std::uintptr_t kFlags = 3;
  return reinterpret_cast<const char *>(read<std::uintptr_t>(frame, layout.frame_code) & ~kFlags);
}

// In bytes from the beginning of the code.
std::ptrdiff_t instructionOf(const char *frame, const char *code, const Layout &layout) {
  if (layout.code_instructions == kNone)
    return std::ptrdiff_t(read<std::int32_t>(frame, layout.frame_instruction)) *
           std::ptrdiff_t(kInstructionSize);
  return read<const char *>(frame, layout.frame_instruction) - (code + layout.code_instructions);
}

// Still being set up: it has no line yet.
bool isIncomplete(const char *frame, const char *code, std::ptrdiff_t instruction,
                  const Layout &layout) {
  if (layout.code_first_traceable == kNone)
    return instruction < 0;
  return read<char>(frame, layout.frame_owner) != kOwnedByGenerator &&
         instruction < read<std::int32_t>(code, layout.code_first_traceable) *
                           std::ptrdiff_t(kInstructionSize);
}

bool isOutside(const char *frame, const Layout &layout) {
  return layout.frame_owner != kNone && read<char>(frame, layout.frame_owner) >= kOutside;
}

bool isEntry(const char *frame, const Layout &layout) {
  return layout.frame_is_entry != kNone ? read<bool>(frame, layout.frame_is_entry)
                                        : layout.frame_owner == kNone;
}

} // namespace

std::uint32_t unreadablePython() {
  return unreadable.load(std::memory_order_relaxed);
}

bool findPython() {
  if (found.load(std::memory_order_acquire))
    return true;
  auto version = reinterpret_cast<const char *(*)()>(dlsym(RTLD_DEFAULT, "Py_GetVersion"));
  int major = 0, minor = 0;
  if (!version || std::sscanf(version(), "%d.%d", &major, &minor) != 2)
    return false;
  Interpreter candidate;
  if (!findPythonLayout(major, minor, candidate.layout)) {
    unreadable.store(std::uint32_t(major << 8 | minor), std::memory_order_relaxed);
    return false;
  }
  candidate.this_thread_state =
      reinterpret_cast<void *(*)()>(dlsym(RTLD_DEFAULT, "PyGILState_GetThisThreadState"));
  candidate.line_of =
      reinterpret_cast<int (*)(const void *, int)>(dlsym(RTLD_DEFAULT, "PyCode_Addr2Line"));
  void *eval = dlsym(RTLD_DEFAULT, "_PyEval_EvalFrameDefault");
  Dl_info info;
  const ElfW(Sym) *symbol = nullptr;
  if (!candidate.this_thread_state || !candidate.line_of || !eval ||
      !dladdr1(eval, &info, reinterpret_cast<void **>(const_cast<ElfW(Sym) **>(&symbol)),
               RTLD_DL_SYMENT) ||
      !symbol)
    return false;
  candidate.eval_begin = reinterpret_cast<std::uintptr_t>(eval);
  candidate.eval_end = candidate.eval_begin + symbol->st_size;
  findImage(candidate, info);
  // Two threads that come here at once write the same values.
  interpreter = candidate;
  found.store(true, std::memory_order_release);
  return true;
}

bool isEvaluationFrame(std::uintptr_t pc) {
  return found.load(std::memory_order_acquire) && pc >= interpreter.eval_begin &&
         pc < interpreter.eval_end;
}

bool isInterpreterHelper(std::uintptr_t pc) {
  return found.load(std::memory_order_acquire) && pc >= interpreter.image_begin &&
         pc < interpreter.image_end && !isEvaluationFrame(pc);
}

PythonFrameWalker::PythonFrameWalker() {
  if (!found.load(std::memory_order_acquire))
    return;
  const Layout &layout = interpreter.layout;
  auto *thread = static_cast<const char *>(interpreter.this_thread_state());
  if (!thread)
    return;
  frame_ = read<const char *>(thread, layout.thread_frame);
  if (frame_ && layout.cframe_current != kNone)
    frame_ = read<const char *>(frame_, layout.cframe_current);
}

std::uint64_t PythonFrameWalker::identity(std::uint64_t seed, std::size_t most) const {
  if (!frame_)
    return seed;
  const Layout &layout = interpreter.layout;
  std::uint64_t hash = seed;
  for (const char *frame = frame_; frame && most > 0;
       --most, frame = read<const char *>(frame, layout.frame_previous)) {
    const char *code = isOutside(frame, layout) ? nullptr : codeOf(frame, layout);
    if (!code) {
      hash = mix(hash ^ kHashOdd1, kHashOdd2);
      continue;
    }
    const char *lines = read<const char *>(code, layout.code_lines);
    // The instruction's address tells the code's.
    const std::uint64_t words[] = {
        read<std::uint64_t>(frame, layout.frame_instruction),
        nameIdentity(read<const char *>(code, layout.code_file_name)),
        nameIdentity(read<const char *>(code, layout.code_qualified_name)),
        reinterpret_cast<std::uintptr_t>(lines) ^ read<std::uint64_t>(lines, layout.bytes_size)
                                                      << 48,
        std::uint64_t(read<std::uint32_t>(code, layout.code_first_line)) << 16 |
            std::uint64_t(isEntry(frame, layout)) << 8 |
            (layout.frame_owner == kNone ? 0 : read<std::uint8_t>(frame, layout.frame_owner))};
    hash = hashWords(words, hash);
  }
  return hash;
}

std::size_t PythonFrameWalker::next(PythonFrame *frames, std::size_t capacity, TextBuffer &text) {
  std::size_t count = 0;
  bool at_entry = false;
  while (frame_ && !at_entry) {
    const Layout &layout = interpreter.layout;
    const char *frame = frame_;
    frame_ = read<const char *>(frame, layout.frame_previous);
    if (isOutside(frame, layout))
      break;
    at_entry = isEntry(frame, layout);
    const char *code = codeOf(frame, layout);
    if (!code)
      continue;
    const std::ptrdiff_t instruction = instructionOf(frame, code, layout);
    if (isIncomplete(frame, code, instruction, layout) || count == capacity)
      continue;
    int line = interpreter.line_of(code, int(instruction));
    frames[count++] = {readText(read<const char *>(code, layout.code_file_name), text),
                       readText(read<const char *>(code, layout.code_qualified_name), text),
                       std::uint32_t(line > 0 ? line : 0),
                       std::uint32_t(instruction > 0 ? instruction : 0)};
  }
  // From 3.14 on a thread's first frame is one that nothing runs.
  if (frame_ && isOutside(frame_, interpreter.layout) &&
      !read<const char *>(frame_, interpreter.layout.frame_previous))
    frame_ = nullptr;
  return count;
}

} // namespace devsan::runtime
