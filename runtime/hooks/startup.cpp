// Starts the runtime when the shim loads this library, which is once LibTorch and its back ends are
// in the process.
#include "runtime/cuda/observer.h"
#include "runtime/hooks/device_uses.h"
#include "runtime/hooks/dispatcher_hooks.h"
#include "runtime/hooks/host_access.h"
#include "runtime/hooks/mismatch.h"
#include "runtime/hooks/observation.h"
#include "runtime/hooks/provenance.h"
#include "runtime/hooks/ranks.h"
#include "runtime/hooks/stream_races.h"
#include "runtime/hooks/waits.h"
#include "runtime/log/fork_gate.h"
#include "runtime/protocol/kept_signal.h"
#include "runtime/protocol/options.h"
#include "runtime/protocol/run_board.h"
#include "runtime/record/backward.h"
#include "runtime/record/origins.h"
#include "runtime/record/recorder.h"
#include "runtime/record/simulator.h"
#include "runtime/record/steps.h"

#include <cstdio>
#include <cstdlib>
#include <dlfcn.h>
#include <exception>
#include <pthread.h>
#include <unistd.h>

namespace devsan::runtime {
namespace {

void beforeFork() {
  shutForkGate();
  pauseObservation();
}

void afterForkInParent() {
  reopenForkGateInParent();
  resumeObservationInParent();
}

void afterForkInChild() {
  bool locks_are_free = reopenForkGateInChild();
  recorder().resetInChild();
  if (!locks_are_free && recorder().recording()) {
    recorder().giveUp();
    if (devsanCountLoss(kDevsanBadFork, 0))
      dprintf(STDERR_FILENO,
              "devsan: process %ld was forked while a thread of its parent held a lock of the "
              "runtime: nothing is recorded in it\n",
              long(getpid()));
  }
  forgetOrigins();
  forgetProvenance();
  forgetCuda();
}

// A second copy of this library, from another build: both would wrap the same kernels.
bool isSecondRuntime() {
  void *first = dlsym(RTLD_DEFAULT, "devsan_step");
  Dl_info other, own;
  if (!first || !dladdr(first, &other) ||
      !dladdr(reinterpret_cast<void *>(&isSecondRuntime), &own) || other.dli_fbase == own.dli_fbase)
    return false;
  std::fprintf(stderr, "devsan: the program is observed already, by %s; %s does nothing\n",
               other.dli_fname, own.dli_fname);
  return true;
}

// A program may truncate our log, as one that empties its temporary folder.
void onBusError(int signal, siginfo_t *info, void *context) {
  if (info->si_code <= 0 || !recorder().survivesTruncation(info->si_addr))
    KeptSignal<SIGBUS>::passOn(signal, info, context);
}

__attribute__((constructor)) void startRuntime() {
  if (isSecondRuntime())
    return;
  const char *simulated = std::getenv("DEVSAN_SIM_DEVICES");
  readOptions(simulated && *simulated);
  try {
    recorder().start();
    if (!recorder().recording())
      return;
    KeptSignal<SIGBUS>::keep(onBusError, SA_ONSTACK | SA_NODEFER | SA_RESTART);
    installDispatcherHooks();
    installFactoryHooks();
    installProvenance();
    followBackwards();
    observeOptimizers();
    observeMismatches();
    observeStreams();
    observeWaits();
    observeRanks();
    observeHostAccesses();
    observeCuda();
    observeDeviceUses();
  } catch (const std::exception &error) {
    recorder().giveUp();
    if (devsanCountLoss(kDevsanNotLoaded, 0))
      dprintf(STDERR_FILENO,
              "devsan: process %ld runs on unobserved: the runtime does not fit this LibTorch: "
              "%s\n",
              long(getpid()), error.what());
  }
  pthread_atfork(beforeFork, afterForkInParent, afterForkInChild);
}

__attribute__((destructor)) void finish() {
  stopObservingCuda();
  recorder().finish();
}

} // namespace
} // namespace devsan::runtime
