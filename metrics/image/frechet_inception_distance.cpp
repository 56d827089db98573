#include "metrics/image/frechet_inception_distance.h"

#include <cmath>

#include <ATen/ATen.h>

namespace devsan::metrics {
namespace {

// Of the real set; those of the other follow.
enum StateIndex { kCount, kMean, kM2, kStates };

int64_t checked_features(int64_t num_features) {
  TORCH_CHECK(num_features >= 1, "FrechetInceptionDistance: num_features is ", num_features,
              "; pass at least 1");
  return num_features;
}

// What the means of two sets add to the central moments of both, as a row to multiply with itself,
// and the mean of both; 0 / 0 of two empty ones is 0.
struct Joined {
  at::Tensor mean, row;
};
Joined join(const at::Tensor &count_a, const at::Tensor &mean_a, const at::Tensor &count_b,
            const at::Tensor &mean_b) {
  const at::Tensor share = count_b.to(at::kDouble) / (count_a + count_b).clamp_min(1);
  const at::Tensor delta = mean_b - mean_a;
  return {mean_a + delta * share, delta * (share * count_a).sqrt()};
}

at::Tensor root(const at::Tensor &symmetric) {
  const auto [values, vectors] = at::linalg_eigh(symmetric);
  return (vectors * values.clamp_min(0).sqrt()).matmul(vectors.t());
}

} // namespace

FrechetInceptionDistance::FrechetInceptionDistance(const FrechetInceptionDistanceOptions &options)
    : Metric(
          {{"real_count", {1}, StateSpec::Kind::kCount},
           {"real_mean", {checked_features(options.num_features())}, StateSpec::Kind::kMoment},
           {"real_m2", {options.num_features(), options.num_features()}, StateSpec::Kind::kMoment},
           {"fake_count", {1}, StateSpec::Kind::kCount},
           {"fake_mean", {options.num_features()}, StateSpec::Kind::kMoment},
           {"fake_m2", {options.num_features(), options.num_features()}, StateSpec::Kind::kMoment}},
          Accumulation::kDouble),
      options_(options) {}

void FrechetInceptionDistance::update(const at::Tensor &features, bool real) {
  check_inputs({{"features", features}});
  const int64_t width = options_.num_features();
  TORCH_CHECK(features.is_floating_point(), name(), ": `features` has dtype ",
              features.scalar_type(), "; pass floating numbers");
  TORCH_CHECK((features.dim() == 1 || features.dim() == 2) && features.size(-1) == width, name(),
              ": `features` has shape ", features.sizes(), ", but num_features is ", width,
              "; pass [N, ", width, "]");
  TORCH_CHECK(default_accumulation(features.device()) == Accumulation::kDouble, name(),
              ": `features` lies on ", features.device(),
              ", which may not have float64; move the features to the CPU");
  const StateScope scope;
  std::vector<at::Tensor> states = states_on(features.device());
  const at::Tensor x = features.reshape({-1, width}).to(at::kDouble);
  if (x.size(0) != 0) {
    at::Tensor *const own = &states[real ? 0 : kStates];
    const at::Tensor mean = x.mean(0, /*keepdim=*/true);
    const auto [joined, row] =
        join(own[kCount], own[kMean], at::full_like(own[kCount], x.size(0)), mean);
    const at::Tensor rows = at::cat({x - mean, row});
    // In place where nobody else sees it, since it may be large.
    const bool alone = holds_alone(own[kM2]);
    at::Tensor m2 = alone ? own[kM2] : own[kM2].clone();
    m2.select(0, 0).addmm_(rows.t(), rows);
    own[kM2] = m2;
    own[kMean] = joined;
    own[kCount] = own[kCount] + x.size(0);
  }
  set_states(std::move(states));
}

std::vector<at::Tensor> FrechetInceptionDistance::merged(const std::vector<at::Tensor> &a,
                                                         const std::vector<at::Tensor> &b) const {
  std::vector<at::Tensor> states;
  for (int set = 0; set < 2 * kStates; set += kStates) {
    const auto [mean, row] = join(a[set + kCount], a[set + kMean], b[set + kCount], b[set + kMean]);
    states.insert(states.end(), {a[set + kCount] + b[set + kCount], mean,
                                 a[set + kM2] + b[set + kM2] + row.t().matmul(row)});
  }
  return states;
}

at::Tensor FrechetInceptionDistance::compute() const {
  const StateScope scope;
  const std::vector<at::Tensor> &states = computable_states();
  const auto covariance = [&](int set, const char *title) {
    // NOLINTNEXTLINE(device-host-sync): eigenvalues wait, too
    const auto count = states[set + kCount].item<int64_t>();
    TORCH_CHECK(count >= 2, name(), ": ", count, " ", title,
                " images were seen; compute() needs at least two of each set");
    // NOLINTNEXTLINE(device-host-sync): as above
    TORCH_CHECK(std::isfinite(states[set + kM2].squeeze(0).trace().item<double>()), name(),
                ": features of the ", title,
                " images are NaN or infinite, or too large for their squares; correct them");
    return states[set + kM2].squeeze(0) / static_cast<double>(count - 1);
  };
  const at::Tensor real = covariance(0, "real"), fake = covariance(kStates, "fake");
  // The product has the eigenvalues of a symmetric matrix, which are not below 0.
  const at::Tensor half = root(real);
  const at::Tensor common =
      at::linalg_eigvalsh(half.matmul(fake).matmul(half)).clamp_min(0).sqrt().sum();
  const at::Tensor distance =
      (states[kMean] - states[kStates + kMean]).square().sum() + real.trace() + fake.trace();
  return shaped_result(distance - 2 * common, options_.dtype());
}

std::string FrechetInceptionDistance::signature() const {
  return c10::str("num_features=", options_.num_features());
}

at::Tensor frechet_inception_distance(const at::Tensor &real, const at::Tensor &fake,
                                      const FrechetInceptionDistanceOptions &options) {
  FrechetInceptionDistance metric(options);
  metric.update(real, /*real=*/true);
  metric.update(fake, /*real=*/false);
  return metric.compute();
}

} // namespace devsan::metrics
