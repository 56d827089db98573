// A point of a curve: the best that one rate can be where another is high enough.
#pragma once

#include "metrics/classification/curve_metric.h"

namespace devsan::metrics {

// A metric's options with a minimum, which stands before the thresholds: TaskT's arguments are
// (thresholds) or (classes, thresholds), without thresholds for the exact curve.
template <template <class> class TaskT>
class MinPrecisionOptions : public TaskT<MinPrecisionOptions<TaskT>> {
  using Base = TaskT<MinPrecisionOptions<TaskT>>;

public:
  MinPrecisionOptions(double min_precision)
    requires(Base::kTask == Task::kBinary)
      : min_precision_(min_precision) {}
  MinPrecisionOptions(double min_precision, Thresholds thresholds)
    requires(Base::kTask == Task::kBinary)
      : Base(std::move(thresholds)), min_precision_(min_precision) {}
  MinPrecisionOptions(int64_t classes, double min_precision)
    requires(Base::kTask != Task::kBinary)
      : Base(classes), min_precision_(min_precision) {}
  MinPrecisionOptions(int64_t classes, double min_precision, Thresholds thresholds)
    requires(Base::kTask != Task::kBinary)
      : Base(classes, std::move(thresholds)), min_precision_(min_precision) {}
  // In [0, 1].
  TORCH_ARG(double, min_precision);
};

template <template <class> class TaskT>
class MinSpecificityOptions : public TaskT<MinSpecificityOptions<TaskT>> {
  using Base = TaskT<MinSpecificityOptions<TaskT>>;

public:
  MinSpecificityOptions(double min_specificity)
    requires(Base::kTask == Task::kBinary)
      : min_specificity_(min_specificity) {}
  MinSpecificityOptions(double min_specificity, Thresholds thresholds)
    requires(Base::kTask == Task::kBinary)
      : Base(std::move(thresholds)), min_specificity_(min_specificity) {}
  MinSpecificityOptions(int64_t classes, double min_specificity)
    requires(Base::kTask != Task::kBinary)
      : Base(classes), min_specificity_(min_specificity) {}
  MinSpecificityOptions(int64_t classes, double min_specificity, Thresholds thresholds)
    requires(Base::kTask != Task::kBinary)
      : Base(classes, std::move(thresholds)), min_specificity_(min_specificity) {}
  // In [0, 1].
  TORCH_ARG(double, min_specificity);
};

// The highest recall where `allowed` (bool, as tp), and the highest threshold that has it.
// Where nothing is allowed, recall is 0.
struct CurvePoint {
  at::Tensor recall, threshold; // [rows]
  at::Tensor allowed;           // bool [rows], whether there is any
};
CurvePoint highest_recall(const CurveCounts &counts, const at::Tensor &allowed);

} // namespace devsan::metrics
