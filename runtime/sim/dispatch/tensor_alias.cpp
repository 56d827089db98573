#include "tensor_alias.h"

#include <cstring>

#include <c10/core/TensorImpl.h>
#include <c10/core/impl/LocalDispatchKeySet.h>

#include "alias_shells.h"
#include "runtime/sim/memory/memory.h"
#include "runtime/sim/streams/pending_copies.h"
#include "sparse_alias.h"

namespace devsan::sim {
namespace {

using c10::DispatchKey;
using c10::DispatchKeySet;
using c10::StorageImpl;
using c10::TensorImpl;

// Key set and device of a tensor are fixed at construction for everybody else; relabelling a fresh
// result in place saves two allocations per operator. Members of a base are reachable through a
// derived class's pointer to member.
struct TensorLabel : TensorImpl {
  static constexpr DispatchKeySet TensorImpl::*keySet() { return &TensorLabel::key_set_; }
  static constexpr std::optional<c10::Device> TensorImpl::*device() {
    return &TensorLabel::device_opt_;
  }
};

const DispatchKeySet kCpuBits =
    DispatchKeySet(c10::BackendComponent::CPUBit) | DispatchKeySet(DispatchKey::AutocastCPU);
const DispatchKeySet kCudaBits =
    DispatchKeySet(c10::BackendComponent::CUDABit) | DispatchKeySet(DispatchKey::AutocastCUDA);

// The same functionality (dense, autograd, conjugate, negative ...) on the other backend.
DispatchKeySet swapBackend(DispatchKeySet keys, DispatchKeySet from, DispatchKeySet to) {
  return DispatchKeySet::from_raw_repr((keys.raw_repr() & ~from.raw_repr()) | to.raw_repr());
}

StorageImpl *storageOf(const at::Tensor &tensor) {
  return tensor.unsafeGetTensorImpl()->unsafe_storage().unsafeGetStorageImpl();
}

bool shareMemory(StorageImpl &device, StorageImpl &cpu) {
  return kernelAddress(device._mutable_data_ptr_no_checks().get()) ==
         cpu._mutable_data_ptr_no_checks().get();
}

void releaseKept(void *storage) {
  c10::intrusive_ptr<StorageImpl>::reclaim(static_cast<StorageImpl *>(storage));
}

// A device storage over memory that belongs to `cpu`: a kernel's static or external memory.
c10::intrusive_ptr<StorageImpl> wrapStorage(const c10::intrusive_ptr<StorageImpl> &cpu,
                                            c10::Device device) {
  auto kept = cpu;
  c10::DataPtr data(deviceAddress(cpu->_mutable_data_ptr_no_checks().get()), kept.release(),
                    &releaseKept, device);
  return c10::make_intrusive<StorageImpl>(StorageImpl::use_byte_size_t(),
                                          static_cast<std::int64_t>(cpu->nbytes()), std::move(data),
                                          deviceAllocator(), true);
}

void relabelStorage(StorageImpl &storage, c10::Device device) {
  relabelBlock(storage._mutable_data_ptr_no_checks(), device);
  storage.set_allocator(deviceAllocator());
}

void relabelTensor(TensorImpl &impl, DispatchKeySet from, DispatchKeySet to, c10::Device device) {
  impl.*TensorLabel::keySet() = swapBackend(impl.key_set(), from, to);
  impl.*TensorLabel::device() = device;
}

// An alias of a tensor of a derived class (quantised, nested): a copy of its description over
// another storage.
at::Tensor copyAlias(c10::intrusive_ptr<StorageImpl> storage, const at::Tensor &like,
                     DispatchKeySet from, DispatchKeySet to, c10::Device device) {
  // A Python dispatch mode would make the copy otherwise.
  c10::impl::ExcludeDispatchKeyGuard no_python(DispatchKey::Python);
  TensorImpl *impl = like.unsafeGetTensorImpl();
  at::Tensor alias(impl->shallow_copy_and_detach(
      impl->is_inference() ? c10::VariableVersion() : c10::VariableVersion(0), true));
  alias.unsafeGetTensorImpl()->set_storage_keep_dtype(c10::Storage(std::move(storage)));
  relabelTensor(*alias.unsafeGetTensorImpl(), from, to, device);
  return alias;
}

// A view, also in that it is an inference tensor where `like` is one: whatever the thread's mode.
at::Tensor makeDenseTensor(c10::intrusive_ptr<StorageImpl> storage, const at::Tensor &like) {
  TensorImpl *impl = like.unsafeGetTensorImpl();
  auto alias = at::detail::make_tensor<TensorImpl>(
      TensorImpl::VIEW, c10::Storage(std::move(storage)),
      swapBackend(impl->key_set(), kCpuBits, kCudaBits), like.dtype());
  TensorImpl *made = alias.unsafeGetTensorImpl();
  made->set_sizes_and_strides(impl->sizes(), impl->strides(), impl->storage_offset());
  if (C10_UNLIKELY(impl->is_wrapped_number()))
    made->set_wrapped_number(true);
  return alias;
}

} // namespace

Translation::~Translation() {
  for (Binding &binding : tensors_)
    giveBackAlias(binding.cpu);
}

StorageImpl *Translation::boundTo(const StorageImpl *device) const {
  for (const Binding &binding : tensors_)
    if (storageOf(binding.device) == device)
      return storageOf(binding.cpu);
  for (const StorageBinding &binding : storages_)
    if (binding.device.get() == device)
      return binding.cpu.get();
  return nullptr;
}

c10::intrusive_ptr<StorageImpl> Translation::cpuStorage(StorageImpl &device) {
  StorageImpl *bound = boundTo(&device);
  return bound ? c10::intrusive_ptr<StorageImpl>::reclaim_copy(bound) : makeCpuStorage(device);
}

at::Tensor Translation::makeCpuAlias(const at::Tensor &tensor) {
  TensorImpl *impl = tensor.unsafeGetTensorImpl();
  if (C10_UNLIKELY(isSparse(tensor)))
    return translateSparse(tensor, c10::Device(c10::kCPU),
                           [this](const at::Tensor &part) { return toCpu(part); });
  TORCH_CHECK_NOT_IMPLEMENTED(impl->has_storage(), "not simulated: tensors of layout ",
                              tensor.layout(), " on ", tensor.device());
  StorageImpl *storage = storageOf(tensor);
  finishCopiesTo(storage);
  DispatchKeySet keys = impl->key_set();
  if (C10_LIKELY(keys.has(DispatchKey::CUDA) && !keys.has(DispatchKey::Python))) {
    if (C10_LIKELY(!isCopyOnWrite(*storage)))
      return takeAlias(tensor, swapBackend(keys, kCudaBits, kCpuBits), boundTo(storage));
    has_copy_on_write_ = true;
    return takeAlias(tensor, swapBackend(keys, kCudaBits, kCpuBits), cpuStorage(*storage).get());
  }
  has_copy_on_write_ |= isCopyOnWrite(*storage);
  return copyAlias(cpuStorage(*storage), tensor, kCudaBits, kCpuBits, c10::Device(c10::kCPU));
}

at::Tensor Translation::toCpu(at::Tensor tensor) {
  if (!tensor.defined() || !tensor.is_cuda())
    return tensor;
  for (const Binding &binding : tensors_)
    if (binding.device.is_same(tensor))
      return binding.cpu;
  at::Tensor alias = makeCpuAlias(tensor);
  tensors_.push_back({std::move(tensor), alias});
  return alias;
}

c10::Storage Translation::toCpu(const c10::Storage &storage) {
  if (!storage || storage.device_type() != c10::kCUDA)
    return storage;
  StorageImpl *device = storage.unsafeGetStorageImpl();
  finishCopiesTo(device);
  has_copy_on_write_ |= isCopyOnWrite(*device);
  auto cpu = cpuStorage(*device);
  storages_.push_back({c10::intrusive_ptr<StorageImpl>::reclaim_copy(device), cpu});
  return c10::Storage(std::move(cpu));
}

c10::Storage Translation::deviceStorage(const c10::Storage &cpu) {
  StorageImpl *impl = cpu.unsafeGetStorageImpl();
  for (const StorageBinding &binding : storages_)
    if (binding.cpu.get() == impl)
      return c10::Storage(c10::intrusive_ptr<StorageImpl>(binding.device));
  for (const Binding &binding : tensors_)
    if (storageOf(binding.cpu) == impl)
      return binding.device.storage();
  auto owned = c10::intrusive_ptr<StorageImpl>::reclaim_copy(impl);
  auto device = wrapStorage(owned, device_);
  storages_.push_back({device, std::move(owned)});
  return c10::Storage(std::move(device));
}

at::Tensor Translation::makeDeviceTensor(at::Tensor tensor) {
  TensorImpl *impl = tensor.unsafeGetTensorImpl();
  if (C10_UNLIKELY(isSparse(tensor)))
    return translateSparse(tensor, device_,
                           [this](const at::Tensor &part) { return toDevice(part); });
  if (C10_UNLIKELY(!impl->has_storage()))
    return tensor;
  StorageImpl *storage = storageOf(tensor);
  takeFromHost(*storage, device_.index());
  const c10::DataPtr &data = storage->_mutable_data_ptr_no_checks();
  bool fresh = tensor.use_count() == 1 && impl->unsafe_storage().use_count() == 1 &&
               (ownsDeviceBlock(data) || data.get() == nullptr);
  if (C10_LIKELY(fresh)) {
    relabelStorage(*storage, device_);
    relabelTensor(*impl, kCpuBits, kCudaBits, device_);
    return tensor;
  }
  c10::Storage shared = deviceStorage(impl->unsafe_storage());
  auto storage_over = c10::intrusive_ptr<StorageImpl>::reclaim_copy(shared.unsafeGetStorageImpl());
  if (C10_LIKELY(impl->key_set().has(DispatchKey::CPU)))
    return makeDenseTensor(std::move(storage_over), tensor);
  return copyAlias(std::move(storage_over), tensor, kCpuBits, kCudaBits, device_);
}

at::Tensor Translation::toDevice(at::Tensor tensor) {
  if (!tensor.defined() || !tensor.is_cpu())
    return tensor;
  for (const Binding &binding : tensors_)
    if (binding.cpu.is_same(tensor))
      return binding.device;
  return makeDeviceTensor(std::move(tensor));
}

void Translation::updateStorage(StorageImpl &device, StorageImpl &cpu) {
  if (C10_UNLIKELY(has_copy_on_write_) && !isCopyOnWrite(cpu) && isCopyOnWrite(device)) {
    const void *shared = device._mutable_data_ptr_no_checks().get();
    materialize(device);
    // The kernel wrote to a copy because the alias shared the block, too. Who shares it with no
    // other tensor keeps it.
    if (device._mutable_data_ptr_no_checks().get() == shared && cpu.nbytes() == device.nbytes()) {
      std::memcpy(kernelAddress(device.mutable_data()), cpu.data(), cpu.nbytes());
      return;
    }
  }
  if (!shareMemory(device, cpu)) {
    takeFromHost(cpu, device.device().index());
    c10::DataPtr &data = cpu._mutable_data_ptr_no_checks();
    if (ownsDeviceBlock(data) || data.get() == nullptr) {
      // The block moves to the device storage.
      c10::DataPtr moved = std::move(data);
      relabelBlock(moved, device.device());
      device.set_data_ptr_noswap(std::move(moved));
    } else {
      auto kept = c10::intrusive_ptr<StorageImpl>::reclaim_copy(&cpu);
      device.set_data_ptr_noswap(
          {deviceAddress(data.get()), kept.release(), &releaseKept, device.device()});
    }
  }
  if (cpu.nbytes() != device.nbytes())
    device.set_nbytes(cpu.nbytes());
}

void Translation::updateArguments() {
  for (const StorageBinding &binding : storages_)
    updateStorage(*binding.device, *binding.cpu);
  for (const Binding &binding : tensors_) {
    if (C10_UNLIKELY(isSparse(binding.device))) {
      assignSparse(binding.device, binding.cpu,
                   [this](const at::Tensor &part) { return toDevice(part); });
      continue;
    }
    TensorImpl *device = binding.device.unsafeGetTensorImpl();
    TensorImpl *cpu = binding.cpu.unsafeGetTensorImpl();
    StorageImpl *cpu_storage = storageOf(binding.cpu);
    StorageImpl *device_storage = storageOf(binding.device);
    if (C10_UNLIKELY(has_copy_on_write_) || !shareMemory(*device_storage, *cpu_storage) ||
        cpu_storage->nbytes() != device_storage->nbytes())
      updateStorage(*device_storage, *cpu_storage);
    if (C10_UNLIKELY(
            binding.device.is_nested())) // has no size to compare, and none that can change
      continue;
    if (C10_UNLIKELY(device->sizes() != cpu->sizes() || device->strides() != cpu->strides() ||
                     device->storage_offset() != cpu->storage_offset()))
      device->set_sizes_and_strides(cpu->sizes(), cpu->strides(), cpu->storage_offset());
    // linalg_lu_solve.out gives its result a conjugate bit instead of conjugating it.
    if (C10_UNLIKELY(device->is_conj() != cpu->is_conj()))
      device->_set_conj(cpu->is_conj());
    if (C10_UNLIKELY(device->is_neg() != cpu->is_neg()))
      device->_set_neg(cpu->is_neg());
  }
}

at::Tensor cpuAlias(const at::Tensor &tensor) {
  materialize(*storageOf(tensor));
  Translation translation(tensor.device());
  return translation.toCpu(tensor);
}

} // namespace devsan::sim
