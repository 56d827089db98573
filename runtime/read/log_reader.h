// Reads the event log of one process (see runtime/protocol/log_format.h). A log may end anywhere,
// hold records that were never finished, or be damaged: what can be read is read, and the rest is
// named with file and offset. Nothing in a log is trusted: sizes are bounds-checked, ids are keys
// and never indices.
#pragma once

#include "core/system/result.h"
#include "runtime/protocol/log_format.h"
#include "runtime/read/occurrences.h"

#include <cstddef>
#include <filesystem>
#include <memory>
#include <span>
#include <string>
#include <unordered_map>
#include <vector>

namespace devsan::runtime {

struct Module {
  std::uint64_t base = 0;
  std::uint64_t begin = 0;
  std::uint64_t end = 0;
  std::string path;
};

// All events that differ only in when they happened and what they cost.
struct Tally {
  Event first;
  Occurrences occurrences;
};

// An event of its own, as traces want it.
struct TimedEvent {
  std::uint64_t time_ns = 0; // CLOCK_MONOTONIC at its end
  std::uint64_t call_ns = 0; // see Event::call_ns
  std::uint64_t blocked_ns = 0;
  std::uint64_t bytes = 0;
  std::uint32_t tally = 0; // index
  std::uint32_t step = 0;
};

// When a step ended, as kStep events tell it.
struct StepEnd {
  std::uint64_t time_ns = 0; // CLOCK_MONOTONIC
  std::uint32_t tally = 0;   // index
  std::uint32_t step = 0;
};

struct ProcessLog {
  std::string source; // the file, for messages
  FileHeader header;
  std::unordered_map<StringId, std::string> strings;
  std::unordered_map<StackId, std::vector<FrameRecord>> stacks;
  std::vector<Module>
      modules; // in the order of loading: a later one may lie where an earlier one was unloaded
  std::vector<Tally> tallies; // every event is counted in one
  // The first events of each tally but ends of steps, one by one, all in the order of their
  // writing; and of each its index in `tallies`.
  std::vector<Event> events;
  std::vector<std::uint32_t> tally_of;
  std::vector<StepEnd> step_ends;  // in the order of their writing
  std::vector<TimedEvent> timed;   // every event that was written one by one, if asked for
  std::vector<ClockRecord> clocks; // in the order of their writing
  std::uint64_t dropped = 0;       // events that found no room
  std::uint64_t without_place = 0; // events that were counted without a stack
  std::uint64_t unfinished = 0;    // records whose writer died
  bool ended = false;              // the process left through exit
  std::vector<std::string> damage; // one sentence each, at most a few

  // Empty where there is no such id.
  const std::string &string(StringId id) const;
  std::span<const FrameRecord> stack(StackId id) const;
};

// Fails only where the file as a whole is no log of this version.
enum class SingleEvents { kFirst, kAllTimed };
core::Result<ProcessLog> parseLog(std::span<const std::byte> bytes, std::string source,
                                  SingleEvents wanted = SingleEvents::kFirst);
core::Result<ProcessLog> readLog(const std::filesystem::path &path,
                                 SingleEvents wanted = SingleEvents::kFirst);

// What came to a tally from one look to the next. Steps are left out: it is all in one.
struct TallyGrowth {
  std::uint32_t tally = 0; // counts from 0 in each log
  Occurrences occurrences;
};

// Reads a log while the program writes it: what happened between two points in time, without
// reading the whole again. A log that cannot be read, or is none, has nothing in it.
class LogFollower {
public:
  explicit LogFollower(std::filesystem::path path);
  LogFollower(LogFollower &&) noexcept;
  LogFollower &operator=(LogFollower &&) noexcept;
  ~LogFollower();

  // What came since the last call; in the first, since the log began.
  std::vector<TallyGrowth> read();

  // The log as if nothing else had happened; valid until the next call of any.
  const ProcessLog &only(std::span<const TallyGrowth> chosen);

  const ProcessLog &log() const;

private:
  struct State;
  std::unique_ptr<State> state_;
};

} // namespace devsan::runtime
