#include "runtime/log/tallies.h"

#include "runtime/log/hash.h"
#include "runtime/protocol/event_identity.h"

#include <algorithm>
#include <sys/mman.h>
#include <time.h>

namespace devsan::runtime {
namespace {

// Page-aligned, so that a child after fork drops its copy by pages. A slot holds a tally's offset
// in the log, in units of 8 bytes, and above it a part of the hash.
alignas(4096) std::atomic<std::uint64_t> tally_slots[1 << 18];
constexpr unsigned kOffsetBits = 34;
constexpr std::uint64_t kOffsetMask = (std::uint64_t{1} << kOffsetBits) - 1;
static_assert(LogWriter::kSegmentSize * LogWriter::kMaxSegments / 8 <= kOffsetMask);
constexpr std::size_t kMaxProbes = 64;
static_assert(Tallies::kMaxOfThreads + Tallies::kMaxShared + Tallies::kMaxWithoutPlace <
              std::size(tally_slots) / 2);

constexpr std::uint64_t kSecond = 1'000'000'000;

std::uint64_t timeOf(clockid_t clock) {
  timespec time;
  clock_gettime(clock, &time);
  return std::uint64_t(time.tv_sec) * kSecond + std::uint64_t(time.tv_nsec);
}

std::uint64_t now() {
  return timeOf(CLOCK_MONOTONIC);
}

// Of several readings the one that took least: the thread may lose its processor in the middle.
ClockRecord readClocks() {
  ClockRecord clocks;
  std::uint64_t least = UINT64_MAX;
  for (int reading = 0; reading < 4; ++reading) {
    const std::uint64_t before = now(), real = timeOf(CLOCK_REALTIME), took = now() - before;
    if (took < least) {
      least = took;
      clocks = {before + took / 2, real};
    }
  }
  return clocks;
}

// A thread's own tallies have one writer, and need no locked instructions.
class Writer {
public:
  explicit Writer(bool is_only) : is_only_(is_only) {}

  std::uint64_t add(std::uint64_t &number, std::uint64_t amount) const {
    std::atomic_ref<std::uint64_t> value(number);
    if (!is_only_)
      return value.fetch_add(amount, std::memory_order_relaxed);
    const std::uint64_t before = value.load(std::memory_order_relaxed);
    value.store(before + amount, std::memory_order_relaxed);
    return before;
  }

  void raise(std::uint64_t &number, std::uint64_t to) const {
    std::atomic_ref<std::uint64_t> value(number);
    std::uint64_t before = value.load(std::memory_order_relaxed);
    while (before < to && !exchange(value, before, to)) {
    }
  }

  struct InStep {
    std::uint32_t count = 0; // with this one
    bool is_new = false;
    std::uint32_t last = 0; // the step before, and how often in it
    std::uint32_t in_last = 0;
  };
  // How often the event has now been counted in `step`. Steps only grow; an event of an earlier
  // one that comes late is counted with the last.
  InStep countInStep(TallyRecord &tally, std::uint32_t step) const {
    std::atomic_ref<std::uint64_t> value(tally.in_last_step);
    std::uint64_t before = value.load(std::memory_order_relaxed), after;
    bool is_new;
    do {
      is_new = step > before >> 32;
      const bool is_saturated = std::uint32_t(before) == UINT32_MAX;
      after = is_new ? std::uint64_t{step} << 32 | 1 : is_saturated ? before : before + 1;
    } while (!exchange(value, before, after));
    if (is_new)
      add(tally.steps, 1);
    return {std::uint32_t(after), is_new, std::uint32_t(before >> 32), std::uint32_t(before)};
  }

  bool isOnly() const { return is_only_; }

private:
  bool exchange(std::atomic_ref<std::uint64_t> value, std::uint64_t &before,
                std::uint64_t after) const {
    if (!is_only_)
      return value.compare_exchange_weak(before, after, std::memory_order_relaxed);
    value.store(after, std::memory_order_relaxed);
    return true;
  }

  bool is_only_;
};

} // namespace

Tallies::Tallies(LogWriter &log) : log_(log), slots_(tally_slots) {}

bool Tallies::take(Count &count, std::uint32_t most) {
  return count.load(std::memory_order_relaxed) < most &&
         count.fetch_add(1, std::memory_order_relaxed) < most;
}

Tallies::Found Tallies::create(Event &event, Count &made, std::uint32_t most) {
  if (!take(made, most))
    return {};
  if (event.time_ns == 0)
    event.time_ns = now();
  TallyRecord tally;
  tally.first = event;
  tally.in_last_step = std::uint64_t{event.step} << 32;
  tally.steps = 1;
  Found result;
  result.record = log_.appendTally(tally, result.offset);
  return result;
}

Tallies::Found Tallies::find(Event &event, Count &made, std::uint32_t most) {
  const IdentityBytes identity(event);
  const std::uint64_t hash = hashBytes(identity.bytes, sizeof identity.bytes);
  const std::uint64_t tag = hash & ~kOffsetMask;
  Found created;
  for (std::size_t probe = 0; probe < kMaxProbes; ++probe) {
    auto &slot = slots_[(hash + probe) & (slots_.size() - 1)];
    std::uint64_t seen = slot.load(std::memory_order_acquire);
    if (seen == 0) {
      if (!created.record)
        created = create(event, made, most);
      if (!created.record)
        return {};
      if (slot.compare_exchange_strong(seen, tag | created.offset / 8, std::memory_order_acq_rel))
        return created;
      // Another thread was faster. What was created stays in the log, and counts nothing, unless a
      // later slot takes it.
    }
    if ((seen & ~kOffsetMask) != tag)
      continue;
    const std::uint64_t offset = (seen & kOffsetMask) * 8;
    TallyRecord *tally = log_.tallyAt(offset);
    if (areEqual(tally->first, event))
      return {tally, offset};
  }
  return {};
}

Tallies::Found Tallies::findShared(Event &event) {
  event.thread = 0;
  if (Found found = find(event, shared_, kMaxShared); found.record)
    return found;
  event.stack = event.related = 0;
  event.operand = event.detail = 0;
  return find(event, without_place_, kMaxWithoutPlace);
}

void Tallies::trace(std::uint32_t events) {
  max_traced_ = events;
  if (events)
    one_by_one_.store(UINT64_MAX, std::memory_order_relaxed);
}

void Tallies::noteClocks(std::uint64_t now) {
  std::uint64_t last = clocks_noted_.load(std::memory_order_relaxed);
  if ((last && now < last + kSecond) ||
      !clocks_noted_.compare_exchange_strong(last, now, std::memory_order_relaxed))
    return;
  const ClockRecord clocks = readClocks();
  const std::string_view parts[] = {{reinterpret_cast<const char *>(&clocks), sizeof clocks}};
  log_.append(RecordKind::kClock, parts);
}

void Tallies::write(std::uint64_t before, Found tally, Event &event) {
  const bool ends_step = event.kind == EventKind::kStep;
  const bool is_sample = ends_step || before < kSamples;
  if (is_sample) {
    if (ends_step ? !take(step_ends_, kMaxStepEnds) : !take(samples_, kMaxSamples))
      return;
  } else if (!take(traced_, max_traced_)) {
    one_by_one_.store(kSamples, std::memory_order_relaxed);
    return;
  }
  if (event.time_ns == 0)
    event.time_ns = now();
  noteClocks(event.time_ns);
  const SampleRecord sample{
      tally.offset, event.time_ns, event.blocked_ns, event.bytes, event.group, event.step, 0};
  const std::string_view parts[] = {{reinterpret_cast<const char *>(&sample), sizeof sample}};
  log_.append(is_sample ? RecordKind::kSample : RecordKind::kTraced, parts);
}

void Tallies::write(const StepRun &run, Found tally) {
  if (!take(runs_, kMaxRuns))
    return;
  const StepsRecord steps{tally.offset, run};
  const std::string_view parts[] = {{reinterpret_cast<const char *>(&steps), sizeof steps}};
  log_.append(RecordKind::kSteps, parts);
}

[[gnu::always_inline]] inline Tallies::Counted Tallies::add(Event &event) {
  Found tally = find(event, of_threads_, kMaxOfThreads);
  if (!tally.record)
    tally = findShared(event);
  if (!tally.record) {
    log_.countDropped();
    return {};
  }
  const Writer writer(event.thread != 0);
  TallyRecord &record = *tally.record;
  const std::uint64_t before = writer.add(record.count, 1);
  if (event.bytes) {
    writer.add(record.bytes, event.bytes);
    writer.raise(record.largest, event.bytes);
  }
  if (event.blocked_ns)
    writer.add(record.blocked_ns, event.blocked_ns);
  const Writer::InStep in_step = writer.countInStep(record, event.step);
  writer.raise(record.most_in_step, in_step.count);
  if (in_step.is_new && writer.isOnly() && !extend(record.run, in_step.last, in_step.in_last)) {
    write(record.run, tally);
    record.run = {in_step.last, 0, 1, in_step.in_last};
  }
  return {tally, before};
}

bool Tallies::count(Event event) {
  const Counted counted = add(event);
  if (!counted.tally.record)
    return false;
  if (counted.before < one_by_one_.load(std::memory_order_relaxed)) [[unlikely]]
    write(counted.before, counted.tally, event);
  return true;
}

bool Tallies::countStepEnd(Event event) {
  const Counted counted = add(event);
  if (!counted.tally.record)
    return false;
  write(counted.before, counted.tally, event);
  return true;
}

void Tallies::resetInChild() {
  // Private anonymous pages read as zero after this; it costs nothing for pages never touched.
  if (madvise(slots_.data(), slots_.size_bytes(), MADV_DONTNEED) != 0)
    std::fill_n(reinterpret_cast<std::uint64_t *>(slots_.data()), slots_.size(), 0);
  for (Count *count :
       {&of_threads_, &shared_, &without_place_, &samples_, &step_ends_, &traced_, &runs_})
    count->store(0, std::memory_order_relaxed);
  clocks_noted_.store(0, std::memory_order_relaxed);
  trace(max_traced_);
}

} // namespace devsan::runtime
