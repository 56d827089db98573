// Sums over pairs of numbers on the CPU in one pass: no widened copies, no temporaries, which for
// more than a few thousand samples cost far more than the arithmetic. Terms are written over eight
// numbers at once (Lanes), for the vector units, whichever there are: the lanes and the order in
// which they are added are fixed, so that every processor gives the same bits.
#pragma once

#include <algorithm>
#include <array>
#include <cmath>
#include <cstring>
#include <optional>
#include <vector>

#include <ATen/core/Tensor.h>
#include <ATen/ops/empty.h>

namespace devsan::metrics::detail {

template <size_t K> using Sums = std::array<double, K>;

// Eight float64. A class with operators and no bare vector: nothing is passed in registers that
// only some processors have, and Clang contracts no product with a sum where there is an
// instruction for both, as of scalars. GCC would, and is told not to (-ffp-contract=off).
class Lanes {
public:
  static constexpr int64_t kNumber = 8;

  Lanes() = default;
  [[gnu::always_inline]] Lanes(double all) : v_(Vector{} + all) {}

  // Of `kNumber` numbers.
  template <typename T> [[gnu::always_inline]] static Lanes load(const T *from) {
    typedef T Narrow __attribute__((vector_size(kNumber * sizeof(T))));
    Narrow narrow;
    std::memcpy(&narrow, from, sizeof(narrow));
    Lanes lanes;
    lanes.v_ = __builtin_convertvector(narrow, Vector);
    return lanes;
  }

  double operator[](int64_t lane) const { return v_[lane]; }

  [[gnu::always_inline]] Lanes &operator+=(const Lanes &b) {
    v_ += b.v_;
    return *this;
  }
  [[gnu::always_inline]] friend Lanes operator+(Lanes a, const Lanes &b) { return a += b; }
  [[gnu::always_inline]] friend Lanes operator-(Lanes a, const Lanes &b) {
    a.v_ -= b.v_;
    return a;
  }
  [[gnu::always_inline]] friend Lanes operator*(Lanes a, const Lanes &b) {
    a.v_ *= b.v_;
    return a;
  }
  [[gnu::always_inline]] friend Lanes operator/(Lanes a, const Lanes &b) {
    a.v_ /= b.v_;
    return a;
  }

  // Of positive normal numbers: the part in [1, 2), and the power of two.
  [[gnu::always_inline]] Lanes mantissa() const { return of_words(((Words)v_ & kMantissa) | kOne); }
  [[gnu::always_inline]] Lanes exponent() const {
    // An integer below 2^52 is the low bits of 2^52 + itself; biased by 1023.
    constexpr int64_t kShift = 0x4330000000000000;
    return of_words((Words)((UnsignedWords)v_ >> 52) | kShift) - (4503599627370496. + 1023);
  }
  // Times two to the power of the integer n, of which `shifted` is 1.5 * 2^52 + n.
  [[gnu::always_inline]] Lanes scaled_by(const Lanes &shifted) const {
    return of_words((Words)v_ + ((Words)shifted.v_ << 52));
  }

  // a * b + c, rounded once: by an instruction, or slowly where there is none. Rounded twice where
  // the compiler has no such function of vectors, as GCC 12, on every processor.
  [[gnu::always_inline]] friend Lanes multiply_add(const Lanes &a, const Lanes &b, const Lanes &c) {
    Lanes result;
#if __has_builtin(__builtin_elementwise_fma)
    result.v_ = __builtin_elementwise_fma(a.v_, b.v_, c.v_);
#else
    result.v_ = a.v_ * b.v_ + c.v_;
#endif
    return result;
  }

  // `yes` where x < y, else `no`.
  [[gnu::always_inline]] friend Lanes where_less(const Lanes &x, const Lanes &y, const Lanes &yes,
                                                 const Lanes &no) {
    return blend(x.v_ < y.v_, yes, no);
  }
  [[gnu::always_inline]] friend Lanes where_nan(const Lanes &x, const Lanes &yes, const Lanes &no) {
    return blend(x.v_ != x.v_, yes, no);
  }
  [[gnu::always_inline]] friend Lanes absolute(const Lanes &x) {
    return of_words((Words)x.v_ & INT64_MAX);
  }

private:
  typedef double Vector __attribute__((vector_size(kNumber * sizeof(double))));
  typedef int64_t Words __attribute__((vector_size(kNumber * sizeof(int64_t))));
  typedef uint64_t UnsignedWords __attribute__((vector_size(kNumber * sizeof(uint64_t))));

  static constexpr int64_t kMantissa = 0x000fffffffffffff, kOne = 0x3ff0000000000000;

  [[gnu::always_inline]] static Lanes of_words(const Words &words) {
    Lanes result;
    result.v_ = (Vector)words;
    return result;
  }
  [[gnu::always_inline]] static Lanes blend(const Words &mask, const Lanes &yes, const Lanes &no) {
    return of_words((mask & (Words)yes.v_) | (~mask & (Words)no.v_));
  }

  Vector v_;
};

// max(x, least) and min(x, most), NaN where x is.
[[gnu::always_inline]] inline Lanes at_least(const Lanes &x, const Lanes &least) {
  return where_less(x, least, least, x);
}
[[gnu::always_inline]] inline Lanes at_most(const Lanes &x, const Lanes &most) {
  return where_less(most, x, most, x);
}

template <size_t K> using LaneSums = std::array<Lanes, K>;

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

// GCC gives a vector type one machine mode, and does not get over its being another one in a
// function for another processor; there the passes are for the processor that is compiled for.
#if defined(__x86_64__) && defined(__clang__)
template <size_t K, typename T, typename Term>
[[gnu::target("avx2,fma")]] Sums<K> sums_by_avx2(const T *x, const T *y, int64_t n,
                                                 const Term &term) {
  return sums_by_lanes<K>(x, y, n, term);
}

template <size_t K, typename T, typename Term>
[[gnu::target("avx512f")]] Sums<K> sums_by_avx512(const T *x, const T *y, int64_t n,
                                                  const Term &term) {
  return sums_by_lanes<K>(x, y, n, term);
}
#endif

// The K sums of what term(x, y, sums) adds, a function of const Lanes &, const Lanes & and
// LaneSums<K> &, over n pairs.
template <size_t K, typename T, typename Term>
Sums<K> sums_of(const T *x, const T *y, int64_t n, const Term &term) {
#if defined(__x86_64__) && defined(__clang__)
  if (__builtin_cpu_supports("avx512f"))
    return sums_by_avx512<K>(x, y, n, term);
  if (__builtin_cpu_supports("avx2") && __builtin_cpu_supports("fma"))
    return sums_by_avx2<K>(x, y, n, term);
#endif
  return sums_by_lanes<K>(x, y, n, term);
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
template <size_t K, typename Term>
std::optional<Sums<K>> fused_sums(const at::Tensor &x, const at::Tensor &y, const Term &term) {
  return with_numbers(
      x, y, [&](const auto *a, const auto *b, int64_t n) { return sums_of<K>(a, b, n, term); });
}

// As a list.
template <size_t K, typename Term>
std::optional<std::vector<double>> fused_sum_list(const at::Tensor &x, const at::Tensor &y,
                                                  const Term &term) {
  const std::optional<Sums<K>> sums = fused_sums<K>(x, y, term);
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

// For states on the CPU that are one number: a new one of another value, and of one that is larger
// by `number`.
template <typename T> at::Tensor with_value(const at::Tensor &state, T value) {
  at::Tensor result = at::empty(state.sizes(), state.options());
  *result.mutable_data_ptr<T>() = value;
  return result;
}

template <typename T> at::Tensor plus(const at::Tensor &state, T number) {
  return with_value<T>(state, *state.const_data_ptr<T>() + number);
}

} // namespace devsan::metrics::detail
