#pragma once

#include "metrics/aggregation/aggregator.h"

namespace devsan::metrics {

struct CatMetricOptions {
  CatMetricOptions(NanStrategy nan_strategy = NanStrategy::kWarn) : nan_strategy_(nan_strategy) {}
  TORCH_ARG(NanStrategy, nan_strategy);
  // When NaN is noticed, for kError.
  TORCH_ARG(Validate, validate) = Validate::kAuto;
};

// All values, one after the other.
//
// update()   a tensor [N, ...] of any dtype, all of which differ in N only, or a number, which is
//            one row, as is a 0-dim tensor. It is kept as it is: no copy is made, and it must not
//            be written to, which compute() notices (unless it was made in inference mode).
// compute()  [sum of N, ...] of the inputs' dtype (promoted, where they differ); [0] where there
//            were none. NanStrategy: rows that hold a NaN are left out (kWarn, kIgnore), and since
//            the size of the result then depends on the values, this waits for the device once.
//            The other strategies do not: kReplace replaces, kDisable gives the state itself, not
//            to be written to, and kError, where it must not wait, makes everything NaN.
//
// TorchMetrics flattens the rows of an update that has NaN, and converts to float32.
class CatMetric : public Metric {
public:
  explicit CatMetric(const CatMetricOptions &options = {});
  DEVSAN_METRIC(CatMetric)
  void update(const at::Tensor &value);
  void update(double value);
  at::Tensor compute() const override;

protected:
  std::string signature() const override;

private:
  void check_no_nan(const at::Tensor &nan_rows) const;

  CatMetricOptions options_;
};

} // namespace devsan::metrics
