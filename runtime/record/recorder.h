// The runtime's one place where events go: fills in what every event has (time, thread, stack,
// step, scopes), and owns the log and the interner. Hooks call it from any thread. Where no log
// directory is set, nothing is recorded.
#pragma once

#include "runtime/log/interner.h"
#include "runtime/log/log_writer.h"
#include "runtime/log/tallies.h"
#include "runtime/protocol/event.h"
#include "runtime/stacks/stacks.h"

#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <string_view>

namespace devsan::runtime {

std::uint64_t monotonicTime();

// True while the runtime itself runs on this thread: what it calls in LibTorch is not the program's
// doing.
class InsideRuntime {
public:
  InsideRuntime() { enter(); }
  ~InsideRuntime() { leave(); }
  InsideRuntime(const InsideRuntime &) = delete;
  InsideRuntime &operator=(const InsideRuntime &) = delete;
  static void enter();
  static void leave();
  static bool active();
};

class Recorder {
public:
  // Opens the log named by the environment. Where that fails the process is not observed.
  void start();
  bool recording() const { return recording_; }
  bool simulated() const { return simulated_devices_ != 0; }

  StringId string(std::string_view text) { return interner_.string(text); }
  // In a backward, with the frames of the call that started it.
  StackId currentStack();
  // The frames of this thread alone, not written yet.
  std::shared_ptr<const NamedFrames> captureOwnStack();

  // Takes the current stack where the event has none. A caller that holds no lock of the program
  // may wait for the interpreter's, which a thread that has that one may hold.
  enum class Caller { kHoldsNoLock, kMayHoldLocks };
  void record(Event event, Caller caller = Caller::kHoldsNoLock);

  std::uint32_t step() const;
  // Ends a step; `flags` of its event.
  void countStep(std::uint32_t flags);

  // For a process that has its rank from elsewhere than its environment.
  void noteRank(int rank) { log_.noteRank(rank); }

  void writeModules();
  bool survivesTruncation(const void *address) { return log_.survivesTruncation(address); }
  void resetInChild();
  // Records nothing from now on.
  void giveUp() { recording_ = false; }
  void finish();

private:
  bool usedSimulatedDevice() const;
  void lookForPython();

  LogWriter log_;
  Interner interner_{log_};
  Tallies tallies_{log_};
  std::uint32_t simulated_devices_ = 0;
  bool recording_ = false;
};

// Never destroyed.
Recorder &recorder();

} // namespace devsan::runtime
