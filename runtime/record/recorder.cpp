#include "runtime/record/recorder.h"

#include "runtime/protocol/options.h"
#include "runtime/record/autograd_state.h"
#include "runtime/record/backward.h"
#include "runtime/record/device_keys.h"
#include "runtime/record/forward_calls.h"
#include "runtime/record/scopes.h"
#include "runtime/stacks/modules.h"
#include "runtime/stacks/python_frames.h"
#include "runtime/stacks/stacks.h"
#include "runtime/stacks/traceback.h"

#include <algorithm>
#include <atomic>
#include <cstdio>
#include <cstdlib>
#include <dlfcn.h>
#include <limits>
#include <string>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

namespace devsan::runtime {
namespace {

thread_local int inside_runtime = 0;
thread_local std::uint32_t thread_id = 0;

std::uint32_t threadNumber() {
  if (thread_id == 0)
    thread_id = std::uint32_t(syscall(SYS_gettid));
  return thread_id;
}

std::atomic<std::uint32_t> current_step{0};

// As the stand-in for CUDA's runtime counts them, which comes with the first library that calls it.
std::uint16_t kernelsWithoutEffect() {
  auto *count = reinterpret_cast<unsigned (*)()>(
      dlsym(RTLD_DEFAULT, "devsan_standin_kernels_without_effect"));
  constexpr unsigned kMost = std::numeric_limits<std::uint16_t>::max();
  return count ? std::uint16_t(std::min(count(), kMost)) : 0;
}

} // namespace

std::uint64_t monotonicTime() {
  timespec now;
  clock_gettime(CLOCK_MONOTONIC, &now);
  return std::uint64_t(now.tv_sec) * 1'000'000'000 + std::uint64_t(now.tv_nsec);
}

void InsideRuntime::enter() {
  ++inside_runtime;
}
void InsideRuntime::leave() {
  --inside_runtime;
}
bool InsideRuntime::active() {
  return inside_runtime != 0;
}

Recorder &recorder() {
  // In static storage, because the log's segment table is large and most of it is never touched;
  // never destroyed, because threads outlive static destructors.
  alignas(Recorder) static char storage[sizeof(Recorder)];
  static Recorder *instance = new (storage) Recorder;
  return *instance;
}

void Recorder::start() {
  if (const char *devices = std::getenv("DEVSAN_SIM_DEVICES"))
    simulated_devices_ = std::uint32_t(std::strtoul(devices, nullptr, 10));
  const char *directory = std::getenv("DEVSAN_LOG_DIR");
  if (!directory || !*directory)
    return;
  if (!log_.open(directory, simulated_devices_))
    return;
  tallies_.trace(options().trace);
  prepareStacks();
  writeNewModules(log_);
  lookForPython();
  recording_ = true;
}

StackId Recorder::currentStack() {
  if (!recording_)
    return 0;
  bool is_new = false;
  StackId id = captureStack(interner_, backwardStart(), is_new);
  // An interpreter may have been loaded since.
  if (is_new && writeNewModules(log_))
    lookForPython();
  return id;
}

void Recorder::lookForPython() {
  if (options().python_stacks && !findPython() && unreadablePython())
    log_.noteUnreadablePython(unreadablePython());
}

std::shared_ptr<const NamedFrames> Recorder::captureOwnStack() {
  return captureFrames(interner_);
}

void Recorder::record(Event event, Caller caller) {
  if (!recording_)
    return;
  event.thread = threadNumber();
  event.step = current_step.load(std::memory_order_relaxed);
  applyGuards(event);
  countInScopes(event);
  if (inBackward()) {
    event.flags |= kInBackward;
    if (event.detail == 0)
      event.detail = string(currentNodeName());
    const bool tells_forward = event.kind == EventKind::kCopy || event.kind == EventKind::kBlock;
    if (tells_forward && event.related == 0)
      event.related = forwardCall();
    if (tells_forward && event.related == 0 && caller == Caller::kHoldsNoLock)
      event.related = stackOfTraceback(interner_, forwardTraceback());
  }
  if (event.stack == 0)
    event.stack = currentStack();
  tallies_.count(event);
}

std::uint32_t Recorder::step() const {
  return current_step.load(std::memory_order_relaxed);
}

void Recorder::countStep(std::uint32_t flags) {
  if (recording_) {
    // Without a stack, which would tell nothing.
    Event event;
    event.kind = EventKind::kStep;
    event.flags = flags;
    event.thread = threadNumber();
    event.step = step();
    tallies_.countStepEnd(event);
  }
  current_step.fetch_add(1, std::memory_order_relaxed);
}

void Recorder::writeModules() {
  if (recording_)
    writeNewModules(log_);
}

void Recorder::resetInChild() {
  thread_id = 0;
  log_.resetInChild();
  interner_.resetInChild();
  tallies_.resetInChild();
  forgetStacks();
  forgetWrittenModules();
}

bool Recorder::usedSimulatedDevice() const {
  auto *is_used = reinterpret_cast<bool (*)(int)>(dlsym(RTLD_DEFAULT, "devsan_sim_is_used"));
  for (std::uint32_t i = 0; is_used && i < simulated_devices_; ++i)
    if (is_used(int(i)))
      return true;
  return !is_used;
}

void Recorder::finish() {
  if (!recording_)
    return;
  writeModules();
  if (simulated() ? !usedSimulatedDevice() : deviceKeys().empty())
    log_.noteNoDeviceUsed();
  log_.noteKernelsWithoutEffect(kernelsWithoutEffect());
  log_.end();
}

} // namespace devsan::runtime
