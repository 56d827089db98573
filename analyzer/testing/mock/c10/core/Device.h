#pragma once
#include <cstdint>
#include <string>

namespace c10 {

enum class DeviceType : int8_t { CPU = 0, CUDA = 1, HIP = 6, XPU = 12, MPS = 13, Meta = 14 };
constexpr DeviceType kCPU = DeviceType::CPU;
constexpr DeviceType kCUDA = DeviceType::CUDA;
constexpr DeviceType kHIP = DeviceType::HIP;
constexpr DeviceType kXPU = DeviceType::XPU;
constexpr DeviceType kMPS = DeviceType::MPS;
constexpr DeviceType kMeta = DeviceType::Meta;

using DeviceIndex = int8_t;

struct Device final {
  using Type = DeviceType;
  Device(DeviceType type, DeviceIndex index = -1);
  Device(const std::string &device_string);
  bool operator==(const Device &other) const noexcept;
  bool operator!=(const Device &other) const noexcept;
  void set_index(DeviceIndex index);
  DeviceType type() const noexcept;
  DeviceIndex index() const noexcept;
  bool has_index() const noexcept;
  bool is_cuda() const noexcept;
  bool is_cpu() const noexcept;
  bool is_mps() const noexcept;
  std::string str() const;
};

} // namespace c10

namespace at {
using c10::Device;
using c10::DeviceIndex;
using c10::DeviceType;
using c10::kCPU;
using c10::kCUDA;
using c10::kHIP;
using c10::kMeta;
using c10::kMPS;
using c10::kXPU;
} // namespace at
