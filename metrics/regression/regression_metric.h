// What the metrics of real predictions and targets share: options, functional forms, the check of
// their inputs, and the shape and dtype of their results.
#pragma once

#include "metrics/detail/evaluate.h"
#include "metrics/detail/fused.h"
#include "metrics/metric.h"
#include "metrics/result_options.h"

namespace devsan::metrics {

class RegressionMetric : public SupervisedMetric {
protected:
  // `dtype` is that of the result.
  RegressionMetric(std::vector<StateSpec> specs, int64_t num_outputs, at::ScalarType dtype,
                   std::optional<Accumulation> accumulation);

  int64_t num_outputs() const { return num_outputs_; }
  // Of float32 on the CPU. Part of a state_signature().
  detail::Adding adding() const { return detail::adding_for(dtype_); }

  // Throws unless `preds` and `target` are real tensors (neither bool nor complex) of one shape on
  // the metric's device.
  void check_pairs(const at::Tensor &preds, const at::Tensor &target) const;

  // The same for inputs of one row per sample: [N], or [N, num_outputs]; [N, 1] is fine for one.
  void check_columns(const at::Tensor &preds, const at::Tensor &target) const;

  // What an error says that these have to be.
  virtual const char *of_columns() const {
    return "both predictions and target to be either 1- or 2-dimensional tensors";
  }

  // Of the option's dtype, see Metric::shaped_result().
  at::Tensor shaped_result(const at::Tensor &value) const;

  std::string signature() const override;

private:
  int64_t num_outputs_;
  at::ScalarType dtype_;
};

// For constructors: `num_outputs`, or an error that names the metric where it is below 1.
int64_t checked_num_outputs(const char *metric, int64_t num_outputs);

} // namespace devsan::metrics
