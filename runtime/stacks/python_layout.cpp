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
  bool has_copies;
};
constexpr Places kPlaces[] = {
    {13, 23, 29, 35, 65, 68, false},
    {14, 26, 32, 40, 75, 78, true},
    {15, 26, 40, 48, 87, 90, true},
};

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

bool readOffsets(const Places &places, PythonLayout &out) {
  auto *words = static_cast<const std::uint64_t *>(dlsym(RTLD_DEFAULT, "_PyRuntime"));
  if (!words || std::memcmp(words, "xdebugpy", 8) != 0 ||
      int(words[1] >> 16 & 0xffff) != (3 << 8 | places.minor))
    return false;
  auto offset = [&](std::size_t place) { return std::size_t(words[place]); };
  const bool has_copies = places.has_copies && words[2] != 0;
  out = {};
  out.thread_frame = offset(places.thread_frame);
  out.frame_previous = offset(places.frame_previous);
  out.frame_code = offset(places.frame_previous + 1);
  out.frame_instruction = offset(places.frame_previous + 2);
  out.frame_owner = offset(places.frame_previous + 4);
  out.code_file_name = offset(places.code_file_name);
  out.code_qualified_name = offset(places.code_file_name + 2);
  out.code_lines = offset(places.code_file_name + 3);
  out.code_first_line = offset(places.code_file_name + 4);
  out.code_instructions = offset(places.code_file_name + 8);
  // The instructions are the last member. Before them are co_extra, and the copies where there are.
  out.code_first_traceable = out.code_instructions - 16;
  if (has_copies) {
    out.frame_copy = offset(places.frame_previous + 6);
    out.code_copies = offset(places.code_file_name + 9);
    out.code_first_traceable -= 8;
  }
  out.bytes_size = offset(places.bytes_size);
  out.text_state = offset(places.text_state);
  out.text_length = offset(places.text_state + 1);
  out.ascii_data = offset(places.text_state + 2);
  out.compact_data = out.ascii_data + 16; // utf8_length and utf8
  return findKindBit(out);
}

} // namespace

bool findPythonLayout(int major, int minor, PythonLayout &out) {
  if (sizeof(void *) != 8 || major != 3)
    return false;
  if (minor >= 10 && minor <= 12) {
    out = minor == 10 ? k310 : minor == 11 ? k311 : k312;
    return true;
  }
  const auto *places = std::ranges::find(kPlaces, minor, &Places::minor);
  return places != std::end(kPlaces) && readOffsets(*places, out);
}

} // namespace devsan::runtime
