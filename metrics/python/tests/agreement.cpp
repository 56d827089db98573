// Collections, wrappers and trackers of C++, for agreement_test.py: the class
// torch.classes.devsan_agreement.Tracker, a MetricTracker of a MetricCollection.
#include <map>
#include <string>

#include <ATen/ATen.h>
#include <torch/custom_class.h>

#include "metrics/classification/accuracy.h"
#include "metrics/classification/auroc.h"
#include "metrics/classification/confusion_matrix.h"
#include "metrics/classification/f_beta.h"
#include "metrics/classification/precision.h"
#include "metrics/classification/recall.h"
#include "metrics/regression/mean_squared_error.h"
#include "metrics/regression/pearson_corr_coef.h"
#include "metrics/regression/spearman_corr_coef.h"
#include "metrics/wrappers/boot_strapper.h"
#include "metrics/wrappers/classwise_wrapper.h"
#include "metrics/wrappers/metric_tracker.h"
#include "metrics/wrappers/min_max_metric.h"
#include "metrics/wrappers/running.h"

namespace devsan::metrics {
namespace {

using Named = c10::Dict<std::string, at::Tensor>;

constexpr int64_t kClasses = 5;

template <class Options> Options by_class() {
  return Options(kClasses).average(Average::kNone);
}

// As METRICS in agreement_test.py.
MetricCollection of_labels() {
  const MulticlassAccuracy accuracy(kClasses);
  return {{"a", accuracy},
          {"b", MulticlassF1Score(kClasses)},
          {"c", ClasswiseWrapper(MulticlassRecall(by_class<MulticlassRecallOptions>()))},
          {"d", MinMaxMetric(MulticlassPrecision(kClasses))},
          {"e", Running(accuracy, 3)},
          {"f", BootStrapper(accuracy, BootStrapperOptions(4).quantile(0.3).raw(true))},
          {"g", MulticlassConfusionMatrix(kClasses)},
          {"h", MulticlassAUROC(kClasses)},
          {"i", Running(MulticlassAUROC(kClasses), 2)},
          {"j", MinMaxMetric(Running(accuracy, 2))}};
}
MetricCollection of_numbers() {
  return {{"a", MeanSquaredError()},
          {"b", PearsonCorrCoef()},
          {"c", MinMaxMetric(PearsonCorrCoef())},
          {"d", Running(PearsonCorrCoef(), 2)},
          {"e", Running(MeanSquaredError(), 3)},
          {"f", SpearmanCorrCoef()},
          {"g", BootStrapper(MeanSquaredError(), BootStrapperOptions(3).raw(true))}};
}

template <class Items> Named named(const Items &items) {
  Named all;
  for (const auto &item : items)
    all.insert(item.key(), item.value());
  return all;
}

class Tracker : public torch::CustomClassHolder {
public:
  Tracker(const std::string &what, bool maximize)
      : empty_(what == "labels" ? of_labels() : of_numbers()), tracker_(empty_, maximize) {}

  void increment() { tracker_.increment(); }
  void update(const at::Tensor &preds, const at::Tensor &target) { tracker_.update(preds, target); }
  void reset() { tracker_.reset(); }
  void reset_all() { tracker_.reset_all(); }
  Named compute() { return named(tracker_.compute()); }
  Named compute_all() { return named(tracker_.compute_all()); }
  Named states() { return named(tracker_.current().state_dict()); }
  // Of each result the best value, and its step.
  std::vector<std::tuple<at::Tensor, at::Tensor>> best() {
    std::vector<std::tuple<at::Tensor, at::Tensor>> all;
    for (const auto &best : tracker_.best_metric())
      all.emplace_back(best.value().value, best.value().step);
    return all;
  }
  // What a batch is, seen by another collection.
  void merge(const at::Tensor &preds, const at::Tensor &target) {
    MetricCollection other = empty_;
    other.update(preds, target);
    other.compute();
    tracker_.current().merge(other);
  }
  void reload() {
    const auto states = tracker_.current().state_dict();
    MetricCollection fresh = empty_;
    fresh.load_state_dict(states);
    tracker_.reset();
    tracker_.current().load_state_dict(fresh.state_dict());
  }
  std::vector<std::vector<std::string>> groups() { return empty_.compute_groups(); }

private:
  const MetricCollection empty_;
  MetricTracker<MetricCollection> tracker_;
};

TORCH_LIBRARY(devsan_agreement, library) {
  library.class_<Tracker>("Tracker")
      .def(torch::init<std::string, bool>())
      .def("increment", &Tracker::increment)
      .def("update", &Tracker::update)
      .def("reset", &Tracker::reset)
      .def("reset_all", &Tracker::reset_all)
      .def("compute", &Tracker::compute)
      .def("compute_all", &Tracker::compute_all)
      .def("states", &Tracker::states)
      .def("best", &Tracker::best)
      .def("merge", &Tracker::merge)
      .def("reload", &Tracker::reload)
      .def("groups", &Tracker::groups);
}

} // namespace
} // namespace devsan::metrics
