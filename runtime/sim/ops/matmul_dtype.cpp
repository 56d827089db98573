// Products with a given result dtype, which ATen has for GPUs only: a GPU accumulates in the wider
// dtype, so the operands are widened first.
#include <ATen/TensorOperators.h>
#include <ATen/ops/addmm.h>
#include <ATen/ops/baddbmm.h>
#include <ATen/ops/bmm.h>
#include <ATen/ops/mm.h>

#include "runtime/sim/operators/library.h"

namespace devsan::sim {
namespace {

using at::ScalarType;
using at::Tensor;

Tensor mm(const Tensor &self, const Tensor &other, ScalarType dtype) {
  return at::mm(self.to(dtype), other.to(dtype));
}

Tensor &mmOut(const Tensor &self, const Tensor &other, ScalarType dtype, Tensor &out) {
  return at::mm_out(out, self.to(dtype), other.to(dtype));
}

Tensor bmm(const Tensor &self, const Tensor &other, ScalarType dtype) {
  return at::bmm(self.to(dtype), other.to(dtype));
}

Tensor &bmmOut(const Tensor &self, const Tensor &other, ScalarType dtype, Tensor &out) {
  return at::bmm_out(out, self.to(dtype), other.to(dtype));
}

Tensor addmm(const Tensor &self, const Tensor &a, const Tensor &b, ScalarType dtype,
             const at::Scalar &beta, const at::Scalar &alpha) {
  return at::addmm(self.to(dtype), a.to(dtype), b.to(dtype), beta, alpha);
}

Tensor &addmmOut(const Tensor &self, const Tensor &a, const Tensor &b, ScalarType dtype,
                 const at::Scalar &beta, const at::Scalar &alpha, Tensor &out) {
  return at::addmm_out(out, self.to(dtype), a.to(dtype), b.to(dtype), beta, alpha);
}

Tensor baddbmm(const Tensor &self, const Tensor &a, const Tensor &b, ScalarType dtype,
               const at::Scalar &beta, const at::Scalar &alpha) {
  return at::baddbmm(self.to(dtype), a.to(dtype), b.to(dtype), beta, alpha);
}

Tensor &baddbmmOut(const Tensor &self, const Tensor &a, const Tensor &b, ScalarType dtype,
                   const at::Scalar &beta, const at::Scalar &alpha, Tensor &out) {
  return at::baddbmm_out(out, self.to(dtype), a.to(dtype), b.to(dtype), beta, alpha);
}

} // namespace

DEVSAN_SIM_LIBRARY_IMPL(aten, CUDA, m) {
  m.impl("mm.dtype", TORCH_FN(mm));
  m.impl("mm.dtype_out", TORCH_FN(mmOut));
  m.impl("bmm.dtype", TORCH_FN(bmm));
  m.impl("bmm.dtype_out", TORCH_FN(bmmOut));
  m.impl("addmm.dtype", TORCH_FN(addmm));
  m.impl("addmm.dtype_out", TORCH_FN(addmmOut));
  m.impl("baddbmm.dtype", TORCH_FN(baddbmm));
  m.impl("baddbmm.dtype_out", TORCH_FN(baddbmmOut));
}

} // namespace devsan::sim
