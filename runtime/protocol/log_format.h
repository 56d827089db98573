// The event log of one process: the file that survives when the process is killed.
//
//   <log directory>/<pid>-<start time in ns>.devsanlog   the directory is given by DEVSAN_LOG_DIR
//
// The file is a FileHeader and then records, each starting at a multiple of 8 bytes with a
// RecordHeader. Writers reserve room with one atomic addition, write `size`, then the body, and
// publish the record by storing `kind` last; so a reader meets kind 0 for a record whose writer
// died or is still at work, and skips it by `size`; where `size` is 0 too it scans forward by 8
// bytes for the next header with kRecordMagic. The file grows by whole segments that are zero,
// which the header counts: a file without one of them was truncated. Everything is little-endian.
// Strings and stacks are interned: their ids count from 1 with gaps, the record says which id it
// has, the same content may come again under another id, and a record comes before (by offset) or
// at most concurrently with the first event that names it, so a reader resolves ids after reading
// the whole file. A kDropped record lies at the start of every file; it is unpublished while
// nothing was lost, and its number grows in place. Modules are written when the log starts, when a
// new stack is met after something was loaded, and at exit; a later record for the same addresses
// replaces an earlier one.
//
// Events are counted, so that a log is bounded however long a process runs. Equal events (see
// event_identity.h) have one kTally record, whose numbers grow in place and count all of them; the
// first ones are also written one by one as kSample records, after their tally, ends of steps
// always; where a trace is wanted later ones follow as kTraced records; all up to bounds. In which
// steps they came is kept as runs
// (step_run.h): the tally holds the last, kSteps records the earlier ones, up to a bound. Where
// there are too many different events, later ones are counted in tallies without a thread (0), then
// in ones without thread, stacks, operand and detail: sums stay exact. Where there are too many
// different strings or stacks, later ones have id 0.
#pragma once

#include "runtime/protocol/event.h"
#include "runtime/protocol/step_run.h"

#include <cstddef>
#include <cstdint>

namespace devsan::runtime {

inline constexpr std::uint64_t kLogMagic = 0x31474f4c53564544; // "DEVSLOG1"
inline constexpr std::uint16_t kRecordMagic = 0xd5a1;
// Of a stack, the innermost.
inline constexpr std::size_t kMaxFrames = 64;
inline constexpr std::size_t kSegmentSize = std::size_t{1} << 20;

enum class RecordKind : std::uint16_t {
  kUnfinished = 0,
  // 1 was an event of its own, until version 2
  kString = 2,  // StringRecord, then `length` bytes of UTF-8, not terminated
  kStack = 3,   // StackRecord, then `count` FrameRecords, innermost first
  kModule = 4,  // ModuleRecord, then `path_length` bytes of path
  kDropped = 5, // std::uint64_t: events that found no room (disk full)
  kEnd = 6,     // the process left through exit: no body
  kTally = 7,   // TallyRecord
  kSample = 8,  // SampleRecord
  kTraced = 9,  // SampleRecord
  kClock = 10,  // ClockRecord: before the first event that is written one by one, and each second
                // in which there are some
  kSteps = 11,  // StepsRecord
};

struct FileHeader {
  std::uint64_t magic = kLogMagic;
  std::uint32_t version = 5; // of this file and of event.h
  std::uint32_t pid = 0;
  std::uint32_t parent_pid = 0;
  std::int32_t rank =
      -1; // RANK of the environment, else that of the largest process group; -1: none
  std::uint64_t start_time_ns = 0; // CLOCK_REALTIME
  std::uint32_t simulated_devices = 0;
  // 1 where the process left through exit and had used none of them, or where nothing is simulated
  // and its LibTorch is for the CPU alone.
  std::uint16_t no_device_used = 0;
  // Kernels of the program that were launched and have no host implementation, where the process
  // left through exit.
  std::uint16_t kernels_without_effect = 0;
  // 0x030d where the process holds CPython 3.13 and the runtime cannot read its frames, else 0.
  std::uint32_t unreadable_python = 0;
  std::uint32_t segments = 0; // that the file has; 0: written by a DevSan that did not count them
};
static_assert(sizeof(FileHeader) == 48);

struct RecordHeader {
  std::uint16_t magic = kRecordMagic;
  std::uint16_t kind = 0; // RecordKind, stored last with release order
  std::uint32_t size = 0; // of header and body, a multiple of 8
};

// Written by any number of threads at once where the event has no thread, else by that thread
// alone. A process that is killed leaves at most one event per thread that is in `count` and not
// yet in the other numbers.
struct TallyRecord {
  Event first;
  std::uint64_t count = 0;
  std::uint64_t bytes = 0;
  std::uint64_t blocked_ns = 0;
  std::uint64_t largest = 0;      // bytes of one
  std::uint64_t in_last_step = 0; // the last step in the upper 32 bits, below how often in it
  std::uint64_t most_in_step = 0; // at most 2^32 - 1
  std::uint64_t steps = 0;        // distinct ones
  // The latest steps but for the last. Where there is a thread and no run found no room, the runs
  // and the last step make up all of `steps`.
  StepRun run;
};
static_assert(sizeof(TallyRecord) == 144);

// A run of a tally's steps that ended; in their order.
struct StepsRecord {
  std::uint64_t tally = 0; // the offset of the tally's record in the file
  StepRun run;
};

struct SampleRecord {
  std::uint64_t tally = 0; // the offset of the tally's record in the file
  std::uint64_t time_ns = 0;
  std::uint64_t blocked_ns = 0;
  std::uint64_t bytes = 0;
  std::uint64_t group = 0; // or Event::call_ns
  std::uint32_t step = 0;
  std::uint32_t reserved = 0;
};
static_assert(sizeof(SampleRecord) == 48);

// The same moment on both clocks, within a microsecond. They part where the time of day is set or
// the machine sleeps.
struct ClockRecord {
  std::uint64_t monotonic_ns = 0; // CLOCK_MONOTONIC, which is that of events
  std::uint64_t real_ns = 0;      // CLOCK_REALTIME
};

struct StringRecord {
  StringId id = 0;
  std::uint32_t length = 0;
};

struct StackRecord {
  StackId id = 0;
  std::uint32_t count = 0;
};

// A native frame has `file` 0 and `pc` the return address minus 1; an interpreted one has `file`,
// `function`, `line` and `pc` 0, and the offset of its instruction in the function's code, which
// tells two calls on one line apart. Python frames stand in call order where the interpreter's own
// evaluation frames were: each native frame of _PyEval_EvalFrameDefault is replaced by the Python
// frames that it ran, innermost first. The interpreter's other native frames are left out where it
// is a binary of its own (python3, libpython3.so).
struct FrameRecord {
  std::uint64_t pc = 0;
  StringId file = 0;
  StringId function = 0;
  std::uint32_t line = 0;
  std::uint32_t instruction = 0;
};
static_assert(sizeof(FrameRecord) == 24);

// `pc - base` is the address inside the file that a symbolizer wants (base is the load bias).
struct ModuleRecord {
  std::uint64_t base = 0;
  std::uint64_t begin = 0; // first mapped address
  std::uint64_t end = 0;   // one past the last
  std::uint32_t path_length = 0;
  std::uint32_t reserved = 0;
};

} // namespace devsan::runtime
