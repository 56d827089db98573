#pragma once

#include "metrics/classification/curve_metric.h"

namespace devsan::metrics {

// Average precision, the area under the precision-recall curve as a sum of steps: precision at each
// threshold, times what recall loses from there to the next (from the last, to 0). Precision where
// nothing is predicted counts as 0; a class without targets scores 0.
//
// compute()  float32 [], [classes] for Average::kNone.
struct AveragePrecisionFormula : PlainFormula {
  static constexpr const char *kName = "AveragePrecision";
  static at::Tensor value(const CurveCounts &counts);
};

DEVSAN_CLASSIFICATION_METRIC(BinaryAveragePrecision, binary_average_precision,
                             CurveScore<AveragePrecisionFormula, BinaryScores>)
DEVSAN_CLASSIFICATION_METRIC(MulticlassAveragePrecision, multiclass_average_precision,
                             CurveScore<AveragePrecisionFormula, MulticlassScoresAveraged>)
DEVSAN_CLASSIFICATION_METRIC(MultilabelAveragePrecision, multilabel_average_precision,
                             CurveScore<AveragePrecisionFormula, MultilabelScoresAveraged>)

} // namespace devsan::metrics
