// Options that most metrics of real numbers share.
#pragma once

#include <cstdint>
#include <optional>

#include "metrics/metric.h"
#include "metrics/shared_arg.h"

namespace devsan::metrics {

template <class Self> class ResultOptionsOf {
  // Of the result. float64 needs a device that has it.
  DEVSAN_SHARED_ARG(at::ScalarType, dtype) = at::kFloat;
  // Of the states; by default what suits the device, see default_accumulation().
  DEVSAN_SHARED_ARG(std::optional<Accumulation>, accumulation) = std::nullopt;
};

template <class Self> class OutputOptionsOf : public ResultOptionsOf<Self> {
public:
  OutputOptionsOf(int64_t num_outputs = 1) : num_outputs_(num_outputs) {}
  // Columns of the inputs, each judged on its own.
  DEVSAN_SHARED_ARG(int64_t, num_outputs);
};

} // namespace devsan::metrics
