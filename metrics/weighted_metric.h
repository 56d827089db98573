// What a supervised metric whose samples may weigh differently has besides.
#pragma once

#include <string>

#include <ATen/core/Tensor.h>

namespace devsan::metrics {

class WeightedMetric {
public:
  virtual ~WeightedMetric() = default;

  // `weight`: what each sample counts as, real; its shape is said by the metric. Undefined: 1 each,
  // which costs nothing. Weights are not looked at: negative ones and NaN are what arithmetic makes
  // of them.
  virtual void update(const at::Tensor &preds, const at::Tensor &target,
                      const at::Tensor &weight) = 0;
};

// Throws, in the name of metric `name`, unless `weight` is undefined or a real tensor of these
// sizes.
inline void check_weight(const std::string &name, const at::Tensor &weight, at::IntArrayRef sizes) {
  if (!weight.defined())
    return;
  TORCH_CHECK(!weight.is_complex() && weight.scalar_type() != at::kBool, name,
              ": `weight` has dtype ", weight.scalar_type(), "; pass real numbers");
  TORCH_CHECK(weight.sizes() == sizes, name, ": `weight` has shape ", weight.sizes(),
              ", but the samples have ", sizes, "; pass one weight for each");
}

} // namespace devsan::metrics
