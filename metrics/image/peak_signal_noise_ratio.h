#pragma once

#include <optional>
#include <vector>

#include <torch/arg.h>

#include "metrics/image/image_options.h"
#include "metrics/metric.h"
#include "metrics/result_options.h"

namespace devsan::metrics {

struct PeakSignalNoiseRatioOptions : ResultOptionsOf<PeakSignalNoiseRatioOptions> {
  PeakSignalNoiseRatioOptions(DataRange data_range) : data_range_(data_range) {}
  PeakSignalNoiseRatioOptions(double data_range) : data_range_(data_range) {}
  TORCH_ARG(DataRange, data_range);
  // Of the logarithm.
  TORCH_ARG(double, base) = 10;
  // Only with `dim`.
  TORCH_ARG(ImageReduction, reduction) = ImageReduction::kElementwiseMean;
  // The dimensions that one ratio is of, e.g. {1, 2, 3} for a ratio of each image of [N, C, H, W];
  // none: one ratio of everything seen.
  TORCH_ARG(std::optional<std::vector<int64_t>>, dim) = std::nullopt;
};

// Peak signal-to-noise ratio, 10 log(range^2 / mean squared error) in decibels: infinite where
// there is no error.
//
// update()   preds, target: real tensors of one shape and of any dtypes but bool. They are widened
//            before they are subtracted.
// compute()  [], or, for ImageReduction::kNone with `dim`, [number of ratios], of the option's
//            dtype; NaN where there were no values.
//
// States: without `dim` the number of values and the sum of squared errors; with it the number of
// ratios and their sum, or the list of them.
class PeakSignalNoiseRatio : public SupervisedMetric {
public:
  explicit PeakSignalNoiseRatio(const PeakSignalNoiseRatioOptions &options);
  DEVSAN_METRIC(PeakSignalNoiseRatio)
  void update(const at::Tensor &preds, const at::Tensor &target) override;
  at::Tensor compute() const override;

protected:
  std::string signature() const override;

private:
  at::Tensor squared_errors(const at::Tensor &preds, const at::Tensor &target) const;
  at::Tensor ratio(const at::Tensor &mean_squared_error) const;

  PeakSignalNoiseRatioOptions options_;
};

// The functional form.
at::Tensor peak_signal_noise_ratio(const at::Tensor &preds, const at::Tensor &target,
                                   const PeakSignalNoiseRatioOptions &options);

} // namespace devsan::metrics
