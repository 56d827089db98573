#pragma once
#include <ATen/ATen.h>

namespace torch {
using namespace at;
using at::Tensor;
using Dtype = at::ScalarType;

namespace detail {
struct TensorDataContainer {
  TensorDataContainer();
  TensorDataContainer(int value);
  TensorDataContainer(int64_t value);
  TensorDataContainer(float value);
  TensorDataContainer(double value);
  TensorDataContainer(bool value);
  TensorDataContainer(std::initializer_list<TensorDataContainer> values);
  TensorDataContainer(at::ArrayRef<float> values);
  TensorDataContainer(const std::vector<float> &values);
  TensorDataContainer(const std::vector<int64_t> &values);
};
} // namespace detail

using Deleter = std::function<void(void *)>;
at::Tensor tensor(detail::TensorDataContainer tensor_data_container, const at::TensorOptions &options = {});
at::Tensor from_blob(void *data, at::IntArrayRef sizes, at::IntArrayRef strides, const Deleter &deleter,
                     const at::TensorOptions &options = at::TensorOptions());
at::Tensor from_blob(void *data, at::IntArrayRef sizes, const Deleter &deleter,
                     const at::TensorOptions &options = at::TensorOptions());
at::Tensor from_blob(void *data, at::IntArrayRef sizes,
                     const at::TensorOptions &options = at::TensorOptions());
at::Tensor arange(const at::Scalar &end, at::TensorOptions options = {});
at::Tensor arange(const at::Scalar &start, const at::Scalar &end, at::TensorOptions options = {});
at::Tensor arange(const at::Scalar &start, const at::Scalar &end, const at::Scalar &step,
                  at::TensorOptions options = {});
at::Tensor empty(at::IntArrayRef size, at::TensorOptions options = {},
                 std::optional<at::MemoryFormat> memory_format = std::nullopt);
at::Tensor empty_like(const at::Tensor &self, at::TensorOptions options = {},
                      std::optional<at::MemoryFormat> memory_format = std::nullopt);
at::Tensor eye(int64_t n, at::TensorOptions options = {});
at::Tensor full(at::IntArrayRef size, const at::Scalar &fill_value, at::TensorOptions options = {});
at::Tensor full_like(const at::Tensor &self, const at::Scalar &fill_value, at::TensorOptions options = {},
                     std::optional<at::MemoryFormat> memory_format = std::nullopt);
at::Tensor linspace(const at::Scalar &start, const at::Scalar &end, int64_t steps,
                    at::TensorOptions options = {});
at::Tensor ones(at::IntArrayRef size, at::TensorOptions options = {});
at::Tensor ones_like(const at::Tensor &self, at::TensorOptions options = {},
                     std::optional<at::MemoryFormat> memory_format = std::nullopt);
at::Tensor rand(at::IntArrayRef size, at::TensorOptions options = {});
at::Tensor randint(int64_t high, at::IntArrayRef size, at::TensorOptions options = {});
at::Tensor randn(at::IntArrayRef size, at::TensorOptions options = {});
at::Tensor randperm(int64_t n, at::TensorOptions options = {});
at::Tensor scalar_tensor(const at::Scalar &s, at::TensorOptions options = {});
at::Tensor zeros(at::IntArrayRef size, at::TensorOptions options = {});
at::Tensor zeros_like(const at::Tensor &self, at::TensorOptions options = {},
                      std::optional<at::MemoryFormat> memory_format = std::nullopt);

namespace cuda {
size_t device_count();
bool is_available();
void synchronize(int64_t device_index = -1);
} // namespace cuda

} // namespace torch
