// Sums over pairs of numbers on the CPU in one pass: no widened copies, no temporaries, which for
// more than a few thousand samples cost far more than the arithmetic. Terms are written over eight
// numbers at once (Lanes, NarrowLanes), for the vector units, whichever there are: the lanes and
// the order in which they are added are fixed, so that every processor gives the same bits.
#pragma once

#include <algorithm>
#include <array>
#include <cmath>
#include <cstring>
#include <limits>
#include <optional>
#include <type_traits>
#include <vector>

#include <ATen/core/Tensor.h>

namespace devsan::metrics::detail {

template <size_t K> using Sums = std::array<double, K>;

// Eight numbers. A class with operators and no bare vector: nothing is passed in registers that
// only some processors have, and Clang contracts no product with a sum where there is an
// instruction for both, as of scalars. GCC would, and is told not to (-ffp-contract=off).
template <typename T> class LanesOf {
public:
  static constexpr int64_t kNumber = 8;

  LanesOf() = default;
  [[gnu::always_inline]] LanesOf(double all) : v_(static_cast<T>(all) - Vector{}) {}
  template <typename Other>
  [[gnu::always_inline]] explicit LanesOf(const LanesOf<Other> &other)
      : v_(__builtin_convertvector(other.v_, Vector)) {}

  // Of `kNumber` numbers.
  template <typename From> [[gnu::always_inline]] static LanesOf load(const From *from) {
    LanesOf<From> lanes;
    std::memcpy(&lanes.v_, from, sizeof(lanes.v_));
    return LanesOf(lanes);
  }

  T operator[](int64_t lane) const { return v_[lane]; }

  [[gnu::always_inline]] LanesOf &operator+=(const LanesOf &b) {
    v_ += b.v_;
    return *this;
  }
  [[gnu::always_inline]] friend LanesOf operator+(LanesOf a, const LanesOf &b) { return a += b; }
  [[gnu::always_inline]] friend LanesOf operator-(LanesOf a, const LanesOf &b) {
    a.v_ -= b.v_;
    return a;
  }
  [[gnu::always_inline]] friend LanesOf operator*(LanesOf a, const LanesOf &b) {
    a.v_ *= b.v_;
    return a;
  }
  [[gnu::always_inline]] friend LanesOf operator/(LanesOf a, const LanesOf &b) {
    a.v_ /= b.v_;
    return a;
  }

  // Of positive normal numbers: the part in [1, 2), and the power of two.
  [[gnu::always_inline]] LanesOf mantissa() const {
    return of_words(((Words)v_ & kMantissa) | kOne);
  }
  [[gnu::always_inline]] LanesOf exponent() const {
    // An integer below 2^52 is the low bits of 2^52 + itself; biased by 1023.
    constexpr int64_t kShift = 0x4330000000000000;
    return of_words((Words)((UnsignedWords)v_ >> 52) | kShift) - (4503599627370496. + 1023);
  }
  // Times two to the power of the integer n, of which `shifted` is 1.5 * 2^52 + n.
  [[gnu::always_inline]] LanesOf scaled_by(const LanesOf &shifted) const {
    return of_words((Words)v_ + ((Words)shifted.v_ << 52));
  }

  // a * b + c, rounded once: by an instruction, or slowly where there is none. Rounded twice where
  // the compiler has no such function of vectors, as GCC 12, on every processor.
  [[gnu::always_inline]] friend LanesOf multiply_add(const LanesOf &a, const LanesOf &b,
                                                     const LanesOf &c) {
    LanesOf result;
#if __has_builtin(__builtin_elementwise_fma)
    result.v_ = __builtin_elementwise_fma(a.v_, b.v_, c.v_);
#else
    result.v_ = a.v_ * b.v_ + c.v_;
#endif
    return result;
  }

  // `yes` where x < y, else `no`.
  [[gnu::always_inline]] friend LanesOf where_less(const LanesOf &x, const LanesOf &y,
                                                   const LanesOf &yes, const LanesOf &no) {
    return blend(x.v_ < y.v_, yes, no);
  }
  [[gnu::always_inline]] friend LanesOf where_nan(const LanesOf &x, const LanesOf &yes,
                                                  const LanesOf &no) {
    return blend(x.v_ != x.v_, yes, no); // NOLINT(misc-redundant-expression): vectors have no isnan
  }
  [[gnu::always_inline]] friend LanesOf absolute(const LanesOf &x) {
    return of_words((Words)x.v_ & std::numeric_limits<Word>::max());
  }

private:
  template <typename> friend class LanesOf;
  using Word = std::conditional_t<sizeof(T) == 4, int32_t, int64_t>;
  typedef T Vector __attribute__((vector_size(kNumber * sizeof(T))));
  typedef Word Words __attribute__((vector_size(kNumber * sizeof(T))));
  typedef std::make_unsigned_t<Word> UnsignedWords
      __attribute__((vector_size(kNumber * sizeof(T))));

  static constexpr int64_t kMantissa = 0x000fffffffffffff, kOne = 0x3ff0000000000000;

  [[gnu::always_inline]] static LanesOf of_words(const Words &words) {
    LanesOf result;
    result.v_ = (Vector)words;
    return result;
  }
  [[gnu::always_inline]] static LanesOf blend(const Words &mask, const LanesOf &yes,
                                              const LanesOf &no) {
    return of_words((mask & (Words)yes.v_) | (~mask & (Words)no.v_));
  }

  Vector v_;
};

using Lanes = LanesOf<double>;
using NarrowLanes = LanesOf<float>;

// max(x, least) and min(x, most), NaN where x is.
template <typename T>
[[gnu::always_inline]] LanesOf<T> at_least(const LanesOf<T> &x, double least) {
  return where_less(x, least, least, x);
}
template <typename T> [[gnu::always_inline]] LanesOf<T> at_most(const LanesOf<T> &x, double most) {
  return where_less(most, x, most, x);
}

template <size_t K, typename T = double> using LaneSums = std::array<LanesOf<T>, K>;

template <size_t K, typename T, typename Term>
[[gnu::always_inline, gnu::flatten]] inline Sums<K> sums_by_lanes(const T *x, const T *y, int64_t n,
                                                                  const Term &term) {
  // As many sums side by side as hide the latency of an addition and the registers hold; blocks so
  // that the rounding error grows with the number of blocks and not of samples.
  constexpr int64_t kSums = K == 1 ? 4 : K == 2 ? 2 : 1;
  constexpr int64_t kStep = Lanes::kNumber * kSums, kBlock = 4096;
  Sums<K> total{};
  for (int64_t begin = 0; begin < n; begin += kBlock) {
    const int64_t end = std::min(n, begin + kBlock);
    LaneSums<K> sums[kSums];
    for (LaneSums<K> &sum : sums)
      sum.fill(Lanes(0));
    int64_t i = begin;
    for (; i + kStep <= end; i += kStep)
#pragma GCC unroll 4
      for (int64_t s = 0; s < kSums; ++s)
        term(Lanes::load(x + i + s * Lanes::kNumber), Lanes::load(y + i + s * Lanes::kNumber),
             sums[s]);
    for (; i + Lanes::kNumber <= end; i += Lanes::kNumber)
      term(Lanes::load(x + i), Lanes::load(y + i), sums[0]);
    for (size_t k = 0; k < K; ++k) {
      for (int64_t s = 1; s < kSums; ++s)
        sums[0][k] += sums[s][k];
      for (int64_t lane = 0; lane < Lanes::kNumber; ++lane)
        total[k] += sums[0][k][lane];
    }
    if (i < end) { // the rest, with others of which nothing is added
      T rest_x[Lanes::kNumber] = {}, rest_y[Lanes::kNumber] = {};
      std::copy(x + i, x + end, rest_x);
      std::copy(y + i, y + end, rest_y);
      LaneSums<K> rest;
      rest.fill(Lanes(0));
      term(Lanes::load(rest_x), Lanes::load(rest_y), rest);
      for (size_t k = 0; k < K; ++k)
        for (int64_t lane = 0; lane < end - i; ++lane)
          total[k] += rest[k][lane];
    }
  }
  return total;
}

// The same of float32, where a lane's numbers are added in float32 a few at a time, and these sums
// in float64: half of the time of the above is the conversion of every number. Of one or two sums
// eight or four at a time, by pairs, so that equal terms add up exactly; of more sums the registers
// do not hold the pairs, and it is 32. The rest is done as above.
template <size_t K, typename Term>
[[gnu::always_inline, gnu::flatten]] inline Sums<K>
sums_by_narrow_lanes(const float *x, const float *y, int64_t n, const Term &term) {
  constexpr int64_t kLanes = NarrowLanes::kNumber, kSums = K == 1 ? 8 : K == 2 ? 4 : 2;
  constexpr int64_t kStep = kLanes * kSums, kRun = K <= 2 ? kStep : 16 * kStep;
  LaneSums<K> total;
  total.fill(Lanes(0));
  int64_t begin = 0;
  for (; begin + kRun <= n; begin += kRun) {
    LaneSums<K, float> sums[kSums];
    for (LaneSums<K, float> &sum : sums)
      sum.fill(NarrowLanes(-0.0)); // to which the compiler need not add the first term
    for (int64_t i = begin; i < begin + kRun; i += kStep)
#pragma GCC unroll 8
      for (int64_t s = 0; s < kSums; ++s)
        term(NarrowLanes::load(x + i + s * kLanes), NarrowLanes::load(y + i + s * kLanes), sums[s]);
    for (size_t k = 0; k < K; ++k) {
#pragma GCC unroll 8
      for (int64_t width = kSums / 2; width > 0; width /= 2)
        for (int64_t s = 0; s < width; ++s)
          sums[s][k] += sums[s + width][k];
      total[k] += Lanes(sums[0][k]);
    }
  }
  Sums<K> all = sums_by_lanes<K>(x + begin, y + begin, n - begin, term);
  for (size_t k = 0; k < K; ++k)
    for (int64_t lane = 0; lane < kLanes; ++lane)
      all[k] += total[k][lane];
  return all;
}

// pass(), compiled for a processor. GCC gives a vector type one machine mode, and does not get over
// its being another one in a function for another processor; there the passes are for the processor
// that is compiled for.
#if defined(__x86_64__) && defined(__clang__)
template <typename Pass> [[gnu::target("avx2,fma"), gnu::flatten]] auto by_avx2(const Pass &pass) {
  return pass();
}
template <typename Pass> [[gnu::target("avx512f"), gnu::flatten]] auto by_avx512(const Pass &pass) {
  return pass();
}
#endif

template <typename Pass> auto by_best(const Pass &pass) {
#if defined(__x86_64__) && defined(__clang__)
  if (__builtin_cpu_supports("avx512f"))
    return by_avx512(pass);
  if (__builtin_cpu_supports("avx2") && __builtin_cpu_supports("fma"))
    return by_avx2(pass);
#endif
  return pass();
}

// The K sums of what term(x, y, sums) adds, a function of const Lanes &, const Lanes & and
// LaneSums<K> &, over n pairs.
template <size_t K, typename T, typename Term>
Sums<K> sums_of(const T *x, const T *y, int64_t n, const Term &term) {
  return by_best([&] { return sums_by_lanes<K>(x, y, n, term); });
}

// How float32 is added: each number as float64, or first a few of them in float32. That is half as
// long, and exact to about 1e-8 of the sum of the terms' sizes, which is less than a float32 result
// shows.
enum class Adding { kWide, kNarrow };

inline Adding adding_for(at::ScalarType result) {
  return result == at::kDouble ? Adding::kWide : Adding::kNarrow;
}

// sums_of(), in float32 where it can be: for a term of either kind of lanes. Not where sums
// overflow, or where the terms are so small that squares lose their digits.
template <size_t K, typename T, typename Term>
Sums<K> sums_of(const T *x, const T *y, int64_t n, Adding adding, const Term &term) {
  if constexpr (std::is_same_v<T, float>)
    if (adding == Adding::kNarrow) {
      const Sums<K> sums = by_best([&] { return sums_by_narrow_lanes<K>(x, y, n, term); });
      const double least = 1e-30 * static_cast<double>(n);
      if (std::all_of(sums.begin(), sums.end(),
                      [&](double sum) { return std::isfinite(sum) && std::abs(sum) >= least; }))
        return sums;
    }
  return sums_of<K>(x, y, n, term);
}

// function(x, y, n) of the numbers of two tensors of one shape, where they are contiguous float32
// or float64 on the CPU; none otherwise.
template <typename Function>
auto with_numbers(const at::Tensor &x, const at::Tensor &y, const Function &function)
    -> std::optional<decltype(function(static_cast<const double *>(nullptr),
                                       static_cast<const double *>(nullptr), int64_t{}))> {
  const auto plain = [](const at::Tensor &t) {
    return t.is_cpu() && t.is_contiguous() && !t.is_neg();
  };
  if (!plain(x) || !plain(y) || x.scalar_type() != y.scalar_type())
    return std::nullopt;
  if (x.scalar_type() == at::kFloat)
    return function(x.const_data_ptr<float>(), y.const_data_ptr<float>(), x.numel());
  if (x.scalar_type() == at::kDouble)
    return function(x.const_data_ptr<double>(), y.const_data_ptr<double>(), x.numel());
  return std::nullopt;
}

// sums_of() all pairs of two tensors, where with_numbers() has them.
template <size_t K, typename... How>
std::optional<Sums<K>> fused_sums(const at::Tensor &x, const at::Tensor &y, const How &...how) {
  return with_numbers(
      x, y, [&](const auto *a, const auto *b, int64_t n) { return sums_of<K>(a, b, n, how...); });
}

// As a list.
template <size_t K, typename... How>
std::optional<std::vector<double>> fused_sum_list(const at::Tensor &x, const at::Tensor &y,
                                                  const How &...how) {
  const std::optional<Sums<K>> sums = fused_sums<K>(x, y, how...);
  if (!sums)
    return std::nullopt;
  return std::vector<double>(sums->begin(), sums->end());
}

// The same if all of them are finite, else none: for terms that leave to terms() what is special.
inline std::optional<std::vector<double>> finite(std::optional<std::vector<double>> sums) {
  const bool all = sums && std::all_of(sums->begin(), sums->end(),
                                       [](double sum) { return std::isfinite(sum); });
  return all ? std::move(sums) : std::nullopt;
}

} // namespace devsan::metrics::detail
