#include "runtime/record/backward.h"

#include "runtime/log/hash.h"
#include "runtime/record/debug_info.h"
#include "runtime/record/recorder.h"
#include "runtime/record/redirect.h"

#include <algorithm>
#include <array>
#include <c10/core/impl/DeviceGuardImplInterface.h>
#include <c10/util/ThreadLocalDebugInfo.h>
#include <iterator>
#include <memory>
#include <string_view>
#include <torch/csrc/autograd/engine.h>
#include <vector>

namespace devsan::runtime {
namespace {

using torch::autograd::edge_list;
using torch::autograd::Engine;
using torch::autograd::variable_list;

// A member function takes its object as the first argument.
using Execute = variable_list(Engine *, const edge_list &, const variable_list &, bool, bool, bool,
                              const edge_list &);
constexpr const char *kExecute = "_ZN5torch8autograd6Engine7executeERKSt6vectorINS0_4EdgeESaIS3_"
                                 "EERKS2_IN2at6TensorESaIS9_EEbbbS7_";
Execute *engine_execute = nullptr;

struct Backward : c10::DebugInfoBase {
  const void *thread = nullptr;
  std::shared_ptr<const NamedFrames> own; // of the thread that started it
  // Where that one works for another backward itself: the own ones and those of that one's start.
  std::vector<FrameRecord> joined;
  std::uint64_t identity = 0; // a hash of the frames
  // The debug info that holds this one, which is only compared, and what was there before.
  const void *holder = nullptr;
  std::shared_ptr<c10::ThreadLocalDebugInfo> around;

  std::span<const FrameRecord> frames() const { return joined.empty() ? own->frames : joined; }
};

constexpr std::string_view kBackwardName = "devsan backward";
constexpr c10::DebugInfoKind kBackwardKind = debugInfoKind(&kBackwardName, 2);

// Differs between the threads that run.
const void *thisThread() {
  static thread_local const char mark = 0;
  return &mark;
}

// Autograd has a thread for each device of these; nodes of the CPU run on the caller's. Many
// programs have none, and need no stack taken.
bool devicesCanExist() {
  // Every LibTorch has these.
  constexpr std::array kAlways = {c10::DeviceType::CPU, c10::DeviceType::Meta,
                                  c10::DeviceType::Lazy};
  const auto &guards = c10::impl::device_guard_impl_registry;
  for (std::size_t type = 0; type < std::size(guards); ++type)
    if (guards[type].load(std::memory_order_relaxed) &&
        std::ranges::find(kAlways, c10::DeviceType(type)) == kAlways.end())
      return true;
  return false;
}

const Backward *innermost() {
  return static_cast<const Backward *>(c10::ThreadLocalDebugInfo::get(kBackwardKind));
}

// Of a backward that a node of another one starts, and so on: it takes the other one's place.
// LibTorch looks through all debug info for each allocation.
class BackwardScope {
public:
  explicit BackwardScope(const std::shared_ptr<Backward> &backward)
      : before_(c10::ThreadLocalDebugInfo::current()) {
    const Backward *outer = innermost();
    const bool takes_place = outer && outer->holder == before_.get();
    backward->around = takes_place ? outer->around : before_;
    c10::ThreadLocalDebugInfo::_forceCurrentDebugInfo(backward->around);
    c10::ThreadLocalDebugInfo::_push(kBackwardKind, backward);
    backward->holder = c10::ThreadLocalDebugInfo::current().get();
  }
  ~BackwardScope() { c10::ThreadLocalDebugInfo::_forceCurrentDebugInfo(std::move(before_)); }
  BackwardScope(const BackwardScope &) = delete;
  BackwardScope &operator=(const BackwardScope &) = delete;

private:
  std::shared_ptr<c10::ThreadLocalDebugInfo> before_;
};

std::shared_ptr<Backward> backwardFromHere() try {
  InsideRuntime inside;
  auto backward = std::make_shared<Backward>();
  backward->thread = thisThread();
  backward->own = recorder().captureOwnStack();
  backward->identity = backward->own->identity;
  if (const StackTail outer = backwardStart(); !outer.frames.empty()) {
    const std::vector<FrameRecord> &own = backward->own->frames;
    const std::size_t added = std::min(outer.frames.size(), kMaxStack - own.size());
    backward->joined = own;
    backward->joined.insert(backward->joined.end(), outer.frames.begin(),
                            outer.frames.begin() + std::ptrdiff_t(added));
    backward->identity = mix(backward->identity, outer.identity | 1);
  }
  return backward;
} catch (...) {
  return nullptr; // out of memory: the program goes on
}

variable_list execute(Engine *engine, const edge_list &roots, const variable_list &inputs,
                      bool keep_graph, bool create_graph, bool accumulate_grad,
                      const edge_list &outputs) {
  std::shared_ptr<Backward> backward =
      recorder().recording() && devicesCanExist() ? backwardFromHere() : nullptr;
  if (!backward)
    return engine_execute(engine, roots, inputs, keep_graph, create_graph, accumulate_grad,
                          outputs);
  const BackwardScope scope(backward);
  return engine_execute(engine, roots, inputs, keep_graph, create_graph, accumulate_grad, outputs);
}

} // namespace

void followBackwards() {
  const Redirection redirection(kExecute, reinterpret_cast<void *>(&execute));
  engine_execute = reinterpret_cast<Execute *>(redirection.function);
  if (engine_execute)
    redirectCalls({&redirection, 1});
}

StackTail backwardStart() {
  const Backward *backward = innermost();
  if (!backward)
    return {};
  // The thread's own part is on its stack already.
  const std::size_t known = backward->thread == thisThread() ? backward->own->frames.size() : 0;
  return {backward->frames().subspan(known), mix(backward->identity, known + 1)};
}

} // namespace devsan::runtime
