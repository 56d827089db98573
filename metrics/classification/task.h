// The three tasks of classification: what their inputs are, the options that follow from it, and
// how a batch becomes samples that can be counted. The metrics' options are made of these.
//
// Binary       preds [N, ...] floating: probabilities of class 1, or logits if from_logits; or
//              integer or bool labels. target [N, ...] of 0 and 1: integer or bool, or, of metrics
//              that count, floating.
// Multiclass   preds [N, C, ...] floating: logits or probabilities, only their order counts, ties
//              go to the first class and NaN is the highest; or [N, ...] integer labels. target
//              [N, ...] integer, of 0 to C - 1.
// Multilabel   preds [N, L, ...] and target [N, L, ...] as for binary, each label on its own.
//
// N may be 0. A score is above the threshold as at::gt says, so the threshold is rounded to the
// scores' dtype; a logit is compared with log(threshold / (1 - threshold)), which needs no
// exponential. Whether scores are logits is said; where it is said to be none, it is guessed as
// TorchMetrics does, see from_logits and as_probabilities().
//
// Metrics of scores at all thresholds, or at many, take scores alone, of several classes too as
// probabilities, or as logits if from_logits, and compare with `>=`; see curve_metric.h.
//
// Out of range are targets and labels that are no class, and, except in multiclass tasks where only
// the order counts, probabilities outside [0, 1] and NaN. See Validate.
#pragma once

#include <limits>
#include <optional>
#include <string>

#include <ATen/core/Tensor.h>
#include <torch/arg.h>

#include "metrics/classification/options.h"
#include "metrics/classification/thresholds.h"

namespace devsan::metrics {

enum class Task { kBinary, kMulticlass, kMultilabel };

template <class Self> class TaskOptions {
  // Samples (of several labels: labels) with this target are left out; need not be a class.
  DEVSAN_SHARED_ARG(std::optional<int64_t>, ignore_index) = std::nullopt;
  DEVSAN_SHARED_ARG(Validate, validate) = Validate::kAuto;
};

// Of metrics that are functions of counts.
template <class Self> class CountOptions : public TaskOptions<Self> {
  // Counts are sums of the samples' weights, the third input of update(): float64 (or pairs of
  // float32) instead of int64, and not in one pass on the CPU.
  DEVSAN_SHARED_ARG(bool, weighted) = false;
};

// What the options of any metric of several classes, or labels, have first.
template <class Self, class Base> class OfClasses : public Base {
public:
  static constexpr Task kTask = Task::kMulticlass;
  template <class... More>
  OfClasses(int64_t num_classes, More &&...more)
      : Base(std::forward<More>(more)...), num_classes_(num_classes) {}
  DEVSAN_SHARED_ARG(int64_t, num_classes);
};

template <class Self, class Base> class OfLabels : public Base {
public:
  static constexpr Task kTask = Task::kMultilabel;
  template <class... More>
  OfLabels(int64_t num_labels, More &&...more)
      : Base(std::forward<More>(more)...), num_labels_(num_labels) {}
  DEVSAN_SHARED_ARG(int64_t, num_labels);
};

template <class Self> class ThresholdOptions : public CountOptions<Self> {
  // Probability above which a score means class 1, in [0, 1].
  DEVSAN_SHARED_ARG(double, threshold) = 0.5;
  // Floating scores are logits, not probabilities. None: those of a batch are, of which one that is
  // not ignored lies outside [0, 1]; logits that all happen to lie inside are then taken for
  // probabilities.
  DEVSAN_SHARED_ARG(std::optional<bool>, from_logits) = false;
};

template <class Self> class Binary : public ThresholdOptions<Self> {
public:
  static constexpr Task kTask = Task::kBinary;
};

template <class Self> class Multiclass : public OfClasses<Self, CountOptions<Self>> {
public:
  Multiclass(int64_t num_classes) : OfClasses<Self, CountOptions<Self>>(num_classes) {}
};

template <class Self> class Multilabel : public OfLabels<Self, ThresholdOptions<Self>> {
public:
  Multilabel(int64_t num_labels) : OfLabels<Self, ThresholdOptions<Self>>(num_labels) {}
};

// The same with a score for each class, which are averaged.
template <class Self> class MulticlassAveraged : public Multiclass<Self> {
public:
  using Multiclass<Self>::Multiclass;
  DEVSAN_SHARED_ARG(Average, average) = Average::kMacro;
};

template <class Self> class MulticlassTopK : public MulticlassAveraged<Self> {
public:
  using MulticlassAveraged<Self>::MulticlassAveraged;
  // A sample counts as right if its target is among the `top_k` highest scores; any other sample
  // counts for its highest. More than 1 needs scores as input.
  DEVSAN_SHARED_ARG(int64_t, top_k) = 1;
};

template <class Self> class MultilabelAveraged : public Multilabel<Self> {
public:
  using Multilabel<Self>::Multilabel;
  DEVSAN_SHARED_ARG(Average, average) = Average::kMacro;
};

// The same for metrics of scores at all thresholds, or at many.
template <class Self> class ScoreOptions : public CountOptions<Self> {
public:
  ScoreOptions() = default;
  ScoreOptions(Thresholds thresholds) : thresholds_(std::move(thresholds)) {}
  // None: every score is one, and all of them are kept.
  DEVSAN_SHARED_ARG(std::optional<Thresholds>, thresholds) = std::nullopt;
  // Scores are logits, not probabilities: their sigmoid, of several classes their softmax, is
  // taken. None: see ThresholdOptions.
  DEVSAN_SHARED_ARG(std::optional<bool>, from_logits) = false;
};

template <class Self> class BinaryScores : public ScoreOptions<Self> {
public:
  static constexpr Task kTask = Task::kBinary;
  using ScoreOptions<Self>::ScoreOptions;
};

template <class Self> class MulticlassScores : public OfClasses<Self, ScoreOptions<Self>> {
  using Base = OfClasses<Self, ScoreOptions<Self>>;

public:
  MulticlassScores(int64_t num_classes) : Base(num_classes) {}
  MulticlassScores(int64_t num_classes, Thresholds thresholds)
      : Base(num_classes, std::move(thresholds)) {}
};

template <class Self> class MultilabelScores : public OfLabels<Self, ScoreOptions<Self>> {
  using Base = OfLabels<Self, ScoreOptions<Self>>;

public:
  MultilabelScores(int64_t num_labels) : Base(num_labels) {}
  MultilabelScores(int64_t num_labels, Thresholds thresholds)
      : Base(num_labels, std::move(thresholds)) {}
};

template <class Self> class MulticlassScoresAveraged : public MulticlassScores<Self> {
public:
  using MulticlassScores<Self>::MulticlassScores;
  // Not kMicro: each class is one against the rest.
  DEVSAN_SHARED_ARG(Average, average) = Average::kMacro;
};

// The same for curves, of each class by default.
template <class Self> class MulticlassCurves : public MulticlassScores<Self> {
public:
  using MulticlassScores<Self>::MulticlassScores;
  // kMicro: the curve of all samples and classes at once. kMacro: at all x of the classes' curves,
  // in order, the mean of their y, interpolated between their points. Not kWeighted.
  DEVSAN_SHARED_ARG(Average, average) = Average::kNone;
};

template <class Self> class MultilabelScoresAveraged : public MultilabelScores<Self> {
public:
  using MultilabelScores<Self>::MultilabelScores;
  DEVSAN_SHARED_ARG(Average, average) = Average::kMacro;
};

// The same for metrics that have a score of each sample, too: one for each of the three tasks.
template <template <class> class TaskT> struct OfSamples {
  template <class Self> class Options : public TaskT<Self> {
  public:
    using TaskT<Self>::TaskT;
    // kSamplewise: inputs have a dimension more than the task says, and results the first one of
    // the inputs. The counts of each sample are kept.
    DEVSAN_SHARED_ARG(MultidimAverage, multidim_average) = MultidimAverage::kGlobal;
  };
};

// A metric's options: those of its task, alone or with what the metric adds.
template <template <class> class TaskT> class PlainOptions : public TaskT<PlainOptions<TaskT>> {
public:
  using TaskT<PlainOptions<TaskT>>::TaskT;
};

template <template <class> class TaskT>
class ZeroDivisionOptions : public TaskT<ZeroDivisionOptions<TaskT>> {
public:
  using TaskT<ZeroDivisionOptions<TaskT>>::TaskT;
  // The score where it is 0 / 0, in [0, 1].
  TORCH_ARG(double, zero_division) = 0;
};

// What a metric's options come down to. An option that a metric has not keeps its value here.
struct TaskConfig {
  template <class Options> explicit TaskConfig(const Options &options) : task(Options::kTask) {
    ignore_index = options.ignore_index();
    validate = options.validate();
    if constexpr (Options::kTask == Task::kMulticlass)
      classes = options.num_classes();
    if constexpr (Options::kTask == Task::kMultilabel)
      classes = options.num_labels();
    if constexpr (requires { options.threshold(); })
      threshold = options.threshold();
    if constexpr (requires { options.multidim_average(); })
      samplewise = options.multidim_average() == MultidimAverage::kSamplewise;
    if constexpr (requires { options.weighted(); })
      weighted = options.weighted();
    if constexpr (requires { options.from_logits(); })
      guess_logits(options.from_logits());
    if constexpr (requires { options.thresholds(); }) {
      of_scores = true;
      thresholds = options.thresholds();
    }
    if constexpr (requires { options.max_fpr(); })
      max_fpr = options.max_fpr();
    if constexpr (requires { options.min_precision(); })
      min_precision = options.min_precision();
    if constexpr (requires { options.min_specificity(); })
      min_specificity = options.min_specificity();
    if constexpr (requires { options.average(); })
      average = options.average();
    if constexpr (requires { options.top_k(); })
      top_k = options.top_k();
    if constexpr (requires { options.zero_division(); })
      zero_division = options.zero_division();
    if constexpr (requires { options.beta(); })
      beta = options.beta();
    if constexpr (requires { options.normalize(); })
      normalize = options.normalize();
    if constexpr (requires { options.weights(); })
      weights = options.weights();
  }

  // The option from_logits.
  void guess_logits(std::optional<bool> said) {
    from_logits = said.value_or(false);
    guesses_logits = !said;
  }

  // Throws for what no metric of `name` can be made of.
  void check(const std::string &name) const;
  // As text, see Metric::signature().
  std::string signature() const;
  // The part of it that counting a batch reads, see Metric::state_signature().
  std::string state_signature() const;

  static constexpr int64_t kAnyClasses = std::numeric_limits<int64_t>::max();

  Task task;
  int64_t classes = 1; // or labels; kAnyClasses: as many as there are scores, of those who allow it
  double threshold = 0.5;
  bool from_logits = false;
  bool guesses_logits = false; // from_logits was said to be none
  bool weighted = false;
  bool samplewise = false; // a score of each sample
  bool of_scores = false;  // at all thresholds, or at these
  std::optional<Thresholds> thresholds;
  std::optional<double> max_fpr;
  double min_precision = 0;
  double min_specificity = 0;
  Average average = Average::kNone;
  int64_t top_k = 1;
  std::optional<int64_t> ignore_index;
  double zero_division = 0;
  double beta = 1;
  Normalize normalize = Normalize::kNone;
  KappaWeights weights = KappaWeights::kNone;
  Validate validate = Validate::kAuto;
  bool by_class = false; // the formula needs each class's counts also for the micro average
  bool is_curve = false; // the formula needs each threshold once
  // What the formula is of a curve of rates, [points]; null unless it may be of an averaged one.
  at::Tensor (*of_curve)(const at::Tensor &fpr, const at::Tensor &tpr) = nullptr;
};

// A batch in one form, whatever was passed. Multiclass: labels, int64 [n]. Binary: bool [n, 1].
// Multilabel: bool [n, num_labels]. The dimensions after the class are samples like the first one,
// inner ones first.
struct Samples {
  at::Tensor predicted, target;
  at::Tensor counted;      // bool: neither ignored nor out of range
  at::Tensor out_of_range; // bool: and not ignored
  int64_t inner = 1;       // samples to each element of the inputs' first dimension
};

// "Multiclass", for names of metrics.
const char *task_name(Task task);

// What is wrong with samples out of range, and what to do: for after "N samples ".
std::string fault(const TaskConfig &config, const char *verb, const char *consequence);

// Throws, in the name of metric `name`, where samples of a batch are out of range; and where those
// of earlier ones were, which reads their number from the device.
void refuse_out_of_range(const TaskConfig &config, const std::string &name, int64_t out_of_range,
                         int64_t samples);
// The same of labels that are no classes, on the CPU.
void refuse_other_classes(const TaskConfig &config, const std::string &name,
                          const at::Tensor &preds, const at::Tensor &target);
void check_none_left_out(const TaskConfig &config, const std::string &name,
                         const at::Tensor &out_of_range);

// Throws, in the name of metric `name`, where shapes or dtypes are not the task's.
void check_shapes(const TaskConfig &config, const std::string &name, const at::Tensor &preds,
                  const at::Tensor &target);

// Throws, in the name of metric `name`, unless `weight` is undefined or has one for each sample: of
// target's shape, of several labels without their dimension; where whole samples count, [N].
void check_weights(const TaskConfig &config, const std::string &name, bool whole_samples,
                   const at::Tensor &target, const at::Tensor &weight);

// The weights of the samples, in their order, as real numbers for sums, [n]; 1 each where there are
// none.
at::Tensor sample_weights(const TaskConfig &config, bool whole_samples, const at::Tensor &target,
                          const at::Tensor &weight, at::ScalarType dtype);

// Where it is to be guessed whether scores are logits: of these the probabilities, all others as
// they are. Half and bfloat16 become float32 where they may be. Never waits for a device.
at::Tensor as_probabilities(const TaskConfig &config, const at::Tensor &preds,
                            const at::Tensor &target);

// Targets as integers: of floating ones, those that are none as a number that is no class.
at::Tensor integer_labels(const at::Tensor &target);

// What a score of a label has to be above for class 1: the threshold, or of logits its logit,
// rounded to the dtype of the scores.
double score_threshold(const TaskConfig &config, at::ScalarType dtype);

// Only for inputs that have passed check_shapes(). Never waits for the device.
Samples samples(const TaskConfig &config, const at::Tensor &preds, const at::Tensor &target);

// Scores as they are, [n, classes]: float32, or float64 if they came so.
at::Tensor score_rows(const TaskConfig &config, const at::Tensor &preds);

// The same as probabilities.
at::Tensor probabilities(const TaskConfig &config, const at::Tensor &preds);
at::Tensor row_probabilities(const TaskConfig &config, const at::Tensor &rows);

// The same of logits before they are rounded to 0 or 1, which makes equal what was not: the logits
// of labels, the logarithms of the probabilities of classes. And what probabilities these are.
at::Tensor unrounded_scores(const TaskConfig &config, const at::Tensor &preds);
at::Tensor rounded_scores(const TaskConfig &config, const at::Tensor &unrounded);

// Samples with their scores.
struct ScoredSamples {
  at::Tensor scores;       // [n, classes]
  at::Tensor target;       // bool [n, classes]: of several classes, one against the rest
  at::Tensor counted;      // bool, multiclass [n, 1], else [n, classes]
  at::Tensor out_of_range; // the same
  at::Tensor weight;       // real [n, 1], or undefined: 1 each
};
enum class ScoreScale { kProbabilities, kUnrounded };
ScoredSamples scored_samples(const TaskConfig &config, const at::Tensor &preds,
                             const at::Tensor &target, ScoreScale scale);

} // namespace devsan::metrics
