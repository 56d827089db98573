#include "metrics/detail/classify_kernels.h"

#include <algorithm>
#include <cstring>
#include <type_traits>

// Clang takes no templates here, therefore the plain functions around the bodies. GCC 12 does not
// get over one vector type in functions for several processors, see detail/fused.h.
#if defined(__x86_64__) && defined(__linux__) && defined(__clang__)
#define DEVSAN_FOR_EACH_CPU                                                                        \
  __attribute__((target_clones("arch=x86-64-v4", "arch=x86-64-v3", "default")))
#else
#define DEVSAN_FOR_EACH_CPU
#endif
// So that the body is compiled for the instruction set of the function around it.
#define DEVSAN_BODY [[gnu::always_inline]] inline

namespace devsan::metrics::detail {
namespace {

constexpr int64_t kLanes = 8;

// The best of what each lane has seen, and where that was; strictly greater ones replace it, so
// that the first of several stays. NaN is never taken, only noticed, by whoever has many of these.
template <typename T> struct Best {
  using Index = std::conditional_t<sizeof(T) == 4, int32_t, int64_t>;
  typedef T Numbers __attribute__((vector_size(kLanes * sizeof(T))));
  typedef Index Indices __attribute__((vector_size(kLanes * sizeof(T))));

  Numbers number;
  Indices index;

  DEVSAN_BODY void take(const Numbers &next, const Indices &at, Indices &nan) {
    const Indices more = next > number;
    number = more ? next : number;
    index = more ? at : index;
    nan |= next != next;
  }
};

template <typename T> DEVSAN_BODY typename Best<T>::Numbers load(const T *from) {
  typename Best<T>::Numbers numbers;
  std::memcpy(&numbers, from, sizeof(numbers));
  return numbers;
}

template <typename Indices> DEVSAN_BODY bool any(const Indices &mask) {
  auto all = mask[0];
  for (int64_t lane = 1; lane < kLanes; ++lane)
    all |= mask[lane];
  return all != 0;
}

// Of one sample, whatever its scores.
template <typename T>
DEVSAN_BODY int64_t argmax_of(const T *scores, int64_t classes, int64_t stride) {
  int64_t label = 0;
  for (int64_t c = 1; c < classes; ++c) {
    const T best = scores[label * stride], x = scores[c * stride];
    if (!(x <= best) && best == best)
      label = c;
  }
  return label;
}

// Samples that lie side by side, class by class.
template <typename T>
DEVSAN_BODY void argmax_columns(const T *scores, int64_t n, int64_t classes, int64_t class_stride,
                                int32_t *labels) {
  constexpr int64_t kSets = 4, kStep = kSets * kLanes; // hide the latency of a comparison
  int64_t i = 0;
  for (; i + kStep <= n; i += kStep) {
    Best<T> best[kSets];
    typename Best<T>::Indices nan{}, at{};
    for (int64_t s = 0; s < kSets; ++s) {
      best[s] = {load(scores + i + s * kLanes), at};
      nan |= best[s].number != best[s].number;
    }
    for (int64_t c = 1; c < classes; ++c) {
      at += 1;
#pragma GCC unroll 4
      for (int64_t s = 0; s < kSets; ++s)
        best[s].take(load(scores + c * class_stride + i + s * kLanes), at, nan);
    }
    if (any(nan))
      for (int64_t k = i; k < i + kStep; ++k)
        labels[k] = argmax_of(scores + k, classes, class_stride);
    else
      for (int64_t s = 0; s < kSets; ++s)
        for (int64_t lane = 0; lane < kLanes; ++lane)
          labels[i + s * kLanes + lane] = best[s].index[lane];
  }
  for (; i < n; ++i)
    labels[i] = argmax_of(scores + i, classes, class_stride);
}

// Four classes of eight samples that lie `stride` apart, class by class.
constexpr int64_t kColumns = 4;

template <typename T>
DEVSAN_BODY void transpose(const T *rows, int64_t stride, typename Best<T>::Numbers *columns) {
  typedef T Four __attribute__((vector_size(kColumns * sizeof(T))));
  typename Best<T>::Numbers both[kColumns]; // row i and row i + 4
  for (int64_t i = 0; i < kColumns; ++i) {
    Four low, high;
    std::memcpy(&low, rows + i * stride, sizeof(low));
    std::memcpy(&high, rows + (i + kColumns) * stride, sizeof(high));
    both[i] = __builtin_shufflevector(low, high, 0, 1, 2, 3, 4, 5, 6, 7);
  }
  const auto low_halves = [](const auto &a, const auto &b) __attribute__((always_inline)) {
    return __builtin_shufflevector(a, b, 0, 8, 1, 9, 4, 12, 5, 13);
  };
  const auto high_halves = [](const auto &a, const auto &b) __attribute__((always_inline)) {
    return __builtin_shufflevector(a, b, 2, 10, 3, 11, 6, 14, 7, 15);
  };
  const auto even_low = low_halves(both[0], both[2]), odd_low = low_halves(both[1], both[3]);
  const auto even_high = high_halves(both[0], both[2]), odd_high = high_halves(both[1], both[3]);
  columns[0] = low_halves(even_low, odd_low);
  columns[1] = high_halves(even_low, odd_low);
  columns[2] = low_halves(even_high, odd_high);
  columns[3] = high_halves(even_high, odd_high);
}

// Samples of few classes that lie side by side.
template <typename T>
DEVSAN_BODY void argmax_rows(const T *scores, int64_t n, int64_t classes, int32_t *labels) {
  using Index = typename Best<T>::Index;
  int64_t i = 0;
  // Of fewer classes than are loaded at once, loads reach into the next samples.
  const int64_t reach = std::max<int64_t>(0, kColumns - classes);
  for (; (i + kLanes) * classes + reach <= n * classes; i += kLanes) {
    const T *const rows = scores + i * classes;
    typename Best<T>::Numbers columns[kColumns];
    typename Best<T>::Indices nan{};
    transpose(rows, classes, columns);
    Best<T> best{columns[0], {}};
    nan |= columns[0] != columns[0];
    const auto take = [&](int64_t from, int64_t first, int64_t end) __attribute__((always_inline)) {
      typename Best<T>::Indices at = typename Best<T>::Indices{} + static_cast<Index>(from);
#pragma GCC unroll 4
      for (int64_t c = 0; c < kColumns; ++c, at += 1)
        if (from + c >= first && from + c < end)
          best.take(columns[c], at, nan);
    };
    take(0, 1, classes);
    for (int64_t first = kColumns; first < classes; first += kColumns) {
      const int64_t from = std::min(first, classes - kColumns); // not behind the last class
      transpose(rows + from, classes, columns);
      take(from, first, classes);
    }
    if (any(nan))
      for (int64_t lane = 0; lane < kLanes; ++lane)
        labels[i + lane] = argmax_of(rows + lane * classes, classes, 1);
    else
      for (int64_t lane = 0; lane < kLanes; ++lane)
        labels[i + lane] = best.index[lane];
  }
  for (; i < n; ++i)
    labels[i] = argmax_of(scores + i * classes, classes, 1);
}

// One sample of many classes that lie side by side: the best of every so many, then of those.
constexpr int64_t kSets = 4;

template <typename T> DEVSAN_BODY int64_t argmax_row(const T *row, int64_t classes) {
  using Index = typename Best<T>::Index;
  typename Best<T>::Indices at, nan{};
  for (int64_t lane = 0; lane < kLanes; ++lane)
    at[lane] = static_cast<Index>(lane);
  Best<T> best[kSets];
#pragma GCC unroll 4
  for (int64_t s = 0; s < kSets; ++s, at += kLanes) {
    best[s] = {load(row + s * kLanes), at};
    nan |= best[s].number != best[s].number;
  }
  int64_t c = kSets * kLanes;
  for (; c + kSets * kLanes <= classes; c += kSets * kLanes)
#pragma GCC unroll 4
    for (int64_t s = 0; s < kSets; ++s, at += kLanes)
      best[s].take(load(row + c + s * kLanes), at, nan);
  // The rest, which is looked at with some of those before.
  for (; c < classes; c += kLanes) {
    const int64_t from = std::min(c, classes - kLanes);
    for (int64_t lane = 0; lane < kLanes; ++lane)
      at[lane] = static_cast<Index>(from + lane);
    best[0].take(load(row + from), at, nan);
  }
  if (any(nan))
    return argmax_of(row, classes, 1);
  const auto is_better =
      [](const auto &x, const auto &place, const auto &top, const auto &label)
          __attribute__((always_inline)) { return (x > top) | ((x == top) & (place < label)); };
  Best<T> &all = best[0];
  for (int64_t s = 1; s < kSets; ++s) {
    const auto better = is_better(best[s].number, best[s].index, all.number, all.index);
    all.number = better ? best[s].number : all.number;
    all.index = better ? best[s].index : all.index;
  }
  T top = all.number[0];
  Index label = all.index[0];
  for (int64_t lane = 1; lane < kLanes; ++lane) {
    const T x = all.number[lane];
    const Index place = all.index[lane];
    const bool better = is_better(x, place, top, label);
    top = better ? x : top;
    label = better ? place : label;
  }
  return label;
}

template <typename T>
DEVSAN_BODY void argmax_body(const T *scores, int64_t n, int64_t classes, int64_t sample_stride,
                             int64_t class_stride, int32_t *labels) {
  if (sample_stride == 1)
    argmax_columns(scores, n, classes, class_stride, labels);
  else if (classes < 2 * kSets * kLanes)
    argmax_rows(scores, n, classes, labels);
  else
    for (int64_t i = 0; i < n; ++i)
      labels[i] = argmax_row(scores + i * sample_stride, classes);
}

template <typename Label>
DEVSAN_BODY void compare_labels_body(const int64_t *target, const Label *labels, int64_t n,
                                     int64_t classes, std::optional<int64_t> ignored,
                                     uint8_t *flags, int64_t *invalid) {
  const bool ignores = ignored.has_value();
  const int64_t ignored_target = ignored.value_or(0);
  const auto number = static_cast<uint64_t>(classes); // negative ones are above
  int64_t sum_of_invalid = 0;
  for (int64_t i = 0; i < n; ++i) {
    const int64_t wanted = target[i], label = labels[i];
    const bool kept = !(ignores & (wanted == ignored_target));
    const bool valid =
        (static_cast<uint64_t>(wanted) < number) & (static_cast<uint64_t>(label) < number);
    const int said = kKept | (valid ? 0 : kInvalid) | (wanted == label ? 0 : kDiffers);
    flags[i] = static_cast<uint8_t>(kept ? said : 0);
    sum_of_invalid += kept & !valid;
  }
  *invalid += sum_of_invalid;
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
            int64_t class_stride, int32_t *labels) {
  argmax_body(scores, n, classes, sample_stride, class_stride, labels);
}

DEVSAN_FOR_EACH_CPU
void argmax(const double *scores, int64_t n, int64_t classes, int64_t sample_stride,
            int64_t class_stride, int32_t *labels) {
  argmax_body(scores, n, classes, sample_stride, class_stride, labels);
}

#define DEVSAN_COMPARE_LABELS(Label)                                                               \
  DEVSAN_FOR_EACH_CPU                                                                              \
  void compare_labels(const int64_t *target, const Label *labels, int64_t n, int64_t classes,      \
                      std::optional<int64_t> ignored, uint8_t *flags, int64_t *invalid) {          \
    compare_labels_body(target, labels, n, classes, ignored, flags, invalid);                      \
  }
DEVSAN_COMPARE_LABELS(int32_t)
DEVSAN_COMPARE_LABELS(int64_t)

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
