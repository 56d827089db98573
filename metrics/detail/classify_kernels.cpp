#include "metrics/detail/classify_kernels.h"

#include <type_traits>

// Clang takes no templates here, therefore the plain functions around the bodies.
#if defined(__x86_64__) && defined(__linux__)
#define DEVSAN_FOR_EACH_CPU                                                                        \
  __attribute__((target_clones("arch=x86-64-v4", "arch=x86-64-v3", "default")))
#else
#define DEVSAN_FOR_EACH_CPU
#endif
// So that the body is compiled for the instruction set of the function around it.
#define DEVSAN_BODY [[gnu::always_inline]] inline

namespace devsan::metrics::detail {
namespace {

template <typename T> using Index = std::conditional_t<sizeof(T) == 4, int32_t, int64_t>;

template <typename T> DEVSAN_BODY bool above(T x, T best) {
  return (!(x <= best)) & (best == best);
}

// All samples class by class. Without branches, and where the samples do not lie side by side with
// a copy that lets them, so that the comparisons become vector instructions.
template <typename T>
DEVSAN_BODY void argmax_block(const T *scores, int64_t n, int64_t classes, int64_t sample_stride,
                              int64_t class_stride, int64_t *labels) {
  alignas(64) T best[kArgmaxBlock], copied[kArgmaxBlock];
  alignas(64) Index<T> index[kArgmaxBlock];
  for (int64_t i = 0; i < n; ++i) {
    best[i] = scores[i * sample_stride];
    index[i] = 0;
  }
  for (int64_t c = 1; c < classes; ++c) {
    const T *column = scores + c * class_stride;
    if (sample_stride != 1) {
      for (int64_t i = 0; i < n; ++i)
        copied[i] = column[i * sample_stride];
      column = copied;
    }
    for (int64_t i = 0; i < n; ++i) {
      const T x = column[i];
      const bool take = above(x, best[i]);
      best[i] = take ? x : best[i];
      index[i] = take ? static_cast<Index<T>>(c) : index[i];
    }
  }
  for (int64_t i = 0; i < n; ++i)
    labels[i] = index[i];
}

// One sample of many classes that lie side by side: the best of every kLanes-th class, then of
// those.
template <typename T> constexpr int64_t kLanes = 128 / sizeof(T);

template <typename T> DEVSAN_BODY int64_t argmax_row(const T *row, int64_t classes) {
  constexpr int64_t lanes = kLanes<T>;
  alignas(64) T best[lanes];
  alignas(64) Index<T> index[lanes];
  for (int64_t lane = 0; lane < lanes; ++lane) {
    best[lane] = row[lane];
    index[lane] = 0;
  }
  int64_t c = lanes;
  for (; c + lanes <= classes; c += lanes)
    for (int64_t lane = 0; lane < lanes; ++lane) {
      const T x = row[c + lane];
      const bool take = above(x, best[lane]);
      best[lane] = take ? x : best[lane];
      index[lane] = take ? static_cast<Index<T>>(c) : index[lane];
    }
  T top = best[0];
  int64_t label = index[0];
  for (int64_t lane = 1; lane < lanes; ++lane) {
    const T x = best[lane];
    const int64_t place = index[lane] + lane;
    const bool same = (x == top) | ((x != x) & (top != top));
    if (above(x, top) || (same && place < label)) {
      top = x;
      label = place;
    }
  }
  for (; c < classes; ++c)
    if (above(row[c], top)) {
      top = row[c];
      label = c;
    }
  return label;
}

template <typename T>
DEVSAN_BODY void argmax_body(const T *scores, int64_t n, int64_t classes, int64_t sample_stride,
                             int64_t class_stride, int64_t *labels) {
  if (class_stride != 1 || classes < 2 * kLanes<T>)
    argmax_block(scores, n, classes, sample_stride, class_stride, labels);
  else
    for (int64_t i = 0; i < n; ++i)
      labels[i] = argmax_row(scores + i * sample_stride, classes);
}

template <typename T>
DEVSAN_BODY void count_labels_body(const T *numbers, const int64_t *target, int64_t n,
                                   const Decision<T> &decision, std::optional<int64_t> ignored,
                                   bool one_label, int64_t *counts, int64_t *invalid) {
  const bool ignores = ignored.has_value();
  const int64_t ignored_target = ignored.value_or(0);
  const auto [threshold, low, high] = decision;
  int64_t sums[4] = {}, sum_of_invalid = 0;
  const auto each = [&](const auto &add) __attribute__((always_inline)) {
    for (int64_t i = 0; i < n; ++i) {
      const int64_t wanted = target[i];
      const T x = numbers[i];
      const bool kept = !(ignores & (wanted == ignored_target));
      const bool valid = ((wanted == 0) | (wanted == 1)) & (x >= low) & (x <= high);
      const bool counted = kept & valid;
      const bool is = counted & (wanted == 1), said = counted & (x > threshold);
      sum_of_invalid += kept & !valid;
      add(i, is & said, is, said, counted);
    }
  };
  if (one_label) {
    each([&](int64_t, bool both, bool is, bool said, bool counted) __attribute__((always_inline)) {
      sums[0] += both;
      sums[1] += is;
      sums[2] += said;
      sums[3] += counted;
    });
    for (int row = 0; row < 4; ++row)
      counts[row] += sums[row];
  } else {
    int64_t *__restrict__ rows = counts;
    each([&](int64_t i, bool both, bool is, bool said, bool counted)
             __attribute__((always_inline)) {
               rows[i] += both;
               rows[n + i] += is;
               rows[2 * n + i] += said;
               rows[3 * n + i] += counted;
             });
  }
  *invalid += sum_of_invalid;
}

} // namespace

DEVSAN_FOR_EACH_CPU
void argmax(const float *scores, int64_t n, int64_t classes, int64_t sample_stride,
            int64_t class_stride, int64_t *labels) {
  argmax_body(scores, n, classes, sample_stride, class_stride, labels);
}

DEVSAN_FOR_EACH_CPU
void argmax(const double *scores, int64_t n, int64_t classes, int64_t sample_stride,
            int64_t class_stride, int64_t *labels) {
  argmax_body(scores, n, classes, sample_stride, class_stride, labels);
}

#define DEVSAN_COUNT_LABELS(T)                                                                     \
  DEVSAN_FOR_EACH_CPU                                                                              \
  void count_labels(const T *numbers, const int64_t *target, int64_t n,                            \
                    const Decision<T> &decision, std::optional<int64_t> ignored, bool one_label,   \
                    int64_t *counts, int64_t *invalid) {                                           \
    count_labels_body(numbers, target, n, decision, ignored, one_label, counts, invalid);          \
  }
DEVSAN_COUNT_LABELS(float)
DEVSAN_COUNT_LABELS(double)
DEVSAN_COUNT_LABELS(int64_t)

} // namespace devsan::metrics::detail
