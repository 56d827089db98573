#include "streams.h"

#include <pthread.h>

#include <algorithm>
#include <map>
#include <memory>
#include <utility>

#include "capturing.h"
#include "pending_copies.h"
#include "runtime/sim/devices/devices.h"

namespace devsan::sim {
namespace {

// PyTorch's layout of a stream id, which its stream classes show: bit 0 says that the stream is
// from a pool, the next four which pool (1 for priority 0), the rest which stream of it. Id 0 is
// the default stream, any other even id is the handle of a stream made elsewhere.
constexpr int kPoolBits = 4;

constexpr bool isFromPool(c10::StreamId id) {
  return (id & 1) != 0;
}

struct Streams {
  std::mutex mutex;
  std::vector<std::unique_ptr<StreamState>> by_slot;
  std::map<std::pair<c10::DeviceIndex, c10::StreamId>, StreamState *> by_id;
  VectorClock host; // what the host has waited for, and every stream therefore starts after
  std::uint64_t issued = 0, waited_for[kMaxDevices] = {};
};

// Never destroyed: tensors of static storage duration outlive this library's.
Streams &streams() {
  static auto *all = [] {
    auto *made = new Streams;
    // A child continues with what its one thread had.
    pthread_atfork([] { streams().mutex.lock(); }, [] { streams().mutex.unlock(); },
                   [] { streams().mutex.unlock(); });
    return made;
  }();
  return *all;
}

StreamState &find(c10::Stream stream) {
  Streams &all = streams();
  StreamState *&state = all.by_id[{stream.device_index(), stream.id()}];
  if (state != nullptr)
    return *state;
  const void *handle = isFromPool(stream.id())
                           ? handleInPool(stream)
                           : reinterpret_cast<void *>(static_cast<std::uintptr_t>(stream.id()));
  if (handle != nullptr)
    for (const auto &known : all.by_slot)
      if (known->handle == handle) {
        if (isFromPool(stream.id()))
          known->stream = stream;
        return *(state = known.get());
      }
  all.by_slot.push_back(
      std::make_unique<StreamState>(StreamState{stream, all.by_slot.size(), all.host, handle}));
  state = all.by_slot.back().get();
  if (isFromPool(stream.id()) && handle == nullptr)
    state->handle = state;
  return *state;
}

} // namespace

c10::Stream originalStream(c10::Stream stream) {
  if (C10_LIKELY(stream.id() == 0 || isFromPool(stream.id())))
    return stream;
  return StreamOrder().of(stream).stream;
}

c10::StreamId poolStreamId(int priority, c10::StreamId index) {
  return index << (kPoolBits + 1) | (1 - priority) << 1 | 1;
}

int streamPriority(c10::Stream stream) {
  const c10::StreamId id = originalStream(stream).id();
  return isFromPool(id) ? 1 - static_cast<int>(id >> 1 & ((1 << kPoolBits) - 1)) : 0;
}

void *streamHandle(c10::Stream stream) {
  if (!isFromPool(stream.id()))
    return reinterpret_cast<void *>(static_cast<std::uintptr_t>(stream.id()));
  return const_cast<void *>(StreamOrder().of(stream).handle);
}

std::optional<c10::Stream> streamOfHandle(const void *handle) {
  if (handle == nullptr)
    return std::nullopt;
  StreamOrder order;
  for (const auto &known : streams().by_slot)
    if (known->handle == handle)
      return known->stream;
  return std::nullopt;
}

void join(VectorClock &clock, const VectorClock &other) {
  if (clock.size() < other.size())
    clock.resize(other.size());
  for (std::size_t i = 0; i < other.size(); ++i)
    clock[i] = std::max(clock[i], other[i]);
}

StreamOrder::StreamOrder() : lock_(streams().mutex) {}

bool StreamOrder::isCapturing(const StreamState &state) {
  return state.capture != 0 && state.capture == detail::capture.load(std::memory_order_relaxed);
}

void StreamOrder::joinCapture(StreamState &state, std::uint64_t capture) {
  if (capture != 0 && capture == detail::capture.load(std::memory_order_relaxed))
    state.capture = capture;
}

StreamState &StreamOrder::of(c10::Stream stream) {
  return find(stream);
}

StreamState &StreamOrder::at(std::size_t slot) {
  return *streams().by_slot[slot];
}

Stamp StreamOrder::issue(StreamState &state) {
  if (state.clock.size() <= state.slot)
    state.clock.resize(state.slot + 1);
  state.issued = ++streams().issued;
  return {state.slot, ++state.clock[state.slot]};
}

std::uint64_t StreamOrder::issued() {
  return streams().issued;
}

std::uint64_t StreamOrder::waitedFor(c10::DeviceIndex index) {
  return streams().waited_for[index];
}

void StreamOrder::hostWaited(const VectorClock &clock) {
  Streams &all = streams();
  join(all.host, clock);
  for (const auto &state : all.by_slot)
    if (state->slot < state->clock.size() &&
        happenedBefore({state->slot, state->clock[state->slot]}, clock)) {
      std::uint64_t &waited_for = all.waited_for[state->stream.device_index()];
      waited_for = std::max(waited_for, state->issued);
    }
  for (const auto &state : all.by_slot)
    join(state->clock, clock);
}

VectorClock clockOf(c10::Stream stream) {
  return StreamOrder().of(stream).clock;
}

VectorClock clockOfAllStreams() {
  StreamOrder order;
  VectorClock clock;
  for (const auto &state : streams().by_slot)
    join(clock, state->clock);
  return clock;
}

void orderAfter(c10::Stream later, c10::Stream earlier) {
  if (!isOrderKept())
    return;
  StreamOrder order;
  const StreamState &before = order.of(earlier);
  VectorClock seen = before.clock;
  StreamState &after = order.of(later);
  join(after.clock, seen);
  order.joinCapture(after, before.capture);
}

void beginCapture(c10::Stream stream) {
  static std::atomic<std::uint64_t> count{0};
  StreamOrder order;
  StreamState &state = order.of(stream);
  state.capture = ++count;
  detail::capture.store(state.capture, std::memory_order_relaxed);
}

void endCapture() {
  detail::capture.store(0, std::memory_order_relaxed);
}

bool isInCapture(c10::Stream stream) {
  StreamOrder order;
  return order.isCapturing(order.of(stream));
}

void synchronizeClock(const VectorClock &clock) {
  finishCopies(clock);
  StreamOrder().hostWaited(clock);
}

bool queryClock(const VectorClock &clock) {
  if (!askForCopies(clock))
    return false;
  StreamOrder().hostWaited(clock);
  return true;
}

void synchronizeStream(c10::Stream stream) {
  if (isOrderKept())
    synchronizeClock(clockOf(stream));
}

bool queryStream(c10::Stream stream) {
  return !isOrderKept() || queryClock(clockOf(stream));
}

void synchronizeDevice(c10::DeviceIndex index) {
  if (!isOrderKept())
    return;
  VectorClock clock;
  {
    StreamOrder order;
    for (const auto &state : streams().by_slot)
      if (state->stream.device_index() == index)
        join(clock, state->clock);
  }
  synchronizeClock(clock);
}

void noteSideStream() {
  detail::side_streams.store(true, std::memory_order_relaxed);
}

} // namespace devsan::sim
