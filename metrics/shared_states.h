// How metrics that hold equal states keep them once: for whoever holds several metrics and updates
// all of them with the same batches, as MetricCollection does. Of metrics that share states one is
// updated; all else (reset(), to(), sync(), ...) works on what they have in common.
#pragma once

#include <string>

#include "metrics/metric.h"

namespace devsan::metrics {

class SharedStates {
public:
  // Metrics for which it is the same, and not empty, may be joined before they have seen something:
  // their Metric::state_signature(), device and policy.
  static std::string signature(Metric &metric);

  // `metric` has the states of `first` from now on, instead of its own.
  static void join(Metric &metric, Metric &first);
  static bool joined(Metric &a, Metric &b);

  // Whether a CUDA graph adds to its states, without a call.
  static bool captured(Metric &metric);

  // The numbers in the largest state; lists count as none.
  static int64_t largest(Metric &metric);
};

} // namespace devsan::metrics
