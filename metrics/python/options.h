// What Python passes for an option, and what the metric's options hold: one conversion for each
// type of option, and one list of the options that there are. That an option exists, its type and
// its default are read from the options themselves, so that they stand in one place, the metric's
// header.
#pragma once

#include <algorithm>
#include <iterator>
#include <optional>
#include <string>
#include <string_view>
#include <type_traits>
#include <utility>
#include <vector>

#include "metrics/aggregation/aggregator.h"
#include "metrics/classification/calibration_error.h"
#include "metrics/classification/hinge_loss.h"
#include "metrics/classification/options.h"
#include "metrics/classification/thresholds.h"
#include "metrics/detection/mean_average_precision.h"
#include "metrics/image/image_options.h"
#include "metrics/image/multiscale_structural_similarity.h"
#include "metrics/metric.h"
#include "metrics/python/torch_python.h"
#include "metrics/regression/kendall_rank_corr_coef.h"
#include "metrics/regression/reduction.h"
#include "metrics/regression/residual_moments.h"
#include "metrics/retrieval/retrieval_metric.h"
#include "metrics/segmentation/mean_iou.h"

namespace devsan::metrics::python {

// Where an option stands, for errors.
struct Place {
  const std::string &metric;
  const char *option;

  // Throw MetricError: "METRIC: Expected argument `OPTION` to be EXPECTED, but got GIVEN". Where
  // TorchMetrics says that in other words, it begins with these.
  [[noreturn]] void refuse_value(PyObject *given, const std::string &expected) const;
  [[noreturn]] void refuse_type(PyObject *given, const std::string &expected) const;
};

// What C++ says of options, with Python's spelling: from_logits(true) is from_logits=True, kMacro
// is 'macro'. What is no option and no choice of one stays as it is.
std::string in_words_of_python(const std::string &text);

// Of each type: annotation(), as type hints have it; from(), which throws for what is none; to().
template <class T> struct Conversion;

template <> struct Conversion<int64_t> {
  static std::string annotation() { return "int"; }
  static int64_t from(const Place &place, PyObject *given);
  static Object to(int64_t value) { return object_of(value); }
};

template <> struct Conversion<double> {
  static std::string annotation() { return "float"; }
  static double from(const Place &place, PyObject *given);
  static Object to(double value) { return object_of(value); }
};

template <> struct Conversion<bool> {
  static std::string annotation() { return "bool"; }
  static bool from(const Place &place, PyObject *given);
  static Object to(bool value) { return object_of(value); }
};

template <> struct Conversion<at::ScalarType> {
  static std::string annotation() { return "torch.dtype"; }
  static at::ScalarType from(const Place &place, PyObject *given);
  static Object to(at::ScalarType value) { return object_of(value); }
};

template <> struct Conversion<Thresholds> {
  static std::string annotation() { return "int | Sequence[float] | Tensor"; }
  static Thresholds from(const Place &place, PyObject *given);
  static Object to(const Thresholds &value) { return object_of(value.values()); }
};

// A number, or a sequence or a set of them.
template <class T> struct Conversion<std::vector<T>> {
  static std::string annotation() {
    const std::string number = Conversion<T>::annotation();
    return number + " | Sequence[" + number + "]";
  }
  static std::vector<T> from(const Place &place, PyObject *given) {
    if (!PySequence_Check(given) && !PyAnySet_Check(given))
      return {Conversion<T>::from(place, given)};
    std::vector<T> values;
    for (const Object &value : items_of(given))
      values.push_back(Conversion<T>::from(place, value.get()));
    return values;
  }
  static Object to(const std::vector<T> &values) {
    if (values.size() == 1)
      return Conversion<T>::to(values.front());
    return Object(PyList_AsTuple(object_of(values).get()));
  }
};

template <> struct Conversion<DataRange> {
  static std::string annotation() { return "float | tuple[float, float]"; }
  static DataRange from(const Place &place, PyObject *given) {
    const std::vector<double> ends = Conversion<std::vector<double>>::from(place, given);
    if (ends.size() == 1 && !PyList_Check(given) && !PyTuple_Check(given))
      return DataRange(ends[0]);
    if (ends.size() != 2)
      place.refuse_value(given, "a number, or the two ends of the range");
    return DataRange(ends[0], ends[1]);
  }
  static Object to(const DataRange &value) {
    return value.clamps() ? tuple_of(value.low(), value.high()) : object_of(value.width());
  }
};

template <class T> struct Conversion<std::optional<T>> {
  static std::string annotation() { return Conversion<T>::annotation() + " | None"; }
  static std::optional<T> from(const Place &place, PyObject *given) {
    if (given == Py_None)
      return std::nullopt;
    return Conversion<T>::from(place, given);
  }
  static Object to(const std::optional<T> &value) {
    return value ? Conversion<T>::to(*value) : Object::borrowed(Py_None);
  }
};

// Enumerations are strings, as in TorchMetrics, where "none" and None are the same.
template <class E> struct Choices;

template <> struct Choices<MultidimAverage> {
  static constexpr std::pair<const char *, MultidimAverage> kAll[] = {
      {"global", MultidimAverage::kGlobal}, {"samplewise", MultidimAverage::kSamplewise}};
};
template <> struct Choices<Average> {
  static constexpr std::pair<const char *, Average> kAll[] = {{"micro", Average::kMicro},
                                                              {"macro", Average::kMacro},
                                                              {"weighted", Average::kWeighted},
                                                              {"none", Average::kNone}};
};
template <> struct Choices<Normalize> {
  static constexpr std::pair<const char *, Normalize> kAll[] = {{"true", Normalize::kTrue},
                                                                {"pred", Normalize::kPred},
                                                                {"all", Normalize::kAll},
                                                                {"none", Normalize::kNone}};
};
template <> struct Choices<KappaWeights> {
  static constexpr std::pair<const char *, KappaWeights> kAll[] = {
      {"linear", KappaWeights::kLinear},
      {"quadratic", KappaWeights::kQuadratic},
      {"none", KappaWeights::kNone}};
};
template <> struct Choices<Validate> {
  static constexpr std::pair<const char *, Validate> kAll[] = {
      {"auto", Validate::kAuto}, {"eager", Validate::kEager}, {"deferred", Validate::kDeferred}};
};
template <> struct Choices<Accumulation> {
  static constexpr std::pair<const char *, Accumulation> kAll[] = {
      {"double", Accumulation::kDouble}, {"float_pair", Accumulation::kFloatPair}};
};
template <> struct Choices<Reduction> {
  static constexpr std::pair<const char *, Reduction> kAll[] = {{"mean", Reduction::kMean},
                                                                {"sum", Reduction::kSum}};
};
template <> struct Choices<Multioutput> {
  static constexpr std::pair<const char *, Multioutput> kAll[] = {
      {"raw_values", Multioutput::kRawValues},
      {"uniform_average", Multioutput::kUniformAverage},
      {"variance_weighted", Multioutput::kVarianceWeighted}};
};
template <> struct Choices<KendallVariant> {
  static constexpr std::pair<const char *, KendallVariant> kAll[] = {
      {"a", KendallVariant::kA}, {"b", KendallVariant::kB}, {"c", KendallVariant::kC}};
};
template <> struct Choices<Alternative> {
  static constexpr std::pair<const char *, Alternative> kAll[] = {
      {"two-sided", Alternative::kTwoSided},
      {"less", Alternative::kLess},
      {"greater", Alternative::kGreater}};
};
template <> struct Choices<CalibrationNorm> {
  static constexpr std::pair<const char *, CalibrationNorm> kAll[] = {
      {"l1", CalibrationNorm::kL1}, {"l2", CalibrationNorm::kL2}, {"max", CalibrationNorm::kMax}};
};
template <> struct Choices<MulticlassMode> {
  static constexpr std::pair<const char *, MulticlassMode> kAll[] = {
      {"crammer-singer", MulticlassMode::kCrammerSinger},
      {"one-vs-all", MulticlassMode::kOneVsAll}};
};
template <> struct Choices<EmptyTargetAction> {
  static constexpr std::pair<const char *, EmptyTargetAction> kAll[] = {
      {"neg", EmptyTargetAction::kNeg},
      {"pos", EmptyTargetAction::kPos},
      {"skip", EmptyTargetAction::kSkip},
      {"error", EmptyTargetAction::kError}};
};
template <> struct Choices<QueryAggregation> {
  static constexpr std::pair<const char *, QueryAggregation> kAll[] = {
      {"mean", QueryAggregation::kMean},
      {"median", QueryAggregation::kMedian},
      {"min", QueryAggregation::kMin},
      {"max", QueryAggregation::kMax}};
};
template <> struct Choices<ImageReduction> {
  static constexpr std::pair<const char *, ImageReduction> kAll[] = {
      {"elementwise_mean", ImageReduction::kElementwiseMean},
      {"sum", ImageReduction::kSum},
      {"none", ImageReduction::kNone}};
};
template <> struct Choices<ScaleNormalize> {
  static constexpr std::pair<const char *, ScaleNormalize> kAll[] = {
      {"relu", ScaleNormalize::kRelu},
      {"simple", ScaleNormalize::kSimple},
      {"none", ScaleNormalize::kNone}};
};
template <> struct Choices<BoxFormat> {
  static constexpr std::pair<const char *, BoxFormat> kAll[] = {
      {"xyxy", BoxFormat::kXyxy}, {"xywh", BoxFormat::kXywh}, {"cxcywh", BoxFormat::kCxcywh}};
};
template <> struct Choices<DetectionAverage> {
  static constexpr std::pair<const char *, DetectionAverage> kAll[] = {
      {"macro", DetectionAverage::kMacro}, {"micro", DetectionAverage::kMicro}};
};
template <> struct Choices<SegmentationFormat> {
  static constexpr std::pair<const char *, SegmentationFormat> kAll[] = {
      {"one-hot", SegmentationFormat::kOneHot},
      {"index", SegmentationFormat::kIndex},
      {"mixed", SegmentationFormat::kMixed}};
};
template <> struct Choices<DevicePolicy> {
  static constexpr std::pair<const char *, DevicePolicy> kAll[] = {
      {"follow", DevicePolicy::kFollow},
      {"per_device", DevicePolicy::kPerDevice},
      {"move", DevicePolicy::kMove}};
};
template <> struct Choices<NanStrategy::Action> {
  static constexpr std::pair<const char *, NanStrategy::Action> kAll[] = {
      {"error", NanStrategy::kError},
      {"warn", NanStrategy::kWarn},
      {"ignore", NanStrategy::kIgnore},
      {"disable", NanStrategy::kDisable}};
};

template <class E>
  requires requires { Choices<E>::kAll; }
struct Conversion<E> {
  static std::string annotation() {
    return "Literal[" + names() + "]" + (allows_none() ? " | None" : "");
  }
  static E from(const Place &place, PyObject *given) {
    const std::string name = given == Py_None         ? "none"
                             : PyUnicode_Check(given) ? text_of(given)
                                                      : "";
    for (const auto &[known, value] : Choices<E>::kAll)
      if (name == known)
        return value;
    place.refuse_value(given, names() + (allows_none() ? " or None" : ""));
  }
  static Object to(E value) {
    for (const auto &[name, known] : Choices<E>::kAll)
      if (known == value)
        return is_none(name) ? Object::borrowed(Py_None) : object_of(name);
    return Object::borrowed(Py_None);
  }

private:
  static std::string names() {
    std::string all;
    for (const auto &[name, value] : Choices<E>::kAll)
      all += (all.empty() ? "'" : ", '") + std::string(name) + "'";
    return all;
  }
  static bool allows_none() {
    return std::any_of(std::begin(Choices<E>::kAll), std::end(Choices<E>::kAll),
                       [](const auto &choice) { return is_none(choice.first); });
  }
  static bool is_none(const char *name) { return std::string_view(name) == "none"; }
};

template <> struct Conversion<NanStrategy> {
  static std::string annotation() {
    return Conversion<NanStrategy::Action>::annotation() + " | float";
  }
  static NanStrategy from(const Place &place, PyObject *given) {
    if (PyFloat_Check(given) || PyLong_Check(given))
      return NanStrategy(Conversion<double>::from(place, given));
    return Conversion<NanStrategy::Action>::from(place, given);
  }
  static Object to(const NanStrategy &value) {
    return Conversion<NanStrategy::Action>::to(value.action());
  }
};

template <class T> constexpr bool kOptional = false;
template <class T> constexpr bool kOptional<std::optional<T>> = true;

// Calls visit(name, required, get, set) for each option that `Options` has; `required` where it is
// not optional.
template <class Options, class Visit> void each_option(const Visit &visit) {
#define DEVSAN_PYTHON_OPTION(option, required)                                                     \
  if constexpr (requires(const Options &o) { o.option(); })                                        \
    visit(                                                                                         \
        #option, required, [](const Options &o) { return o.option(); },                            \
        [](Options &o, auto value) { o.option(std::move(value)); });
  DEVSAN_PYTHON_OPTION(beta, true)
  DEVSAN_PYTHON_OPTION(num_classes, true)
  DEVSAN_PYTHON_OPTION(num_labels, true)
  DEVSAN_PYTHON_OPTION(min_precision, true)
  DEVSAN_PYTHON_OPTION(min_specificity, true)
  DEVSAN_PYTHON_OPTION(max_fpr, false)
  DEVSAN_PYTHON_OPTION(top_k, false)
  DEVSAN_PYTHON_OPTION(threshold, false)
  DEVSAN_PYTHON_OPTION(average, false)
  DEVSAN_PYTHON_OPTION(thresholds, false)
  DEVSAN_PYTHON_OPTION(ignore_index, false)
  DEVSAN_PYTHON_OPTION(normalize, false)
  DEVSAN_PYTHON_OPTION(weights, false)
  DEVSAN_PYTHON_OPTION(zero_division, false)
  DEVSAN_PYTHON_OPTION(from_logits, false)
  DEVSAN_PYTHON_OPTION(weighted, false)
  DEVSAN_PYTHON_OPTION(multidim_average, false)
  DEVSAN_PYTHON_OPTION(window, false)
  DEVSAN_PYTHON_OPTION(nan_strategy, false)
  DEVSAN_PYTHON_OPTION(n_bins, false)
  DEVSAN_PYTHON_OPTION(norm, false)
  DEVSAN_PYTHON_OPTION(squared, false)
  DEVSAN_PYTHON_OPTION(multiclass_mode, false)
  DEVSAN_PYTHON_OPTION(scale_by_half, false)
  DEVSAN_PYTHON_OPTION(empty_target_action, false)
  DEVSAN_PYTHON_OPTION(adaptive_k, false)
  DEVSAN_PYTHON_OPTION(aggregation, false)
  DEVSAN_PYTHON_OPTION(power, false)
  DEVSAN_PYTHON_OPTION(log_prob, false)
  DEVSAN_PYTHON_OPTION(reduction, false)
  DEVSAN_PYTHON_OPTION(adjusted, false)
  DEVSAN_PYTHON_OPTION(multioutput, false)
  DEVSAN_PYTHON_OPTION(variant, false)
  DEVSAN_PYTHON_OPTION(t_test, false)
  DEVSAN_PYTHON_OPTION(alternative, false)
  DEVSAN_PYTHON_OPTION(data_range, true)
  DEVSAN_PYTHON_OPTION(base, false)
  DEVSAN_PYTHON_OPTION(dim, false)
  DEVSAN_PYTHON_OPTION(gaussian_kernel, false)
  DEVSAN_PYTHON_OPTION(sigma, false)
  DEVSAN_PYTHON_OPTION(kernel_size, false)
  DEVSAN_PYTHON_OPTION(k1, false)
  DEVSAN_PYTHON_OPTION(k2, false)
  DEVSAN_PYTHON_OPTION(return_full_image, false)
  DEVSAN_PYTHON_OPTION(return_contrast_sensitivity, false)
  DEVSAN_PYTHON_OPTION(betas, false)
  DEVSAN_PYTHON_OPTION(num_features, true)
  DEVSAN_PYTHON_OPTION(num_outputs, false)
  DEVSAN_PYTHON_OPTION(unbiased, false)
  DEVSAN_PYTHON_OPTION(box_format, false)
  DEVSAN_PYTHON_OPTION(iou_thresholds, false)
  DEVSAN_PYTHON_OPTION(rec_thresholds, false)
  DEVSAN_PYTHON_OPTION(max_detection_thresholds, false)
  DEVSAN_PYTHON_OPTION(class_metrics, false)
  DEVSAN_PYTHON_OPTION(extended_summary, false)
  DEVSAN_PYTHON_OPTION(things, true)
  DEVSAN_PYTHON_OPTION(stuffs, true)
  DEVSAN_PYTHON_OPTION(allow_unknown_preds_category, false)
  DEVSAN_PYTHON_OPTION(return_sq_and_rq, false)
  DEVSAN_PYTHON_OPTION(return_per_class, false)
  DEVSAN_PYTHON_OPTION(include_background, false)
  DEVSAN_PYTHON_OPTION(per_class, false)
  DEVSAN_PYTHON_OPTION(input_format, false)
  DEVSAN_PYTHON_OPTION(validate, false)
  DEVSAN_PYTHON_OPTION(dtype, false)
  DEVSAN_PYTHON_OPTION(accumulation, false)
#undef DEVSAN_PYTHON_OPTION
}

// Options whose required ones hold anything.
template <class O> O blank_options() {
  constexpr bool classes =
      requires(const O &o) { o.num_classes(); } || requires(const O &o) { o.num_labels(); };
  constexpr bool minimum =
      requires(const O &o) { o.min_precision(); } || requires(const O &o) { o.min_specificity(); };
  if constexpr (requires(const O &o) { o.things(); }) {
    return O({0}, {1});
  } else if constexpr (std::is_default_constructible_v<O>) {
    return O();
  } else if constexpr (requires(const O &o) { o.beta(); }) {
    if constexpr (classes)
      return O(1., int64_t{2});
    else
      return O(1.);
  } else if constexpr (minimum) {
    if constexpr (classes)
      return O(2, 0.);
    else
      return O(0.);
  } else if constexpr (classes) {
    return O(2);
  } else {
    return O(1);
  }
}

// Options from those given by name; the others keep their defaults.
template <class Options> Options options_from(const std::string &metric, PyObject *given) {
  Options options = blank_options<Options>();
  each_option<Options>([&](const char *name, bool, auto get, auto set) {
    using T = std::decay_t<decltype(get(options))>;
    // That the outputs are those of the first input is for the binding.
    PyObject *const value = find(given, name);
    const bool inferred = std::string_view(name) == "num_outputs" && value == Py_None;
    if (value && !inferred)
      set(options, Conversion<T>::from(Place{metric, name}, value));
  });
  return options;
}

} // namespace devsan::metrics::python
