#include "runtime/sim/streams/pending_copies.h"

#include <pthread.h>

#include <algorithm>
#include <array>
#include <condition_variable>
#include <cstring>
#include <list>
#include <new>
#include <thread>

#include <ATen/EmptyTensor.h>
#include <ATen/MemoryOverlap.h>
#include <ATen/detail/CUDAHooksInterface.h>
#include <ATen/ops/copy_ops.h>
#include <c10/core/TensorImpl.h>

#include "runtime/sim/devices/devices.h"
#include "runtime/sim/memory/host_watch.h"
#include "runtime/sim/memory/memory.h"

namespace devsan::sim {
namespace {

// As many launches as CUDA queues before the host must wait for the oldest.
constexpr std::size_t kMaxWaiting = 1024;

struct HostRange {
  const char *begin = nullptr;
  std::size_t bytes = 0;

  bool overlaps(const HostRange &other) const {
    return begin < other.begin + other.bytes && other.begin < begin + bytes;
  }
};

HostRange rangeOf(const at::Tensor &host) {
  return {static_cast<const char *>(host.const_data_ptr()), host.nbytes()};
}

enum class State : std::uint8_t { kWaits, kRuns };

struct PendingCopy {
  Stamp stamp;
  VectorClock after; // the stream's clock when the copy was issued
  HostRange range;
  c10::Storage host_storage;   // the program's, kept; it may be given other memory
  at::Tensor host;             // the range
  at::Tensor data;             // to the host: what arrives
  at::Tensor device;           // to a device: the destination as the CPU sees it
  const void *block = nullptr; // to a device: where the destination's block begins
  c10::DeviceIndex index = -1;
  std::uint64_t watch = 0; // host_watch.h
  bool asked_for = false;
  State state = State::kWaits;
  std::thread::id runner;

  bool toHost() const { return block == nullptr; }
  bool runsHere() const { return state == State::kRuns && runner == std::this_thread::get_id(); }
};

using Copies = std::list<PendingCopy>;
using Copy = Copies::iterator;
using Lock = std::unique_lock<std::mutex>;

struct Queue {
  std::mutex mutex;
  std::condition_variable arrived;
  Copies copies;                                   // in the order of issue
  std::array<std::uint32_t, 64> to_block{};        // copies to a device by detail::blockBit()
  std::size_t issued = 0, look_for_unseen_at = 64; // counts of copies
};

Queue &queue();

// Waits of other threads, and what they run, have no part in a child.
void forgetPendingCopies() {
  Queue &all = queue();
  for (PendingCopy &copy : all.copies)
    copy.state = State::kWaits;
  new (&all.arrived) std::condition_variable;
  all.mutex.unlock();
}

// Never destroyed, as the streams. Its lock is taken before that of the streams, and held over no
// copy and no deleter: both may allocate, which asks here.
Queue &queue() {
  static auto *one = [] {
    auto *made = new Queue;
    StreamOrder registered_first; // so that a fork takes its lock after ours
    pthread_atfork([] { queue().mutex.lock(); }, [] { queue().mutex.unlock(); },
                   forgetPendingCopies);
    return made;
  }();
  return *one;
}

at::Tensor memoryAt(void *begin, const at::Tensor &like, c10::IntArrayRef strides) {
  auto bytes = static_cast<std::int64_t>(
      at::detail::computeStorageNbytes(like.sizes(), strides, like.itemsize()));
  auto storage = c10::make_intrusive<c10::StorageImpl>(
      c10::StorageImpl::use_byte_size_t(), bytes,
      c10::DataPtr(begin, begin, &c10::detail::deleteNothing, c10::Device(c10::kCPU)), nullptr,
      false);
  auto tensor = at::detail::make_tensor<c10::TensorImpl>(
      c10::Storage(std::move(storage)), c10::DispatchKeySet(c10::DispatchKey::CPU), like.dtype());
  tensor.unsafeGetTensorImpl()->set_sizes_and_strides(like.sizes(), strides, 0);
  return tensor;
}

// The program's tensor may change its shape, its memory, and is seen by autograd; this one stays as
// it is.
void keepHost(PendingCopy &copy, const at::Tensor &host) {
  materialize(*host.storage().unsafeGetStorageImpl());
  copy.range = rangeOf(host);
  copy.host_storage = host.storage();
  copy.host = memoryAt(const_cast<char *>(copy.range.begin), host, host.strides());
}

bool sameSizeAndOrder(const at::Tensor &a, const at::Tensor &b) {
  return a.strides() == b.strides() && a.is_non_overlapping_and_dense();
}

void perform(const PendingCopy &copy) {
  if (copy.toHost()) {
    openForArrival(copy.range.begin, copy.range.bytes, copy.watch);
    std::memcpy(copy.host.mutable_data_ptr(), copy.data.const_data_ptr(), copy.range.bytes);
    closeWhatIsAwaited(copy.range.begin, copy.range.bytes);
    return;
  }
  KernelScope kernel(copy.index);
  at::_ops::copy_::redispatch(c10::DispatchKeySet(c10::DispatchKey::CPU),
                              const_cast<at::Tensor &>(copy.device), copy.host, false);
}

void add(PendingCopy copy) {
  Queue &all = queue();
  if (!copy.toHost()) {
    const unsigned bit = detail::blockBit(copy.block);
    if (all.to_block[bit]++ == 0)
      detail::awaited_blocks.fetch_or(std::uint64_t{1} << bit, std::memory_order_relaxed);
  }
  all.copies.push_back(std::move(copy));
  detail::waiting_copies.store(static_cast<std::uint32_t>(all.copies.size()),
                               std::memory_order_relaxed);
}

// The caller drops what it took after the lock, because deleters run then.
void take(Copy copy, Copies &taken) {
  Queue &all = queue();
  if (!copy->toHost()) {
    const unsigned bit = detail::blockBit(copy->block);
    if (--all.to_block[bit] == 0)
      detail::awaited_blocks.fetch_and(~(std::uint64_t{1} << bit), std::memory_order_relaxed);
  }
  taken.splice(taken.end(), all.copies, copy);
  detail::waiting_copies.store(static_cast<std::uint32_t>(all.copies.size()),
                               std::memory_order_relaxed);
  detail::copies_gone.fetch_add(1, std::memory_order_release);
  all.arrived.notify_all();
}

// What the streams order before `copy` and touches the same host memory.
Copy earlierConflict(Copy copy) {
  for (Copy earlier = queue().copies.begin(); earlier != copy; ++earlier)
    if ((earlier->toHost() || copy->toHost()) && earlier->range.overlaps(copy->range) &&
        !earlier->runsHere() && happenedBefore(earlier->stamp, copy->after))
      return earlier;
  return copy;
}

// Lets a waiting copy arrive, without the lock meanwhile: what was claimed is nobody else's.
// Threads wait only for copies that were issued before the ones that they claimed, so not for each
// other.
void run(Copy copy, Copies &done, Lock &lock) {
  copy->state = State::kRuns;
  copy->runner = std::this_thread::get_id();
  struct Arrival {
    Copy copy;
    Copies &done;
    Lock &lock;
    ~Arrival() {
      if (!lock.owns_lock())
        lock.lock();
      take(copy, done);
    }
  } arrival{copy, done, lock};
  for (Copy first = earlierConflict(copy); first != copy; first = earlierConflict(copy)) {
    if (first->state == State::kRuns)
      queue().arrived.wait(lock);
    else
      run(first, done, lock);
  }
  lock.unlock();
  perform(*copy);
}

// Lets every copy arrive that is due, and waits for those that another thread lets arrive.
template <typename Due> void runAll(Due due, Copies &done, Lock &lock) {
  Copies &copies = queue().copies;
  for (Copy copy = copies.begin(); copy != copies.end();) {
    if (copy->runsHere() || !due(*copy)) {
      ++copy;
    } else if (copy->state == State::kRuns) {
      queue().arrived.wait(lock);
      copy = copies.begin();
    } else {
      // It stays in its place while it runs, what is around it may go.
      run(copy, done, lock);
      copy = copies.begin();
    }
  }
}

template <typename Due> void runAll(Due due) {
  Copies done;
  Lock lock(queue().mutex);
  runAll(due, done, lock);
}

// A program that never waits must not collect copies for ever: what went to memory that only its
// copy holds, nobody will see.
void dropUnobservableCopies(Copies &taken) {
  Queue &all = queue();
  if (++all.issued < all.look_for_unseen_at)
    return;
  for (Copy copy = all.copies.begin(); copy != all.copies.end();) {
    const Copy at = copy++;
    const c10::Storage &storage = at->host_storage;
    bool owned = storage.data_ptr().get_deleter() == pinnedAllocator()->raw_deleter();
    if (at->state == State::kWaits && at->toHost() && owned && storage.use_count() == 1) {
      openForArrival(at->range.begin, at->range.bytes, at->watch);
      take(at, taken);
    }
  }
  all.look_for_unseen_at = all.issued + std::max<std::size_t>(64, all.copies.size());
}

void enqueue(PendingCopy copy, c10::Stream stream) {
  Copies done;
  Lock lock(queue().mutex);
  {
    StreamOrder order;
    StreamState &state = order.of(stream);
    copy.stamp = order.issue(state);
    copy.after = state.clock;
  }
  dropUnobservableCopies(done);
  add(std::move(copy));
  Copies &copies = queue().copies;
  while (copies.size() > kMaxWaiting && copies.front().state == State::kWaits)
    run(copies.begin(), done, lock);
}

} // namespace

bool mayCopyLater(const at::Tensor &host, const at::Tensor &device, bool to_host) {
  constexpr c10::DispatchKeySet kOddBits({c10::DispatchKey::Conjugate, c10::DispatchKey::Negative});
  for (const at::Tensor *tensor : {&host, &device})
    if (tensor->layout() != at::kStrided || tensor->is_quantized() || tensor->is_nested() ||
        tensor->key_set().has_any(kOddBits))
      return false;
  if (host.numel() == 0 || !at::detail::getCUDAHooks().isPinnedPtr(host.const_data_ptr()))
    return false;
  const bool same_type = host.scalar_type() == device.scalar_type();
  if (to_host)
    return host.is_contiguous() ||
           (same_type && host.sizes() == device.sizes() && sameSizeAndOrder(host, device));
  // ATen refuses to write to memory that overlaps itself.
  return host.sizes() == device.sizes() &&
         at::has_internal_overlap(device) != at::MemOverlap::Yes &&
         (host.is_contiguous() || (same_type && sameSizeAndOrder(host, device)));
}

void copyToHostLater(const at::Tensor &host, at::Tensor data, c10::Stream stream) {
  PendingCopy copy;
  keepHost(copy, host);
  copy.data = std::move(data);
  copy.watch = closeToHostUntilArrival(copy.range.begin, copy.range.bytes, stream);
  enqueue(std::move(copy), stream);
}

void occupy(c10::Stream stream) {
  static const at::Tensor nobodys = at::detail::empty_cpu({1}, at::kByte),
                          value = at::detail::empty_cpu({1}, at::kByte);
  PendingCopy copy;
  keepHost(copy, nobodys);
  copy.data = value;
  enqueue(std::move(copy), stream);
}

bool copyToDeviceLater(const at::Tensor &device, const at::Tensor &host, c10::Stream stream) {
  void *begin = device.unsafeGetTensorImpl()->mutable_data();
  PendingCopy copy;
  copy.block = blockAround(begin);
  if (copy.block == nullptr)
    return false;
  keepHost(copy, host);
  copy.device = memoryAt(kernelAddress(begin), device, device.strides());
  copy.index = device.get_device();
  enqueue(std::move(copy), stream);
  return true;
}

void finishCopies(const VectorClock &clock) {
  if (detail::waiting_copies.load(std::memory_order_relaxed) != 0)
    runAll([&](const PendingCopy &copy) { return happenedBefore(copy.stamp, clock); });
}

bool haveCopiesArrived(const VectorClock &clock) {
  Lock lock(queue().mutex);
  return std::ranges::none_of(
      queue().copies, [&](const PendingCopy &copy) { return happenedBefore(copy.stamp, clock); });
}

bool askForCopies(const VectorClock &clock) {
  bool all_asked_for = true;
  {
    Lock lock(queue().mutex);
    for (PendingCopy &copy : queue().copies)
      if (happenedBefore(copy.stamp, clock) && !copy.asked_for) {
        copy.asked_for = true;
        all_asked_for = false;
      }
  }
  if (all_asked_for)
    finishCopies(clock);
  return all_asked_for;
}

void finishCopiesInto(const at::Tensor &host, c10::Stream stream) {
  if (detail::waiting_copies.load(std::memory_order_relaxed) == 0)
    return;
  const VectorClock clock = clockOf(stream);
  const HostRange range = rangeOf(host);
  runAll([&](const PendingCopy &copy) {
    return copy.toHost() && copy.range.overlaps(range) && happenedBefore(copy.stamp, clock);
  });
}

void finishCopiesAround(const void *host, std::size_t bytes) {
  if (detail::waiting_copies.load(std::memory_order_relaxed) == 0)
    return;
  const HostRange range{static_cast<const char *>(host), bytes};
  runAll([&](const PendingCopy &copy) { return copy.range.overlaps(range); });
}

void detail::finishCopiesToBlock(const void *block) {
  runAll([&](const PendingCopy &copy) { return copy.block == block; });
}

void detail::finishCopiesToAddress(const void *address) {
  const void *block = blockAround(address);
  if (block != nullptr && mayAwaitCopies(block))
    finishCopiesToBlock(block);
}

void detail::dropCopiesToBlock(const void *block) {
  Copies dropped;
  Lock lock(queue().mutex);
  Copies &copies = queue().copies;
  for (Copy copy = copies.begin(); copy != copies.end();) {
    const Copy at = copy++;
    if (at->block != block || at->runsHere())
      continue;
    if (at->state == State::kWaits) {
      take(at, dropped);
    } else {
      queue().arrived.wait(lock);
      copy = copies.begin();
    }
  }
}

} // namespace devsan::sim
