#pragma once

#include "metrics/classification/stat_scores_metric.h"

namespace devsan::metrics {

// Matthews' correlation coefficient, the correlation of predicted and true classes, in [-1, 1].
// With c samples right of s, and t and p the numbers of targets and predictions of each class,
//   (c s - sum t p) / sqrt((s^2 - sum p^2) (s^2 - sum t^2))
// (J. Gorodkin, Comparing two K-category assignments by a K-category correlation coefficient,
// 2004). Several labels count as samples of one binary task.
//
// Where only one class is a target, or a prediction, the correlation is not defined; the result is
// then 0, the limit of small counts in place of none, but of two classes 1 if every sample is right
// and -1 if every sample is wrong (D. Chicco and G. Jurman, The advantages of the Matthews
// correlation coefficient over F1 score and accuracy in binary classification evaluation, 2020).
//
// compute()  float32 [].
struct MatthewsCorrCoefFormula : PlainFormula {
  static constexpr const char *kName = "MatthewsCorrCoef";
  static at::Tensor value(const StatCounts &counts);
};

DEVSAN_CLASSIFICATION_METRIC(BinaryMatthewsCorrCoef, binary_matthews_corrcoef,
                             StatScore<MatthewsCorrCoefFormula, Binary>)
DEVSAN_CLASSIFICATION_METRIC(MulticlassMatthewsCorrCoef, multiclass_matthews_corrcoef,
                             StatScore<MatthewsCorrCoefFormula, Multiclass>)
DEVSAN_CLASSIFICATION_METRIC(MultilabelMatthewsCorrCoef, multilabel_matthews_corrcoef,
                             StatScore<MatthewsCorrCoefFormula, Multilabel>)

} // namespace devsan::metrics
