// The older fused dropout, which programs and exported graphs still call; its p is the probability
// to keep.
#include <ATen/TensorOperators.h>
#include <ATen/ops/empty_like.h>

#include "../checked_kernel.h"
#include "../library.h"

namespace devsan::sim {
namespace {

using at::Tensor;

Tensor maskedScale(const Tensor &self, const Tensor &mask, double scale) {
  TORCH_CHECK(mask.scalar_type() == at::kByte, "mask should be torch.uint8 dtype");
  return self * mask * scale;
}

std::tuple<Tensor, Tensor> fusedDropout(const Tensor &self, double p,
                                        std::optional<at::Generator> generator) {
  Tensor mask = at::empty_like(self, self.options().dtype(at::kByte)).bernoulli_(p, generator);
  return {maskedScale(self, mask, 1 / p), mask};
}

} // namespace

DEVSAN_SIM_LIBRARY_IMPL(aten, CUDA, m) {
  m.impl("_fused_dropout", TORCH_FN(fusedDropout));
  m.impl("_masked_scale", checked<&maskedScale>());
}

} // namespace devsan::sim
