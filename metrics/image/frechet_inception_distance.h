#pragma once

#include <torch/arg.h>

#include "metrics/metric.h"

namespace devsan::metrics {

struct FrechetInceptionDistanceOptions {
  FrechetInceptionDistanceOptions(int64_t num_features) : num_features_(num_features) {}
  TORCH_ARG(int64_t, num_features);
  // Of the result.
  TORCH_ARG(at::ScalarType, dtype) = at::kFloat;
};

// Frechet distance of two sets of images by the features that a network (Inception v3, or any) has
// found in them: |m1 - m2|^2 + tr(S1 + S2 - 2 sqrt(S1 S2)) of their means and covariances (Heusel
// et al., GANs Trained by a Two Time-Scale Update Rule Converge to a Local Nash Equilibrium, 2017).
//
// update()   features: floating [N, num_features], or [num_features] of one image; real: which of
//            the two sets they belong to. N may be 0.
// compute()  [], of the option's dtype. An error for less than two images in a set. Waits for the
//            device, as eigenvalues do.
//
// States, of each set: count, mean and second central moments, float64 (on a device that has it),
// combined by Chan's formula; not sums of features and of their products, whose difference loses
// the variance of features with a large mean. What TorchMetrics keeps with
// reset_real_features=false is a clone() of a metric that has seen the real images.
class FrechetInceptionDistance : public Metric {
public:
  explicit FrechetInceptionDistance(const FrechetInceptionDistanceOptions &options);
  DEVSAN_METRIC(FrechetInceptionDistance)
  void update(const at::Tensor &features, bool real);
  at::Tensor compute() const override;

protected:
  std::string signature() const override;
  std::vector<at::Tensor> merged(const std::vector<at::Tensor> &a,
                                 const std::vector<at::Tensor> &b) const override;

private:
  FrechetInceptionDistanceOptions options_;
};

// The functional form.
at::Tensor frechet_inception_distance(const at::Tensor &real, const at::Tensor &fake,
                                      const FrechetInceptionDistanceOptions &options);

} // namespace devsan::metrics
