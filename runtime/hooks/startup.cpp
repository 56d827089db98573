// Starts the runtime when the shim loads this library, which is once LibTorch and its back ends are
// in the process.
#include "runtime/hooks/dispatcher_hooks.h"
#include "runtime/hooks/fork_gate.h"
#include "runtime/hooks/mismatch.h"
#include "runtime/hooks/observation.h"
#include "runtime/hooks/options.h"
#include "runtime/hooks/origins.h"
#include "runtime/hooks/provenance.h"
#include "runtime/hooks/recorder.h"
#include "runtime/hooks/stacks.h"
#include "runtime/hooks/stream_races.h"
#include "runtime/hooks/waits.h"

#include <cstdio>
#include <cstdlib>
#include <exception>
#include <pthread.h>
#include <unistd.h>

namespace devsan::runtime {
namespace {

void beforeFork() {
  shutForkGate();
  settleObservation();
}

void afterForkInChild() {
  bool locks_are_free = reopenForkGateInChild();
  useForkSafeStacks();
  recorder().resetInChild();
  if (!locks_are_free)
    recorder().giveUp();
  forgetOrigins();
  forgetProvenance();
}

__attribute__((constructor)) void start() {
  const char *simulated = std::getenv("DEVSAN_SIM_DEVICES");
  readOptions(simulated && *simulated);
  try {
    recorder().start();
    if (!recorder().recording())
      return;
    installDispatcherHooks();
    installFactoryHooks();
    installProvenance();
    observeMismatches();
    observeStreams();
    observeWaits();
  } catch (const std::exception &error) {
    std::fprintf(stderr, "devsan: the runtime does not fit this LibTorch: %s\n", error.what());
    _exit(2);
  }
  pthread_atfork(beforeFork, reopenForkGateInParent, afterForkInChild);
}

__attribute__((destructor)) void finish() {
  recorder().finish();
}

} // namespace
} // namespace devsan::runtime
