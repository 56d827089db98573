#pragma once

#include <optional>

#include <torch/arg.h>

#include "metrics/regression/sample_sums.h"

namespace devsan::metrics {

struct MeanSquaredErrorOptions : OutputOptionsOf<MeanSquaredErrorOptions> {
  using OutputOptionsOf::OutputOptionsOf;
  // Whether the result is the mean itself or its root, the RMSE.
  TORCH_ARG(bool, squared) = true;
};

// Mean of (preds - target)^2, or its root.
//
// update()   per element, see SampleSums::update().
// compute()  see SampleSums::compute().
class MeanSquaredError : public SampleSums {
public:
  explicit MeanSquaredError(const MeanSquaredErrorOptions &options = {});
  DEVSAN_METRIC(MeanSquaredError)

protected:
  at::Tensor value() const override;
  std::string signature() const override;
  std::string state_signature() const override {
    return c10::str("squared errors, adding=", static_cast<int>(adding()), ", ",
                    SampleSums::signature());
  }

private:
  bool squared_;
};

DEVSAN_WEIGHTED_FUNCTION(MeanSquaredError, mean_squared_error)

} // namespace devsan::metrics
