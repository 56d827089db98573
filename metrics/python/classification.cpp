// The classification metrics: a line for each, with what its options do not say.

#include "metrics/python/binding.h"

#include "metrics/classification/accuracy.h"
#include "metrics/classification/auroc.h"
#include "metrics/classification/average_precision.h"
#include "metrics/classification/brier_score.h"
#include "metrics/classification/calibration_error.h"
#include "metrics/classification/cohen_kappa.h"
#include "metrics/classification/confusion_matrix.h"
#include "metrics/classification/dice.h"
#include "metrics/classification/eer.h"
#include "metrics/classification/exact_match.h"
#include "metrics/classification/f_beta.h"
#include "metrics/classification/hamming_distance.h"
#include "metrics/classification/hinge_loss.h"
#include "metrics/classification/jaccard.h"
#include "metrics/classification/log_loss.h"
#include "metrics/classification/matthews_corr_coef.h"
#include "metrics/classification/negative_predictive_value.h"
#include "metrics/classification/precision.h"
#include "metrics/classification/precision_recall_curve.h"
#include "metrics/classification/recall.h"
#include "metrics/classification/recall_fixed_precision.h"
#include "metrics/classification/roc.h"
#include "metrics/classification/sensitivity_specificity.h"
#include "metrics/classification/specificity.h"
#include "metrics/classification/stat_scores.h"

namespace devsan::metrics::python {

template <> struct Fields<PrecisionRecallCurveFormula::Result> {
  using Result = PrecisionRecallCurveFormula::Result;
  static inline const std::vector<std::pair<const char *, at::Tensor Result::*>> kAll = {
      {"precision", &Result::precision},
      {"recall", &Result::recall},
      {"thresholds", &Result::thresholds}};
};
template <> struct Fields<ROCFormula::Result> {
  using Result = ROCFormula::Result;
  static inline const std::vector<std::pair<const char *, at::Tensor Result::*>> kAll = {
      {"fpr", &Result::fpr}, {"tpr", &Result::tpr}, {"thresholds", &Result::thresholds}};
};
template <> struct Fields<RecallAtFixedPrecisionFormula::Result> {
  using Result = RecallAtFixedPrecisionFormula::Result;
  static inline const std::vector<std::pair<const char *, at::Tensor Result::*>> kAll = {
      {"recall", &Result::recall}, {"threshold", &Result::threshold}};
};
template <> struct Fields<SensitivityAtSpecificityFormula::Result> {
  using Result = SensitivityAtSpecificityFormula::Result;
  static inline const std::vector<std::pair<const char *, at::Tensor Result::*>> kAll = {
      {"sensitivity", &Result::sensitivity}, {"threshold", &Result::threshold}};
};

namespace {

constexpr const char *kDomain = "classification";

constexpr const char *kCalibrationError =
    R"(How far confidence is from accuracy: samples are sorted into bins by their confidence, and of each bin the difference of
its accuracy and its mean confidence is taken. NaN where there were no samples.)";
constexpr const char *kBrierScore = "Brier score: the sum over the classes of (probability - 1 for "
                                    "the target, 0 for others)^2, mean over the samples.";
constexpr const char *kLogLoss = "Log loss, or cross-entropy: minus the natural logarithm of the "
                                 "target's probability, mean or sum over the samples.";
constexpr const char *kHingeLoss =
    R"(Hinge loss: max(0, 1 - margin), or its square, mean over the samples. Scores are decision values of any size; TorchMetrics
takes the sigmoid, or softmax, of a batch where one is outside [0, 1], which is what from_logits says here.)";

} // namespace

// `Name`, as in BinaryName, and `function`, as in binary_function, for two or for three tasks.
#define DEVSAN_BIND_TASK(Class, function, ...)                                                     \
  bind<Class, Class##Options>(kDomain, #Class, #function, About __VA_ARGS__);
#define DEVSAN_BIND_BINARY(Name, function, ...)                                                    \
  DEVSAN_BIND_TASK(Binary##Name, binary_##function, __VA_ARGS__)
#define DEVSAN_BIND_MULTICLASS(Name, function, ...)                                                \
  DEVSAN_BIND_TASK(Multiclass##Name, multiclass_##function, __VA_ARGS__)
#define DEVSAN_BIND_MULTILABEL(Name, function, ...)                                                \
  DEVSAN_BIND_TASK(Multilabel##Name, multilabel_##function, __VA_ARGS__)
#define DEVSAN_BIND_TASKS(Name, function, ...)                                                     \
  DEVSAN_BIND_BINARY(Name, function, __VA_ARGS__)                                                  \
  DEVSAN_BIND_MULTICLASS(Name, function, __VA_ARGS__)                                              \
  DEVSAN_BIND_MULTILABEL(Name, function, __VA_ARGS__)

void bind_classification() {
  DEVSAN_BIND_TASKS(
      StatScores, stat_scores,
      {.summary =
           R"(True positives, false positives, true negatives, false negatives and support (tp + fn).

compute(): int64 [5] for binary tasks and average="micro", int64 [classes, 5] for "none"; float32 [5] for "macro", the
mean over all classes, and "weighted", weighted by support.)",
       .lower = {},
       .upper = {}})
  DEVSAN_BIND_TASKS(
      Accuracy, accuracy,
      {.summary =
           R"(The part of the samples that is predicted right; of a class of several, the part of its targets.

With average="macro", without ignored samples and where every class has targets, it is scikit-learn's
balanced_accuracy_score.)",
       .higher_is_better = true})
  DEVSAN_BIND_TASKS(Precision, precision,
                    {.summary = "Precision: of the samples predicted as a class, the part that "
                                "belongs to it, tp / (tp + fp).",
                     .higher_is_better = true})
  DEVSAN_BIND_TASKS(Recall, recall,
                    {.summary = "Recall (sensitivity): of the samples of a class, the part "
                                "predicted as it, tp / (tp + fn).",
                     .higher_is_better = true})
  DEVSAN_BIND_TASKS(
      FBetaScore, fbeta_score,
      {.summary = "F-beta score: (1 + beta^2) tp / ((1 + beta^2) tp + beta^2 fn + fp).",
       .higher_is_better = true})
  DEVSAN_BIND_TASKS(F1Score, f1_score,
                    {.summary = "F1 score: 2 tp / (2 tp + fn + fp).", .higher_is_better = true})
  DEVSAN_BIND_TASKS(Specificity, specificity,
                    {.summary = "Specificity: of the samples of other classes, the part not "
                                "predicted as the class, tn / (tn + fp).",
                     .higher_is_better = true})
  DEVSAN_BIND_TASKS(NegativePredictiveValue, negative_predictive_value,
                    {.summary = "Negative predictive value: of the samples not predicted as a "
                                "class, the part that does not belong to it, tn / (tn + fn).",
                     .higher_is_better = true})
  DEVSAN_BIND_TASKS(HammingDistance, hamming_distance,
                    {.summary = "Hamming distance: the part of the samples that is predicted "
                                "wrong, 1 - accuracy of each class.",
                     .higher_is_better = false})
  DEVSAN_BIND_MULTICLASS(
      ExactMatch, exact_match,
      {.summary =
           "The part of the samples that are right in all of the dimensions after the first.",
       .higher_is_better = true})
  DEVSAN_BIND_MULTILABEL(ExactMatch, exact_match,
                         {.summary = "The part of the samples that are right in every label.",
                          .higher_is_better = true})
  DEVSAN_BIND_TASKS(
      ConfusionMatrix, confusion_matrix,
      {.summary = R"(How many samples of class i (row) are predicted as class j (column).

compute(): [num_classes, num_classes]; [2, 2] for binary tasks; [num_labels, 2, 2] for several labels. int64, or float32 if
normalized.)",
       .lower = {},
       .upper = {}})
  DEVSAN_BIND_TASKS(
      JaccardIndex, jaccard_index,
      {.summary =
           R"(Jaccard index (intersection over union): tp / (tp + fp + fn); the macro average of several classes is the mean IoU of
segmentation.)",
       .higher_is_better = true})
  DEVSAN_BIND_TASKS(
      Dice, dice,
      {.summary =
           R"(Dice score: 2 |A and B| / (|A| + |B|) of the samples A predicted as a class and B that belong to it, over all samples
seen; the F1 score, under the name that segmentation gives it.)",
       .higher_is_better = true})
  DEVSAN_BIND_BINARY(
      CohenKappa, cohen_kappa,
      {.summary =
           R"(Cohen's kappa: the agreement of predictions and targets beyond chance. NaN where no disagreement is to be expected.)",
       .higher_is_better = true,
       .lower = -1.})
  DEVSAN_BIND_MULTICLASS(
      CohenKappa, cohen_kappa,
      {.summary =
           R"(Cohen's kappa: the agreement of predictions and targets beyond chance. NaN where no disagreement is to be expected.)",
       .higher_is_better = true,
       .lower = -1.})
  DEVSAN_BIND_TASKS(
      MatthewsCorrCoef, matthews_corrcoef,
      {.summary =
           R"(Matthews' correlation coefficient of predicted and true classes, in [-1, 1]. Several labels count as samples of one binary
task.)",
       .higher_is_better = true,
       .lower = -1.})

  DEVSAN_BIND_BINARY(
      PrecisionRecallCurve, precision_recall_curve,
      {
          .summary =
              R"(Precision and recall at each threshold, in ascending order, and after them the point 1, 0 that closes the curve.

compute(): (precision, recall, thresholds), float32 [thresholds + 1] twice, and [thresholds]. Precision is NaN where
nothing is predicted, recall where there are no targets.)",
          .lower = {},
          .upper = {},
      })
  DEVSAN_BIND_MULTICLASS(
      PrecisionRecallCurve, precision_recall_curve,
      {.summary =
           R"(Precision and recall of each class at each threshold, in ascending order, and after them the point 1, 0 that closes the
curve.

compute(): (precision, recall, thresholds), float32 [num_classes, thresholds + 1] twice, and [thresholds]. Precision is NaN
where nothing is predicted, recall where there are no targets.)",
       .lower = {},
       .upper = {}})
  DEVSAN_BIND_MULTILABEL(
      PrecisionRecallCurve, precision_recall_curve,
      {.summary =
           R"(Precision and recall of each label at each threshold, in ascending order, and after them the point 1, 0 that closes the
curve.

compute(): (precision, recall, thresholds), float32 [num_labels, thresholds + 1] twice, and [thresholds]. Precision is NaN
where nothing is predicted, recall where there are no targets.)",
       .lower = {},
       .upper = {}})
  DEVSAN_BIND_BINARY(
      ROC, roc,
      {.summary =
           R"(Receiver operating characteristic: false and true positive rate at each threshold, from the highest threshold down.

compute(): (fpr, tpr, thresholds), float32 [thresholds] each. A rate of no samples is 0.)"})
  DEVSAN_BIND_MULTICLASS(
      ROC, roc,
      {.summary =
           R"(Receiver operating characteristic of each class: false and true positive rate at each threshold, from the highest
threshold down.

compute(): (fpr, tpr, thresholds), float32 [num_classes, thresholds] twice, and [thresholds]. A rate of no samples is 0.)"})
  DEVSAN_BIND_MULTILABEL(
      ROC, roc,
      {.summary =
           R"(Receiver operating characteristic of each label: false and true positive rate at each threshold, from the highest
threshold down.

compute(): (fpr, tpr, thresholds), float32 [num_labels, thresholds] twice, and [thresholds]. A rate of no samples is 0.)"})
  DEVSAN_BIND_TASKS(
      AUROC, auroc,
      {.summary =
           R"(The area under the ROC curve by the trapezoidal rule, between the highest threshold and the lowest. A class without
targets, or with nothing else, scores 0.)",
       .higher_is_better = true})
  DEVSAN_BIND_TASKS(
      AveragePrecision, average_precision,
      {.summary =
           R"(Average precision: the area under the precision-recall curve as a sum of steps. A class without targets scores 0.)",
       .higher_is_better = true})
  DEVSAN_BIND_TASKS(
      RecallAtFixedPrecision, recall_at_fixed_precision,
      {.summary =
           R"(The highest recall at a threshold with at least min_precision, and the highest threshold that has it.

compute(): (recall, threshold), float32, [] for binary tasks, else [classes]; 0 and NaN where there is none.)"})
  DEVSAN_BIND_TASKS(
      SensitivityAtSpecificity, sensitivity_at_specificity,
      {.summary =
           R"(The highest sensitivity (recall) at a threshold with at least min_specificity, and the highest threshold that has it.

compute(): (sensitivity, threshold), float32, [] for binary tasks, else [classes]; 0 and 1e6 where there is none.)"})
  DEVSAN_BIND_BINARY(
      EER, eer,
      {.summary =
           R"(Equal error rate: the mean of false positive and false negative rate at the threshold where they differ least.)",
       .higher_is_better = false})
  DEVSAN_BIND_MULTICLASS(
      EER, eer,
      {.summary =
           R"(Equal error rate of each class: the mean of false positive and false negative rate at the threshold where they differ
least.)",
       .higher_is_better = false})
  DEVSAN_BIND_MULTILABEL(
      EER, eer,
      {.summary =
           R"(Equal error rate of each label: the mean of false positive and false negative rate at the threshold where they differ
least.)",
       .higher_is_better = false})

  DEVSAN_BIND_BINARY(CalibrationError, calibration_error,
                     {.summary = kCalibrationError, .higher_is_better = false, .of_scores = true})
  DEVSAN_BIND_MULTICLASS(
      CalibrationError, calibration_error,
      {.summary = kCalibrationError, .higher_is_better = false, .of_scores = true})
  DEVSAN_BIND_BINARY(
      BrierScore, brier_score,
      {.summary = kBrierScore, .higher_is_better = false, .of_scores = true, .upper = 2.})
  DEVSAN_BIND_MULTICLASS(
      BrierScore, brier_score,
      {.summary = kBrierScore, .higher_is_better = false, .of_scores = true, .upper = 2.})
  DEVSAN_BIND_BINARY(
      LogLoss, log_loss,
      {.summary = kLogLoss, .higher_is_better = false, .of_scores = true, .upper = {}})
  DEVSAN_BIND_MULTICLASS(
      LogLoss, log_loss,
      {.summary = kLogLoss, .higher_is_better = false, .of_scores = true, .upper = {}})
  DEVSAN_BIND_BINARY(
      HingeLoss, hinge_loss,
      {.summary = kHingeLoss, .higher_is_better = false, .of_scores = true, .upper = {}})
  DEVSAN_BIND_MULTICLASS(
      HingeLoss, hinge_loss,
      {.summary = kHingeLoss, .higher_is_better = false, .of_scores = true, .upper = {}})
}

} // namespace devsan::metrics::python
