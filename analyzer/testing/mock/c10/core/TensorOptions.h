#pragma once
#include "../util/ArrayRef.h"
#include "Device.h"
#include "Scalar.h"

#include <optional>
#include <utility>

namespace c10 {

enum class Layout : int8_t { Strided, Sparse };
constexpr Layout kStrided = Layout::Strided;
constexpr Layout kSparse = Layout::Sparse;
enum class MemoryFormat : int8_t { Contiguous, Preserve, ChannelsLast };

struct TensorOptions {
  TensorOptions();
  TensorOptions(Layout layout);
  template <typename T, typename = std::enable_if_t<std::is_same_v<std::decay_t<T>, Device>>>
  TensorOptions(T &&device) {
    this->set_device(std::forward<T>(device));
  }
  template <typename... Args,
            typename = std::enable_if_t<std::is_constructible_v<Device, Args &&...> &&
                                        !(sizeof...(Args) == 1 &&
                                          (std::is_same_v<std::decay_t<Args>, Device> && ...))>>
  TensorOptions(Args &&...args) : TensorOptions(Device(std::forward<Args>(args)...)) {}
  TensorOptions(ScalarType dtype);

  [[nodiscard]] TensorOptions device(std::optional<Device> device) const noexcept;
  template <typename... Args> [[nodiscard]] TensorOptions device(Args &&...args) const noexcept {
    return device(std::optional<Device>(std::in_place, std::forward<Args>(args)...));
  }
  [[nodiscard]] TensorOptions device_index(DeviceIndex device_index) const noexcept;
  [[nodiscard]] TensorOptions dtype(std::optional<ScalarType> dtype) const noexcept;
  [[nodiscard]] TensorOptions layout(std::optional<Layout> layout) const noexcept;
  [[nodiscard]] TensorOptions requires_grad(std::optional<bool> requires_grad) const noexcept;
  [[nodiscard]] TensorOptions pinned_memory(std::optional<bool> pinned_memory) const noexcept;
  [[nodiscard]] TensorOptions memory_format(std::optional<MemoryFormat> format) const noexcept;
  Device device() const noexcept;
  bool has_device() const noexcept;
  ScalarType dtype() const noexcept;
  bool pinned_memory() const noexcept;

private:
  void set_device(std::optional<Device> device);
};

TensorOptions dtype(ScalarType dtype);
TensorOptions layout(Layout layout);
TensorOptions device(Device device);
TensorOptions device_index(DeviceIndex device_index);
TensorOptions requires_grad(bool requires_grad = true);

} // namespace c10

namespace at {
using c10::device;
using c10::device_index;
using c10::dtype;
using c10::kSparse;
using c10::kStrided;
using c10::Layout;
using c10::layout;
using c10::MemoryFormat;
using c10::requires_grad;
using c10::TensorOptions;
} // namespace at
