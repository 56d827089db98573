// The streams of the simulated devices, and the order of what is issued on them.
//
// A kernel is done when the call that issues it returns. What a program can tell apart all the same
// is kept here: the identity of streams, with CUDA's ids, pools and priorities, and which work is
// ordered before which, by one vector clock per stream. Work takes a position on its stream; events
// and waits of the host carry clocks from one stream to another. pending_copies.h decides by them
// when a copy arrives, stream_accesses.h whether two accesses were ordered.
//
// Any thread. Nothing here costs anything while isOrderKept() is false, which it is until a copy
// waits or a second stream is made.
#pragma once

#include <atomic>
#include <cstdint>
#include <mutex>
#include <optional>
#include <vector>

#include <c10/core/Stream.h>

namespace devsan::sim {

inline constexpr int kGreatestPriority = -3; // the least is 0; what PyTorch supports on new GPUs

// A stream of the device's pool for `priority`: 32 for each, handed out in turn.
c10::Stream streamFromPool(c10::DeviceIndex index, int priority);
c10::StreamId poolStreamId(int priority, c10::StreamId index);
int streamPriority(c10::Stream stream);
// A stream made from the handle of one of the pools' is that one.
c10::Stream originalStream(c10::Stream stream);
// As cudaStream_t: nullptr for the default stream. A stream made from such a handle (its id is the
// handle, as in PyTorch) is ordered as the stream that it came from.
void *streamHandle(c10::Stream stream);
// Of a stream of LibTorch's own pools; nullptr where the pools are the simulator's.
const void *handleInPool(c10::Stream stream);
// The way back; nothing for a handle that is none of the simulator's.
std::optional<c10::Stream> streamOfHandle(const void *handle);

// By slot of the stream; a stream beyond the end is at 0.
using VectorClock = std::vector<std::uint64_t>;
void join(VectorClock &clock, const VectorClock &other);

// A piece of work: the position it took on its stream.
struct Stamp {
  std::size_t slot = 0;
  std::uint64_t position = 0;
};
inline bool happenedBefore(const Stamp &stamp, const VectorClock &clock) {
  return stamp.slot < clock.size() && stamp.position <= clock[stamp.slot];
}

struct StreamState {
  c10::Stream stream;
  std::size_t slot;
  VectorClock clock;            // what happened before the stream's next work
  const void *handle = nullptr; // as CUDA has it; nullptr for a default stream
  std::uint64_t capture = 0;    // the last capture that it was part of (capturing.h)
  std::uint64_t issued = 0;     // of its last work, by the count over all streams
};

// Gives access to the states while it lives. Observers, deleters and copies run outside.
class StreamOrder {
public:
  StreamOrder();
  // Whether the stream is being captured, and that it joins the given capture if that still runs.
  static bool isCapturing(const StreamState &state);
  static void joinCapture(StreamState &state, std::uint64_t capture);
  StreamState &of(c10::Stream stream);
  StreamState &at(std::size_t slot);
  // Takes a position for new work.
  Stamp issue(StreamState &state);
  // Counts the work of all streams, in the order of the calls.
  static std::uint64_t issued();
  // Of the device's latest work that the host has waited for. What was issued on it before that has
  // had its time on a GPU, also where nothing orders it.
  static std::uint64_t waitedFor(c10::DeviceIndex index);
  // The host knows that all this is done, so whatever it issues from now on comes after it.
  void hostWaited(const VectorClock &clock);

private:
  std::lock_guard<std::mutex> lock_;
};

VectorClock clockOf(c10::Stream stream);
// All that has been issued.
VectorClock clockOfAllStreams();
// What is issued on `later` from now on comes after what has been issued on `earlier`.
void orderAfter(c10::Stream later, c10::Stream earlier);

// The host waits, as cudaStreamSynchronize and cudaDeviceSynchronize.
void synchronizeStream(c10::Stream stream);
void synchronizeDevice(c10::DeviceIndex index);
// cudaStreamQuery; pending_copies.h says when a copy makes it false.
bool queryStream(c10::Stream stream);
// The two above for what an event has seen.
void synchronizeClock(const VectorClock &clock);
bool queryClock(const VectorClock &clock);

namespace detail {
inline std::atomic<bool> side_streams{false};
inline std::atomic<std::uint32_t> waiting_copies{0};
} // namespace detail

// Whether the process has ever had a stream besides the default ones; accesses are noted then.
inline bool areAccessesNoted() {
  return detail::side_streams.load(std::memory_order_relaxed);
}
void noteSideStream();
inline bool isOrderKept() {
  return areAccessesNoted() || detail::waiting_copies.load(std::memory_order_relaxed) != 0;
}

} // namespace devsan::sim
