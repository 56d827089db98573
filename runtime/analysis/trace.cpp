#include "runtime/analysis/trace.h"
#include "runtime/read/log_reader.h"
#include "runtime/read/trace_clock.h"
#include "runtime/resolve/names.h"
#include "runtime/resolve/resolve.h"

#include <algorithm>
#include <charconv>
#include <map>
#include <nlohmann/json.hpp>
#include <optional>
#include <set>
#include <string_view>
#include <tuple>
#include <unordered_map>
#include <utility>
#include <vector>

namespace devsan::runtime {
namespace {

// Beyond what Linux gives to processes and threads: our tracks stand below torch.profiler's, whose
// slices ours would cross by the error of the clocks, and viewers drop what crosses.
constexpr std::uint64_t kTracks = 10'000'000;
constexpr std::uint64_t kStepsTrack = kTracks;
constexpr std::uint64_t kUnknownThread = kTracks + 5'000'000;

constexpr std::size_t kLongestText = 2048;
constexpr std::size_t kMaxFrames = 24;

// A string of JSON that may also stand in a page.
std::string jsonString(std::string_view text) {
  using Json = nlohmann::json;
  const bool is_cut = text.size() > kLongestText;
  std::string plain = Json(std::string(text.substr(0, kLongestText)) + (is_cut ? "…" : ""))
                          .dump(-1, ' ', false, Json::error_handler_t::replace);
  std::string safe;
  safe.reserve(plain.size());
  for (const char c : plain) {
    if (c == '<' || c == '>' || c == '&')
      safe += c == '<' ? "\\u003c" : c == '>' ? "\\u003e" : "\\u0026";
    else
      safe += c;
  }
  return safe;
}

// `"key":value` one after the other.
class Fields {
public:
  Fields &raw(std::string_view key, std::string_view value) {
    if (!text_.empty())
      text_ += ',';
    text_.append("\"").append(key).append("\":").append(value);
    return *this;
  }
  Fields &add(std::string_view key, std::string_view value) {
    return value.empty() ? *this : raw(key, jsonString(value));
  }
  Fields &flag(std::string_view key, bool value) { return value ? raw(key, "true") : *this; }
  const std::string &text() const { return text_; }

private:
  std::string text_;
};

// The events of a trace, one a line, written as they come.
class EventList {
public:
  explicit EventList(std::ostream &out) : out_(out) {}
  ~EventList() { flush(); }
  EventList(const EventList &) = delete;
  EventList &operator=(const EventList &) = delete;

  EventList &begin(std::string_view phase, std::uint64_t process, std::uint64_t track) {
    if (buffer_.size() > kBuffer)
      flush();
    text(any_ ? ",\n{\"ph\":\"" : "\n{\"ph\":\"").text(phase).text("\",\"pid\":").number(process);
    any_ = true;
    return text(",\"tid\":").number(track);
  }
  EventList &text(std::string_view text) {
    buffer_ += text;
    return *this;
  }
  EventList &number(std::uint64_t value) {
    char digits[24];
    buffer_.append(digits, std::to_chars(digits, digits + sizeof digits, value).ptr);
    return *this;
  }
  // Nanoseconds, as microseconds.
  EventList &time(std::uint64_t ns) {
    const char fraction[] = {'.', static_cast<char>('0' + ns % 1000 / 100),
                             static_cast<char>('0' + ns % 100 / 10),
                             static_cast<char>('0' + ns % 10)};
    return number(ns / 1000).text({fraction, sizeof fraction});
  }
  void metadata(std::uint64_t process, std::uint64_t track, std::string_view name,
                std::string_view arguments) {
    begin("M", process, track).text(",\"ts\":0,\"name\":\"").text(name).text("\",\"args\":{");
    text(arguments).text("}}");
  }
  void flush() {
    out_.write(buffer_.data(), static_cast<std::streamsize>(buffer_.size()));
    buffer_.clear();
  }

private:
  static constexpr std::size_t kBuffer = 1 << 18;

  std::ostream &out_;
  std::string buffer_;
  bool any_ = false;
};

enum class Shape { kSlice, kInstant, kStep, kNone };

// What is counted by its first occurrences alone is shown where it is a finding.
Shape shapeOf(EventKind kind, bool is_finding) {
  switch (kind) {
  case EventKind::kCopy:
  case EventKind::kBlock:
    return Shape::kSlice;
  case EventKind::kStep:
    return Shape::kStep;
  case EventKind::kRoundTrip:
  case EventKind::kMismatch:
  case EventKind::kGatherCombined:
  case EventKind::kHostAccess:
  case EventKind::kStreamRace:
  case EventKind::kStreamLifetime:
  case EventKind::kEarlyAccess:
  case EventKind::kContext:
  case EventKind::kAllocation:
    return Shape::kInstant;
  case EventKind::kLaunch:
  case EventKind::kDeviceUse:
    return is_finding ? Shape::kInstant : Shape::kNone;
  }
  return Shape::kNone;
}

std::string nameOf(const ResolvedEvent &event) {
  const std::string &op = event.calledOp();
  const std::string from = deviceName(event.event.from), to = deviceName(event.event.to);
  switch (event.event.kind) {
  case EventKind::kCopy:
    return op + " " + from + " → " + to;
  case EventKind::kBlock:
    return op + " waits for " + from;
  case EventKind::kRoundTrip:
    return op + " brings data back to " + to;
  case EventKind::kMismatch:
    return op + " refuses operands";
  case EventKind::kGatherCombined:
    return op + " combines gathered tensors";
  case EventKind::kHostAccess:
    return "host touches memory of " + from;
  case EventKind::kStreamRace:
    return op + " races with another stream";
  case EventKind::kStreamLifetime:
    return op + " used memory that was given out again";
  case EventKind::kEarlyAccess:
    return "host touches the destination of a copy that may still run";
  case EventKind::kLaunch:
    return "launch of " + (event.operand.empty() ? "a kernel" : event.operand);
  case EventKind::kContext:
    return op + " makes a context on " + from;
  case EventKind::kAllocation:
    return op + " on " + from;
  case EventKind::kDeviceUse:
    return "first use of " + from;
  case EventKind::kStep:
    break;
  }
  return op;
}

std::string categoryOf(const ResolvedEvent &event, bool is_finding) {
  const EventKind kind = event.event.kind;
  std::string category = kind == EventKind::kCopy    ? event.has(kBlocks) ? "copy,wait" : "copy"
                         : kind == EventKind::kBlock ? "wait"
                                                     : "event";
  return is_finding ? category + ",finding" : category;
}

std::string frameText(const core::Frame &frame) {
  const core::Location &place = frame.location;
  const std::string file =
      place.file.empty() ? frame.module.substr(frame.module.rfind('/') + 1) : place.file;
  return place.function + " (" + file + (place.line ? ":" + std::to_string(place.line) : "") + ")";
}

using Findings = std::vector<const core::Finding *>;

std::string findingsText(const Findings &findings) {
  std::string text;
  for (const core::Finding *finding : findings) {
    Fields fields;
    fields.add("rule", finding->rule).add("severity", core::name(finding->severity));
    fields.add("message", finding->message).add("fingerprint", finding->fingerprint);
    fields.flag("known", finding->known);
    text += (text.empty() ? "{" : ",{") + fields.text() + "}";
  }
  return "[" + text + "]";
}

// What is the same for all events of a kind, as JSON.
struct Description {
  Shape shape = Shape::kNone;
  bool waits = false;
  std::uint64_t track = 0;
  std::string head; // of the event
  std::string arguments;
};

Description describe(const ResolvedEvent &event, const Findings &findings) {
  Description result;
  result.shape = shapeOf(event.event.kind, !findings.empty());
  result.waits = event.has(kBlocks);
  result.track = event.event.thread ? kTracks + event.event.thread : kUnknownThread;
  if (result.shape == Shape::kStep || result.shape == Shape::kNone)
    return result;
  Fields head;
  head.add("cat", categoryOf(event, !findings.empty())).add("name", nameOf(event));
  // Colours of chrome://tracing.
  if (!findings.empty() && findings.front()->severity != core::Severity::kNote)
    head.add("cname", findings.front()->severity == core::Severity::kError ? "terrible" : "bad");
  result.head = head.text();

  Fields arguments;
  const core::Location place = event.stack->location();
  arguments.add("op", event.calledOp()).add("from", deviceName(event.event.from));
  if (event.event.kind != EventKind::kBlock)
    arguments.add("to", deviceName(event.event.to));
  arguments.add("at", place.line ? place.file + ":" + std::to_string(place.line) : place.file);
  arguments.add("function", place.function);
  arguments.add("operand", event.operand);
  arguments.add(event.has(kInBackward) ? "backward" : "detail", event.detail);
  arguments.flag("waits", event.has(kBlocks)).flag("non_blocking", event.has(kNonBlocking));
  arguments.flag("pinned", event.has(kPinned)).flag("warmup", event.has(kWarmup));
  arguments.flag("wait_allowed", event.has(kSyncAllowed));
  arguments.flag("copy_allowed", event.has(kTransferAllowed));
  if (!findings.empty())
    arguments.raw("findings", findingsText(findings));
  std::string frames;
  std::size_t count = 0;
  for (const core::Frame &frame : event.stack->shown()) {
    if (count++ == kMaxFrames)
      break;
    frames += (frames.empty() ? "" : ",") + jsonString(frameText(frame));
  }
  arguments.raw("stack", "[" + frames + "]");
  result.arguments = arguments.text();
  return result;
}

// An event at its place in time, nanoseconds since the trace's base.
struct Placed {
  std::uint64_t begin = 0;
  std::uint64_t end = 0;
  std::uint32_t index = 0; // in the log's timed events
};

struct StepTotals {
  std::uint64_t waits = 0;
  std::uint64_t to_device = 0, to_host = 0, between_devices = 0; // bytes
};

// What crosses another slice is cut to its end: two clock readings may lie apart.
class Nesting {
public:
  std::uint64_t end(std::uint64_t track, std::uint64_t begin, std::uint64_t end) {
    std::vector<std::uint64_t> &open = open_[track];
    while (!open.empty() && open.back() <= begin)
      open.pop_back();
    if (!open.empty())
      end = std::min(end, open.back());
    open.push_back(end);
    return end;
  }

private:
  std::unordered_map<std::uint64_t, std::vector<std::uint64_t>> open_; // ends, the innermost last
};

// One process of the trace.
class ProcessTrace {
public:
  ProcessTrace(const ProcessLog &log, const Recording &recording,
               const std::vector<Findings> &findings, std::uint64_t base, std::uint64_t pid)
      : log_(log), steps_(recording.stepNumbers()), base_(base), pid_(pid),
        descriptions_(log.tallies.size()), is_simulated_(log.header.simulated_devices > 0),
        clock_(log.clocks, firstTime(log), log.header.start_time_ns) {
    for (const ResolvedEvent &event : recording.events())
      descriptions_[event.tally] = describe(event, findings[event.tally]);
  }

  void write(EventList &out, std::string_view name, std::uint64_t order) {
    nameTracks(out, name, order);
    place();
    for (const Placed &event : events_)
      writeEvent(out, event);
    writeSteps(out);
  }

  TraceContent content() const { return content_; }

private:
  static std::uint64_t firstTime(const ProcessLog &log) {
    std::uint64_t first = UINT64_MAX;
    for (const TimedEvent &event : log.timed)
      first = std::min(first, event.time_ns - std::min(event.call_ns, event.time_ns));
    return first;
  }

  std::uint64_t sinceBase(std::uint64_t real) const { return real - std::min(real, base_); }

  void nameTracks(EventList &out, std::string_view name, std::uint64_t order) const {
    out.metadata(pid_, 0, "process_name", Fields().add("name", name).text());
    if (is_simulated_)
      out.metadata(pid_, 0, "process_labels",
                   Fields().add("labels", "simulated devices take the host's time").text());
    out.metadata(pid_, 0, "process_sort_index",
                 Fields().raw("sort_index", std::to_string(order)).text());
    std::set<std::uint64_t> tracks;
    for (const auto &description : descriptions_)
      if (description.shape == Shape::kSlice || description.shape == Shape::kInstant)
        tracks.insert(description.track);
    if (steps_.total())
      tracks.insert(kStepsTrack);
    for (const std::uint64_t track : tracks) {
      const std::string text = track == kStepsTrack ? "DevSan: steps"
                               : track == kUnknownThread
                                   ? "DevSan: some thread"
                                   : "DevSan: thread " + std::to_string(track - kTracks);
      out.metadata(pid_, track, "thread_name", Fields().add("name", text).text());
      out.metadata(pid_, track, "thread_sort_index",
                   Fields().raw("sort_index", std::to_string(track - kTracks)).text());
    }
  }

  void place() {
    std::vector<std::uint64_t> written(log_.tallies.size());
    for (std::size_t i = 0; i < log_.timed.size(); ++i) {
      const TimedEvent &event = log_.timed[i];
      const Description &description = descriptions_[event.tally];
      ++written[event.tally];
      const std::uint64_t end = sinceBase(clock_.real(event.time_ns));
      if (description.shape == Shape::kStep) {
        if (steps_.endsStep(log_.tallies[event.tally].first.flags))
          step_ends_.emplace(steps_.number(event.step), end);
      } else if (description.shape != Shape::kNone) {
        // Which events of an unknown thread contain which is unknown too.
        const bool has_length =
            description.shape == Shape::kSlice && description.track != kUnknownThread;
        const std::uint64_t length = has_length ? std::min(event.call_ns, end) : 0;
        events_.push_back({end - length, end, static_cast<std::uint32_t>(i)});
      }
    }
    std::ranges::sort(events_, [](const Placed &a, const Placed &b) {
      return std::tuple(a.begin, b.end, a.index) < std::tuple(b.begin, a.end, b.index);
    });
    for (std::size_t i = 0; i < written.size(); ++i) {
      const Shape shape = descriptions_[i].shape;
      if (shape == Shape::kSlice || shape == Shape::kInstant)
        content_.left_out += log_.tallies[i].occurrences.count -
                             std::min(log_.tallies[i].occurrences.count, written[i]);
    }
    content_.events = events_.size();
  }

  void writeEvent(EventList &out, const Placed &placed) {
    const TimedEvent &event = log_.timed[placed.index];
    const Description &description = descriptions_[event.tally];
    const bool is_slice = description.shape == Shape::kSlice && description.track != kUnknownThread;
    out.begin(is_slice ? "X" : "i", pid_, description.track);
    out.text(is_slice ? ",\"ts\":" : ",\"s\":\"t\",\"ts\":").time(placed.begin);
    if (is_slice)
      out.text(",\"dur\":")
          .time(nesting_.end(description.track, placed.begin, placed.end) - placed.begin);
    out.text(",").text(description.head).text(",\"args\":{");
    if (event.bytes)
      out.text("\"bytes\":").number(event.bytes).text(",");
    if (event.blocked_ns && !is_simulated_)
      out.text("\"blocked_us\":").time(event.blocked_ns).text(",");
    if (steps_.total())
      out.text("\"step\":").number(steps_.number(event.step)).text(",");
    out.text(description.arguments).text("}}");
    if (description.shape == Shape::kSlice && steps_.total())
      count(event, description.waits);
  }

  void count(const TimedEvent &event, bool waits) {
    StepTotals &totals = totals_[steps_.number(event.step)];
    totals.waits += waits;
    const Event &first = log_.tallies[event.tally].first;
    if (first.kind != EventKind::kCopy)
      return;
    (first.to.isHost()     ? totals.to_host
     : first.from.isHost() ? totals.to_device
                           : totals.between_devices) += event.bytes;
  }

  // Slices from one step's end to the next one's, and what happened in each as counters.
  void writeSteps(EventList &out) {
    // What the program did before, it hardly means as a part of its first step.
    std::uint64_t begin =
        events_.empty() ? sinceBase(log_.header.start_time_ns) : events_.front().begin;
    for (const auto &[step, step_end] : step_ends_) {
      const std::uint64_t end = std::max(begin, step_end);
      out.begin("X", pid_, kStepsTrack).text(",\"ts\":").time(begin).text(",\"dur\":");
      out.time(end - begin).text(",\"cat\":\"step\",\"name\":\"step ").number(step);
      out.text("\",\"args\":{\"step\":").number(step).text("}}");
      writeCounters(out, begin, totals_[step]);
      begin = end;
    }
    if (!step_ends_.empty())
      writeCounters(out, begin, {});
  }

  void writeCounters(EventList &out, std::uint64_t time, const StepTotals &totals) {
    out.begin("C", pid_, 0).text(",\"ts\":").time(time);
    out.text(",\"name\":\"waits\",\"args\":{\"per step\":").number(totals.waits);
    out.text("}}");
    out.begin("C", pid_, 0).text(",\"ts\":").time(time);
    out.text(",\"name\":\"bytes per step\",\"args\":{\"to devices\":");
    out.number(totals.to_device).text(",\"to host\":").number(totals.to_host);
    out.text(",\"between devices\":").number(totals.between_devices).text("}}");
  }

  const ProcessLog &log_;
  const StepNumbers steps_;
  const std::uint64_t base_;
  const std::uint64_t pid_;
  std::vector<Description> descriptions_; // by tally
  const bool is_simulated_;
  const TraceClock clock_;
  std::vector<Placed> events_;
  std::map<std::uint32_t, std::uint64_t> step_ends_;
  std::map<std::uint32_t, StepTotals> totals_;
  Nesting nesting_;
  TraceContent content_;
};

// By process of all runs, and by entry of its log.
using FindingsOfEntries = std::unordered_map<std::uint32_t, Findings>;

std::vector<FindingsOfEntries> findingsOfProcesses(std::span<const core::Finding> findings,
                                                   std::size_t processes) {
  std::vector<FindingsOfEntries> result(processes);
  for (const core::Finding &finding : findings)
    for (const core::ObservedEvent &event : finding.events)
      if (event.process < processes)
        result[event.process][event.entry].push_back(&finding);
  for (FindingsOfEntries &entries : result)
    for (auto &[entry, of_entry] : entries)
      std::ranges::sort(of_entry, [](const core::Finding *a, const core::Finding *b) {
        return std::tie(b->severity, a->rule) < std::tie(a->severity, b->rule);
      });
  return result;
}

std::string processName(const ProcessRole &role, const std::string &subject) {
  const std::string rank = role.rank ? "rank " + std::to_string(*role.rank) : "";
  if (role.worker)
    return rank.empty() ? "worker of " + subject : "worker of " + rank;
  return rank.empty() ? subject : rank;
}

// Processes of several machines may have one number.
class ProcessNumbers {
public:
  std::uint64_t numberOf(std::uint32_t pid, std::size_t run) {
    const auto [first, added] = runs_.try_emplace(pid, run);
    return first->second == run ? pid : pid + run * kTracks;
  }

private:
  std::unordered_map<std::uint32_t, std::size_t> runs_;
};

std::uint64_t earliestStart(std::span<const ObservedProcesses> runs) {
  std::uint64_t earliest = UINT64_MAX;
  for (const ObservedProcesses &run : runs)
    for (const ObservedProcesses::Process &process : run.processes)
      earliest = std::min(earliest, process.start_time_ns);
  return earliest == UINT64_MAX ? 0 : earliest;
}

} // namespace

TraceContent writeTrace(std::ostream &out, std::span<const ObservedProcesses> runs,
                        std::span<const core::Finding> findings, const std::string &subject) {
  std::size_t count = 0;
  for (const ObservedProcesses &run : runs)
    count += run.processes.size();
  const std::vector<FindingsOfEntries> marked = findingsOfProcesses(findings, count);
  const std::uint64_t base = traceBase(earliestStart(runs));
  out << "{\"displayTimeUnit\":\"ms\",\"baseTimeNanoseconds\":" << base << ",\"traceEvents\":[";
  TraceContent content;
  {
    EventList events(out);
    ProcessNumbers numbers;
    std::size_t index = 0;
    for (std::size_t run = 0; run < runs.size(); ++run)
      for (const ObservedProcesses::Process &process : runs[run].processes) {
        const FindingsOfEntries &of_entries = marked[index++];
        const core::Result<ProcessLog> log = readLog(process.log, SingleEvents::kAllTimed);
        if (!log)
          continue; // it was there before
        Recording recording{SourcePaths(runs[run].working_directory)};
        recording.add(*log, runs[run].symbols);
        std::vector<Findings> by_entry(log->tallies.size());
        for (const auto &[entry, of_entry] : of_entries)
          if (entry < by_entry.size())
            by_entry[entry] = of_entry;
        ProcessTrace trace(*log, recording, by_entry, base, numbers.numberOf(log->header.pid, run));
        trace.write(events, processName(process.role, subject), index);
        content.events += trace.content().events;
        content.left_out += trace.content().left_out;
      }
  }
  out << "\n],\"otherData\":{"
      << Fields()
             .add("tool", "devsan")
             .add("subject", subject)
             .raw("events", std::to_string(content.events))
             .raw("left_out", std::to_string(content.left_out))
             .text()
      << "}}\n";
  return content;
}

} // namespace devsan::runtime
