#include "metrics/detail/softmax.h"

#include <algorithm>
#include <bit>
#include <cmath>
#include <cstdint>
#include <vector>

#include <ATen/ATen.h>
#include <ATen/Parallel.h>

#include "metrics/detail/lane_math.h"

namespace devsan::metrics::detail {
namespace {

constexpr int64_t kBlock = 4096;             // numbers whose exponentials are taken together
constexpr int64_t kChunk = int64_t{1} << 16; // numbers that are worth a thread

// e^x of x <= 0: 2^n e^r with r in [-ln 2 / 2, ln 2 / 2], by the Taylor polynomial of degree 7.
[[gnu::always_inline]] inline float exp_of_negative(float x) {
  constexpr float kLeast = -87.f; // e^x is normal above
  const float clamped = x < kLeast ? kLeast : x;
  // Adding 1.5 * 2^23 rounds to an integer and leaves it in the low bits.
  constexpr float kShift = 12582912.f;
  const float shifted = clamped * 1.44269504f + kShift;
  const float n = shifted - kShift;
  const float r = (clamped - n * 0.693359375f) + n * 2.12194440e-4f;
  float p = 1.f / 5040;
  p = p * r + 1.f / 720;
  p = p * r + 1.f / 120;
  p = p * r + 1.f / 24;
  p = p * r + 1.f / 6;
  p = p * r + 0.5f;
  p = p * r + 1.f;
  p = p * r + 1.f;
  const int32_t exponent = std::bit_cast<int32_t>(shifted) << 23;
  const float value = std::bit_cast<float>(std::bit_cast<int32_t>(p) + exponent);
  // NaN is neither below nor an integer.
  return x < kLeast ? 0.f : x == x ? value : x;
}

// Rows as they are.
struct Rows {
  const float *x;
  int64_t n, width;
};

// The numbers less the highest one of their row, the exponentials of that, which may be written
// over it, and the sums of these by row.
[[gnu::always_inline]] inline void exponentials_of_rows(const Rows &rows, float *to,
                                                        float *exponentials, double *sums) {
  const int64_t width = rows.width;
  for (int64_t i = 0; i < rows.n; ++i) {
    const float *x = rows.x + i * width;
    float highest = x[0];
    for (int64_t c = 1; c < width; ++c)
      highest = x[c] > highest ? x[c] : highest;
    for (int64_t c = 0; c < width; ++c)
      to[i * width + c] = x[c] - highest;
  }
  for (int64_t k = 0; k < rows.n * width; ++k)
    exponentials[k] = exp_of_negative(to[k]);
  for (int64_t i = 0; i < rows.n; ++i) {
    const float *e = exponentials + i * width;
    // Of parts in float32, of all in float64, so that many classes cost no digits.
    constexpr int64_t kLanes = 8, kPart = 256;
    double sum = 0;
    for (int64_t first = 0; first < width; first += kPart) {
      const int64_t end = std::min(width, first + kPart);
      float lanes[kLanes] = {};
      int64_t c = first;
      for (; c + kLanes <= end; c += kLanes)
        for (int64_t lane = 0; lane < kLanes; ++lane)
          lanes[lane] += e[c + lane];
      for (; c < end; ++c)
        lanes[0] += e[c];
      for (const float lane : lanes)
        sum += static_cast<double>(lane);
    }
    sums[i] = sum;
  }
}

#if defined(__x86_64__)
[[gnu::target("avx2")]] void exponentials_by_avx2(const Rows &rows, float *to, float *exponentials,
                                                  double *sums) {
  exponentials_of_rows(rows, to, exponentials, sums);
}
#endif

void best_exponentials(const Rows &rows, float *to, float *exponentials, double *sums) {
#if defined(__x86_64__)
  if (__builtin_cpu_supports("avx2"))
    return exponentials_by_avx2(rows, to, exponentials, sums);
#endif
  exponentials_of_rows(rows, to, exponentials, sums);
}

// The logarithms of n numbers from 1 on, or of NaN; n is a multiple of Lanes::kNumber.
void take_logarithms(double *numbers, int64_t n) {
  by_best([=]() __attribute__((always_inline)) {
    for (int64_t i = 0; i < n; i += Lanes::kNumber) {
      const Lanes x = Lanes::load(numbers + i);
      const Lanes logarithms = log_of_ratio(x, 1, x - 1);
      for (int64_t lane = 0; lane < Lanes::kNumber; ++lane)
        numbers[i + lane] = logarithms[lane];
    }
  });
}

template <bool log> at::Tensor softmax_on_cpu(const at::Tensor &x) {
  const at::Tensor from = x.resolve_neg().contiguous();
  const at::Tensor result = at::empty_like(from, at::MemoryFormat::Contiguous);
  const int64_t n = from.size(0), width = from.size(1);
  const float *data = from.const_data_ptr<float>();
  float *to = result.mutable_data_ptr<float>();
  const int64_t block = std::max<int64_t>(kBlock / width, 1);
  at::parallel_for(0, n, std::max<int64_t>(kChunk / width, 1), [&](int64_t begin, int64_t end) {
    const int64_t most = std::min(block, end - begin);
    const int64_t whole = (most + Lanes::kNumber - 1) / Lanes::kNumber * Lanes::kNumber;
    std::vector<float> room(log ? most * width : 0);
    std::vector<double> sums(whole, 1);
    for (int64_t first = begin; first < end; first += block) {
      const int64_t rows = std::min(block, end - first);
      float *own = to + first * width;
      best_exponentials({data + first * width, rows, width}, own, log ? room.data() : own,
                        sums.data());
      if (log)
        take_logarithms(sums.data(), whole);
      for (int64_t i = 0; i < rows; ++i, own += width) {
        const auto part = static_cast<float>(log ? sums[i] : 1 / sums[i]);
        for (int64_t k = 0; k < width; ++k)
          own[k] = log ? own[k] - part : own[k] * part;
      }
    }
  });
  return result;
}

bool by_rows(const at::Tensor &x) {
  return x.is_cpu() && x.scalar_type() == at::kFloat && x.size(1) != 0;
}

} // namespace

at::Tensor softmax(const at::Tensor &x) {
  return by_rows(x) ? softmax_on_cpu<false>(x) : x.softmax(1);
}

at::Tensor log_softmax(const at::Tensor &x) {
  return by_rows(x) ? softmax_on_cpu<true>(x) : x.log_softmax(1);
}

} // namespace devsan::metrics::detail
