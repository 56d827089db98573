// Dropout drawn from the device's generator (the CPU's kernel draws from the default CPU generator,
// whatever device it computes for), and the older fused one, whose p is the probability to keep.
#include <utility>

#include <ATen/TensorOperators.h>
#include <ATen/ops/empty_like.h>
#include <ATen/ops/ones_like.h>
#include <ATen/ops/zeros_like.h>

#include "runtime/sim/dispatch/checked_kernel.h"
#include "runtime/sim/operators/library.h"

namespace devsan::sim {
namespace {

using at::Tensor;

Tensor maskedScale(const Tensor &self, const Tensor &mask, double scale) {
  TORCH_CHECK(mask.scalar_type() == at::kByte, "mask should be torch.uint8 dtype");
  return self * mask * scale;
}

std::tuple<Tensor, Tensor> fusedDropout(const Tensor &self, double p,
                                        std::optional<at::Generator> generator) {
  Tensor mask =
      at::empty_like(self, self.options().dtype(at::kByte)).bernoulli_(p, std::move(generator));
  return {maskedScale(self, mask, 1 / p), mask};
}

std::tuple<Tensor, Tensor> nativeDropout(const Tensor &input, double p, std::optional<bool> train) {
  if (!train.value_or(true))
    return {input.clone(), at::ones_like(input, input.options().dtype(at::kBool))};
  Tensor mask = at::empty_like(input, input.options().dtype(at::kBool));
  if (p == 1 || input.numel() == 0)
    return {at::zeros_like(input), mask.zero_()};
  mask.bernoulli_(1 - p);
  return {input.mul(mask).mul_(1 / (1 - p)), mask};
}

} // namespace

DEVSAN_SIM_LIBRARY_IMPL(aten, CUDA, m) {
  m.impl("native_dropout", TORCH_FN(nativeDropout));
  m.impl("_fused_dropout", TORCH_FN(fusedDropout));
  m.impl("_masked_scale", checked<&maskedScale>());
}

} // namespace devsan::sim
