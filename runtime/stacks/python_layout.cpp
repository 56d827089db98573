#include "runtime/stacks/python_layout.h"

#include <algorithm>
#include <bit>
#include <cstdint>
#include <cstring>
#include <dlfcn.h>
#include <iterator>

namespace devsan::runtime {
namespace {

// Versions that do not tell their offsets. They do not change within one.
constexpr PythonLayout k310 = {.thread_frame = 24,
                               .frame_code = 32,
                               .frame_previous = 24,
                               .frame_instruction = 96,
                               .code_first_line = 40,
                               .code_file_name = 104,
                               .code_qualified_name = 112,
                               .code_lines = 120,
                               .ascii_data = 48,
                               .compact_data = 72};
constexpr PythonLayout k311 = {.thread_frame = 56,
                               .cframe_current = 8,
                               .frame_code = 32,
                               .frame_previous = 48,
                               .frame_instruction = 56,
                               .frame_is_entry = 68,
                               .frame_owner = 69,
                               .code_first_line = 72,
                               .code_file_name = 112,
                               .code_qualified_name = 128,
                               .code_lines = 136,
                               .code_first_traceable = 168,
                               .code_instructions = 184,
                               .ascii_data = 48,
                               .compact_data = 72};
constexpr PythonLayout k312 = {.thread_frame = 56,
                               .cframe_current = 0,
                               .frame_code = 0,
                               .frame_previous = 8,
                               .frame_instruction = 56,
                               .frame_owner = 70,
                               .code_first_line = 68,
                               .code_file_name = 112,
                               .code_qualified_name = 128,
                               .code_lines = 136,
                               .code_first_traceable = 176,
                               .code_instructions = 192};

// From 3.13 on _PyRuntime begins with the offsets: _Py_DebugOffsets, words whose meaning each
// version has in another order. These are the places, in words, of PyThreadState's current_frame,
// of _PyInterpreterFrame's, PyCodeObject's, PyBytesObject's and PyASCIIObject's first member there
// that is of use; those that follow it are the same.
struct Places {
  int minor;
  std::size_t thread_frame, frame_previous, code_file_name, bytes_size, text_state;
};
constexpr Places kPlaces[] = {
    {13, 23, 29, 35, 65, 68},
    {14, 26, 32, 40, 75, 78},
    {15, 26, 40, 48, 87, 90},
};
// Without a global lock these ask for the thread state to tell a line (PyCode_Addr2Line), and
// LibTorch has given it back where the frames are walked.
constexpr int kFirstWithoutLock = 14;

// Which bit of a str's state the size of its characters begins at: that differs between builds of
// one version. 'a' is in the interpreter's image, nothing is made for it.
bool findKindBit(PythonLayout &layout) {
  auto character =
      reinterpret_cast<const char *(*)(int)>(dlsym(RTLD_DEFAULT, "PyUnicode_FromOrdinal"));
  const char *text = character ? character('a') : nullptr;
  if (!text)
    return false;
  std::uint32_t state;
  std::memcpy(&state, text + layout.text_state, sizeof state);
  constexpr std::uint32_t kInterned = 3, kOneByteCompactAscii = 1 | 1 << 3 | 1 << 4;
  state &= ~kInterned;
  layout.text_kind_bit = unsigned(std::countr_zero(state));
  return layout.text_kind_bit < 32 &&
         (state >> layout.text_kind_bit & kOneByteCompactAscii) == kOneByteCompactAscii;
}

} // namespace

bool readPythonOffsets(const std::uint64_t *words, int minor, PythonLayout &out) {
  const auto *places = std::ranges::find(kPlaces, minor, &Places::minor);
  if (places == std::end(kPlaces) || !words || std::memcmp(words, "xdebugpy", 8) != 0)
    return false;
  constexpr std::uint64_t kReleased = 0xf; // in its hexversion: neither alpha, beta nor candidate
  if (words[1] >> 16 != (3 << 8 | std::uint64_t(minor)) || (words[1] >> 4 & 0xf) != kReleased ||
      (words[2] != 0 && minor >= kFirstWithoutLock))
    return false;
  bool fits = true;
  // Of a member of a struct whose size is in word `size`.
  const auto offset = [&](std::size_t size, std::size_t place, std::size_t member) {
    constexpr std::uint64_t kLargest = 4096;
    fits &= words[size] < kLargest && words[place] <= words[size] &&
            member <= words[size] - words[place] && words[place] % member == 0;
    return std::size_t(words[place]);
  };
  constexpr std::size_t kPointer = sizeof(void *);
  const std::size_t thread = places->thread_frame - 4, frame = places->frame_previous - 1,
                    code = places->code_file_name - 1, bytes = places->bytes_size - 1,
                    text = places->text_state - 1;
  out = {};
  out.thread_frame = offset(thread, thread + 4, kPointer);
  out.frame_previous = offset(frame, frame + 1, kPointer);
  out.frame_code = offset(frame, frame + 2, kPointer);
  out.frame_instruction = offset(frame, frame + 3, kPointer);
  out.frame_owner = offset(frame, frame + 5, sizeof(char));
  out.code_file_name = offset(code, code + 1, kPointer);
  out.code_qualified_name = offset(code, code + 3, kPointer);
  out.code_lines = offset(code, code + 4, kPointer);
  out.code_first_line = offset(code, code + 5, sizeof(int));
  out.code_instructions = offset(code, code + 9, kPointer);
  fits &= out.code_instructions >= 24;
  // The instructions are the last member. Before them is co_extra.
  out.code_first_traceable = out.code_instructions - 16;
  out.bytes_size = offset(bytes, bytes + 1, sizeof(std::int64_t));
  out.text_state = offset(text, text + 1, sizeof(std::uint32_t));
  out.text_length = offset(text, text + 2, sizeof(std::int64_t));
  out.ascii_data = offset(text, text + 3, kPointer);
  out.compact_data = out.ascii_data + 16; // utf8_length and utf8
  return fits && out.compact_data <= words[text];
}

bool findPythonLayout(int major, int minor, PythonLayout &out) {
  if (sizeof(void *) != 8 || major != 3)
    return false;
  if (minor >= 10 && minor <= 12) {
    out = minor == 10 ? k310 : minor == 11 ? k311 : k312;
    return true;
  }
  return readPythonOffsets(static_cast<const std::uint64_t *>(dlsym(RTLD_DEFAULT, "_PyRuntime")),
                           minor, out) &&
         findKindBit(out);
}

} // namespace devsan::runtime
