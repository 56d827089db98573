// The three tasks of classification: what their inputs are, the options that follow from it, and
// how a batch becomes samples that can be counted. The metrics' options are made of these.
//
// Binary       preds [N, ...] floating: probabilities of class 1, or logits if from_logits; or
//              integer or bool labels. target [N, ...] integer or bool, of 0 and 1.
// Multiclass   preds [N, C, ...] floating: logits or probabilities, only their order counts, ties
//              go to the first class and NaN is the highest; or [N, ...] integer labels. target
//              [N, ...] integer, of 0 to C - 1.
// Multilabel   preds [N, L, ...] and target [N, L, ...] as for binary, each label on its own.
//
// N may be 0. A score is above the threshold as at::gt says, so the threshold is rounded to the
// scores' dtype; a logit is compared with log(threshold / (1 - threshold)), which needs no
// exponential. Whether scores are logits is never guessed from the values, unlike in TorchMetrics,
// where a batch of logits that all happen to lie in [0, 1] is taken for probabilities; logits
// without from_logits are out of range as soon as one is.
//
// Out of range are targets and labels that are no class, and in binary and multilabel tasks
// probabilities outside [0, 1] and NaN. See Validate.
#pragma once

#include <optional>
#include <string>

#include <ATen/core/Tensor.h>
#include <torch/arg.h>

#include "metrics/classification/options.h"

namespace devsan::metrics {

enum class Task { kBinary, kMulticlass, kMultilabel };

template <class Self> class TaskOptions {
  // Samples (of several labels: labels) with this target are left out; need not be a class.
  DEVSAN_SHARED_ARG(std::optional<int64_t>, ignore_index) = std::nullopt;
  DEVSAN_SHARED_ARG(Validate, validate) = Validate::kAuto;
};

template <class Self> class ThresholdOptions : public TaskOptions<Self> {
  // Probability above which a score means class 1, in [0, 1].
  DEVSAN_SHARED_ARG(double, threshold) = 0.5;
  // Floating scores are logits, not probabilities.
  DEVSAN_SHARED_ARG(bool, from_logits) = false;
};

template <class Self> class Binary : public ThresholdOptions<Self> {
public:
  static constexpr Task kTask = Task::kBinary;
};

template <class Self> class Multiclass : public TaskOptions<Self> {
public:
  static constexpr Task kTask = Task::kMulticlass;
  Multiclass(int64_t num_classes) : num_classes_(num_classes) {}
  DEVSAN_SHARED_ARG(int64_t, num_classes);
};

template <class Self> class Multilabel : public ThresholdOptions<Self> {
public:
  static constexpr Task kTask = Task::kMultilabel;
  Multilabel(int64_t num_labels) : num_labels_(num_labels) {}
  DEVSAN_SHARED_ARG(int64_t, num_labels);
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
    else {
      threshold = options.threshold();
      from_logits = options.from_logits();
    }
    if constexpr (Options::kTask == Task::kMultilabel)
      classes = options.num_labels();
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

  // Throws for what no metric of `name` can be made of.
  void check(const std::string &name) const;
  // As text, see Metric::signature().
  std::string signature() const;

  Task task;
  int64_t classes = 1; // or labels
  double threshold = 0.5;
  bool from_logits = false;
  Average average = Average::kNone;
  int64_t top_k = 1;
  std::optional<int64_t> ignore_index;
  double zero_division = 0;
  double beta = 1;
  Normalize normalize = Normalize::kNone;
  KappaWeights weights = KappaWeights::kNone;
  Validate validate = Validate::kAuto;
  bool by_class = false; // the formula needs each class's counts also for the micro average
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

// Throws, in the name of metric `name`, where shapes or dtypes are not the task's.
void check_shapes(const TaskConfig &config, const std::string &name, const at::Tensor &preds,
                  const at::Tensor &target);

// What a score of a label has to be above for class 1: the threshold, or of logits its logit,
// rounded to the dtype of the scores.
double score_threshold(const TaskConfig &config, at::ScalarType dtype);

// Only for inputs that have passed check_shapes(). Never waits for the device.
Samples samples(const TaskConfig &config, const at::Tensor &preds, const at::Tensor &target);

} // namespace devsan::metrics
