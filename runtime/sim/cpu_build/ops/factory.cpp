// Tensors without data of their own: empty and its kin, views, and storage changes.
#include <ATen/Context.h>
#include <ATen/EmptyTensor.h>
#include <ATen/native/Resize.h>
#include <ATen/native/ResizeCommon.h>
#include <ATen/native/TensorFactories.h>
#include <ATen/ops/as_strided_native.h>
#include <ATen/ops/empty.h>
#include <ATen/ops/set_native.h>
#include <ATen/ops/view_native.h>
#include <c10/core/SymIntArrayRef.h>

#include <atomic>

#include "runtime/sim/api/observers.h"
#include "runtime/sim/devices/devices.h"
#include "runtime/sim/memory/memory.h"
#include "runtime/sim/operators/library.h"

namespace devsan::sim {
namespace {

constexpr c10::DispatchKeySet kDense(c10::DispatchKey::CUDA);

void checkOptions(std::optional<at::Layout> layout, std::optional<bool> pin_memory) {
  TORCH_CHECK(!pin_memory.value_or(false), "Only dense CPU tensors can be pinned");
  TORCH_CHECK(layout.value_or(at::kStrided) == at::kStrided, "not simulated: empty with layout ",
              *layout);
}

at::ScalarType dtypeOrDefault(std::optional<at::ScalarType> dtype) {
  return dtype ? *dtype : c10::get_default_dtype_as_scalartype();
}

c10::DeviceIndex target(std::optional<c10::Device> device) {
  return withIndex(device.value_or(c10::Device(c10::kCUDA))).index();
}

// torch.use_deterministic_algorithms and torch.utils.deterministic.fill_uninitialized_memory
bool fillsUninitialized() {
  const at::Context &context = at::globalContext();
  return C10_UNLIKELY(context.deterministicAlgorithms()) &&
         context.deterministicFillUninitializedMemory();
}

std::atomic<DevSanFactoryObserver> observer{nullptr};

at::Tensor finish(at::Tensor made, std::optional<c10::Device> device) {
  if (fillsUninitialized())
    at::native::fill_empty_deterministic_(made);
  if (DevSanFactoryObserver observe = observer.load(std::memory_order_acquire))
    observe(made, (!device || !device->has_index()) && deviceCount() > 1);
  return made;
}

at::Tensor empty(c10::SymIntArrayRef size, std::optional<at::ScalarType> dtype,
                 std::optional<at::Layout> layout, std::optional<c10::Device> device,
                 std::optional<bool> pin_memory, std::optional<at::MemoryFormat> format) {
  checkOptions(layout, pin_memory);
  CurrentDeviceScope current(target(device));
  return finish(at::detail::empty_generic(C10_AS_INTARRAYREF_SLOW(size), deviceAllocator(), kDense,
                                          dtypeOrDefault(dtype), format),
                device);
}

at::Tensor emptyStrided(c10::SymIntArrayRef size, c10::SymIntArrayRef stride,
                        std::optional<at::ScalarType> dtype, std::optional<at::Layout> layout,
                        std::optional<c10::Device> device, std::optional<bool> pin_memory) {
  checkOptions(layout, pin_memory);
  CurrentDeviceScope current(target(device));
  return finish(at::detail::empty_strided_generic(C10_AS_INTARRAYREF_SLOW(size),
                                                  C10_AS_INTARRAYREF_SLOW(stride),
                                                  deviceAllocator(), kDense, dtypeOrDefault(dtype)),
                device);
}

at::Tensor asStrided(const at::Tensor &self, c10::SymIntArrayRef size, c10::SymIntArrayRef stride,
                     std::optional<c10::SymInt> offset) {
  std::optional<int64_t> storage_offset;
  if (offset)
    storage_offset = offset->guard_int(__FILE__, __LINE__);
  return at::native::as_strided_tensorimpl(self, C10_AS_INTARRAYREF_SLOW(size),
                                           C10_AS_INTARRAYREF_SLOW(stride), storage_offset);
}

at::Tensor view(const at::Tensor &self, c10::SymIntArrayRef size) {
  return at::native::view(self, C10_AS_INTARRAYREF_SLOW(size));
}

// The native functions would copy the content of a storage that grows as if the host could.
void growStorage(const at::Storage &storage, at::IntArrayRef size, at::IntArrayRef stride,
                 std::size_t itemsize, std::size_t offset) {
  if (c10::multiply_integers(size) == 0)
    return;
  std::size_t bytes = stride.data() != nullptr
                          ? at::detail::computeStorageNbytes(size, stride, itemsize, offset)
                          : at::detail::computeStorageNbytesContiguous(size, itemsize, offset);
  if (bytes > storage.nbytes())
    resizeDeviceStorage(*storage.unsafeGetStorageImpl(), bytes);
}

const at::Tensor &resize(const at::Tensor &self, c10::SymIntArrayRef size,
                         std::optional<at::MemoryFormat> format) {
  at::IntArrayRef sizes = C10_AS_INTARRAYREF_SLOW(size);
  for (std::int64_t one : sizes)
    TORCH_CHECK(one >= 0, "Trying to create tensor with negative dimension ", one, ": ", sizes);
  auto old_bytes = static_cast<std::int64_t>(self.storage().nbytes());
  if (self.sizes() != sizes) // a tensor of that size stays as it is, whatever its strides
    growStorage(self.storage(), sizes, {}, self.dtype().itemsize(),
                static_cast<std::size_t>(self.storage_offset()));
  at::native::resize_(self, C10_AS_INTARRAYREF_SLOW(size), format);
  // The native resize sees no growth: the storage has grown above.
  // NOLINTNEXTLINE(bugprone-return-const-ref-from-parameter): as ATen declares resize_
  return fillsUninitialized() ? at::native::fill_resize_deterministic_(self, old_bytes) : self;
}

at::Tensor &setStorageOffset(at::Tensor &self, at::Storage source, c10::SymInt offset,
                             c10::SymIntArrayRef size, c10::SymIntArrayRef stride) {
  CurrentDeviceScope current(self.get_device());
  if (source.device_type() == c10::kCUDA && source.resizable())
    growStorage(source, C10_AS_INTARRAYREF_SLOW(size), C10_AS_INTARRAYREF_SLOW(stride),
                self.dtype().itemsize(),
                static_cast<std::size_t>(offset.guard_int(__FILE__, __LINE__)));
  return at::native::set_storage_cpu_(self, std::move(source), offset.guard_int(__FILE__, __LINE__),
                                      C10_AS_INTARRAYREF_SLOW(size),
                                      C10_AS_INTARRAYREF_SLOW(stride));
}

at::Tensor &setStorage(at::Tensor &self, at::Storage source) {
  auto elements = static_cast<int64_t>(source.nbytes() / self.dtype().itemsize());
  return at::native::set_storage_cpu_(self, std::move(source), 0, {elements}, {});
}

at::Tensor &setTensor(at::Tensor &self, const at::Tensor &source) {
  return at::native::set_tensor_(self, source);
}

at::Tensor &setEmpty(at::Tensor &self) {
  CurrentDeviceScope current(self.get_device());
  at::Storage storage(at::Storage::use_byte_size_t(), 0, deviceAllocator(), true);
  return at::native::set_storage_cpu_(self, std::move(storage), 0, {0}, {});
}

} // namespace

DEVSAN_SIM_LIBRARY_IMPL(aten, CUDA, m) {
  m.impl("empty.memory_format", TORCH_FN(empty));
  m.impl("empty_strided", TORCH_FN(emptyStrided));
  m.impl("as_strided", TORCH_FN(asStrided));
  m.impl("view", TORCH_FN(view));
  m.impl("resize_", TORCH_FN(resize));
  m.impl("set_.source_Storage", TORCH_FN(setStorage));
  m.impl("set_.source_Storage_storage_offset", TORCH_FN(setStorageOffset));
  m.impl("set_.source_Tensor", TORCH_FN(setTensor));
  m.impl("set_", TORCH_FN(setEmpty));
}

} // namespace devsan::sim

void devsan_sim_set_factory_observer(DevSanFactoryObserver observer) {
  devsan::sim::observer.store(observer, std::memory_order_release);
}
