#pragma once

#include <optional>

#include <torch/arg.h>

#include "metrics/regression/sample_sums.h"

namespace devsan::metrics {

struct WeightedMeanAbsolutePercentageErrorOptions
    : ResultOptionsOf<WeightedMeanAbsolutePercentageErrorOptions> {};

// Sum of |preds - target| over all samples / max(sum of |target|, 1.17e-6).
//
// update()   per element, see SampleSums::update().
// compute()  see SampleSums::compute(); 0 where there were no samples, as in TorchMetrics.
class WeightedMeanAbsolutePercentageError : public SampleSums {
public:
  explicit WeightedMeanAbsolutePercentageError(
      const WeightedMeanAbsolutePercentageErrorOptions &options = {});
  DEVSAN_METRIC(WeightedMeanAbsolutePercentageError)

protected:
  at::Tensor value() const override;
};

DEVSAN_WEIGHTED_FUNCTION(WeightedMeanAbsolutePercentageError,
                         weighted_mean_absolute_percentage_error)

} // namespace devsan::metrics
