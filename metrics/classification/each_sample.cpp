#include "metrics/classification/each_sample.h"

namespace devsan::metrics::detail {
namespace {

// Without branches, so that the comparisons become vector instructions.
template <typename T>
[[gnu::always_inline]] inline Uncounted uncounted_of(const ScoreRows<T> &rows,
                                                     const ScoreRange<T> &range) {
  const int64_t classes = rows.classes, ignored = rows.ignored.value_or(0), width = rows.width;
  const int64_t ignores = rows.ignored.has_value();
  const T low = range.low, high = range.high;
  Uncounted result{};
  if (width == 1 && !range.any_above) {
    for (int64_t i = 0; i < rows.samples; ++i) {
      const int64_t label = rows.labels[i];
      const T score = rows.scores[i];
      const int64_t is_ignored = ignores & (label == ignored);
      const int64_t valid = (label >= 0) & (label < classes) & (score >= low) & (score <= high);
      result.ignored += is_ignored;
      result.out_of_range += (is_ignored ^ 1) & (valid ^ 1);
    }
    return result;
  }
  // All numbers at once first: mostly all are valid.
  int64_t outside = 0;
  for (int64_t k = 0; k < rows.samples * width; ++k)
    outside += ((rows.scores[k] >= low) & (rows.scores[k] <= high)) ^ 1;
  for (int64_t i = 0; i < rows.samples; ++i) {
    const T *scores = rows.scores + i * width;
    int valid = 1, above = !range.any_above;
    if (outside != 0 || range.any_above)
      for (int64_t c = 0; c < width; ++c) {
        valid &= (scores[c] >= low) & (scores[c] <= high);
        above |= scores[c] > low;
      }
    const int64_t label = rows.labels[i];
    const int64_t is_ignored = ignores & (label == ignored);
    const int64_t counts = valid & above & (label >= 0) & (label < classes);
    result.ignored += is_ignored;
    result.out_of_range += (is_ignored ^ 1) & (counts ^ 1);
  }
  return result;
}

#if defined(__x86_64__)
template <typename T>
[[gnu::target("avx2")]] Uncounted uncounted_by_avx2(const ScoreRows<T> &rows,
                                                    const ScoreRange<T> &range) {
  return uncounted_of(rows, range);
}
#endif

template <typename T>
Uncounted best_uncounted(const ScoreRows<T> &rows, const ScoreRange<T> &range) {
#if defined(__x86_64__)
  if (__builtin_cpu_supports("avx2"))
    return uncounted_by_avx2(rows, range);
#endif
  return uncounted_of(rows, range);
}

} // namespace

Uncounted uncounted(const ScoreRows<float> &rows, const ScoreRange<float> &range) {
  return best_uncounted(rows, range);
}

Uncounted uncounted(const ScoreRows<double> &rows, const ScoreRange<double> &range) {
  return best_uncounted(rows, range);
}

} // namespace devsan::metrics::detail
