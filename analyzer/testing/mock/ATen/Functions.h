#pragma once
#include <ATen/core/Tensor.h>

#include <functional>
#include <iosfwd>

namespace at {

Tensor arange(const Scalar &end, TensorOptions options = {});
Tensor arange(const Scalar &start, const Scalar &end, TensorOptions options = {});
Tensor arange(const Scalar &start, const Scalar &end, const Scalar &step,
              TensorOptions options = {});
Tensor empty(IntArrayRef size, TensorOptions options = {},
             std::optional<MemoryFormat> memory_format = std::nullopt);
Tensor empty_like(const Tensor &self, TensorOptions options = {},
                  std::optional<MemoryFormat> memory_format = std::nullopt);
Tensor eye(int64_t n, TensorOptions options = {});
Tensor from_blob(void *data, IntArrayRef sizes, const TensorOptions &options = {},
                 const std::optional<Device> target_device = std::nullopt);
Tensor full(IntArrayRef size, const Scalar &fill_value, TensorOptions options = {});
Tensor full_like(const Tensor &self, const Scalar &fill_value, TensorOptions options = {},
                 std::optional<MemoryFormat> memory_format = std::nullopt);
Tensor linspace(const Scalar &start, const Scalar &end, int64_t steps, TensorOptions options = {});
Tensor ones(IntArrayRef size, TensorOptions options = {});
Tensor ones_like(const Tensor &self, TensorOptions options = {},
                 std::optional<MemoryFormat> memory_format = std::nullopt);
Tensor rand(IntArrayRef size, TensorOptions options = {});
Tensor randint(int64_t high, IntArrayRef size, TensorOptions options = {});
Tensor randn(IntArrayRef size, TensorOptions options = {});
Tensor randperm(int64_t n, TensorOptions options = {});
Tensor scalar_tensor(const Scalar &s, TensorOptions options = {});
Tensor zeros(IntArrayRef size, TensorOptions options = {});
Tensor zeros_like(const Tensor &self, TensorOptions options = {},
                  std::optional<MemoryFormat> memory_format = std::nullopt);

Tensor abs(const Tensor &self);
Tensor add(const Tensor &self, const Tensor &other, const Scalar &alpha = 1);
Tensor all(const Tensor &self);
Tensor any(const Tensor &self);
Tensor bincount(const Tensor &self, const std::optional<Tensor> &weights = {},
                int64_t minlength = 0);
Tensor one_hot(const Tensor &self, int64_t num_classes = -1);
Tensor repeat_interleave(const Tensor &self, const Tensor &repeats,
                         std::optional<int64_t> dim = std::nullopt,
                         std::optional<int64_t> output_size = std::nullopt);
std::ostream &operator<<(std::ostream &out, const Tensor &tensor);
enum class Backend { CPU, CUDA };
void checkBackend(const char *c, ArrayRef<Tensor> t, Backend backend);
Tensor cat(TensorList tensors, int64_t dim = 0);
Tensor cumsum(const Tensor &self, int64_t dim, std::optional<ScalarType> dtype = std::nullopt);
bool equal(const Tensor &self, const Tensor &other);
bool allclose(const Tensor &self, const Tensor &other, double rtol = 1e-05, double atol = 1e-08,
              bool equal_nan = false);
Tensor index_select(const Tensor &self, int64_t dim, const Tensor &index);
Tensor inverse(const Tensor &self);
Tensor isnan(const Tensor &self);
std::tuple<Tensor, Tensor> linalg_inv_ex(const Tensor &A, bool check_errors = false);
Tensor masked_select(const Tensor &self, const Tensor &mask);
Tensor matmul(const Tensor &self, const Tensor &other);
Tensor max(const Tensor &self);
Tensor mean(const Tensor &self);
Tensor mm(const Tensor &self, const Tensor &mat2);
Tensor nonzero(const Tensor &self);
Tensor relu(const Tensor &self);
Tensor softmax(const Tensor &self, int64_t dim);
Tensor sqrt(const Tensor &self);
Tensor stack(TensorList tensors, int64_t dim = 0);
Tensor sum(const Tensor &self);
Tensor where(const Tensor &condition, const Tensor &self, const Tensor &other);
Tensor where(const Tensor &condition, const Scalar &self, const Tensor &other);
Tensor where(const Tensor &condition, const Tensor &self, const Scalar &other);
std::vector<Tensor> where(const Tensor &condition);
std::tuple<Tensor, Tensor, Tensor> _unique2(const Tensor &self, bool sorted = true,
                                            bool return_inverse = false,
                                            bool return_counts = false);
std::tuple<Tensor, Tensor> _unique(const Tensor &self, bool sorted = true,
                                   bool return_inverse = false);
std::tuple<Tensor, Tensor, Tensor> unique_consecutive(const Tensor &self,
                                                      bool return_inverse = false,
                                                      bool return_counts = false,
                                                      std::optional<int64_t> dim = std::nullopt);
std::tuple<Tensor, Tensor, Tensor> unique_dim(const Tensor &self, int64_t dim, bool sorted = true,
                                              bool return_inverse = false,
                                              bool return_counts = false);

} // namespace at
