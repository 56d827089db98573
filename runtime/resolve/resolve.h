// A Recording is what the program did, in terms that detectors reason in: events whose stacks have
// names, whose frames are told apart, and whose intent is known. It is built from event logs after
// the run, in one thread.
#pragma once

#include "core/finding/finding.h"
#include "core/system/source_text.h"
#include "runtime/read/log_reader.h"
#include "runtime/read/occurrences.h"
#include "runtime/resolve/frame_kind.h"
#include "runtime/resolve/source_paths.h"
#include "runtime/resolve/symbols.h"

#include <deque>
#include <optional>
#include <set>
#include <string>
#include <vector>

namespace devsan::runtime {

// Who asked for a copy or a wait.
enum class Intent {
  kImplicit,    // LibTorch did it on the program's behalf
  kExplicit,    // the program spelled it out: `.to`, `.cpu`, `copy_`, `.item()`, `synchronize()`
  kBulkMove,    // so, for all tensors of a module or a file at once; PyTorch's own work
  kDisplay,     // it prints a tensor: one call, many reads
  kConstructed, // it makes a tensor of host values on a device: `torch.tensor([1], device=…)`
};

struct ResolvedFrame {
  core::Frame frame; // `location.function` is a qualified name (see qualifiedName())
  FrameKind kind = FrameKind::kUser;
  bool interpreted = false;
  std::optional<bool> takes_device = {}; // see takesDevice()
  std::uint32_t instruction = 0;         // of interpreted code; 0 where it is not known

  const std::string &function() const { return frame.location.function; }
};

struct ResolvedStack {
  std::vector<ResolvedFrame> frames; // innermost first
  std::optional<std::size_t> innermost_user;
  // The user's line that started the backward in which this happened, where there is one.
  std::optional<std::size_t> backward_start;
  std::size_t called = 0; // the frame of the operator that the user's code called, if `op` is set
  std::string op;         // the operator that the user's code called, "aten::to"; empty where none
  Intent intent = Intent::kImplicit;
  bool is_cut = false;      // it had more frames than are kept
  bool spelled_out = false; // the user's own line asks for the move, no function of torch's between
  bool measures_time = false; // a wait that the program spells out beside a clock
  bool of_simulator = false;  // the simulator copies or waits on its own account
  bool without_index = false; // the call names no device index: `.cuda()`
  bool reads_scalar =
      false; // the user's call, or an operator in it, reads one value: `.item()`, `if (tensor)`

  // The frame of the user's line; null where the stack holds none.
  const ResolvedFrame *place() const;
  // The user's line, or the operator where the stack holds no frame of the user's (on autograd's
  // threads).
  core::Location location() const;
  // What reports show: the operator that was called, and its callers as far as they are the user's
  // or torch's own Python code.
  std::vector<core::Frame> shown() const;
};

// What differs between equal events.
struct Sample {
  std::uint64_t time_ns = 0;
  std::uint64_t blocked_ns = 0;
  std::uint64_t bytes = 0;
  std::uint32_t step = 0;
};

// All events of one process that differ only in time, bytes, blocked time, step and group, as one.
struct ResolvedEvent {
  Event event; // the first
  Occurrences occurrences;
  std::vector<Sample> samples; // the first ones in their order, for timelines
  std::size_t called = 0; // the frame of the operator that the user's code called, if `op` is set
  std::string op;         // as the dispatcher names it
  std::string operand;
  std::string detail;
  const ResolvedStack *stack = nullptr;   // never null
  const ResolvedStack *related = nullptr; // null where there is none
  std::optional<int> rank;
  std::uint32_t process = 0;     // index of the log
  std::uint32_t tally = 0;       // its index in the log
  std::uint32_t total_steps = 0; // of the process

  bool has(EventFlags flag) const { return event.flags & flag; }
  // The user's operator where the stack tells it, else the dispatcher's.
  const std::string &calledOp() const { return stack->op.empty() ? op : stack->op; }
};

// Steps as the program counts them, from those that the log counts.
class StepNumbers {
public:
  StepNumbers() = default;
  // `said`: how often the program said that a step ends; `recognized`: how often an optimizer did.
  StepNumbers(std::uint32_t said, std::uint32_t recognized)
      // Where the program says what a step is, the optimizers' steps before it first did so lie in
      // that first step.
      : early_(said ? recognized : 0), total_(said ? said : recognized), said_(said != 0) {}

  std::uint32_t number(std::uint32_t step) const { return step <= early_ ? 0 : step - early_; }
  bool changes() const { return early_ != 0; }
  std::uint32_t total() const { return total_; }
  // Whether an event of kStep with these flags ends a step.
  bool endsStep(std::uint32_t flags) const { return !said_ || !(flags & kRecognizedStep); }

private:
  std::uint32_t early_ = 0;
  std::uint32_t total_ = 0;
  bool said_ = false;
};

class Recording {
public:
  explicit Recording(SourcePaths paths) : paths_(std::move(paths)) {}

  // The addresses whose names are needed to resolve the events of `log`.
  static std::set<CodeAddress> addresses(const ProcessLog &log);

  void add(const ProcessLog &log, const SymbolTable &symbols);

  // Where no step ends, the program would be one warm-up: then there is none. Whether it was so.
  bool endWarmupWithoutSteps();

  // Of the process that made most.
  std::uint32_t steps() const { return steps_; }
  // Of the process that was added last.
  const StepNumbers &stepNumbers() const { return step_numbers_; }

  // In the order of the first of each.
  const std::vector<ResolvedEvent> &events() const { return events_; }

  // The devices on which the run's other processes do their work (see homeDevice()).
  void setHomesOfOthers(std::vector<DeviceId> homes) { homes_of_others_ = std::move(homes); }
  const std::vector<DeviceId> &homesOfOthers() const { return homes_of_others_; }

private:
  // LibTorch's workers have no frame of the user's, and which thread of a parallel loop touches
  // memory first is chance. A worker's access stands where another thread reached for the result of
  // the same copy, else where the copy was issued or the tensor comes from.
  void placeAccesses(std::size_t first_event);
  // Counts the steps of the process and numbers them as the program does.
  void countSteps(std::size_t first_event);
  // `kernel` is what was launched there.
  const ResolvedStack *resolve(const ProcessLog &log, StackId id, const SymbolTable &symbols,
                               const std::string &kernel = {});

  SourcePaths paths_;
  core::SourceText sources_;
  std::vector<DeviceId> homes_of_others_;
  std::uint32_t processes_ = 0;
  std::uint32_t steps_ = 0;
  StepNumbers step_numbers_;
  std::vector<ResolvedEvent> events_;
  std::deque<ResolvedStack> stacks_; // addresses of elements stay
  std::unordered_map<StackId, const ResolvedStack *> stacks_of_process_;
};

} // namespace devsan::runtime
