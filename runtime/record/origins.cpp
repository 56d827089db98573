#include "runtime/record/origins.h"

#include "runtime/operators/operator_wrapper.h"
#include "runtime/protocol/options.h"
#include "runtime/record/device_keys.h"
#include "runtime/record/recorder.h"
#include "runtime/record/redirect.h"
#include "runtime/record/simulator.h"

#include <ATen/EmptyTensor.h>
#include <ATen/ops/empty.h>
#include <ATen/ops/empty_native.h>
#include <ATen/ops/empty_strided_native.h>
#include <ATen/ops/from_blob.h>
#include <ATen/ops/set_native.h>
#include <array>
#include <atomic>
#include <span>

namespace devsan::runtime {
namespace {

using WeakStorage = c10::weak_intrusive_ptr<c10::StorageImpl>;

struct Slot {
  std::atomic_flag busy = ATOMIC_FLAG_INIT;
  c10::StorageImpl *key = nullptr; // kept from reuse by `storage`
  WeakStorage storage{c10::intrusive_ptr<c10::StorageImpl>()};
  TensorOrigin origin;
  std::uint32_t epoch = 0;
};

// Counts forks on the way to this process: what an ancestor noted names stacks of its log, not of
// ours. A slot that another thread held at fork stays busy in the child, which only loses that
// slot.
std::uint32_t current_epoch = 0;

constexpr std::size_t kSlots = 1 << 14;

Slot *slots() {
  static Slot *table = new Slot[kSlots];
  return table;
}

// Slots that a storage may take. Storages lie at fixed distances from each other, so with one slot
// each, two of them would meet again and again.
constexpr std::size_t kWays = 4;

std::span<Slot, kWays> slotsOf(const c10::StorageImpl *storage) {
  auto address = reinterpret_cast<std::uintptr_t>(storage);
  std::size_t set = (address * 0x9e3779b97f4a7c15ull) >> (64 - 12);
  static_assert(kSlots / kWays == 1 << 12);
  return std::span<Slot, kWays>(slots() + set * kWays, kWays);
}

// A slot that another thread is using is not worth waiting for.
class SlotLock {
public:
  explicit SlotLock(Slot &slot)
      : slot_(slot), held_(!slot.busy.test_and_set(std::memory_order_acquire)) {}
  ~SlotLock() {
    if (held_)
      slot_.busy.clear(std::memory_order_release);
  }
  explicit operator bool() const { return held_; }

private:
  Slot &slot_;
  bool held_;
};

// What a dead storage leaves is small, but it pins the memory around it: the next tensor finds no
// room between two of them, and the heap grows, with memory that no cache has seen. So every note
// looks for dead ones among the last notes, where most are, and in the table.
class DeadStorages {
public:
  // Where few of the tensors are noted, each note has to look at many.
  void noted(const Slot &slot, bool sampled) {
    const std::uint32_t number = notes_.fetch_add(1, std::memory_order_relaxed);
    recent_[number % kRecent].store(static_cast<std::uint32_t>(&slot - slots()),
                                    std::memory_order_relaxed);
    const std::uint32_t recent = sampled ? 32 : 2, others = sampled ? 128 : 1;
    for (std::uint32_t i = 0; i < recent; ++i)
      release(slots()[recent_[(number * recent + i) % kRecent].load(std::memory_order_relaxed)]);
    for (std::uint32_t i = 0; i < others; ++i)
      release(slots()[(number * others + i) % kSlots]);
  }

private:
  static constexpr std::uint32_t kRecent = 256;

  static void release(Slot &slot) {
    WeakStorage dead{c10::intrusive_ptr<c10::StorageImpl>()}; // freed after the slot
    SlotLock lock(slot);
    if (!lock || !slot.key || slot.storage.use_count() != 0)
      return;
    dead = std::move(slot.storage);
    slot.key = nullptr;
  }

  std::atomic<std::uint32_t> notes_ = 0;
  std::array<std::atomic<std::uint32_t>, kRecent> recent_{}; // slots, by index
};

DeadStorages dead_storages;

// The first tensors of a thread are those of the program's set-up, which live longest.
class Sampling {
public:
  // `one_in` is a power of 2.
  bool takes(std::uint32_t one_in) {
    constexpr std::uint32_t kFirst = 1000;
    ++made_;
    return made_ <= kFirst || (made_ & (one_in - 1)) == 0;
  }

private:
  std::uint32_t made_ = 0;
};

constexpr std::uint32_t kRarelyInterval = 1024;

// Host tensors without dimensions are mostly numbers that an operator wraps (`x * 2`), and hardly
// ever refused.
bool isNumber(const at::TensorBase &tensor) {
  return tensor.dim() == 0 && tensor.is_cpu();
}

bool shouldSample(const at::TensorBase &tensor) {
  if (options().origins == Origins::kAll && !isNumber(tensor))
    return true;
  thread_local Sampling factories;
  return factories.takes(kRarelyInterval);
}

// Results are many more, and a place that uploads them needs the origin of one.
bool shouldSampleResult(const at::TensorBase &tensor) {
  constexpr std::uint32_t kOftenInterval = 16;
  thread_local Sampling results;
  return results.takes(options().origins == Origins::kAll && !isNumber(tensor) ? kOftenInterval
                                                                               : kRarelyInterval);
}

bool isProgramsWork() {
  return !InsideRuntime::active() && recorder().recording();
}

void note(const at::Tensor &tensor, bool without_index) {
  InsideRuntime inside;
  try {
    noteOrigin(tensor, {recorder().currentStack(), /*is_move=*/false, without_index});
  } catch (...) {
  }
}

void noteFactory(const at::Tensor &tensor, bool without_index = false) {
  if (shouldSample(tensor) && isProgramsWork())
    note(tensor, without_index);
}

void noteResult(const at::TensorBase &tensor) {
  if (shouldSampleResult(tensor) && isProgramsWork())
    note(at::Tensor(tensor), false);
}

// The simulator says itself what it makes, at less than a boxed call costs.
void noteSimulated(const at::Tensor &made, bool without_index) {
  if (without_index || options().origins == Origins::kAll)
    noteFactory(made, without_index);
}

at::Tensor emptyOnHost(at::IntArrayRef size, std::optional<at::ScalarType> dtype,
                       std::optional<at::Layout> layout, std::optional<at::Device> device,
                       std::optional<bool> pin_memory,
                       std::optional<at::MemoryFormat> memory_format) {
  at::Tensor result = at::native::empty_cpu(size, dtype, layout, device, pin_memory, memory_format);
  noteFactory(result);
  return result;
}

// How a tensor that came from another process gets its memory, as a loader's batches do.
at::Tensor &setStorageOnHost(at::Tensor &self, at::Storage source, std::int64_t offset,
                             at::IntArrayRef size, at::IntArrayRef stride) {
  at::native::set_storage_cpu_(self, std::move(source), offset, size, stride);
  if (isProgramsWork() && originOf(self).stack == 0)
    noteResult(self);
  return self;
}

at::Tensor emptyStridedOnHost(at::IntArrayRef size, at::IntArrayRef stride,
                              std::optional<at::ScalarType> dtype, std::optional<at::Layout> layout,
                              std::optional<at::Device> device, std::optional<bool> pin_memory) {
  at::Tensor result =
      at::native::empty_strided_cpu(size, stride, dtype, layout, device, pin_memory);
  noteFactory(result);
  return result;
}

// Operators make their results by these, and from_blob() and its kind tensors over the program's
// memory, without a factory of the dispatcher's.
using EmptyResult = at::TensorBase(at::IntArrayRef, const at::TensorOptions &);
using EmptyStridedResult = at::TensorBase(at::IntArrayRef, at::IntArrayRef,
                                          const at::TensorOptions &);
using MakeTensor = at::Tensor(at::TensorMaker *);
EmptyResult *empty_result = nullptr;
EmptyStridedResult *empty_strided_result = nullptr;
MakeTensor *make_tensor = nullptr;
// Of the host's memory: kernels of the simulator's make their results by these functions, too.
c10::DeleterFnPtr host_deleter = nullptr;

at::TensorBase noted(at::TensorBase result) {
  if (result.storage().data_ptr().get_deleter() == host_deleter)
    noteResult(result);
  return result;
}

at::TensorBase emptyResult(at::IntArrayRef size, const at::TensorOptions &options) {
  return noted(empty_result(size, options));
}

at::TensorBase emptyStridedResult(at::IntArrayRef size, at::IntArrayRef stride,
                                  const at::TensorOptions &options) {
  return noted(empty_strided_result(size, stride, options));
}

at::Tensor makeTensor(at::TensorMaker *maker) {
  at::Tensor result = make_tensor(maker);
  if (result.is_cpu())
    noteResult(result);
  return result;
}

template <class Function>
void redirect(std::vector<Redirection> &all, const char *symbol, Function *&function,
              Function *replacement) {
  const Redirection redirection(symbol, reinterpret_cast<void *>(replacement));
  function = reinterpret_cast<Function *>(redirection.function);
  if (function)
    all.push_back(redirection);
}

void redirectResults() {
  host_deleter = at::empty({1}).storage().data_ptr().get_deleter();
  std::vector<Redirection> all;
  redirect(all, "_ZN2at6detail9empty_cpuEN3c108ArrayRefIlEERKNS1_13TensorOptionsE", empty_result,
           &emptyResult);
  redirect(all, "_ZN2at6detail17empty_strided_cpuEN3c108ArrayRefIlEES3_RKNS1_13TensorOptionsE",
           empty_strided_result, &emptyStridedResult);
  redirect(all, "_ZN2at11TensorMaker11make_tensorEv", make_tensor, &makeTensor);
  redirectCalls(all);
}

class DeviceFactory : public c10::OperatorKernel {
public:
  explicit DeviceFactory(WrappedKernel wrapped) : kernel_(std::move(wrapped.kernel)) {}

  void operator()(const c10::OperatorHandle &op, c10::DispatchKeySet keys,
                  torch::jit::Stack *stack) {
    const bool without_index = namesNoIndex(op, *stack);
    kernel_.callBoxed(op, keys, stack);
    noteFactory(stack->back().toTensor(), without_index);
  }

private:
  static bool namesNoIndex(const c10::OperatorHandle &op, const torch::jit::Stack &stack) {
    const std::size_t first = stack.size() - op.schema().arguments().size();
    for (std::size_t i = first; i < stack.size(); ++i)
      if (stack[i].isDevice())
        return !stack[i].toDevice().has_index();
    return true;
  }

  SafeKernelFunction kernel_;
};

} // namespace

void noteOrigin(const at::Tensor &tensor, TensorOrigin origin) {
  if (!tensor.has_storage())
    return;
  const c10::Storage &storage = tensor.storage();
  auto *key = storage.unsafeGetStorageImpl();
  WeakStorage displaced{c10::intrusive_ptr<c10::StorageImpl>()};
  // A slot of its own, a free one, or else the first.
  Slot *chosen = nullptr;
  int preference = 0;
  for (Slot &slot : slotsOf(key)) {
    SlotLock lock(slot);
    if (!lock)
      continue;
    int wanted = slot.key == key ? 3 : slot.storage.use_count() == 0 ? 2 : 1;
    if (wanted > preference) {
      preference = wanted;
      chosen = &slot;
    }
  }
  if (!chosen)
    return;
  {
    SlotLock lock(*chosen);
    if (!lock)
      return;
    if (chosen->key != key) {
      displaced = std::move(chosen->storage);
      chosen->storage = storage.getWeakStorageImpl();
      chosen->key = key;
    }
    chosen->origin = origin;
    chosen->epoch = current_epoch;
  }
  const bool sampled = tensor.is_cpu() && !origin.is_move && options().origins != Origins::kAll;
  dead_storages.noted(*chosen, sampled);
}

TensorOrigin originOf(const at::Tensor &tensor) {
  if (!tensor.has_storage())
    return {};
  auto *storage = tensor.storage().unsafeGetStorageImpl();
  for (Slot &slot : slotsOf(storage)) {
    SlotLock lock(slot);
    if (lock && slot.key == storage && slot.epoch == current_epoch)
      return slot.origin;
  }
  return {};
}

TensorOrigin originOfMemory(const void *data) {
  for (std::size_t i = 0; data && i < kSlots; ++i) {
    Slot &slot = slots()[i];
    // Released after the slot: this may be the last reference.
    c10::intrusive_ptr<c10::StorageImpl> storage;
    SlotLock lock(slot);
    if (!lock || !slot.key || slot.epoch != current_epoch)
      continue;
    storage = slot.storage.lock();
    if (storage && storage->data() == data)
      return slot.origin;
  }
  return {};
}

void installFactoryHooks() {
  if (options().origins == Origins::kOff || !recorder().recording())
    return;
  // The CPU's factories run often and their kernels are known: typed wrappers spare them the
  // boxing. With all origins wanted, the tensors of every device count.
  {
    SilentWarnings silent;
    c10::WarningUtils::WarningHandlerGuard guard(&silent);
    auto *host =
        new torch::Library(torch::Library::IMPL, "aten", c10::DispatchKey::CPU, __FILE__, __LINE__);
    host->impl("empty.memory_format", TORCH_FN(emptyOnHost));
    host->impl("empty_strided", TORCH_FN(emptyStridedOnHost));
    host->impl("set_.source_Storage_storage_offset", TORCH_FN(setStorageOnHost));
  }
  redirectResults();
  setObservers("devsan_sim_set_factory_observer", noteSimulated);
  if (options().origins != Origins::kAll)
    return;
  for (c10::DispatchKey key : deviceKeys()) {
    if (key == c10::DispatchKey::CUDA && simulatesCpuBuild())
      continue;
    auto *registrar = new KernelRegistrar("aten", key);
    for (auto [name, overload] :
         {std::pair{"aten::empty", "memory_format"}, std::pair{"aten::empty_strided", ""}})
      if (auto wrapped = findKernel(name, overload, key))
        registrar->wrap(*wrapped, std::make_unique<DeviceFactory>(*wrapped));
  }
}

void forgetOrigins() {
  ++current_epoch;
}

} // namespace devsan::runtime
