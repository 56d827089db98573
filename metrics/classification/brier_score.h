#pragma once

#include "metrics/classification/sample_loss.h"

namespace devsan::metrics {

template <template <class> class TaskT>
class BrierScoreOptions : public TaskT<BrierScoreOptions<TaskT>> {
public:
  using TaskT<BrierScoreOptions<TaskT>>::TaskT;
  // Half of the sum, which is in [0, 1] instead of [0, 2]. By default for binary tasks, where it is
  // (probability - target)^2, as in scikit-learn.
  TORCH_ARG(bool, scale_by_half) = BrierScoreOptions::kTask == Task::kBinary;
};

// Brier score: the sum over the classes of (probability - 1 for the target, 0 for others)^2, mean
// over the samples; scikit-learn's brier_score_loss. See SampleLoss.
struct BrierScoreFormula {
  static constexpr const char *kName = "BrierScore";
  template <template <class> class TaskT> using Options = BrierScoreOptions<TaskT>;

  template <class Options>
  explicit BrierScoreFormula(const Options &options) : scale(options.scale_by_half() ? 0.5 : 1) {}

  std::string signature() const { return scale == 1 ? "" : ", scale_by_half=true"; }
  Reduction reduction() const { return Reduction::kMean; }
  int64_t outputs(const TaskConfig &) const { return 1; }
  bool of_probabilities(const TaskConfig &) const { return true; }
  at::Tensor scores(const TaskConfig &config, const at::Tensor &rows) const;
  at::Tensor losses(const TaskConfig &config, const at::Tensor &scores,
                    const at::Tensor &target) const;
  template <typename T>
  void add(const TaskConfig &, const T *p, int64_t width, int64_t label, double weight,
           double *sum) const {
    if (width == 1) {
      const double error = static_cast<double>(p[0]) - static_cast<double>(label);
      *sum += weight * scale * 2 * error * error;
      return;
    }
    // Lanes for the vector units.
    double squares[4] = {};
    int64_t c = 0;
    for (; c + 4 <= width; c += 4)
      for (int64_t lane = 0; lane < 4; ++lane) {
        const auto x = static_cast<double>(p[c + lane]);
        squares[lane] += x * x;
      }
    for (; c < width; ++c)
      squares[0] += static_cast<double>(p[c]) * static_cast<double>(p[c]);
    *sum += weight * scale *
            (squares[0] + squares[1] + (squares[2] + squares[3]) +
             (1 - 2 * static_cast<double>(p[label])));
  }

  double scale;
};

DEVSAN_LOSS_METRIC(BinaryBrierScore, binary_brier_score, LossMetric<BrierScoreFormula, BinaryLoss>)
DEVSAN_LOSS_METRIC(MulticlassBrierScore, multiclass_brier_score,
                   LossMetric<BrierScoreFormula, MulticlassLoss>)

} // namespace devsan::metrics
