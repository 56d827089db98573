#include "runtime/stacks/python_frames.h"

#include "runtime/log/hash.h"

#include <atomic>
#include <cstdio>
#include <cstring>
#include <dlfcn.h>
#include <link.h>

namespace devsan::runtime {
namespace {

// Where a version of CPython keeps what a walk needs, in bytes, on 64-bit machines. These do not
// change within a minor version.
constexpr std::size_t kNone = std::size_t(-1);
struct Layout {
  int major, minor;
  // PyThreadState::cframe, and _PyCFrame::current_frame; or PyThreadState::current_frame, and kNone
  std::size_t thread_frame, cframe_current;
  // _PyInterpreterFrame: f_code or f_executable, previous, prev_instr or instr_ptr (the instruction
  // that runs), is_entry (the outermost frame of its C evaluation frame), owner. Where there is no
  // is_entry, a frame that no code belongs to stands outside of that one; the C stack owns it.
  std::size_t frame_code, frame_previous, frame_instruction, frame_is_entry, frame_owner;
  char owned_by_generator, owned_by_c_stack;
  // PyCodeObject: co_firstlineno, co_filename, co_qualname, co_linetable, _co_firsttraceable,
  // co_code_adaptive
  std::size_t code_first_line, code_file_name, code_qualified_name, code_lines,
      code_first_traceable, code_instructions;
  // The characters of a str: of ASCII, and of others
  std::size_t ascii_data, compact_data;
};

constexpr Layout kLayouts[] = {
    {3, 11, 56, 8, 32, 48, 56, 68, 69, 1, -1, 72, 112, 128, 136, 168, 184, 48, 72},
    {3, 12, 56, 0, 0, 8, 56, kNone, 70, 1, 3, 68, 112, 128, 136, 176, 192, 40, 56},
    {3, 13, 72, kNone, 0, 8, 56, kNone, 70, 1, 3, 68, 112, 128, 136, 184, 200, 40, 56},
};

// What is the same in all of them.
constexpr std::size_t kInstructionSize = 2;
constexpr std::size_t kBytesSize = 16;  // PyBytesObject::ob_size
constexpr std::size_t kTextLength = 16; // PyASCIIObject::length
constexpr std::size_t kTextHash = 24;   // ::hash, -1 until somebody asked for it
constexpr std::size_t kTextState = 32;  // ::state: interned:2 kind:3 compact:1 ascii:1

struct Interpreter {
  const Layout *layout = nullptr;
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
  const Layout &layout = *interpreter.layout;
  if (!object)
    return {};
  auto length = read<std::int64_t>(object, kTextLength);
  auto state = read<std::uint32_t>(object, kTextState);
  bool compact = state >> 5 & 1, ascii = state >> 6 & 1;
  unsigned kind = state >> 2 & 7;
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
  const auto hash = read<std::int64_t>(text, kTextHash);
  if (hash != -1)
    return std::uint64_t(hash);
  // Data of ASCII, else partly its header: good enough.
  const char *data = text + interpreter.layout->ascii_data;
  const auto length = read<std::int64_t>(text, kTextLength);
  return hashBytes(data, std::size_t(length < 0 ? 0 : length));
}

const Layout *layoutOf(int major, int minor) {
  for (const Layout &layout : kLayouts)
    if (layout.major == major && layout.minor == minor)
      return &layout;
  return nullptr;
}

bool isOutside(const char *frame, const Layout &layout) {
  return read<char>(frame, layout.frame_owner) == layout.owned_by_c_stack;
}

bool isEntry(const char *frame, const Layout &layout) {
  return layout.frame_is_entry != kNone && read<bool>(frame, layout.frame_is_entry);
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
  // Without a global lock, objects have other headers.
  const bool is_free_threaded = std::strstr(version(), "free-threading") != nullptr;
  candidate.layout = sizeof(void *) == 8 && !is_free_threaded ? layoutOf(major, minor) : nullptr;
  if (!candidate.layout) {
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
  const Layout &layout = *interpreter.layout;
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
  const Layout &layout = *interpreter.layout;
  std::uint64_t hash = seed;
  for (const char *frame = frame_; frame && most > 0;
       --most, frame = read<const char *>(frame, layout.frame_previous)) {
    if (isOutside(frame, layout)) {
      hash = mix(hash ^ kHashOdd1, kHashOdd2);
      continue;
    }
    const char *code = read<const char *>(frame, layout.frame_code);
    const char *lines = read<const char *>(code, layout.code_lines);
    // The instruction's address tells the code's.
    const std::uint64_t words[] = {
        read<std::uint64_t>(frame, layout.frame_instruction),
        nameIdentity(read<const char *>(code, layout.code_file_name)),
        nameIdentity(read<const char *>(code, layout.code_qualified_name)),
        reinterpret_cast<std::uintptr_t>(lines) ^ read<std::uint64_t>(lines, kBytesSize) << 48,
        std::uint64_t(read<std::uint32_t>(code, layout.code_first_line)) << 16 |
            std::uint64_t(isEntry(frame, layout)) << 8 |
            read<std::uint8_t>(frame, layout.frame_owner)};
    hash = hashWords(words, hash);
  }
  return hash;
}

std::size_t PythonFrameWalker::next(PythonFrame *frames, std::size_t capacity, TextBuffer &text) {
  std::size_t count = 0;
  bool at_entry = false;
  while (frame_ && !at_entry) {
    const Layout &layout = *interpreter.layout;
    const char *frame = frame_;
    frame_ = read<const char *>(frame, layout.frame_previous);
    if (isOutside(frame, layout))
      break;
    at_entry = isEntry(frame, layout);
    const char *code = read<const char *>(frame, layout.frame_code);
    auto instruction =
        read<const char *>(frame, layout.frame_instruction) - (code + layout.code_instructions);
    // A frame that is still being set up has no line yet.
    bool incomplete = read<char>(frame, layout.frame_owner) != layout.owned_by_generator &&
                      instruction < read<std::int32_t>(code, layout.code_first_traceable) *
                                        std::ptrdiff_t(kInstructionSize);
    if (incomplete || count == capacity)
      continue;
    int line = interpreter.line_of(code, int(instruction));
    frames[count++] = {readText(read<const char *>(code, layout.code_file_name), text),
                       readText(read<const char *>(code, layout.code_qualified_name), text),
                       std::uint32_t(line > 0 ? line : 0),
                       std::uint32_t(instruction > 0 ? instruction : 0)};
  }
  return count;
}

} // namespace devsan::runtime
