#pragma once

#include "metrics/classification/stat_scores_metric.h"

namespace devsan::metrics {

template <template <class> class TaskT>
class FBetaScoreOptions : public TaskT<FBetaScoreOptions<TaskT>> {
public:
  // `task`: num_classes or num_labels, nothing for binary.
  template <class... Arguments>
  explicit FBetaScoreOptions(double beta, Arguments... task)
      : TaskT<FBetaScoreOptions<TaskT>>(task...), beta_(beta) {}
  // Recall weighs as much as `beta` times precision; greater than 0.
  TORCH_ARG(double, beta);
  // The score where it is 0 / 0, in [0, 1].
  TORCH_ARG(double, zero_division) = 0;
};

// F-beta score: the weighted harmonic mean of precision and recall,
//   (1 + beta^2) tp / ((1 + beta^2) tp + beta^2 fn + fp).
struct FBetaScoreFormula : PlainFormula {
  static constexpr const char *kName = "FBetaScore";
  template <template <class> class TaskT> using Options = FBetaScoreOptions<TaskT>;
  static at::Tensor value(const StatCounts &c) {
    const double square = c.config.beta * c.config.beta;
    const at::Tensor hits = (1 + square) * c.tp;
    return c.averaged(c.ratio(hits, hits + square * c.fn + c.fp));
  }
};

// F1 score: F-beta with beta 1, 2 tp / (2 tp + fn + fp).
struct F1ScoreFormula : FBetaScoreFormula {
  static constexpr const char *kName = "F1Score";
  template <template <class> class TaskT> using Options = ZeroDivisionOptions<TaskT>;
};

DEVSAN_CLASSIFICATION_METRIC(BinaryFBetaScore, binary_fbeta_score,
                             StatScoreOfSamples<FBetaScoreFormula, Binary>)
DEVSAN_CLASSIFICATION_METRIC(MulticlassFBetaScore, multiclass_fbeta_score,
                             StatScoreOfSamples<FBetaScoreFormula, MulticlassTopK>)
DEVSAN_CLASSIFICATION_METRIC(MultilabelFBetaScore, multilabel_fbeta_score,
                             StatScoreOfSamples<FBetaScoreFormula, MultilabelAveraged>)

DEVSAN_CLASSIFICATION_METRIC(BinaryF1Score, binary_f1_score,
                             StatScoreOfSamples<F1ScoreFormula, Binary>)
DEVSAN_CLASSIFICATION_METRIC(MulticlassF1Score, multiclass_f1_score,
                             StatScoreOfSamples<F1ScoreFormula, MulticlassTopK>)
DEVSAN_CLASSIFICATION_METRIC(MultilabelF1Score, multilabel_f1_score,
                             StatScoreOfSamples<F1ScoreFormula, MultilabelAveraged>)

} // namespace devsan::metrics
