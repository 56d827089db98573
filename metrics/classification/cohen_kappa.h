#pragma once

#include "metrics/classification/confusion_matrix_metric.h"

namespace devsan::metrics {

template <template <class> class TaskT>
class CohenKappaOptions : public TaskT<CohenKappaOptions<TaskT>> {
public:
  using TaskT<CohenKappaOptions<TaskT>>::TaskT;
  TORCH_ARG(KappaWeights, weights) = KappaWeights::kNone;
};

// Cohen's kappa, the agreement of predictions and targets beyond chance: with the confusion matrix
// O, the weights w and E the matrix expected of independent predictions with O's margins,
//   1 - sum(w O) / sum(w E)
// (J. Cohen, A coefficient of agreement for nominal scales, 1960; Weighted kappa, 1968).
//
// compute()  float32 []. NaN where no disagreement is to be expected, as in scikit-learn: all
//            targets and predictions are one class, or there are none.
struct CohenKappaFormula {
  static constexpr const char *kName = "CohenKappa";
  template <template <class> class TaskT> using Options = CohenKappaOptions<TaskT>;
  static at::Tensor value(const ConfusionCounts &counts);
};

DEVSAN_CLASSIFICATION_METRIC(BinaryCohenKappa, binary_cohen_kappa,
                             ConfusionScore<CohenKappaFormula, Binary>)
DEVSAN_CLASSIFICATION_METRIC(MulticlassCohenKappa, multiclass_cohen_kappa,
                             ConfusionScore<CohenKappaFormula, Multiclass>)

} // namespace devsan::metrics
