// Where the host waits on CUDA, it waits here, and torch.cuda.set_sync_debug_mode sees it. Called
// by the fallback and by the simulator's own kernels, on the thread of the operator and before it
// runs, because CUDA's error leaves the operands as they were; and by what waits without an
// operator: Stream.synchronize and its kin.
#pragma once

#include <cstdint>

#include <c10/core/Device.h>

#include "runtime/operators/effects.h"

namespace devsan::sim {

// For a kernel that waits itself, where in its work the device would: what the program is told of
// it.
void announceWait(const runtime::Effect &effect);
// The wait of an operator, if its arguments decide that it has one; a row of
// runtime/operators/effects.h.
void waitFor(runtime::EffectFunction effect, runtime::Arguments arguments);

// For the duration of a call whose wait is over: operators inside it do not wait again.
class WaitedScope {
public:
  WaitedScope();
  ~WaitedScope();
  WaitedScope(const WaitedScope &) = delete;
  WaitedScope &operator=(const WaitedScope &) = delete;
};

enum class SyncDebugMode : std::uint8_t { kDefault, kWarn, kError };
SyncDebugMode syncDebugMode();
void setSyncDebugMode(SyncDebugMode mode);
// For a wait that CUDA's host code announces: a warning or an error where the program asked for it.
void warnOrErrorOnSync();

// For the duration of a wait that the program spelled out, with the name of the CUDA function that
// it stands for: tells the runtime about it at the end. `index` is -1 where the call does not say.
class ExplicitWait {
public:
  ExplicitWait(const char *function, c10::DeviceIndex index);
  ~ExplicitWait();
  ExplicitWait(const ExplicitWait &) = delete;
  ExplicitWait &operator=(const ExplicitWait &) = delete;

private:
  const char *function_;
  c10::DeviceIndex index_;
  std::uint64_t begin_ns_;
};

} // namespace devsan::sim
