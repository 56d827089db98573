// An Event is what the runtime saw inside the program under test: a copy between devices, a wait of
// the host, a refusal of ATen. Hooks write it without allocating or locking; detectors, in another
// process after the run, turn events into findings. The struct is its own layout in the log (see
// log_format.h), so it is plain, fixed in size and versioned there.
#pragma once

#include "runtime/protocol/levels.h"

#include <cstdint>
#include <type_traits>

namespace devsan::runtime {

// Index of a record in the log; 0 is none.
using StringId = std::uint32_t;
using StackId = std::uint32_t;

// `type` holds c10::DeviceType's value, `index` -1 where the device has none (the CPU) or it is
// unknown.
struct DeviceId {
  std::int8_t type = 0;
  std::int8_t index = -1;

  bool operator==(const DeviceId &) const = default;
  bool isHost() const { return type == 0; }
};

enum class EventKind : std::uint8_t {
  kCopy = 1,  // `bytes` were copied `from` → `to`. A blocking copy is one event: this one, with
              // kBlocks set. Where it came from the host, was not to block, or moved a parameter,
              // `related` is where the host's tensor was made; in a backward, the forward call.
  kBlock,     // the host waited for device `from`, without a copy that is an event of its own
  kRoundTrip, // data derived from a device→host copy (its stack in `related`, its source in
              // `origin`) was copied back to device `to`
  kMismatch, // ATen refused operands: the odd one lives on `from`, the others on `to`; `related` is
             // where the odd one was made or last moved. One event per odd operand, all with the
             // same `group`.
  kGatherCombined, // tensors gathered at `related` were combined without a graph-carrying slice
                   // among them
  kStep,           // devsan::step(), or an optimizer step
  kHostAccess, // host code touched a block of `bytes` bytes on device `from`; `related` is where
               // its tensor was made or last moved
  kStreamRace, // `op` used memory on a stream of device `to`, and the operator named by `operand`
               // had used it at `related` on a stream of device `from`; nothing orders the two.
               // `detail` holds the ids of the two streams, the earlier use's first: "0 35"
  kStreamLifetime, // `op` used memory on a stream of device `from`; it was released, and an
                   // allocation at `related` for a stream of device `to` got it while the use may
                   // still run. `detail` as for kStreamRace
  kEarlyAccess,    // host code touched the destination of a non_blocking copy from device `from`,
                // issued at `related`, before anything waited for the copy. `detail` holds the id
                // of the copy's stream

  // Calls of CUDA (runtime/cuda). `op` is the function called: "cudaLaunchKernel".
  kLaunch =
      20,      // a kernel was launched while device `from` was current: the first time for this
               // kernel, place, device, stream and devices of its memory. `to` is a device other
               // than `from` on which one of its arguments points to memory, its index -1 where
               // there is none or nothing is known. `operand` is the kernel's name where CUDA tells
               // it. `detail` holds the stream's handle in hexadecimal, "0" for the legacy default
               // stream (see kDefaultStream), and the id of the stream that is current in LibTorch
               // on that device: "0 35"; "?" for the latter where LibTorch knows no such device.
               // `related` is where the tensor on `to` was made or last moved, where that is known
  kContext,    // the process got a context on device `from`, which costs memory there. `detail` is
               // "earlier" where it had it before the runtime came, and the stack then says nothing
  kAllocation, // `bytes` were allocated on device `from` by CUDA itself, not out of LibTorch's
               // cache
  kDeviceUse = 30, // one of the first uses of device `from` by the process; with kContextOnly it
                   // put neither memory nor work there
};

enum EventFlags : std::uint32_t {
  kBlocks = 1u << 0,          // the host waited
  kNonBlocking = 1u << 1,     // the caller passed non_blocking=true
  kPinned = 1u << 2,          // the host side of the copy is pinned
  kSyncAllowed = 1u << 3,     // waits are allowed here, as inside devsan::AllowSync
  kTransferAllowed = 1u << 4, // such copies are allowed here, as inside devsan::AllowTransfer
  kSyncDisallowed = 1u << 5,  // waits are disallowed here, all or those that nobody spelled out
  kInBackward = 1u << 6,      // on an autograd thread or inside a backward pass
  kLeafParameter =
      1u << 7, // kMismatch: the odd operand is a leaf that requires grad, or a view of one
  kSourceOutlivesCall = 1u << 8, // kMismatch: set by the offline half when the frame that made the
                                 // odd operand is not on the stack of its use
  kOriginIsMove = 1u << 9,       // `related` is where the operand was moved, not where it was made
  kHostWrites = 1u << 10,        // kHostAccess: a write; otherwise a read
  kFreedMemory = 1u << 11,       // kHostAccess: no tensor has the block any more
  kEarlierWrites = 1u << 12,     // kStreamRace: the earlier use wrote; kStreamLifetime: the use did
  kLaterWrites = 1u << 13,       // kStreamRace: the later use wrote; kEarlyAccess: the host did
  kSettled = 1u << 27,           // kStreamRace: the host waited for later work in between, once
  kDefaultStream = 1u << 24,     // kLaunch: on the legacy default stream, given as 0, null or 1
  kOriginWithoutIndex = 1u << 26, // kMismatch: the call that made the operand named no index
  kContextOnly = 1u << 25,        // kDeviceUse: a context was made and nothing was put into it
  // Bits 14 to 19: the levels that held for the copy and for the wait; see transferLevel() and
  // syncLevel(). The bits above about allowing and forbidding follow from them.
  kRecognizedStep = 1u << 20,     // kStep: an optimizer's step, not devsan::step()
  kWarmup = 1u << 21,             // in one of the first steps, whose copies and waits are exempt
  kTransferDisallowed = 1u << 22, // such copies are disallowed here, all or those that nobody
                                  // spelled out
};

inline constexpr unsigned kTransferLevelShift = 14;
inline constexpr unsigned kSyncLevelShift = 17;
inline constexpr std::uint32_t kFlagLevelMask = 7;

constexpr Level transferLevel(std::uint32_t flags) {
  return static_cast<Level>(flags >> kTransferLevelShift & kFlagLevelMask);
}
constexpr Level syncLevel(std::uint32_t flags) {
  return static_cast<Level>(flags >> kSyncLevelShift & kFlagLevelMask);
}

// The flags of an event for which these levels hold.
constexpr std::uint32_t guardFlags(Level transfer, Level sync) {
  std::uint32_t flags = std::uint32_t(transfer) << kTransferLevelShift | std::uint32_t(sync)
                                                                             << kSyncLevelShift;
  if (transfer == Level::kAllow)
    flags |= kTransferAllowed;
  if (disallows(transfer))
    flags |= kTransferDisallowed;
  if (sync == Level::kAllow)
    flags |= kSyncAllowed;
  if (disallows(sync))
    flags |= kSyncDisallowed;
  return flags;
}

struct Event {
  std::uint64_t time_ns = 0;    // CLOCK_MONOTONIC at the event's end
  std::uint64_t blocked_ns = 0; // time that the host waited
  std::uint64_t bytes = 0;
  union {
    std::uint64_t group = 0; // kMismatch: ties the events of one refusal together
    std::uint64_t call_ns;   // kCopy, kBlock: how long the call took, also where it did not wait
  };
  std::uint32_t thread = 0; // gettid()
  StackId stack = 0;
  StackId related = 0;
  StringId op = 0; // the operator as the dispatcher names it, "aten::copy_"
  StringId operand =
      0; // kMismatch: the odd operand's argument name, dtype and shape, "weight: float32 [10, 4]";
         // kCopy of operands from the host: their names, "indices[0], values"
  StringId detail = 0; // kMismatch: ATen's message; else free
  std::uint32_t step = 0;
  std::uint32_t flags = 0;
  DeviceId from;
  DeviceId to;
  DeviceId origin;
  EventKind kind = EventKind::kCopy;
  // kCopy: the device that was current on the thread, of the kind that the data went to; -1 where
  // that is unknown. kMismatch: the odd operand's position, so that no two events of one refusal
  // are equal.
  std::int8_t current_device = -1;
};
static_assert(sizeof(Event) == 72 && std::is_trivially_copyable_v<Event>);

} // namespace devsan::runtime
