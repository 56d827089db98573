// Batched products of compressed sparse matrices, which the CPU has for one matrix alone: as
// dense products.
#include <ATen/TensorOperators.h>
#include <ATen/ops/baddbmm.h>

#include "runtime/sim/dispatch/checked_kernel.h"
#include "runtime/sim/operators/library.h"

namespace devsan::sim {
namespace {

using at::Tensor;

Tensor dense(const Tensor &tensor) {
  return tensor.layout() == at::kStrided ? tensor : tensor.to_dense();
}

Tensor &baddbmmOut(const Tensor &self, const Tensor &first, const Tensor &second,
                   const at::Scalar &beta, const at::Scalar &alpha, Tensor &out) {
  return at::baddbmm_out(out, dense(self), dense(first), dense(second), beta, alpha);
}

Tensor &bmmOut(const Tensor &first, const Tensor &second, Tensor &out) {
  Tensor a = dense(first), b = dense(second);
  out.resize_({a.size(0), a.size(1), b.size(2)});
  return out.copy_(a.matmul(b));
}

} // namespace

DEVSAN_SIM_LIBRARY_IMPL(aten, SparseCsrCUDA, m) {
  m.impl("baddbmm.out", checked<&baddbmmOut>());
  m.impl("bmm.out", checked<&bmmOut>());
}

} // namespace devsan::sim
