// A Finding is one device bug at one place, as data: what the analyzer predicted or the runtime
// observed. Checks and detectors fill it, reports print it; neither knows the other. Plain values,
// no LLVM, no LibTorch, no threads.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace devsan::core {

enum class Severity { kNote, kWarning, kError };
enum class Origin { kStatic, kRuntime };

std::string_view name(Severity severity);
std::string_view name(Origin origin);
std::optional<Severity> parseSeverity(std::string_view text);

// A place in source code. `line` and `column` are 1-based, 0 where unknown. `file` is relative to
// the repository where it lies in one, absolute otherwise.
struct Location {
  std::string file;
  unsigned line = 0;
  unsigned column = 0;
  std::string function;

  bool operator==(const Location &) const = default;
};

// A second place that explains the first: where the tensor was made, where the guard should have
// been.
struct Related {
  Location location;
  std::string message;
};

// One frame of a call stack, innermost first. `module` names the binary or is empty for interpreted
// frames; `user` is true where the frame belongs to the program under test and not to LibTorch,
// Python or DevSan.
struct Frame {
  Location location;
  std::string module;
  bool user = false;
  bool own = false; // and to the project, see ownership.h
};

// Replaces `length` bytes at byte `offset` of `file` by `text`.
struct Replacement {
  std::string file;
  unsigned offset = 0;
  unsigned length = 0;
  std::string text;
};

// What the processes of one rank saw of a finding: the rank's own process, or the workers that it
// started (a data loader's, a fork's). `rank` is empty for processes of no rank.
struct RankShare {
  std::optional<int> rank;
  bool worker = false;
  std::uint64_t processes = 1;
  std::uint64_t count = 0;
  std::uint64_t bytes = 0;
  std::uint64_t blocked_ns = 0;

  bool operator==(const RankShare &) const = default;
};

// In which steps of the program's main loop something happened; they count from 0. Of several
// processes, the most that one has.
struct Steps {
  std::uint64_t total = 0; // of the program; 0 where it has none
  std::uint64_t seen = 0;  // in which it happened
  std::uint64_t first = 0;
  std::uint64_t last = 0; // `total` for what comes after the last step
  std::uint64_t most = 0; // how often it happened in one step, at most

  bool operator==(const Steps &) const = default;
};

// "in every step", "in 1 of 100 steps", "only in the first step", "after every step"; empty where
// there are fewer than two to tell apart.
std::string stepsText(const Steps &steps);

// What one process saw of a finding in one step at most, and from which step to which: steps of
// several processes come to no sum. Without steps, all of it in step 0.
struct StepLoad {
  std::uint64_t process = 0; // tells the processes of a run apart
  std::uint64_t first = 0;
  std::uint64_t last = 0;
  std::uint64_t most = 0;

  bool operator==(const StepLoad &) const = default;
};

// An event that a run observed: an entry of one process's log.
struct ObservedEvent {
  std::uint32_t process = 0; // of the run, in the order of the analysis
  std::uint32_t entry = 0;
};

// How a place was reached that is not the finding's first.
struct PlaceStack {
  Location place;
  std::vector<Frame> stack;
};

struct Finding {
  std::string rule;
  Severity severity = Severity::kWarning;
  Origin origin = Origin::kStatic;
  std::string message;
  std::string remedy; // where the rule's own does not fit; else empty
  std::string cure;   // one change elsewhere that does away with all findings that name it
  std::string fingerprint;
  std::string statement; // the code of the line that the fingerprint was made of; in no report
  std::uint64_t count = 1;
  std::uint64_t bytes = 0;
  std::uint64_t blocked_ns = 0;
  std::string from;
  std::string to;
  std::string op;
  bool waits = false; // the host, each time
  Steps steps;
  std::vector<StepLoad> loads; // of each process; none from the analyzer
  std::uint64_t thread = 0;
  std::optional<int> rank; // whose message, devices, thread and stack these are
  std::vector<RankShare>
      ranks;           // sorted; of several processes, count, bytes and blocked_ns are sums
  bool known = false;  // the baseline holds it
  std::string library; // inside which it happened, where no own code called; else empty
  std::vector<Location> locations;
  std::vector<Frame> stack;             // of the first place
  std::vector<PlaceStack> other_stacks; // in no report
  std::vector<Related> related;
  std::vector<Replacement> fix;
  std::string caution; // what the fix changes beside the code: it is made only when asked for
  std::vector<Finding> predicted; // what the analyzer says of the bug, at a place that is related;
                                  // in no report
  std::vector<ObservedEvent>
      events; // what it is made of, where a trace is to show it; in no report
};

// Whether the program's line is Python's.
bool isInPython(const Finding &finding);

// The finding's own remedy, else its rule's in the words of the finding's language.
std::string remedyOf(const Finding &finding);

// Of a finding with a fix: the command that makes it, and what else that changes.
std::string fixedBy(const Finding &finding);

// The remedy, and whether `--fix` can do it.
std::string adviceOf(const Finding &finding);

} // namespace devsan::core
