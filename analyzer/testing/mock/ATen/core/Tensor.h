#pragma once
#include <c10/core/TensorOptions.h>
#include <c10/util/ArrayRef.h>
#include <c10/util/Exception.h>

#include <optional>
#include <string>
#include <tuple>
#include <vector>

namespace c10 {
class Storage;
class Stream;
} // namespace c10

namespace at {

class Tensor;
using TensorList = ArrayRef<Tensor>;
template <typename T, size_t N> class TensorAccessor {
public:
  TensorAccessor<T, N - 1> operator[](int64_t index);
};
template <typename T> class TensorAccessor<T, 1> {
public:
  T &operator[](int64_t index);
};

namespace indexing {
enum class TensorIndexType { None, Ellipsis, Integer, Boolean, Slice, Tensor };
struct Slice {
  Slice();
  Slice(int64_t start);
  Slice(int64_t start, int64_t stop);
};
struct TensorIndex {
  TensorIndex(std::nullopt_t);
  TensorIndex(const char *text);
  TensorIndex(int64_t integer);
  TensorIndex(int integer);
  template <typename T, typename = std::enable_if_t<std::is_same_v<T, bool>>>
  TensorIndex(T boolean);
  TensorIndex(Slice slice);
  TensorIndex(Tensor tensor);
};
constexpr std::nullopt_t None = std::nullopt;
} // namespace indexing

// What x.type() gives: dtype and kind of device, no index.
class DeprecatedTypeProperties {
public:
  TensorOptions options(int16_t device_index = -1) const;
  DeviceType device_type() const;
  bool is_cuda() const;
  operator TensorOptions() const;
  DeprecatedTypeProperties &toScalarType(ScalarType type) const;
};
DeprecatedTypeProperties &CUDA(ScalarType type);
DeprecatedTypeProperties &CPU(ScalarType type);

class TensorBase {
public:
  TensorBase();
  TensorBase(const TensorBase &other);
  int64_t dim() const;
  int64_t size(int64_t dim) const;
  int64_t numel() const;
  int64_t stride(int64_t dim) const;
  IntArrayRef sizes() const;
  IntArrayRef strides() const;
  bool defined() const;
  bool is_contiguous() const;
  bool is_cuda() const;
  bool is_cpu() const;
  bool is_sparse() const;
  bool is_pinned() const;
  Device device() const;
  DeviceIndex get_device() const;
  ScalarType scalar_type() const;
  ScalarType dtype() const;
  TensorOptions options() const;
  Layout layout() const;
  bool requires_grad() const;
  size_t element_size() const;
  void *data_ptr() const;
  const void *const_data_ptr() const;
  void *mutable_data_ptr() const;
  template <typename T> T *data_ptr() const;
  template <typename T> const T *const_data_ptr() const;
  template <typename T> T *mutable_data_ptr() const;
  template <typename T, size_t N> TensorAccessor<T, N> accessor() const &;
  template <typename T, size_t N> TensorAccessor<T, N> packed_accessor32() const &;
  bool is_same(const TensorBase &other) const noexcept;
};

class Tensor : public TensorBase {
public:
  Tensor();
  DeprecatedTypeProperties &type() const;
  Tensor(const Tensor &tensor);
  Tensor(Tensor &&tensor);
  Tensor &operator=(const Tensor &x) & noexcept;
  Tensor &operator=(Tensor &&x) & noexcept;
  Tensor &operator=(const Scalar &v) &&;
  Tensor &operator=(const Tensor &rhs) &&;

  Tensor operator~() const;
  Tensor operator-() const;
  Tensor &operator+=(const Tensor &other);
  Tensor &operator+=(const Scalar &other);
  Tensor &operator-=(const Tensor &other);
  Tensor &operator*=(const Tensor &other);
  Tensor &operator*=(const Scalar &other);
  Tensor &operator/=(const Tensor &other);
  Tensor &operator/=(const Scalar &other);
  Tensor operator[](const Scalar &index) const;
  Tensor operator[](const Tensor &index) const;
  Tensor operator[](int64_t index) const;
  Tensor index(ArrayRef<at::indexing::TensorIndex> indices) const;
  Tensor index(std::initializer_list<at::indexing::TensorIndex> indices) const;
  Tensor index_put(std::initializer_list<at::indexing::TensorIndex> indices,
                   Tensor const &rhs) const;
  Tensor &index_put_(std::initializer_list<at::indexing::TensorIndex> indices, Tensor const &rhs);
  Tensor &index_put_(std::initializer_list<at::indexing::TensorIndex> indices, const Scalar &v);

  Tensor cpu() const;
  Tensor cuda() const;
  Tensor hip() const;
  Tensor to(TensorOptions options = {}, bool non_blocking = false, bool copy = false,
            std::optional<MemoryFormat> memory_format = std::nullopt) const;
  Tensor to(Device device, ScalarType dtype, bool non_blocking = false, bool copy = false,
            std::optional<MemoryFormat> memory_format = std::nullopt) const;
  Tensor to(ScalarType dtype, bool non_blocking = false, bool copy = false,
            std::optional<MemoryFormat> memory_format = std::nullopt) const;
  Tensor to(const Tensor &other, bool non_blocking = false, bool copy = false,
            std::optional<MemoryFormat> memory_format = std::nullopt) const;
  Tensor toType(ScalarType t) const;
  Tensor &copy_(const Tensor &src, bool non_blocking = false) const;
  Tensor type_as(const Tensor &other) const;
  Tensor contiguous(MemoryFormat memory_format = MemoryFormat::Contiguous) const;
  Tensor pin_memory(std::optional<Device> device = std::nullopt) const;
  void set_data(const Tensor &new_data) const;
  Tensor data() const;
  Tensor variable_data() const;

  Scalar item() const;
  template <typename T> T item() const;
  bool is_nonzero() const;
  bool equal(const Tensor &other) const;
  bool allclose(const Tensor &other, double rtol = 1e-05, double atol = 1e-08,
                bool equal_nan = false) const;
  Tensor nonzero() const;
  Tensor masked_select(const Tensor &mask) const;
  Tensor bincount(const std::optional<Tensor> &weights = {}, int64_t minlength = 0) const;
  Tensor repeat_interleave(const Tensor &repeats, std::optional<int64_t> dim = std::nullopt,
                           std::optional<int64_t> output_size = std::nullopt) const;

  Tensor &set_requires_grad(bool requires_grad) const;
  Tensor &requires_grad_(bool requires_grad = true) const;
  Tensor detach() const;
  Tensor clone(std::optional<MemoryFormat> memory_format = std::nullopt) const;
  void backward(const Tensor &gradient = {}) const;
  Tensor &grad() const;

  Tensor new_zeros(IntArrayRef size, TensorOptions options = {}) const;
  Tensor new_empty(IntArrayRef size, TensorOptions options = {}) const;
  Tensor new_full(IntArrayRef size, const Scalar &fill_value, TensorOptions options = {}) const;

  Tensor abs() const;
  Tensor add(const Tensor &other, const Scalar &alpha = 1) const;
  Tensor &add_(const Tensor &other, const Scalar &alpha = 1) const;
  Tensor &add_(const Scalar &other, const Scalar &alpha = 1) const;
  Tensor all() const;
  Tensor any() const;
  Tensor argmax(std::optional<int64_t> dim = std::nullopt, bool keepdim = false) const;
  Tensor cumsum(int64_t dim, std::optional<ScalarType> dtype = std::nullopt) const;
  Tensor div(const Tensor &other) const;
  Tensor eq(const Tensor &other) const;
  Tensor eq(const Scalar &other) const;
  Tensor exp() const;
  Tensor expand(IntArrayRef size) const;
  Tensor expand_as(const Tensor &other) const;
  Tensor &fill_(const Scalar &value) const;
  Tensor flatten(int64_t start_dim = 0, int64_t end_dim = -1) const;
  Tensor gt(const Scalar &other) const;
  Tensor index_select(int64_t dim, const Tensor &index) const;
  Tensor isnan() const;
  Tensor lt(const Scalar &other) const;
  Tensor masked_fill(const Tensor &mask, const Scalar &value) const;
  Tensor matmul(const Tensor &other) const;
  Tensor max() const;
  Tensor mean() const;
  Tensor min() const;
  Tensor mm(const Tensor &other) const;
  Tensor mul(const Tensor &other) const;
  Tensor &mul_(const Tensor &other) const;
  Tensor narrow(int64_t dim, int64_t start, int64_t length) const;
  Tensor ne(const Scalar &other) const;
  Tensor norm() const;
  Tensor permute(IntArrayRef dims) const;
  Tensor relu() const;
  Tensor reshape(IntArrayRef shape) const;
  Tensor scatter_add(int64_t dim, const Tensor &index, const Tensor &src) const;
  Tensor select(int64_t dim, int64_t index) const;
  Tensor slice(int64_t dim = 0, std::optional<int64_t> start = std::nullopt,
               std::optional<int64_t> end = std::nullopt, int64_t step = 1) const;
  Tensor softmax(int64_t dim) const;
  Tensor sqrt() const;
  Tensor squeeze() const;
  Tensor sub(const Tensor &other) const;
  Tensor sum() const;
  Tensor sum(int64_t dim) const;
  Tensor t() const;
  Tensor transpose(int64_t dim0, int64_t dim1) const;
  Tensor unsqueeze(int64_t dim) const;
  Tensor view(IntArrayRef size) const;
  Tensor where(const Tensor &condition, const Tensor &other) const;
  Tensor &zero_() const;
  void record_stream(c10::Stream s) const;
};

Tensor operator+(const Tensor &x, const Tensor &y);
Tensor operator+(const Tensor &x, const Scalar &y);
Tensor operator+(const Scalar &x, const Tensor &y);
Tensor operator-(const Tensor &x, const Tensor &y);
Tensor operator-(const Tensor &x, const Scalar &y);
Tensor operator-(const Scalar &x, const Tensor &y);
Tensor operator*(const Tensor &x, const Tensor &y);
Tensor operator*(const Tensor &x, const Scalar &y);
Tensor operator*(const Scalar &x, const Tensor &y);
Tensor operator/(const Tensor &x, const Tensor &y);
Tensor operator/(const Tensor &x, const Scalar &y);
Tensor operator==(const Tensor &x, const Tensor &y);
Tensor operator==(const Tensor &x, const Scalar &y);
Tensor operator!=(const Tensor &x, const Tensor &y);
Tensor operator!=(const Tensor &x, const Scalar &y);
Tensor operator<(const Tensor &x, const Tensor &y);
Tensor operator<(const Tensor &x, const Scalar &y);
Tensor operator>(const Tensor &x, const Tensor &y);
Tensor operator>(const Tensor &x, const Scalar &y);
Tensor operator>=(const Tensor &x, const Scalar &y);
Tensor operator<=(const Tensor &x, const Scalar &y);
Tensor operator&(const Tensor &x, const Tensor &y);
Tensor operator|(const Tensor &x, const Tensor &y);

} // namespace at
