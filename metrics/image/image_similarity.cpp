#include "metrics/image/image_similarity.h"

#include <algorithm>
#include <cmath>

#include <ATen/ATen.h>

#include "metrics/detail/wide.h"
#include "metrics/image/similarity_planes.h"

namespace devsan::metrics {
namespace {

using detail::Wide;

Accumulation format_of(const at::Tensor &state) {
  return state.scalar_type() == at::kDouble ? Accumulation::kDouble : Accumulation::kFloatPair;
}

// One of `values` for each dimension.
template <typename T> T of_dim(const std::vector<T> &values, int64_t dim) {
  return values[values.size() == 1 ? 0 : dim];
}

int64_t reach(const std::vector<double> &weights) {
  return static_cast<int64_t>(weights.size()) / 2;
}

// `x` continued by reflection, by so much at both ends of each dimension after the second.
at::Tensor reflected(const at::Tensor &x, const std::vector<std::vector<double>> &window) {
  at::Tensor result = x;
  for (size_t i = 0; i < window.size(); ++i) {
    const int64_t dim = static_cast<int64_t>(i) + 2, size = x.size(dim), pad = reach(window[i]);
    const auto mirrored = [&](int64_t start) {
      std::vector<at::Tensor> slices;
      for (int64_t k = 0; k < pad; ++k)
        slices.push_back(result.narrow(dim, start - k, 1));
      return slices;
    };
    std::vector<at::Tensor> all = mirrored(pad);
    all.push_back(result);
    for (const at::Tensor &slice : mirrored(size - 2))
      all.push_back(slice);
    result = at::cat(all, dim);
  }
  return result;
}

// The window's mean around each place that has all of it, of maps [n, ...].
at::Tensor filtered(const at::Tensor &maps, const std::vector<std::vector<double>> &window) {
  at::Tensor result = maps.unsqueeze(1);
  const size_t dims = window.size();
  for (size_t i = 0; i < dims; ++i) {
    const auto taps = static_cast<int64_t>(window[i].size()), dim = static_cast<int64_t>(i) + 2;
    if (maps.is_meta()) { // for which convolution is not implemented
      result = result.narrow(dim, 0, result.size(dim) - taps + 1);
      continue;
    }
    std::vector<int64_t> sizes(dims + 2, 1);
    sizes[dim] = taps;
    // By fills, since a copy of the weights from the host would be one that may wait.
    const at::Tensor weights = at::empty({taps}, maps.options());
    for (int64_t k = 0; k < taps; ++k)
      weights.select(0, k).fill_(window[i][k]);
    // Not in TensorFloat-32, which has not the digits for a difference of squares.
    const at::Context &context = at::globalContext();
    const std::vector<int64_t> ones(dims, 1), zeros(dims, 0);
    result = at::_convolution(result, weights.view(sizes), {}, ones, zeros, ones,
                              /*transposed=*/false, zeros, /*groups=*/1, context.benchmarkCuDNN(),
                              context.deterministicCuDNN(), context.userEnabledCuDNN(),
                              /*allow_tf32=*/false);
  }
  return result.squeeze(1);
}

// k^2 range^2, where the range is known to the host or to the device alone.
struct Constant {
  double factor;
  at::Tensor range; // undefined: in the factor
  friend at::Tensor operator+(const at::Tensor &x, const Constant &c) {
    return c.range.defined() ? x + c.range.square() * c.factor : x + c.factor;
  }
};

at::Tensor range_of(const at::Tensor &preds, const at::Tensor &target) {
  return at::maximum(preds.amax() - preds.amin(), target.amax() - target.amin());
}

} // namespace

void SimilarityConfig::check(const std::string &name) const {
  const auto check_number = [&](const char *argument, size_t number) {
    TORCH_CHECK(number >= 1 && number <= 3, name, ": ", argument, " holds ", number,
                " numbers; pass one, or one for each dimension of an image");
  };
  check_number("sigma", sigma.size());
  check_number("kernel_size", kernel_size.size());
  for (const double value : sigma)
    TORCH_CHECK(value > 0 && std::isfinite(value), name,
                ": Expected `sigma` to have positive number. Got ", value);
  for (const int64_t value : kernel_size)
    TORCH_CHECK(value > 0 && value % 2 == 1, name,
                ": Expected `kernel_size` to have odd positive number. Got ", value);
  if (data_range)
    data_range->check(name);
  for (const auto &[argument, value] : {std::pair("k1", k1), std::pair("k2", k2)})
    TORCH_CHECK(std::isfinite(value), name, ": ", argument, " is ", value,
                "; pass a finite number");
}

std::string SimilarityConfig::signature() const {
  std::string text = c10::str("gaussian_kernel=", gaussian_kernel, ", sigma=");
  for (const double value : sigma)
    text += detail::exact_text(value) + " ";
  return text + c10::str("kernel_size=", at::IntArrayRef(kernel_size),
                         ", reduction=", static_cast<int>(reduction),
                         ", data_range=", data_range ? data_range->text() : "none",
                         ", k1=", detail::exact_text(k1), ", k2=", detail::exact_text(k2));
}

int64_t SimilarityConfig::reach(int64_t dim) const {
  if (!gaussian_kernel)
    return of_dim(kernel_size, dim) / 2;
  // Larger than any image, and still a number of pixels.
  return static_cast<int64_t>(std::min(3.5 * of_dim(sigma, dim) + 0.5, 1e15));
}

std::vector<std::vector<double>> SimilarityConfig::window(int64_t dims) const {
  std::vector<std::vector<double>> window;
  for (int64_t dim = 0; dim < dims; ++dim) {
    if (!gaussian_kernel) {
      const int64_t size = of_dim(kernel_size, dim);
      window.emplace_back(size, 1 / static_cast<double>(size));
      continue;
    }
    const double width = of_dim(sigma, dim);
    std::vector<double> weights;
    double sum = 0;
    for (int64_t k = -reach(dim); k <= reach(dim); ++k) {
      const double distance = static_cast<double>(k) / width;
      weights.push_back(std::exp(-distance * distance / 2));
      sum += weights.back();
    }
    for (double &weight : weights)
      weight /= sum;
    window.push_back(std::move(weights));
  }
  return window;
}

Similarity similarity_of(const SimilarityConfig &config, const at::Tensor &all_preds,
                         const at::Tensor &all_target, SimilarityPart besides) {
  const int64_t dims = all_preds.dim() - 2;
  const auto window = config.window(dims);
  at::Tensor preds = all_preds, target = all_target, range;
  double width = 1;
  if (!config.data_range) {
    range = range_of(preds, target);
  } else {
    width = config.data_range->width();
    if (config.data_range->clamps()) {
      preds = preds.clamp(config.data_range->low(), config.data_range->high());
      target = target.clamp(config.data_range->low(), config.data_range->high());
    }
  }
  const double factor1 = config.k1 * width * config.k1 * width;
  const double factor2 = config.k2 * width * config.k2 * width;
  if (preds.is_cpu() && dims == 2) {
    // NOLINTNEXTLINE(device-host-sync): the CPU's own memory
    const double square = range.defined() ? range.to(at::kDouble).square().item<double>() : 1;
    return detail::similarity_of_planes(preds, target, window[0], window[1], factor1 * square,
                                        factor2 * square, besides);
  }

  const Constant c1{factor1, range}, c2{factor2, range};
  const at::Tensor x = reflected(preds, window), y = reflected(target, window);
  const at::Tensor maps = at::stack({x, y, x * x, y * y, x * y});
  std::vector<int64_t> sizes = preds.sizes().vec();
  sizes.insert(sizes.begin(), maps.size(0));
  const at::Tensor means = filtered(maps.flatten(0, 2), window).view(sizes);
  const at::Tensor mean_xy = means[0] * means[1];
  const at::Tensor squares = means[0].square() + means[1].square();
  const at::Tensor variances =
      (means[2] - means[0].square()).clamp_min(0) + (means[3] - means[1].square()).clamp_min(0);
  const at::Tensor contrast = ((means[4] - mean_xy) * 2 + c2) / (variances + c2);
  const at::Tensor similarity = (mean_xy * 2 + c1) / (squares + c1) * contrast;
  const auto mean_of = [](const at::Tensor &map) { return map.flatten(1).mean(1); };
  Similarity result{mean_of(similarity), {}, {}};
  if (besides == SimilarityPart::kImage)
    result.image = similarity;
  if (besides == SimilarityPart::kContrast) {
    at::Tensor inside = contrast;
    for (int64_t dim = 0; dim < dims; ++dim)
      inside = inside.narrow(dim + 2, reach(window[dim]),
                             std::max<int64_t>(preds.size(dim + 2) - 2 * reach(window[dim]), 0));
    result.contrast = mean_of(inside);
  }
  return result;
}

ImageSimilarity::ImageSimilarity(const char *name, const SimilarityConfig &config, bool keeps_parts)
    : SupervisedMetric(
          [&] {
            std::vector<StateSpec> specs;
            if (config.reduction == ImageReduction::kNone)
              specs.push_back({"similarities", {}, StateSpec::Kind::kList});
            if (keeps_parts)
              specs.push_back({"parts", {}, StateSpec::Kind::kList});
            if (config.reduction != ImageReduction::kNone) {
              specs.push_back({"total", {1}, StateSpec::Kind::kCount});
              specs.push_back({"similarity", {1}, StateSpec::Kind::kMoment});
            }
            return specs;
          }(),
          config.accumulation),
      config_(config), keeps_parts_(keeps_parts) {
  config_.check(name);
}

void ImageSimilarity::check_sizes(at::IntArrayRef image) const {
  for (size_t i = 0; i < image.size(); ++i) {
    const int64_t reach = config_.reach(static_cast<int64_t>(i));
    TORCH_CHECK(image[i] > reach, name(), ": `preds` holds images of sizes ", image,
                ", but the window of ", 2 * reach + 1, " needs at least ", reach + 1,
                "; pass larger images, or a smaller ",
                config_.gaussian_kernel ? "sigma" : "kernel_size");
  }
}

void ImageSimilarity::update(const at::Tensor &preds, const at::Tensor &target) {
  check_inputs({{"preds", preds}, {"target", target}});
  for (const auto &[input_name, input] : {std::pair("preds", preds), std::pair("target", target)})
    TORCH_CHECK(!input.is_complex() && input.scalar_type() != at::kBool, name(), ": `", input_name,
                "` has dtype ", input.scalar_type(), "; pass real numbers");
  TORCH_CHECK(
      preds.sizes() == target.sizes(), name(),
      ": Predictions and targets are expected to have the same shape, but `preds` has shape ",
      preds.sizes(), " and `target` ", target.sizes());
  TORCH_CHECK(preds.dim() == 4 || preds.dim() == 5, name(),
              ": Expected `preds` and `target` to have BxCxHxW or BxCxDxHxW shape, but got ",
              preds.sizes());
  const size_t dims = preds.dim() - 2;
  for (const auto &[argument, number] : {std::pair("sigma", config_.sigma.size()),
                                         std::pair("kernel_size", config_.kernel_size.size())})
    TORCH_CHECK(number == 1 || number == dims, name(), ": `", argument, "` has dimension ", number,
                ", but expected to be two less that target dimensionality, ", dims,
                ", or 1, for all dimensions");
  check_sizes(preds.sizes().slice(2));

  const StateScope scope;
  const bool all_kept = config_.reduction == ImageReduction::kNone;
  const int64_t n = preds.size(0);
  if (preds.numel() == 0) {
    set_states(states_on(preds.device()));
    return;
  }
  const at::ScalarType real =
      preds.scalar_type() == at::kDouble || target.scalar_type() == at::kDouble ? at::kDouble
                                                                                : at::kFloat;
  const Values batch = values(preds.to(real), target.to(real));
  std::vector<at::Tensor> states;
  if (!all_kept) {
    states = states_on(preds.device());
    at::Tensor &total = states[states.size() - 2], &sum = states.back();
    const Accumulation format = format_of(sum);
    total = total + n;
    sum = (Wide::from_state(sum) +
           Wide::from(batch.similarity.to(detail::base_dtype(format)).sum(0, true), format))
              .to_state();
  }
  std::vector<at::Tensor> pieces;
  if (all_kept)
    pieces.push_back(batch.similarity);
  if (keeps_parts_)
    pieces.push_back(batch.part);
  if (!pieces.empty())
    append(pieces);
  if (!all_kept) {
    std::vector<at::Tensor> next = states_on(preds.device());
    next[next.size() - 2] = states[states.size() - 2];
    next.back() = states.back();
    set_states(std::move(next));
  }
}

at::Tensor ImageSimilarity::compute() const {
  const StateScope scope;
  const std::vector<at::Tensor> &states = computable_states();
  if (config_.reduction == ImageReduction::kNone)
    return states.front().to(config_.dtype);
  const Wide sum = Wide::from_state(states.back());
  if (config_.reduction == ImageReduction::kSum)
    return shaped_result(sum.rounded(), config_.dtype);
  const Wide total = Wide::from(states[states.size() - 2], format_of(states.back()));
  return shaped_result((sum / total).rounded(), config_.dtype);
}

at::Tensor ImageSimilarity::parts() const {
  const StateScope scope;
  return computable_states()[config_.reduction == ImageReduction::kNone ? 1 : 0].to(config_.dtype);
}

} // namespace devsan::metrics
