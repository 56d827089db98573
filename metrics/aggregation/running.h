// What RunningMean and RunningSum share.
#pragma once

#include "metrics/aggregation/aggregator.h"

namespace devsan::metrics {

inline AggregatorOptions without_window(const RunningOptions &options) {
  return AggregatorOptions(options.nan_strategy())
      .validate(options.validate())
      .dtype(options.dtype())
      .accumulation(options.accumulation());
}

inline int64_t checked_window(const char *metric, int64_t window) {
  TORCH_CHECK(window >= 1, metric, ": window is ", window, "; pass at least 1");
  return window;
}

} // namespace devsan::metrics
