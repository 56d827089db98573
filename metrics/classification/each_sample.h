// Scored samples in the host's memory, one after the other: what CPU passes over scores share.
#pragma once

#include <cstdint>
#include <optional>

namespace devsan::metrics::detail {

// What a score has to be to count; NaN is outside.
template <typename T> struct ScoreRange {
  T low, high;
  bool any_above = false; // one score of a sample must be above `low`
};

// `samples` rows of `width` scores that count or not together, each row with its label.
template <typename T> struct ScoreRows {
  const T *scores;
  const int64_t *labels;
  int64_t samples, width;
  int64_t classes; // labels are below
  std::optional<int64_t> ignored;
};

// Calls visit(sample, label, its scores) for each sample that counts; how many do not because they
// are out of range.
template <typename T, typename Visit>
int64_t each_sample(const ScoreRows<T> &rows, const ScoreRange<T> &range, const Visit &visit) {
  int64_t out_of_range = 0;
  const T *scores = rows.scores;
  for (int64_t i = 0; i < rows.samples; ++i, scores += rows.width) {
    const int64_t label = rows.labels[i];
    if (rows.ignored && label == *rows.ignored)
      continue;
    bool valid = (label >= 0) & (label < rows.classes), above = !range.any_above;
    for (int64_t c = 0; c < rows.width; ++c) {
      valid &= (scores[c] >= range.low) & (scores[c] <= range.high);
      above |= scores[c] > range.low;
    }
    if (valid & above)
      visit(i, label, scores);
    else
      ++out_of_range;
  }
  return out_of_range;
}

} // namespace devsan::metrics::detail
