#pragma once

#include <algorithm>

#include "metrics/classification/sample_loss.h"

namespace devsan::metrics {

// Which margin the hinge loss of several classes is of.
enum class MulticlassMode {
  kCrammerSinger, // between the target's score and the highest other one
  kOneVsAll,      // of each class on its own: its score for the target, minus it for others
};

template <template <class> class TaskT>
class HingeLossOptions : public TaskT<HingeLossOptions<TaskT>> {
public:
  using TaskT<HingeLossOptions<TaskT>>::TaskT;
  TORCH_ARG(bool, squared) = false;
};

template <template <class> class TaskT>
class MulticlassHingeLossOptionsOf : public TaskT<MulticlassHingeLossOptionsOf<TaskT>> {
public:
  using TaskT<MulticlassHingeLossOptionsOf<TaskT>>::TaskT;
  TORCH_ARG(bool, squared) = false;
  TORCH_ARG(MulticlassMode, multiclass_mode) = MulticlassMode::kCrammerSinger;
};

// Hinge loss: max(0, 1 - margin), or its square, mean over the samples. The margin of a binary task
// is the score for class 1 and minus the score for class 0; see MulticlassMode. Scores are decision
// values of any size, as in scikit-learn's hinge_loss; TorchMetrics takes the sigmoid, or softmax,
// of a batch where one is outside [0, 1], which is what from_logits of none says here. See
// SampleLoss.
//
// compute()  [], [classes] for MulticlassMode::kOneVsAll.
struct HingeLossFormula {
  static constexpr const char *kName = "HingeLoss";

  template <class Options>
  explicit HingeLossFormula(const Options &options) : squared_(options.squared()) {
    if constexpr (requires { options.multiclass_mode(); })
      one_vs_all_ = options.multiclass_mode() == MulticlassMode::kOneVsAll;
  }

  std::string signature() const { return squared_ ? ", squared=true" : ""; }
  Reduction reduction() const { return Reduction::kMean; }
  int64_t outputs(const TaskConfig &config) const { return one_vs_all_ ? config.classes : 1; }
  bool of_probabilities(const TaskConfig &) const { return false; }
  at::Tensor scores(const TaskConfig &config, const at::Tensor &rows) const;
  at::Tensor losses(const TaskConfig &config, const at::Tensor &scores,
                    const at::Tensor &target) const;
  template <typename T>
  void add(const TaskConfig &, const T *scores, int64_t width, int64_t label, double weight,
           double *sums) const {
    const auto loss = [&](double margin) {
      const double hinge = std::max(1 - margin, 0.);
      return weight * (squared_ ? hinge * hinge : hinge);
    };
    if (width == 1) {
      sums[0] += loss(static_cast<double>(scores[0]) * static_cast<double>(2 * label - 1));
    } else if (one_vs_all_) {
      for (int64_t c = 0; c < width; ++c)
        sums[c] +=
            loss(c == label ? static_cast<double>(scores[c]) : -static_cast<double>(scores[c]));
    } else {
      T other = -std::numeric_limits<T>::infinity();
      for (int64_t c = 0; c < label; ++c)
        other = std::max(other, scores[c]);
      for (int64_t c = label + 1; c < width; ++c)
        other = std::max(other, scores[c]);
      sums[0] += loss(static_cast<double>(scores[label]) - static_cast<double>(other));
    }
  }

private:
  bool squared_;
  bool one_vs_all_ = false;
};
struct BinaryHingeLossFormula : HingeLossFormula {
  using HingeLossFormula::HingeLossFormula;
  template <template <class> class TaskT> using Options = HingeLossOptions<TaskT>;
};
struct MulticlassHingeLossFormula : HingeLossFormula {
  using HingeLossFormula::HingeLossFormula;
  template <template <class> class TaskT> using Options = MulticlassHingeLossOptionsOf<TaskT>;
};

DEVSAN_LOSS_METRIC(BinaryHingeLoss, binary_hinge_loss,
                   LossMetric<BinaryHingeLossFormula, BinaryLoss>)
DEVSAN_LOSS_METRIC(MulticlassHingeLoss, multiclass_hinge_loss,
                   LossMetric<MulticlassHingeLossFormula, MulticlassLoss>)

} // namespace devsan::metrics
