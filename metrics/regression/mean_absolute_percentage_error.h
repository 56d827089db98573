#pragma once

#include <optional>

#include <torch/arg.h>

#include "metrics/regression/sample_sums.h"

namespace devsan::metrics {

struct MeanAbsolutePercentageErrorOptions : ResultOptionsOf<MeanAbsolutePercentageErrorOptions> {};

// Mean of |preds - target| / max(|target|, 1.17e-6); 1 is 100 %. The bound is TorchMetrics';
// scikit-learn's is 2.2e-16, so that only targets of less differ.
//
// update()   per element, see SampleSums::update().
// compute()  see SampleSums::compute().
class MeanAbsolutePercentageError : public SampleSums {
public:
  explicit MeanAbsolutePercentageError(const MeanAbsolutePercentageErrorOptions &options = {});
  DEVSAN_METRIC(MeanAbsolutePercentageError)
};

DEVSAN_WEIGHTED_FUNCTION(MeanAbsolutePercentageError, mean_absolute_percentage_error)

} // namespace devsan::metrics
