#include "metrics/regression/cosine_similarity.h"

#include <algorithm>
#include <cmath>

#include <ATen/ATen.h>

#include "metrics/detail/fused.h"

namespace devsan::metrics {
namespace {

using detail::Lanes;

template <typename T>
[[gnu::always_inline]] inline double similarity(const T *x, const T *y, int64_t width) {
  detail::LaneSums<3> lanes;
  lanes.fill(Lanes(0));
  detail::Sums<3> sums{};
  int64_t i = 0;
  for (; i + Lanes::kNumber <= width; i += Lanes::kNumber) {
    const Lanes a = Lanes::load(x + i), b = Lanes::load(y + i);
    lanes[0] += a * b;
    lanes[1] += a * a;
    lanes[2] += b * b;
  }
  if (i > 0)
    for (size_t k = 0; k < sums.size(); ++k)
      for (int64_t lane = 0; lane < Lanes::kNumber; ++lane)
        sums[k] += lanes[k][lane];
  for (; i < width; ++i) {
    const auto a = static_cast<double>(x[i]), b = static_cast<double>(y[i]);
    sums[0] += a * b;
    sums[1] += a * a;
    sums[2] += b * b;
  }
  return sums[0] / (std::sqrt(sums[1]) * std::sqrt(sums[2]));
}

} // namespace

CosineSimilarity::CosineSimilarity(const CosineSimilarityOptions &options)
    : SampleSums({.sums = {"sum_similarity"},
                  .samples = Samples::kRows,
                  .rows = "Expected input to cosine similarity to be 2D tensors of shape `[N,D]`,",
                  .dtype = options.dtype(),
                  .accumulation = options.accumulation()}),
      reduction_(options.reduction()) {}

std::vector<at::Tensor> CosineSimilarity::terms(const at::Tensor &preds,
                                                const at::Tensor &target) const {
  const auto norm = [](const at::Tensor &x) { return at::linalg_vector_norm(x, 2, {1}, true); };
  return {(preds * target).sum(1, /*keepdim=*/true) / (norm(preds) * norm(target))};
}

std::optional<std::vector<double>> CosineSimilarity::fused(const at::Tensor &preds,
                                                           const at::Tensor &target) const {
  const int64_t width = preds.size(1);
  const auto sum =
      detail::with_numbers(preds, target, [=](const auto *x, const auto *y, int64_t n) {
        return detail::by_best([=] {
          // In blocks, so that the rounding error grows with their number and not with that of
          // rows.
          const int64_t block = 1024 * width;
          double total = 0;
          for (int64_t begin = 0; begin < n; begin += block) {
            double part = 0;
            for (int64_t i = begin; i < std::min(n, begin + block); i += width)
              part += similarity(x + i, y + i, width);
            total += part;
          }
          return total;
        });
      });
  return sum ? std::optional(std::vector<double>{*sum}) : std::nullopt;
}

at::Tensor CosineSimilarity::value() const {
  return reduction_ == Reduction::kSum ? sum() : mean();
}

std::string CosineSimilarity::signature() const {
  return SampleSums::signature() +
         (reduction_ == Reduction::kSum ? ", reduction=sum" : ", reduction=mean");
}

} // namespace devsan::metrics
