#include "runtime/cuda/spins.h"

#include "runtime/record/recorder.h"

namespace devsan::runtime::cuda {
namespace {

// An answer "not ready" is a glance; so many in a row, with nothing else asked of CUDA and no long
// sleep between them, are a wait. Allocators look at an event now and then, NCCL's watchdog ten
// times a second; a thread that is preempted in its loop goes on in moments.
constexpr int kRepeats = 3;
constexpr std::uint64_t kLongestPauseNs = 10'000'000;

struct State {
  const void *object = nullptr;
  const char *function = nullptr;
  int device = -1;
  int count = 0;
  std::uint32_t stack = 0;
  std::uint64_t begin_ns = 0;
  std::uint64_t end_ns = 0;
};

thread_local State state;

Spin finish() {
  Spin spin;
  if (state.count >= kRepeats)
    spin = {state.function, state.device, state.stack, state.end_ns - state.begin_ns, state.end_ns};
  state = {};
  return spin;
}

bool continues(const DevSanCudaCall &call) {
  return state.count > 0 && state.object == call.object && state.function == call.name &&
         call.begin_ns - state.end_ns <= kLongestPauseNs;
}

} // namespace

Spin noteQuery(const DevSanCudaCall &call, std::uint64_t end_ns, int device) {
  if (!continues(call)) {
    const Spin before = finish();
    if (call.result == kDevSanCudaNotReady)
      state = {call.object, call.name, device, 1, 0, call.begin_ns, end_ns};
    return before;
  }
  state.end_ns = end_ns;
  if (call.result != kDevSanCudaNotReady)
    return finish();
  // Taken while the loop still runs: what ends it may be called from elsewhere.
  if (++state.count == kRepeats) {
    state.stack = recorder().currentStack();
    state.end_ns = monotonicTime(); // the program did not pause
  }
  return {};
}

bool isSpinning() {
  return state.count > 0;
}

Spin endSpin() {
  return isSpinning() ? finish() : Spin{};
}

} // namespace devsan::runtime::cuda
