#pragma once

#include <optional>

#include <torch/arg.h>

#include "metrics/regression/sample_sums.h"

namespace devsan::metrics {

struct LogCoshErrorOptions : OutputOptionsOf<LogCoshErrorOptions> {
  using OutputOptionsOf::OutputOptionsOf;
};

// Mean of log(cosh(preds - target)): half the squared error where it is small, the absolute error
// less log 2 where it is large. Written so that it does not overflow, however large the error is.
//
// update()   per element, see SampleSums::update().
// compute()  see SampleSums::compute().
class LogCoshError : public SampleSums {
public:
  explicit LogCoshError(const LogCoshErrorOptions &options = {});
  DEVSAN_METRIC(LogCoshError)
};

DEVSAN_WEIGHTED_FUNCTION(LogCoshError, log_cosh_error)

} // namespace devsan::metrics
