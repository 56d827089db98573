#pragma once

#include <optional>

#include <torch/arg.h>

#include "metrics/regression/sample_sums.h"

namespace devsan::metrics {

struct MeanAbsoluteErrorOptions : OutputOptionsOf<MeanAbsoluteErrorOptions> {
  using OutputOptionsOf::OutputOptionsOf;
};

// Mean of |preds - target|.
//
// update()   per element, see SampleSums::update().
// compute()  see SampleSums::compute().
class MeanAbsoluteError : public SampleSums {
public:
  explicit MeanAbsoluteError(const MeanAbsoluteErrorOptions &options = {});
  DEVSAN_METRIC(MeanAbsoluteError)
};

DEVSAN_WEIGHTED_FUNCTION(MeanAbsoluteError, mean_absolute_error)

} // namespace devsan::metrics
