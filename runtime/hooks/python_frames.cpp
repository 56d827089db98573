#include "runtime/hooks/python_frames.h"

#include <atomic>
#include <cstring>
#include <dlfcn.h>
#include <link.h>

namespace devsan::runtime {
namespace {

// Where CPython 3.11 keeps what a walk needs, in bytes, on 64-bit machines; these did not change
// within 3.11.
namespace layout {
constexpr std::size_t kThreadCFrame = 56;     // PyThreadState::cframe
constexpr std::size_t kCFrameCurrent = 8;     // _PyCFrame::current_frame
constexpr std::size_t kFrameCode = 32;        // _PyInterpreterFrame::f_code
constexpr std::size_t kFramePrevious = 48;    // ::previous
constexpr std::size_t kFrameInstruction = 56; // ::prev_instr, the instruction that runs
constexpr std::size_t kFrameIsEntry =
    68;                                 // ::is_entry, the outermost frame of its C evaluation frame
constexpr std::size_t kFrameOwner = 69; // ::owner
constexpr char kOwnedByGenerator = 1;
constexpr std::size_t kCodeFileName = 112;       // PyCodeObject::co_filename
constexpr std::size_t kCodeQualifiedName = 128;  // ::co_qualname
constexpr std::size_t kCodeFirstTraceable = 168; // ::_co_firsttraceable
constexpr std::size_t kCodeInstructions = 184;   // ::co_code_adaptive
constexpr std::size_t kInstructionSize = 2;
constexpr std::size_t kTextLength = 16; // PyASCIIObject::length
constexpr std::size_t kTextState = 32;  // ::state: interned:2 kind:3 compact:1 ascii:1
constexpr std::size_t kAsciiData = 48;
constexpr std::size_t kCompactData = 72;
} // namespace layout

struct Interpreter {
  void *(*this_thread_state)() = nullptr;
  int (*line_of)(const void *code, int byte_offset) = nullptr;
  std::uintptr_t eval_begin = 0;
  std::uintptr_t eval_end = 0;
  std::uintptr_t image_begin = 0;
  std::uintptr_t image_end = 0;
};

Interpreter interpreter;
std::atomic<bool> found{false};

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
  if (!object)
    return {};
  auto length = read<std::int64_t>(object, layout::kTextLength);
  auto state = read<std::uint32_t>(object, layout::kTextState);
  bool compact = state >> 5 & 1, ascii = state >> 6 & 1;
  unsigned kind = state >> 2 & 7;
  if (!compact || length < 0)
    return {};
  if (ascii)
    return {object + layout::kAsciiData, std::size_t(length)};
  const char *data = object + layout::kCompactData;
  std::size_t begin = text.used;
  for (std::int64_t i = 0; i < length && text.used + 4 <= sizeof text.data; ++i) {
    std::uint32_t c = kind == 1   ? read<std::uint8_t>(data, std::size_t(i))
                      : kind == 2 ? read<std::uint16_t>(data, std::size_t(i) * 2)
                                  : read<std::uint32_t>(data, std::size_t(i) * 4);
    appendUtf8(text, c);
  }
  return {text.data + begin, text.used - begin};
}

} // namespace

bool findPython() {
  if (found.load(std::memory_order_acquire))
    return true;
  auto version = reinterpret_cast<const char *(*)()>(dlsym(RTLD_DEFAULT, "Py_GetVersion"));
  if (!version || std::strncmp(version(), "3.11.", 5) != 0 || sizeof(void *) != 8)
    return false;
  Interpreter candidate;
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
  auto *thread = static_cast<const char *>(interpreter.this_thread_state());
  if (!thread)
    return;
  if (auto *cframe = read<const char *>(thread, layout::kThreadCFrame))
    frame_ = read<const char *>(cframe, layout::kCFrameCurrent);
}

std::size_t PythonFrameWalker::next(PythonFrame *frames, std::size_t capacity, TextBuffer &text) {
  std::size_t count = 0;
  bool at_entry = false;
  while (frame_ && !at_entry) {
    const char *frame = frame_;
    at_entry = read<bool>(frame, layout::kFrameIsEntry);
    frame_ = read<const char *>(frame, layout::kFramePrevious);
    const char *code = read<const char *>(frame, layout::kFrameCode);
    auto instruction =
        read<const char *>(frame, layout::kFrameInstruction) - (code + layout::kCodeInstructions);
    // A frame that is still being set up has no line yet.
    bool incomplete = read<char>(frame, layout::kFrameOwner) != layout::kOwnedByGenerator &&
                      instruction < read<std::int32_t>(code, layout::kCodeFirstTraceable) *
                                        std::ptrdiff_t(layout::kInstructionSize);
    if (incomplete || count == capacity)
      continue;
    int line = interpreter.line_of(code, int(instruction));
    frames[count++] = {readText(read<const char *>(code, layout::kCodeFileName), text),
                       readText(read<const char *>(code, layout::kCodeQualifiedName), text),
                       std::uint32_t(line > 0 ? line : 0)};
  }
  return count;
}

} // namespace devsan::runtime
