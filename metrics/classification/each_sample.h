// Scored samples in the host's memory, one after the other: what CPU passes over scores share.
#pragma once

#include <algorithm>
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

// How many samples are ignored, and how many others are out of range.
struct Uncounted {
  int64_t ignored, out_of_range;
};
Uncounted uncounted(const ScoreRows<float> &rows, const ScoreRange<float> &range);
Uncounted uncounted(const ScoreRows<double> &rows, const ScoreRange<double> &range);

constexpr int64_t kSampleBlock = 256; // that are checked together

// Calls visit(sample, label, its scores) for each sample that counts, and before the samples of
// each block prepare(block); how many do not count because they are out of range.
template <typename T, typename Visit, typename Prepare>
int64_t each_sample(const ScoreRows<T> &rows, const ScoreRange<T> &range, const Visit &visit,
                    const Prepare &prepare) {
  int64_t out_of_range = 0;
  for (int64_t first = 0; first < rows.samples; first += kSampleBlock) {
    ScoreRows<T> block = rows;
    block.scores += first * rows.width;
    block.labels += first;
    block.samples = std::min(kSampleBlock, rows.samples - first);
    prepare(block);
    const Uncounted left_out = uncounted(block, range);
    out_of_range += left_out.out_of_range;
    const bool all = left_out.ignored + left_out.out_of_range == 0;
    for (int64_t i = 0; i < block.samples; ++i) {
      const T *scores = block.scores + i * rows.width;
      if (!all) {
        const Uncounted own =
            uncounted({scores, block.labels + i, 1, rows.width, rows.classes, rows.ignored}, range);
        if (own.ignored + own.out_of_range != 0)
          continue;
      }
      visit(first + i, block.labels[i], scores);
    }
  }
  return out_of_range;
}

template <typename T, typename Visit>
int64_t each_sample(const ScoreRows<T> &rows, const ScoreRange<T> &range, const Visit &visit) {
  return each_sample(rows, range, visit, [](const ScoreRows<T> &) {});
}

} // namespace devsan::metrics::detail
