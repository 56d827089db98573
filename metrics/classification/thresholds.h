// At which thresholds a metric of scores counts.
#pragma once

#include <algorithm>
#include <cstdint>
#include <initializer_list>
#include <string>
#include <vector>

#include <ATen/core/Tensor.h>

namespace devsan::metrics {

// A number of thresholds, evenly spaced from 0 to 1, or their values, ascending and in [0, 1]. They
// are float32: the numbers nearest to i / (number - 1), the same on every device.
class Thresholds {
public:
  Thresholds(int64_t number) : number_(number) {}
  Thresholds(const std::vector<double> &values)
      : number_(static_cast<int64_t>(values.size())), given_(true),
        values_(values.begin(), values.end()) {}
  Thresholds(std::initializer_list<double> values) : Thresholds(std::vector<double>(values)) {}

  // Throws, in the name of metric `name`, for what no thresholds can be.
  void check(const std::string &name) const;
  std::string text() const;

  int64_t number() const { return number_; }
  std::vector<float> values() const;
  bool evenly_spaced() const { return !given_; }

  // float32 [number], made on the device: nothing is copied there and nobody waits.
  at::Tensor on(at::Device device) const;

private:
  int64_t number_;
  bool given_ = false;
  std::vector<float> values_; // if given
};

// How many of the thresholds each score is at or above, int64.
at::Tensor thresholds_reached(const at::Tensor &scores, const at::Tensor &thresholds);

// The same of one score in [0, 1], in the host's memory. Evenly spaced thresholds are where the
// score says, up to rounding.
template <typename T>
int64_t thresholds_reached(T score, const std::vector<float> &thresholds, bool evenly_spaced) {
  if (!evenly_spaced)
    return std::upper_bound(thresholds.begin(), thresholds.end(), score) - thresholds.begin();
  const auto last = static_cast<int64_t>(thresholds.size()) - 1;
  const auto i = static_cast<int64_t>(score * static_cast<T>(last));
  const bool above = (i < last) & (score >= thresholds[std::min(i + 1, last)]);
  return i + 1 + above - (score < thresholds[i]);
}

} // namespace devsan::metrics
