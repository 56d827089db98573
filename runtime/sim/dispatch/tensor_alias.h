// Device tensors seen by CPU kernels, and CPU results seen by the program: the two translations
// that every simulated operator makes. Nothing is copied; a tensor and its alias share memory, and
// within one call the same tensor (or storage) always translates to the same alias, so that
// in-place results, out= arguments and views keep their identity.
//
// One Translation lives on the stack of one operator call. It holds the device tensors alive,
// because the caller's stack slots are overwritten with the aliases.
#pragma once

#include <ATen/core/Tensor.h>
#include <c10/util/SmallVector.h>

namespace devsan::sim {

class Translation {
public:
  explicit Translation(c10::Device device) : device_(device) {}
  ~Translation();
  Translation(const Translation &) = delete;
  Translation &operator=(const Translation &) = delete;

  c10::Device device() const { return device_; }

  // CUDA tensors become CPU tensors over the same memory; others are returned as they are.
  at::Tensor toCpu(at::Tensor tensor);
  c10::Storage toCpu(const c10::Storage &storage);

  // CPU results become tensors on device(). A fresh result is relabelled in place.
  at::Tensor toDevice(at::Tensor tensor);

  // Carries what the kernel did to its arguments' shape, storage and size back to the device
  // tensors (out= arguments that were resized, resize_, set_, copy-on-write).
  void updateArguments();
  // Whether a kernel that changes no argument may have given one another storage.
  bool hasCopyOnWrite() const { return has_copy_on_write_; }

private:
  struct Binding {
    at::Tensor device;
    at::Tensor cpu;
  };
  struct StorageBinding {
    c10::intrusive_ptr<c10::StorageImpl> device;
    c10::intrusive_ptr<c10::StorageImpl> cpu;
  };

  at::Tensor makeCpuAlias(const at::Tensor &tensor);
  at::Tensor makeDeviceTensor(at::Tensor tensor);
  // The CPU storage that stands for `device` in this call, or nullptr.
  c10::StorageImpl *boundTo(const c10::StorageImpl *device) const;
  c10::intrusive_ptr<c10::StorageImpl> cpuStorage(c10::StorageImpl &device);
  c10::Storage deviceStorage(const c10::Storage &cpu);
  void updateStorage(c10::StorageImpl &device, c10::StorageImpl &cpu);

  c10::Device device_;
  bool has_copy_on_write_ = false;
  c10::SmallVector<Binding, 6> tensors_;
  // Storages bound by themselves: Storage arguments, and results that share memory.
  c10::SmallVector<StorageBinding, 2> storages_;
};

// The CPU tensor over the memory of a CUDA tensor that outlives the result; for kernels written by
// hand, which may write to it.
at::Tensor cpuAlias(const at::Tensor &tensor);

} // namespace devsan::sim
