#include "blocking.h"
#include "host_wait.h"

namespace devsan::sim {
namespace {

thread_local int waited_calls = 0;

} // namespace

WaitedScope::WaitedScope() {
  ++waited_calls;
}
WaitedScope::~WaitedScope() {
  --waited_calls;
}

void waitFor(runtime::EffectFunction effect, runtime::Arguments arguments) {
  if (waited_calls != 0)
    return;
  runtime::Effect decided;
  try {
    decided = effect(arguments);
  } catch (...) {
    return; // the operator itself refuses these arguments
  }
  announceWait(decided);
  if (decided.blocks && decided.waitsFor().is_cuda())
    waitForCurrentStream(decided.waitsFor().index());
}

} // namespace devsan::sim
