#include "pending_copies.h"

#include <pthread.h>

#include <algorithm>
#include <cstring>
#include <optional>

#include <ATen/EmptyTensor.h>
#include <ATen/detail/CUDAHooksInterface.h>
#include <ATen/ops/copy_ops.h>
#include <c10/core/TensorImpl.h>

#include "runtime/sim/devices/devices.h"
#include "runtime/sim/memory/host_watch.h"
#include "runtime/sim/memory/memory.h"

namespace devsan::sim {
namespace {

struct DeviceTarget {
  // Weak: nobody can see what arrives in memory that the program has let go.
  c10::weak_intrusive_ptr<c10::StorageImpl> storage;
  const void *data;
  c10::DimVector sizes, strides;
  std::int64_t offset;
  caffe2::TypeMeta dtype;
};

struct PendingCopy {
  Stamp stamp;
  VectorClock after; // the stream's clock when the copy was issued
  at::Tensor host;
  at::Tensor data;                    // to the host: what arrives
  std::optional<DeviceTarget> target; // to a device
  bool asked_for = false;
  bool done = false;

  bool toHost() const { return !target; }
};

using Copies = std::vector<PendingCopy>;

struct Queue {
  std::mutex mutex;
  Copies copies; // in the order of issue
  std::size_t look_for_unseen_at = 64;
};

// Never destroyed, as the streams. Its lock is taken before that of the streams.
Queue &queue() {
  static auto *one = [] {
    auto *made = new Queue;
    StreamOrder registered_first; // so that a fork takes its lock after ours
    pthread_atfork([] { queue().mutex.lock(); }, [] { queue().mutex.unlock(); },
                   [] { queue().mutex.unlock(); });
    return made;
  }();
  return *one;
}

// The program's tensor may change its shape and is seen by autograd; this one stays as it is.
at::Tensor sameMemory(const at::Tensor &host) {
  auto alias = at::detail::make_tensor<c10::TensorImpl>(
      c10::Storage(host.storage()), c10::DispatchKeySet(c10::DispatchKey::CPU), host.dtype());
  alias.unsafeGetTensorImpl()->set_sizes_and_strides(host.sizes(), host.strides(),
                                                     host.storage_offset());
  return alias;
}

bool overlap(const at::Tensor &a, const at::Tensor &b) {
  auto begin = [](const at::Tensor &t) { return static_cast<const char *>(t.const_data_ptr()); };
  return begin(a) < begin(b) + b.nbytes() && begin(b) < begin(a) + a.nbytes();
}

bool sameSizeAndOrder(const at::Tensor &a, const at::Tensor &b) {
  return a.strides() == b.strides() && a.is_non_overlapping_and_dense();
}

void perform(PendingCopy &copy) {
  copy.done = true;
  if (copy.toHost()) {
    openForArrival(copy.host.const_data_ptr(), copy.host.nbytes());
    std::memcpy(copy.host.mutable_data_ptr(), copy.data.const_data_ptr(), copy.host.nbytes());
    return;
  }
  const DeviceTarget &target = *copy.target;
  auto storage = target.storage.lock();
  if (!storage || storage->_mutable_data_ptr_no_checks().get() != target.data)
    return;
  c10::StorageImpl *twin = cachedCpuTwin(*storage);
  if (twin == nullptr)
    return;
  auto alias = at::detail::make_tensor<c10::TensorImpl>(
      c10::Storage(c10::intrusive_ptr<c10::StorageImpl>::reclaim_copy(twin)),
      c10::DispatchKeySet(c10::DispatchKey::CPU), target.dtype);
  alias.unsafeGetTensorImpl()->set_sizes_and_strides(target.sizes, target.strides, target.offset);
  if (at::detail::computeStorageNbytes(target.sizes, target.strides, alias.itemsize(),
                                       static_cast<std::size_t>(target.offset)) > twin->nbytes())
    return;
  KernelScope kernel(storage->device().index());
  at::_ops::copy_::redispatch(c10::DispatchKeySet(c10::DispatchKey::CPU), alias, copy.host, false);
}

// What the streams order before a copy and touches the same host memory, comes first.
void performInOrder(Copies &copies, std::size_t index) {
  PendingCopy &copy = copies[index];
  for (std::size_t i = 0; i < index; ++i) {
    const PendingCopy &earlier = copies[i];
    if (!earlier.done && (earlier.toHost() || copy.toHost()) &&
        happenedBefore(earlier.stamp, copy.after) && overlap(earlier.host, copy.host))
      performInOrder(copies, i);
  }
  perform(copy);
}

// Takes out what is done; the caller drops it after the lock, because deleters run then.
Copies takeDone(Queue &all) {
  Copies done, waiting;
  std::uint64_t awaited = 0;
  for (PendingCopy &copy : all.copies) {
    if (!copy.done && !copy.toHost())
      awaited |= detail::storageBit(copy.target->storage._unsafe_get_target());
    (copy.done ? done : waiting).push_back(std::move(copy));
  }
  all.copies = std::move(waiting);
  detail::awaited_storages.store(awaited, std::memory_order_relaxed);
  detail::waiting_copies.store(static_cast<std::uint32_t>(all.copies.size()),
                               std::memory_order_relaxed);
  return done;
}

// A program that never waits must not collect copies for ever: what went to memory that only its
// copy holds, nobody will see.
void dropUnseen(Queue &all) {
  if (all.copies.size() < all.look_for_unseen_at)
    return;
  std::size_t left = 0;
  for (PendingCopy &copy : all.copies) {
    const c10::Storage &storage = copy.host.storage();
    bool owned = storage.data_ptr().get_deleter() == pinnedAllocator()->raw_deleter();
    copy.done = copy.toHost() && owned && storage.use_count() == 1;
    if (copy.done)
      openForArrival(copy.host.const_data_ptr(), copy.host.nbytes());
    left += !copy.done;
  }
  all.look_for_unseen_at = std::max<std::size_t>(64, 2 * left);
}

void enqueue(PendingCopy copy, c10::Stream stream) {
  Copies dropped;
  std::lock_guard lock(queue().mutex);
  {
    StreamOrder order;
    StreamState &state = order.of(stream);
    copy.stamp = order.issue(state);
    copy.after = state.clock;
  }
  dropUnseen(queue());
  queue().copies.push_back(std::move(copy));
  dropped = takeDone(queue());
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
  return host.sizes() == device.sizes() &&
         (host.is_contiguous() || (same_type && sameSizeAndOrder(host, device)));
}

void copyToHostLater(const at::Tensor &host, at::Tensor data, c10::Stream stream) {
  PendingCopy copy;
  copy.host = sameMemory(host);
  copy.data = std::move(data);
  closeToHostUntilArrival(host.const_data_ptr(), host.nbytes(), stream);
  enqueue(std::move(copy), stream);
}

bool copyToDeviceLater(const at::Tensor &device, const at::Tensor &host, c10::Stream stream) {
  c10::StorageImpl *storage = device.storage().unsafeGetStorageImpl();
  if (cachedCpuTwin(*storage) == nullptr)
    return false;
  PendingCopy copy;
  copy.host = sameMemory(host);
  copy.target.emplace(DeviceTarget{device.storage().getWeakStorageImpl(),
                                   storage->_mutable_data_ptr_no_checks().get(),
                                   c10::DimVector(device.sizes()), c10::DimVector(device.strides()),
                                   device.storage_offset(), device.dtype()});
  enqueue(std::move(copy), stream);
  return true;
}

void finishCopies(const VectorClock &clock) {
  if (detail::waiting_copies.load(std::memory_order_relaxed) == 0)
    return;
  Copies done;
  std::lock_guard lock(queue().mutex);
  for (PendingCopy &copy : queue().copies)
    if (happenedBefore(copy.stamp, clock))
      perform(copy);
  done = takeDone(queue());
}

bool haveCopiesArrived(const VectorClock &clock) {
  std::lock_guard lock(queue().mutex);
  return std::ranges::none_of(
      queue().copies, [&](const PendingCopy &copy) { return happenedBefore(copy.stamp, clock); });
}

bool askForCopies(const VectorClock &clock) {
  bool all_asked_for = true;
  {
    std::lock_guard lock(queue().mutex);
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
  Copies done;
  std::lock_guard lock(queue().mutex);
  Copies &copies = queue().copies;
  for (std::size_t i = 0; i < copies.size(); ++i)
    if (!copies[i].done && copies[i].toHost() && happenedBefore(copies[i].stamp, clock) &&
        overlap(copies[i].host, host))
      performInOrder(copies, i);
  done = takeDone(queue());
}

void detail::finishCopiesToStorage(c10::StorageImpl *storage) {
  Copies done;
  std::lock_guard lock(queue().mutex);
  Copies &copies = queue().copies;
  for (std::size_t i = 0; i < copies.size(); ++i)
    if (!copies[i].done && !copies[i].toHost() &&
        copies[i].target->storage._unsafe_get_target() == storage)
      performInOrder(copies, i);
  done = takeDone(queue());
}

} // namespace devsan::sim
