#pragma once

#include <algorithm>
#include <cmath>

#include "metrics/classification/sample_loss.h"

namespace devsan::metrics {

template <template <class> class TaskT> class LogLossOptions : public TaskT<LogLossOptions<TaskT>> {
public:
  using TaskT<LogLossOptions<TaskT>>::TaskT;
  TORCH_ARG(Reduction, reduction) = Reduction::kMean;
};

// Log loss, or cross-entropy: minus the natural logarithm of the target's probability, mean or sum
// over the samples; scikit-learn's log_loss. Probabilities are limited to [eps, 1 - eps] of their
// dtype, of half and bfloat16 of float32; those of logits are not, as they are never rounded to 0.
// See SampleLoss.
struct LogLossFormula {
  static constexpr const char *kName = "LogLoss";
  template <template <class> class TaskT> using Options = LogLossOptions<TaskT>;

  template <class Options>
  explicit LogLossFormula(const Options &options) : reduction_(options.reduction()) {}

  std::string signature() const { return ""; }
  Reduction reduction() const { return reduction_; }
  int64_t outputs(const TaskConfig &) const { return 1; }
  bool of_probabilities(const TaskConfig &config) const { return !config.from_logits; }
  at::Tensor scores(const TaskConfig &config, const at::Tensor &rows) const;
  at::Tensor losses(const TaskConfig &config, const at::Tensor &scores,
                    const at::Tensor &target) const;
  template <typename T>
  void add(const TaskConfig &config, const T *scores, int64_t width, int64_t label, double weight,
           double *sum) const {
    if (!config.from_logits) {
      constexpr T kEps = std::numeric_limits<T>::epsilon();
      const T p = width > 1 ? scores[label] : label ? scores[0] : 1 - scores[0];
      *sum -= weight * std::log(static_cast<double>(std::clamp<T>(p, kEps, 1 - kEps)));
    } else if (width > 1) {
      *sum -= weight * static_cast<double>(scores[label]);
    } else {
      const double z = label ? -static_cast<double>(scores[0]) : static_cast<double>(scores[0]);
      *sum += weight * (std::max(z, 0.) + std::log1p(std::exp(-std::abs(z))));
    }
  }

private:
  Reduction reduction_;
};

DEVSAN_LOSS_METRIC(BinaryLogLoss, binary_log_loss, LossMetric<LogLossFormula, BinaryLoss>)
DEVSAN_LOSS_METRIC(MulticlassLogLoss, multiclass_log_loss,
                   LossMetric<LogLossFormula, MulticlassLoss>)

} // namespace devsan::metrics
