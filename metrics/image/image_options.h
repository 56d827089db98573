// Arguments that the image metrics have in common.
#pragma once

#include <cmath>
#include <optional>
#include <string>

#include <c10/util/Exception.h>

#include "metrics/detail/text.h"
#include "metrics/shared_arg.h"

namespace devsan::metrics {

// How the values of the images, or of the parts that a metric is of, become the result.
enum class ImageReduction {
  kElementwiseMean,
  kSum,
  kNone, // not at all: all of them, in the order of the updates
};

// How far values can be apart: a number, or the ends of a range that inputs are clamped to.
class DataRange {
public:
  DataRange(double range) : low_(0), high_(range) {}
  DataRange(double low, double high) : low_(low), high_(high), clamps_(true) {}

  double width() const { return high_ - low_; }
  bool clamps() const { return clamps_; }
  double low() const { return low_; }
  double high() const { return high_; }

  // Throws, in the name of metric `name`, unless the range is above 0.
  void check(const std::string &name) const {
    TORCH_CHECK(width() > 0 && std::isfinite(width()), name, ": data_range is ", text(),
                "; pass a finite number above 0, or two in ascending order");
  }
  std::string text() const {
    return clamps_ ? detail::exact_text(low_) + " to " + detail::exact_text(high_)
                   : detail::exact_text(high_);
  }

private:
  double low_, high_;
  bool clamps_ = false;
};

} // namespace devsan::metrics
