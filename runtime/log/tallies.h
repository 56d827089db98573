// Counts equal events in the log (see log_format.h), so that neither memory nor the log grows with
// their number. Any thread may count at any time; nothing is locked or allocated. No LibTorch in
// here.
#pragma once

#include "runtime/log/log_writer.h"

#include <atomic>
#include <cstdint>
#include <span>

namespace devsan::runtime {

class Tallies {
public:
  // Equal events that are also written one by one.
  static constexpr std::uint64_t kSamples = 64;
  // Bounds of the log, for a process as a whole.
  static constexpr std::uint32_t kMaxSamples = 1 << 20;
  static constexpr std::uint32_t kMaxStepEnds = 1 << 20;
  static constexpr std::uint32_t kMaxRuns = 1 << 18;
  static constexpr std::uint32_t kMaxOfThreads = 1 << 16;
  static constexpr std::uint32_t kMaxShared = 1 << 15;
  static constexpr std::uint32_t kMaxWithoutPlace = 1 << 14;

  // One at a time in a process: the table has a fixed place.
  explicit Tallies(LogWriter &log);

  // From now on so many events beyond the samples are written one by one, too. To be called before
  // the first is counted.
  void trace(std::uint32_t events);

  // The time is filled in where it is needed. False, and counted in the log's kDropped record,
  // where the disk is full.
  bool count(Event event);
  // The same for the end of a step, which is always written as a sample: for timelines.
  bool countStepEnd(Event event);

  // For the child after fork, when no other thread exists.
  void resetInChild();

private:
  struct Found {
    TallyRecord *record = nullptr;
    std::uint64_t offset = 0;
  };
  struct Counted {
    Found tally;
    std::uint64_t before = 0; // equal events
  };
  using Count = std::atomic<std::uint32_t>;

  // In the event's tally, or nowhere.
  Counted add(Event &event);
  // The tally of events that equal `event`; a new one as long as `made` is below `most`.
  Found find(Event &event, Count &made, std::uint32_t most);
  Found create(Event &event, Count &made, std::uint32_t most);
  // For an event whose own tally is not to be had: takes what tells it apart from it.
  Found findShared(Event &event);
  // One by one, after `before` equal ones. Apart, so that its registers cost the others nothing.
  [[gnu::noinline]] void write(std::uint64_t before, Found tally, Event &event);
  // The run of steps that ended.
  [[gnu::noinline]] void write(const StepRun &run, Found tally);
  static bool take(Count &count, std::uint32_t most);
  void noteClocks(std::uint64_t now);

  LogWriter &log_;
  std::span<std::atomic<std::uint64_t>> slots_;
  Count of_threads_{0};
  Count shared_{0};
  Count without_place_{0};
  Count samples_{0};
  Count step_ends_{0};
  Count traced_{0};
  Count runs_{0};
  std::uint32_t max_traced_ = 0;
  // Of equal events, those that are written one by one.
  std::atomic<std::uint64_t> one_by_one_{kSamples};
  std::atomic<std::uint64_t> clocks_noted_{0}; // when last
};

} // namespace devsan::runtime
