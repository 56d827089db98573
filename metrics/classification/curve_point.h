// A point of a curve: the best that one rate can be where another is high enough.
#pragma once

#include "metrics/classification/curve_metric.h"

namespace devsan::metrics {

// A metric's options with a minimum, which stands before the thresholds: TaskT's arguments are
// (thresholds) or (classes, thresholds), without thresholds for the exact curve.
template <class Self, template <class> class TaskT> class MinimumOptions : public TaskT<Self> {
  using Base = TaskT<Self>;

public:
  MinimumOptions(double minimum)
    requires(Base::kTask == Task::kBinary)
      : minimum_(minimum) {}
  MinimumOptions(double minimum, Thresholds thresholds)
    requires(Base::kTask == Task::kBinary)
      : Base(std::move(thresholds)), minimum_(minimum) {}
  MinimumOptions(int64_t classes, double minimum)
    requires(Base::kTask != Task::kBinary)
      : Base(classes), minimum_(minimum) {}
  MinimumOptions(int64_t classes, double minimum, Thresholds thresholds)
    requires(Base::kTask != Task::kBinary)
      : Base(classes, std::move(thresholds)), minimum_(minimum) {}

protected:
  double minimum_; // in [0, 1]
};

template <template <class> class TaskT>
class MinPrecisionOptions : public MinimumOptions<MinPrecisionOptions<TaskT>, TaskT> {
public:
  using MinimumOptions<MinPrecisionOptions<TaskT>, TaskT>::MinimumOptions;
  MinPrecisionOptions &min_precision(double min_precision) {
    this->minimum_ = min_precision;
    return *this;
  }
  const double &min_precision() const noexcept { return this->minimum_; }
};

template <template <class> class TaskT>
class MinSpecificityOptions : public MinimumOptions<MinSpecificityOptions<TaskT>, TaskT> {
public:
  using MinimumOptions<MinSpecificityOptions<TaskT>, TaskT>::MinimumOptions;
  MinSpecificityOptions &min_specificity(double min_specificity) {
    this->minimum_ = min_specificity;
    return *this;
  }
  const double &min_specificity() const noexcept { return this->minimum_; }
};

// The highest recall where `allowed` (bool, as tp), and the highest threshold that has it.
// Where nothing is allowed, recall is 0.
struct CurvePoint {
  at::Tensor recall, threshold; // [rows]
  at::Tensor allowed;           // bool [rows], whether there is any
};
CurvePoint highest_recall(const CurveCounts &counts, const at::Tensor &allowed);

} // namespace devsan::metrics
