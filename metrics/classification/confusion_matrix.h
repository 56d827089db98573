#pragma once

#include "metrics/classification/confusion_matrix_metric.h"

namespace devsan::metrics {

template <template <class> class TaskT>
class ConfusionMatrixOptions : public TaskT<ConfusionMatrixOptions<TaskT>> {
public:
  using TaskT<ConfusionMatrixOptions<TaskT>>::TaskT;
  TORCH_ARG(Normalize, normalize) = Normalize::kNone;
};

// How many samples of class i (row) are predicted as class j (column).
//
// compute()  [num_classes, num_classes]; [2, 2] for binary tasks; [num_labels, 2, 2] for several
//            labels, each normalized on its own. int64 for Normalize::kNone, else float32.
struct ConfusionMatrixFormula {
  static constexpr const char *kName = "ConfusionMatrix";
  template <template <class> class TaskT> using Options = ConfusionMatrixOptions<TaskT>;
  static at::Tensor value(const ConfusionCounts &counts);
};

DEVSAN_CLASSIFICATION_METRIC(BinaryConfusionMatrix, binary_confusion_matrix,
                             ConfusionScore<ConfusionMatrixFormula, Binary>)
DEVSAN_CLASSIFICATION_METRIC(MulticlassConfusionMatrix, multiclass_confusion_matrix,
                             ConfusionScore<ConfusionMatrixFormula, Multiclass>)
DEVSAN_CLASSIFICATION_METRIC(MultilabelConfusionMatrix, multilabel_confusion_matrix,
                             ConfusionScore<ConfusionMatrixFormula, Multilabel>)

} // namespace devsan::metrics
