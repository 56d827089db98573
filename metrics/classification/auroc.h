#pragma once

#include "metrics/classification/curve_metric.h"

namespace devsan::metrics {

template <template <class> class TaskT> class MaxFprOptions : public TaskT<MaxFprOptions<TaskT>> {
public:
  using TaskT<MaxFprOptions<TaskT>>::TaskT;
  // The area up to this false positive rate, in (0, 1], standardised to be 0.5 of chance and 1 at
  // most (D. K. McClish, Analyzing a portion of the ROC curve, 1989); the plain area where all
  // rates of one kind are 0.
  TORCH_ARG(std::optional<double>, max_fpr) = std::nullopt;
};

// The area under the ROC curve by the trapezoidal rule. Given thresholds that do not reach from 0
// to 1 leave out the area beyond them, and so do scores of 1. A class without targets, or with
// nothing else, scores 0.
//
// compute()  float32 [], [classes] for Average::kNone.
struct AUROCFormula : PlainFormula {
  static constexpr const char *kName = "AUROC";
  static at::Tensor value(const CurveCounts &counts);
};
struct BinaryAUROCFormula : AUROCFormula {
  template <template <class> class TaskT> using Options = MaxFprOptions<TaskT>;
};

DEVSAN_CLASSIFICATION_METRIC(BinaryAUROC, binary_auroc,
                             CurveScore<BinaryAUROCFormula, BinaryScores>)
DEVSAN_CLASSIFICATION_METRIC(MulticlassAUROC, multiclass_auroc,
                             CurveScore<AUROCFormula, MulticlassScoresAveraged>)
DEVSAN_CLASSIFICATION_METRIC(MultilabelAUROC, multilabel_auroc,
                             CurveScore<AUROCFormula, MultilabelScoresAveraged>)

} // namespace devsan::metrics
