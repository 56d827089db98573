#include "metrics/classification/thresholds.h"

#include <algorithm>

#include <ATen/ATen.h>

#include "metrics/detail/text.h"

namespace devsan::metrics {

void Thresholds::check(const std::string &name) const {
  if (!given_) {
    TORCH_CHECK(number_ >= 2, name, ": thresholds is ", number_,
                "; pass at least 2, or their values");
    return;
  }
  TORCH_CHECK(number_ >= 1, name, ": thresholds is an empty list; pass at least one value");
  for (const float value : values_)
    TORCH_CHECK(value >= 0 && value <= 1, name, ": thresholds holds ", value,
                "; pass probabilities, also for logits");
  TORCH_CHECK(std::is_sorted(values_.begin(), values_.end()), name, ": thresholds is ", text(),
              "; pass them in ascending order");
}

std::string Thresholds::text() const {
  if (!given_)
    return std::to_string(number_);
  std::string text;
  for (const float value : values_)
    text += (text.empty() ? "" : " ") + detail::exact_text(value);
  return text;
}

std::vector<float> Thresholds::values() const {
  if (given_)
    return values_;
  std::vector<float> values;
  for (int64_t i = 0; i < number_; ++i)
    values.push_back(static_cast<float>(i) / static_cast<float>(number_ - 1));
  return values;
}

at::Tensor Thresholds::on(at::Device device) const {
  const auto options = at::TensorOptions().device(device).dtype(at::kFloat);
  if (!given_) // by a tensor, since a division by a number may be a product with its inverse
    return at::arange(number_, options).div(at::full({1}, number_ - 1, options));
  const at::Tensor values = at::empty({number_}, options);
  for (int64_t i = 0; i < number_; ++i)
    values.select(0, i).fill_(values_[i]);
  return values;
}

at::Tensor thresholds_reached(const at::Tensor &scores, const at::Tensor &thresholds) {
  if (scores.is_meta()) // for which bucketize is not implemented
    return at::empty_like(scores, scores.options().dtype(at::kLong));
  return at::bucketize(scores.contiguous(), thresholds.to(scores.scalar_type()),
                       /*out_int32=*/false, /*right=*/true);
}

} // namespace devsan::metrics
