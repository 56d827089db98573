// Products of int8 matrices: cuBLAS has no kernel for some sizes and layouts
// that the CPU multiplies.
#include <ATen/ops/_int_mm.h>

#include "runtime/sim/devices/devices.h"
#include "runtime/sim/dispatch/checked_kernel.h"
#include "runtime/sim/dispatch/tensor_alias.h"
#include "runtime/sim/memory/memory.h"
#include "runtime/sim/operators/library.h"

namespace devsan::sim {
namespace {

using at::Tensor;

// As ATen's CUDA code does, and in its words.
void checkOperands(const Tensor &self, const Tensor &mat2) {
  for (const auto &[tensor, name] : {std::pair{&self, "self"}, {&mat2, "mat2"}})
    TORCH_CHECK(tensor->dim() == 2, "Expected ", name, " to be of dimension 2 but got ",
                tensor->dim());
  TORCH_CHECK(self.size(0) > 16, "self.size(0) needs to be greater than 16, but got ",
              self.size(0));
  const auto checkMultiple = [](const Tensor &tensor, const char *name) {
    TORCH_CHECK(tensor.size(1) > 0 && tensor.size(1) % 8 == 0, name,
                ".size(1) needs to be greater than 0 and a multiple of 8, but got ",
                tensor.size(1));
  };
  checkMultiple(self, "self");
  TORCH_CHECK(self.size(1) == mat2.size(0), "self.size(1) needs to match mat2.size(0) but got ",
              self.size(1), " and ", mat2.size(0));
  checkMultiple(mat2, "mat2");
  for (const auto *tensor : {&self, &mat2})
    TORCH_CHECK(tensor->scalar_type() == at::kChar, "expected scalar type Char but found ",
                tensor->scalar_type());
  // cuBLASLt multiplies int8 matrices whose first one lies in memory row by row.
  TORCH_CHECK(!(self.stride(0) == 1 && self.stride(1) >= self.size(0)),
              "CUDA error: CUBLAS_STATUS_NOT_SUPPORTED when calling cublasLtMatmul: self is "
              "transposed; remedy: self.contiguous()");
}

Tensor intMm(const Tensor &self, const Tensor &mat2) {
  checkOperands(self, mat2);
  Translation translation(self.device());
  const CurrentDeviceScope current(self.device().index());
  const KernelScope kernel(self.device().index());
  return translation.toDevice(at::_int_mm(translation.toCpu(self), translation.toCpu(mat2)));
}

Tensor &intMmOut(const Tensor &self, const Tensor &mat2, Tensor &out) {
  checkOperands(self, mat2);
  Translation translation(self.device());
  const CurrentDeviceScope current(self.device().index());
  const KernelScope kernel(self.device().index());
  Tensor host = translation.toCpu(out);
  at::_int_mm_out(host, translation.toCpu(self), translation.toCpu(mat2));
  return out;
}

} // namespace

DEVSAN_SIM_LIBRARY_IMPL(aten, CUDA, m) {
  m.impl("_int_mm", checked<&intMm>());
  m.impl("_int_mm.out", checked<&intMmOut>());
}

} // namespace devsan::sim
