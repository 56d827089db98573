#pragma once

#include <optional>

#include <torch/arg.h>

#include "metrics/regression/sample_sums.h"

namespace devsan::metrics {

struct SymmetricMeanAbsolutePercentageErrorOptions
    : ResultOptionsOf<SymmetricMeanAbsolutePercentageErrorOptions> {};

// Mean of 2 |preds - target| / max(|preds| + |target|, 1.17e-6), in [0, 2].
//
// update()   per element, see SampleSums::update().
// compute()  see SampleSums::compute().
class SymmetricMeanAbsolutePercentageError : public SampleSums {
public:
  explicit SymmetricMeanAbsolutePercentageError(
      const SymmetricMeanAbsolutePercentageErrorOptions &options = {});
  DEVSAN_METRIC(SymmetricMeanAbsolutePercentageError)
};

DEVSAN_WEIGHTED_FUNCTION(SymmetricMeanAbsolutePercentageError,
                         symmetric_mean_absolute_percentage_error)

} // namespace devsan::metrics
