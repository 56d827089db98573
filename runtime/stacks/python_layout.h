// Where a version of CPython keeps what a walk of its frames needs. Called by python_frames.cpp
// alone; allocates nothing, takes no lock and needs no GIL.
#pragma once

#include <cstddef>
#include <cstdint>

namespace devsan::runtime {

// In bytes, on 64-bit machines. kNone where a version has no such thing.
struct PythonLayout {
  static constexpr std::size_t kNone = std::size_t(-1);
  // PyThreadState::cframe, and _PyCFrame::current_frame; or the innermost frame, and kNone
  std::size_t thread_frame = kNone, cframe_current = kNone;
  // A frame: its code (a pointer with flags in its lowest bits), its caller, and the instruction
  // that runs: an address, or the instruction's index where code_instructions is kNone.
  std::size_t frame_code = kNone, frame_previous = kNone, frame_instruction = kNone;
  // Whether it is the outermost one of its native frame; kNone where a frame that no code belongs
  // to stands outside of that one, or, without frame_owner, where each is.
  std::size_t frame_is_entry = kNone, frame_owner = kNone;
  // PyCodeObject: co_firstlineno, co_filename, co_qualname (co_name before 3.11), co_linetable,
  // _co_firsttraceable, co_code_adaptive
  std::size_t code_first_line = kNone, code_file_name = kNone, code_qualified_name = kNone,
              code_lines = kNone, code_first_traceable = kNone, code_instructions = kNone;
  // A str: its length (the hash follows), its state and where in that the character's size is, and
  // the characters of ASCII and of others
  std::size_t text_length = 16, text_state = 32, ascii_data = 40, compact_data = 56;
  unsigned text_kind_bit = 2;
  std::size_t bytes_size = 16; // PyBytesObject::ob_size
};

// From the offsets that CPython 3.13 and later tell (_Py_DebugOffsets), those of 3.`minor`; all but
// text_kind_bit. False where they are of another version, of one before its release, of a build
// without a global lock from 3.14 on, or where a member lies outside of its struct.
bool readPythonOffsets(const std::uint64_t *words, int minor, PythonLayout &out);

// Of the interpreter in the process; false where its frames cannot be read.
bool findPythonLayout(int major, int minor, PythonLayout &out);

} // namespace devsan::runtime
