#include "metrics/detail/classify_kernels.h"

#include <algorithm>
#include <cmath>
#include <cstring>
#include <limits>
#include <type_traits>
#include <utility>

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

  DEVSAN_BODY void take(const Best &next) {
    const Indices more = next.number > number;
    number = more ? next.number : number;
    index = more ? next.index : index;
  }
  DEVSAN_BODY void take(const Numbers &next, const Indices &at, Indices &nan) {
    nan |= next != next; // NOLINT(misc-redundant-expression): vectors have no isnan
    take({next, at});
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
    if (!(x <= best) && !std::isnan(best))
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

// Two classes.
template <typename T>
DEVSAN_BODY void transpose_two(const T *rows, int64_t stride, typename Best<T>::Numbers *columns) {
  typedef T Two __attribute__((vector_size(2 * sizeof(T))));
  Two row[kLanes];
  for (int64_t i = 0; i < kLanes; ++i)
    std::memcpy(&row[i], rows + i * stride, sizeof(row[i]));
  const auto four = [&](int64_t i) __attribute__((always_inline)) {
    return __builtin_shufflevector(row[i], row[i + 1], 0, 1, 2, 3);
  };
  const auto even = __builtin_shufflevector(four(0), four(4), 0, 1, 2, 3, 4, 5, 6, 7);
  const auto odd = __builtin_shufflevector(four(2), four(6), 0, 1, 2, 3, 4, 5, 6, 7);
  columns[0] = __builtin_shufflevector(even, odd, 0, 2, 8, 10, 4, 6, 12, 14);
  columns[1] = __builtin_shufflevector(even, odd, 1, 3, 9, 11, 5, 7, 13, 15);
}

// The better one of two neighbours, 0 or 1.
template <typename T>
DEVSAN_BODY Best<T> better(const typename Best<T>::Numbers *pair, typename Best<T>::Indices &nan) {
  // NOLINTNEXTLINE(misc-redundant-expression): as above
  nan |= (pair[0] != pair[0]) | (pair[1] != pair[1]);
  const typename Best<T>::Indices more = pair[1] > pair[0];
  return {more ? pair[1] : pair[0], -more};
}

// Samples of few classes that lie side by side. A knockout: fewer steps wait for another than if
// one class after the other were compared with the best so far.
template <typename T>
DEVSAN_BODY void argmax_rows(const T *scores, int64_t n, int64_t classes, int32_t *labels) {
  int64_t i = 0;
  for (; i + kLanes <= n; i += kLanes) {
    const T *const rows = scores + i * classes;
    typename Best<T>::Indices nan{};
    const auto best_of_two = [&](int64_t at) __attribute__((always_inline)) {
      typename Best<T>::Numbers columns[2];
      transpose_two(rows + at, classes, columns);
      Best<T> best = better<T>(columns, nan);
      best.index += static_cast<typename Best<T>::Index>(at);
      return best;
    };
    const auto best_of_four = [&](int64_t at) __attribute__((always_inline)) {
      typename Best<T>::Numbers columns[kColumns];
      transpose(rows + at, classes, columns);
      Best<T> best = better<T>(columns, nan), last = better<T>(columns + 2, nan);
      last.index += 2;
      best.take(last);
      best.index += static_cast<typename Best<T>::Index>(at);
      return best;
    };
    Best<T> best = classes < kColumns ? best_of_two(0) : best_of_four(0);
    for (int64_t at = kColumns; at + kColumns <= classes; at += kColumns)
      best.take(best_of_four(at));
    // The rest, with some of those before, which change nothing.
    if (classes > kColumns && classes % kColumns == 3)
      best.take(best_of_four(classes - kColumns));
    else if (classes > 2 && classes % kColumns != 0)
      best.take(best_of_two(classes - 2));
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

// A loop for each of the smallest numbers, without which a third of the time is loops and
// addresses.
template <typename T, int64_t... kClasses>
DEVSAN_BODY bool argmax_rows_of_known(const T *scores, int64_t n, int64_t classes, int32_t *labels,
                                      std::integer_sequence<int64_t, kClasses...>) {
  return ((classes == kClasses && (argmax_rows(scores, n, kClasses, labels), true)) || ...);
}

// One sample of many classes that lie side by side: the best of every so many, then of those.
constexpr int64_t kSets = 4;
constexpr int64_t kManyClasses = 128; // with which that is the faster way

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
  else if (classes < kManyClasses) {
    using Known = std::integer_sequence<int64_t, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12>;
    if (!argmax_rows_of_known(scores, n, classes, labels, Known()))
      argmax_rows(scores, n, classes, labels);
  } else
    for (int64_t i = 0; i < n; ++i)
      labels[i] = argmax_row(scores + i * sample_stride, classes);
}

typedef int32_t Words __attribute__((vector_size(kLanes * sizeof(int32_t))));
typedef uint32_t UnsignedWords __attribute__((vector_size(kLanes * sizeof(int32_t))));

// Eight pairs of target and label. The labels are those of valid pairs; the masks are -1 or 0.
struct Pairs {
  Words target, label;
  Words kept, valid;
};

DEVSAN_BODY Words all(int32_t number) {
  return Words{} + number;
}

// The low and the high halves of eight numbers.
DEVSAN_BODY void halves(const int64_t *numbers, Words &low, Words &high) {
  Words first, second;
  std::memcpy(&first, numbers, sizeof(first));
  std::memcpy(&second, numbers + kLanes / 2, sizeof(second));
  low = __builtin_shufflevector(first, second, 0, 2, 4, 6, 8, 10, 12, 14);
  high = __builtin_shufflevector(first, second, 1, 3, 5, 7, 9, 11, 13, 15);
}

template <typename Label>
DEVSAN_BODY Pairs pairs_of(const int64_t *target, const Label *labels, int32_t classes,
                           std::optional<int64_t> ignored) {
  Pairs pairs;
  Words high, more{};
  halves(target, pairs.target, high);
  if constexpr (sizeof(Label) == sizeof(int64_t))
    halves(labels, pairs.label, more);
  else
    std::memcpy(&pairs.label, labels, sizeof(pairs.label));
  const auto number = (UnsignedWords)all(classes);
  pairs.valid = ((high | more) == 0) & ((UnsignedWords)pairs.target < number) &
                ((UnsignedWords)pairs.label < number);
  pairs.kept = all(-1);
  if (ignored)
    pairs.kept = (pairs.target != static_cast<int32_t>(*ignored)) |
                 (high != static_cast<int32_t>(*ignored >> 32));
  return pairs;
}

// Calls each(first, number, pairs) for all of them, up to eight at a time, and adds to *invalid.
template <typename Label, typename Each>
DEVSAN_BODY void each_eight(const int64_t *target, const Label *labels, int64_t n, int64_t classes,
                            std::optional<int64_t> ignored, int64_t *invalid, const Each &each) {
  constexpr int64_t kMost = std::numeric_limits<int32_t>::max();
  const auto number = static_cast<int32_t>(std::min(classes, kMost));
  Words sum_of_invalid{};
  int64_t i = 0;
  for (; i + kLanes <= n; i += kLanes) {
    const Pairs pairs = pairs_of(target + i, labels + i, number, ignored);
    sum_of_invalid -= pairs.kept & ~pairs.valid;
    each(i, kLanes, pairs);
  }
  if (i < n) {
    int64_t rest_target[kLanes] = {};
    Label rest_labels[kLanes] = {};
    std::copy(target + i, target + n, rest_target);
    std::copy(labels + i, labels + n, rest_labels);
    Pairs pairs = pairs_of(rest_target, rest_labels, number, ignored);
    const Words lanes = {0, 1, 2, 3, 4, 5, 6, 7};
    pairs.kept &= lanes < static_cast<int32_t>(n - i);
    sum_of_invalid -= pairs.kept & ~pairs.valid;
    each(i, n - i, pairs);
  }
  for (int64_t lane = 0; lane < kLanes; ++lane)
    *invalid += sum_of_invalid[lane];
}

template <typename Label>
DEVSAN_BODY void compare_labels_body(const int64_t *target, const Label *labels, int64_t n,
                                     int64_t classes, std::optional<int64_t> ignored,
                                     uint8_t *flags, int64_t *invalid) {
  typedef uint8_t Flags __attribute__((vector_size(kLanes)));
  each_eight(target, labels, n, classes, ignored, invalid,
             [&](int64_t first, int64_t number, const Pairs &pairs) __attribute__((always_inline)) {
               const Words of_valid = pairs.target == pairs.label ? all(0) : all(kDiffers);
               const Words said = pairs.valid ? of_valid : all(kInvalid);
               const Flags eight = __builtin_convertvector(pairs.kept & said, Flags);
               std::memcpy(flags + first, &eight, number);
             });
}

template <typename Label>
DEVSAN_BODY void count_equal_body(const int64_t *target, const Label *labels, int64_t n,
                                  int64_t classes, std::optional<int64_t> ignored, int64_t *equal,
                                  int64_t *counted, int64_t *invalid) {
  Words sum_of_equal{}, sum_of_counted{};
  each_eight(target, labels, n, classes, ignored, invalid,
             [&](int64_t, int64_t, const Pairs &pairs) __attribute__((always_inline)) {
               const Words valid = pairs.kept & pairs.valid;
               sum_of_counted -= valid;
               sum_of_equal -= valid & (pairs.target == pairs.label);
             });
  for (int64_t lane = 0; lane < kLanes; ++lane) {
    *equal += sum_of_equal[lane];
    *counted += sum_of_counted[lane];
  }
}

template <typename Label>
DEVSAN_BODY int64_t matrix_places_body(const int64_t *target, const Label *labels, int64_t n,
                                       int64_t classes, std::optional<int64_t> ignored,
                                       int32_t *places, int64_t *invalid) {
  const auto number = static_cast<int32_t>(classes);
  Words sum_of_counted{};
  each_eight(target, labels, n, classes, ignored, invalid,
             [&](int64_t first, int64_t size, const Pairs &pairs) __attribute__((always_inline)) {
               const Words counted = pairs.kept & pairs.valid;
               const Words eight = counted ? pairs.target * number + pairs.label : all(-1);
               std::memcpy(places + first, &eight, size * sizeof(*places));
               sum_of_counted -= counted;
             });
  int64_t counted = 0;
  for (int64_t lane = 0; lane < kLanes; ++lane)
    counted += sum_of_counted[lane];
  return counted;
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

#define DEVSAN_OF_LABELS(Label)                                                                    \
  DEVSAN_FOR_EACH_CPU                                                                              \
  void compare_labels(const int64_t *target, const Label *labels, int64_t n, int64_t classes,      \
                      std::optional<int64_t> ignored, uint8_t *flags, int64_t *invalid) {          \
    compare_labels_body(target, labels, n, classes, ignored, flags, invalid);                      \
  }                                                                                                \
  DEVSAN_FOR_EACH_CPU                                                                              \
  void count_equal(const int64_t *target, const Label *labels, int64_t n, int64_t classes,         \
                   std::optional<int64_t> ignored, int64_t *equal, int64_t *counted,               \
                   int64_t *invalid) {                                                             \
    count_equal_body(target, labels, n, classes, ignored, equal, counted, invalid);                \
  }                                                                                                \
  DEVSAN_FOR_EACH_CPU                                                                              \
  int64_t matrix_places(const int64_t *target, const Label *labels, int64_t n, int64_t classes,    \
                        std::optional<int64_t> ignored, int32_t *places, int64_t *invalid) {       \
    return matrix_places_body(target, labels, n, classes, ignored, places, invalid);               \
  }
DEVSAN_OF_LABELS(int32_t)
DEVSAN_OF_LABELS(int64_t)

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
