#include "runtime/resolve/resolve.h"
#include "runtime/resolve/function_name.h"
#include "runtime/resolve/intent.h"

#include <algorithm>
#include <cctype>
#include <cstdio>
#include <map>
#include <span>
#include <utility>

namespace devsan::runtime {
namespace {

const Module *moduleAt(const ProcessLog &log, std::uint64_t pc) {
  // From the back: a module that was loaded later may lie where an earlier one was unloaded.
  for (auto module = log.modules.rbegin(); module != log.modules.rend(); ++module)
    if (pc >= module->begin && pc < module->end)
      return &*module;
  return nullptr;
}

std::string hexadecimal(std::uint64_t value) {
  char text[24];
  std::snprintf(text, sizeof text, "0x%llx", static_cast<unsigned long long>(value));
  return text;
}

void appendNative(ResolvedStack &stack, const ProcessLog &log, std::uint64_t pc,
                  const SymbolTable &symbols) {
  const Module *module = moduleAt(log, pc);
  if (!module)
    return; // code that was generated at run time has no name
  const CodeAddress address{module->path, pc - module->base};
  auto found = symbols.find(address);
  if (found == symbols.end()) {
    ResolvedFrame frame;
    frame.frame.module = module->path;
    frame.frame.location.function = hexadecimal(address.offset);
    frame.kind = nativeFrameKind(module->path, "", "");
    stack.frames.push_back(std::move(frame));
    return;
  }
  for (const SymbolFrame &symbol : found->second) {
    ResolvedFrame frame;
    frame.frame.module = module->path;
    frame.frame.location = {symbol.file, symbol.line, symbol.column,
                            qualifiedName(symbol.function)};
    frame.takes_device = takesDevice(symbol.function);
    frame.kind = nativeFrameKind(module->path, frame.function(), symbol.file);
    stack.frames.push_back(std::move(frame));
  }
}

// Which of the user's functions made the odd operand of a refused call, and did it return before?
// The two stacks share their outer part, the calls that were live both times.
bool makerHasReturned(const ResolvedStack &made, const ResolvedStack &used) {
  if (!made.innermost_user || !used.innermost_user)
    return false;
  const std::string &maker = made.frames[*made.innermost_user].function();
  return std::ranges::none_of(used.frames, [&](const ResolvedFrame &frame) {
    return frame.kind == FrameKind::kUser && frame.function() == maker;
  });
}

} // namespace

const ResolvedFrame *ResolvedStack::place() const {
  if (!innermost_user)
    return nullptr;
  const auto begin = frames.begin() + static_cast<std::ptrdiff_t>(*innermost_user);
  if (!begin->frame.location.file.empty())
    return &*begin;
  // An extension without debug information is known by the line of Python that called it.
  const auto caller = std::find_if(begin, frames.end(), [](const ResolvedFrame &frame) {
    return frame.kind == FrameKind::kUser && frame.interpreted;
  });
  return caller == frames.end() ? &*begin : &*caller;
}

core::Location ResolvedStack::location() const {
  const ResolvedFrame *frame = place();
  if (!frame)
    return {"", 0, 0, op};
  core::Location location = frame->frame.location;
  if (location.file.empty()) // at least the binary
    location.file = frame->frame.module;
  return location;
}

std::vector<core::Frame> ResolvedStack::shown() const {
  std::vector<core::Frame> result;
  for (std::size_t i = op.empty() ? 0 : called; i < frames.size(); ++i) {
    const ResolvedFrame &frame = frames[i];
    const bool inside = i < innermost_user.value_or(frames.size());
    if (frame.kind == FrameKind::kUser ||
        (frame.kind == FrameKind::kTorch && (inside || frame.interpreted)))
      result.push_back(frame.frame);
  }
  // The program's own code may have been among those.
  if (is_cut && !result.empty())
    result.push_back({{"", 0, 0, "…"}, "", true});
  return result;
}

std::set<CodeAddress> Recording::addresses(const ProcessLog &log) {
  std::set<StackId> stacks;
  for (const Tally &tally : log.tallies) {
    stacks.insert(tally.first.stack);
    stacks.insert(tally.first.related);
  }
  std::set<CodeAddress> result;
  for (StackId stack : stacks)
    for (const FrameRecord &frame : log.stack(stack)) {
      if (frame.file)
        continue;
      const Module *module = moduleAt(log, frame.pc);
      if (module && !moduleIsOpaque(module->path))
        result.insert({module->path, frame.pc - module->base});
    }
  return result;
}

namespace {

// What compilers make for the launches of a kernel: nvcc's holds the kernel's mangled name, clang's
// the plain one, as nvcc's does of a kernel with C's name. Between nvcc's stub and a template's
// function is `__wrapper__device_stub_NAME`. CUDA's headers have another.
constexpr std::string_view kStub = "__device_stub_";

bool isLaunchStub(std::string_view function) {
  return function.starts_with("__cudaLaunchKernel") || function.find(kStub) != function.npos;
}

// nvcc's stub is called by a function that has the kernel's name and place, clang's by the launch.
bool isKernelsFunction(std::string_view caller, std::string_view stub) {
  const std::size_t place = stub.find(kStub);
  if (isLaunchStub(caller) || place == stub.npos)
    return !isLaunchStub(caller);
  std::string_view kernel = stub.substr(place + kStub.size());
  if (kernel.starts_with('_'))
    kernel.remove_prefix(1);
  const bool is_mangled = kernel.size() > 1 && kernel[0] == 'Z' &&
                          (std::isdigit(static_cast<unsigned char>(kernel[1])) || kernel[1] == 'N');
  return is_mangled || caller == kernel;
}

// Their operators may be kernels, with all that a demangler says.
bool usesStreams(EventKind kind) {
  return kind == EventKind::kStreamRace || kind == EventKind::kStreamLifetime;
}

// In debug information a stub may have the kernel's name alone.
void removeLaunchStubs(std::vector<ResolvedFrame> &frames, const std::string &kernel) {
  bool has_stub = false;
  for (std::size_t i = 0; i < frames.size(); ++i) {
    if (!isLaunchStub(frames[i].function()))
      continue;
    has_stub = true;
    frames[i].kind = FrameKind::kSystem;
    if (i + 1 < frames.size() && isKernelsFunction(frames[i + 1].function(), frames[i].function()))
      frames[i + 1].kind = FrameKind::kSystem;
  }
  const auto innermost = std::ranges::find(frames, FrameKind::kUser, &ResolvedFrame::kind);
  if (!has_stub && !kernel.empty() && innermost != frames.end() && innermost->function() == kernel)
    innermost->kind = FrameKind::kSystem;
}

} // namespace

const ResolvedStack *Recording::resolve(const ProcessLog &log, StackId id,
                                        const SymbolTable &symbols, const std::string &kernel) {
  auto [entry, added] = stacks_of_process_.try_emplace(id, nullptr);
  if (!added)
    return entry->second;
  ResolvedStack &stack = stacks_.emplace_back();
  for (const FrameRecord &record : log.stack(id)) {
    if (!record.file) {
      appendNative(stack, log, record.pc, symbols);
      continue;
    }
    ResolvedFrame frame;
    frame.interpreted = true;
    frame.instruction = record.instruction;
    frame.frame.location = {log.string(record.file), record.line, 0, log.string(record.function)};
    frame.kind = pythonFrameKind(frame.frame.location.file);
    stack.frames.push_back(std::move(frame));
  }
  stack.is_cut = log.stack(id).size() >= kMaxFrames;
  removeLaunchStubs(stack.frames, kernel);
  for (std::size_t i = 0; i < stack.frames.size(); ++i) {
    ResolvedFrame &frame = stack.frames[i];
    frame.frame.user = frame.kind == FrameKind::kUser;
    if (frame.frame.user && !stack.innermost_user)
      stack.innermost_user = i;
  }
  readIntent(stack, sources_); // before the paths change: it knows torch's files by their places
  for (ResolvedFrame &frame : stack.frames)
    frame.frame.location.file = paths_.shown(frame.frame.location.file);
  return entry->second = &stack;
}

void Recording::placeAccesses(std::size_t first_event) {
  const auto has = [](const ResolvedStack *stack) { return stack && stack->innermost_user; };
  const auto copyOf = [](const ResolvedEvent &event) {
    core::Location copy = event.related->location();
    return std::pair(std::move(copy.file), copy.line);
  };
  const std::span events = std::span(events_).subspan(first_event);
  std::map<std::pair<std::string, unsigned>, const ResolvedStack *> readers;
  for (const ResolvedEvent &event : events)
    if (event.event.kind == EventKind::kEarlyAccess && has(event.stack) && has(event.related))
      readers.try_emplace(copyOf(event), event.stack);
  for (ResolvedEvent &event : events) {
    const EventKind kind = event.event.kind;
    if ((kind != EventKind::kEarlyAccess && kind != EventKind::kHostAccess) || has(event.stack) ||
        !has(event.related))
      continue;
    auto reader = kind == EventKind::kEarlyAccess ? readers.find(copyOf(event)) : readers.end();
    event.stack = reader != readers.end() ? reader->second : event.related;
  }
}

void Recording::countSteps(std::size_t first_event) {
  const std::span events = std::span(events_).subspan(first_event);
  std::uint32_t said = 0, recognized = 0;
  for (const ResolvedEvent &event : events)
    if (event.event.kind == EventKind::kStep)
      (event.has(kRecognizedStep) ? recognized : said) +=
          static_cast<std::uint32_t>(event.occurrences.count);
  step_numbers_ = StepNumbers(said, recognized);
  const StepNumbers &numbers = step_numbers_;
  for (ResolvedEvent &event : events) {
    event.total_steps = numbers.total();
    event.event.step = numbers.number(event.event.step);
    if (numbers.changes())
      event.occurrences = renumbered(std::move(event.occurrences),
                                     [&](std::uint32_t step) { return numbers.number(step); });
    for (Sample &sample : event.samples)
      sample.step = numbers.number(sample.step);
  }
  steps_ = std::max(steps_, numbers.total());
}

bool Recording::endWarmupWithoutSteps() {
  bool was_warm = false;
  if (steps_ == 0)
    for (ResolvedEvent &event : events_) {
      was_warm |= event.has(kWarmup);
      event.event.flags &= ~kWarmup;
    }
  return was_warm;
}

void Recording::add(const ProcessLog &log, const SymbolTable &symbols) {
  stacks_of_process_.clear();
  const std::size_t first_event = events_.size();
  const bool has_time = log.header.simulated_devices == 0; // a simulated device takes the host's
  std::vector<std::vector<Sample>> samples(log.tallies.size());
  for (std::size_t i = 0; i < log.events.size(); ++i) {
    const Event &event = log.events[i];
    samples[log.tally_of[i]].push_back(
        {event.time_ns, has_time ? event.blocked_ns : 0, event.bytes, event.step});
  }
  // First of all, because other events of the same call share its stack.
  for (const auto &tally : log.tallies) {
    const Event &event = tally.first;
    if (event.kind == EventKind::kLaunch)
      resolve(log, event.stack, symbols, nameOfSymbol(log.string(event.operand)));
    if (usesStreams(event.kind))
      resolve(log, event.stack, symbols, qualifiedName(log.string(event.op)));
    if (event.kind == EventKind::kStreamRace)
      resolve(log, event.related, symbols, qualifiedName(log.string(event.operand)));
  }
  for (std::size_t i = 0; i < log.tallies.size(); ++i) {
    const Event &event = log.tallies[i].first;
    ResolvedEvent resolved;
    resolved.event = event;
    resolved.occurrences = log.tallies[i].occurrences;
    if (!has_time)
      resolved.event.blocked_ns = resolved.occurrences.blocked_ns = 0;
    resolved.samples = std::move(samples[i]);
    resolved.op = log.string(event.op);
    resolved.operand = log.string(event.operand);
    if (usesStreams(event.kind)) {
      resolved.op = qualifiedName(resolved.op);
      resolved.operand = qualifiedName(resolved.operand);
    }
    resolved.detail = log.string(event.detail);
    resolved.stack = resolve(log, event.stack, symbols);
    if (resolved.stack->of_simulator)
      continue;
    resolved.related = event.related ? resolve(log, event.related, symbols) : nullptr;
    resolved.process = processes_;
    resolved.tally = static_cast<std::uint32_t>(i);
    if (log.header.rank >= 0)
      resolved.rank = log.header.rank;
    if (event.kind == EventKind::kMismatch && resolved.related &&
        makerHasReturned(*resolved.related, *resolved.stack))
      resolved.event.flags |= kSourceOutlivesCall;
    events_.push_back(std::move(resolved));
  }
  placeAccesses(first_event);
  countSteps(first_event);
  ++processes_;
}

} // namespace devsan::runtime
