#include "metrics/detail/softmax.h"

#include <algorithm>
#include <bit>
#include <cmath>
#include <cstdint>
#include <vector>

#include <ATen/ATen.h>
#include <ATen/Parallel.h>

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

// Rows as they are, less their highest number, and the exponentials of that.
struct Rows {
  const float *x;
  int64_t n, width;
};

template <bool log>
[[gnu::always_inline]] inline void softmax_rows(const Rows &rows, float *to, float *room) {
  const int64_t width = rows.width;
  for (int64_t i = 0; i < rows.n; ++i) {
    const float *x = rows.x + i * width;
    float highest = x[0];
    for (int64_t c = 1; c < width; ++c)
      highest = x[c] > highest ? x[c] : highest;
    for (int64_t c = 0; c < width; ++c)
      to[i * width + c] = x[c] - highest;
  }
  float *exponentials = log ? room : to;
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
    float *own = to + i * width;
    if constexpr (log) {
      const auto logarithm = static_cast<float>(std::log(sum));
      for (int64_t k = 0; k < width; ++k)
        own[k] -= logarithm;
    } else {
      const auto factor = static_cast<float>(1 / sum);
      for (int64_t k = 0; k < width; ++k)
        own[k] *= factor;
    }
  }
}

#if defined(__x86_64__)
template <bool log>
[[gnu::target("avx2")]] void softmax_rows_by_avx2(const Rows &rows, float *to, float *room) {
  softmax_rows<log>(rows, to, room);
}
#endif

template <bool log> void best_softmax_rows(const Rows &rows, float *to, float *room) {
#if defined(__x86_64__)
  if (__builtin_cpu_supports("avx2"))
    return softmax_rows_by_avx2<log>(rows, to, room);
#endif
  softmax_rows<log>(rows, to, room);
}

template <bool log> at::Tensor softmax_on_cpu(const at::Tensor &x) {
  const at::Tensor from = x.resolve_neg().contiguous();
  const at::Tensor result = at::empty_like(from, at::MemoryFormat::Contiguous);
  const int64_t n = from.size(0), width = from.size(1);
  const float *data = from.const_data_ptr<float>();
  float *to = result.mutable_data_ptr<float>();
  const int64_t block = std::max<int64_t>(kBlock / width, 1);
  at::parallel_for(0, n, std::max<int64_t>(kChunk / width, 1), [&](int64_t begin, int64_t end) {
    std::vector<float> room(log ? std::min(block, end - begin) * width : 0);
    for (int64_t i = begin; i < end; i += block)
      best_softmax_rows<log>({data + i * width, std::min(block, end - i), width}, to + i * width,
                             room.data());
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
