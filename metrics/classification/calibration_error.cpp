#include "metrics/classification/calibration_error.h"

#include <algorithm>
#include <cmath>
#include <numeric>

#include <ATen/ATen.h>
#include <ATen/EmptyTensor.h>

#include "metrics/detail/classify_kernels.h"
#include "metrics/detail/evaluate.h"
#include "metrics/detail/meta.h"
#include "metrics/detail/wide.h"

namespace devsan::metrics {
namespace {

using detail::Wide;

enum StateIndex { kCounts, kOutOfRange, kConfidence };
constexpr int kRight = 0, kAll = 1; // rows of the counts

// What was seen in a bin.
struct Bin {
  typedef int64_t Counts __attribute__((vector_size(16))); // its rows
  Counts counts{};
  double confidence = 0;

  void add(const Bin &other) {
    counts += other.counts;
    confidence += other.confidence;
  }
};

int64_t checked_bins(const std::string &name, int64_t n_bins) {
  TORCH_CHECK(n_bins >= 1 && n_bins < (int64_t{1} << 24), name, ": n_bins is ", n_bins,
              "; pass a number from 1 to 2^24 - 1");
  return n_bins;
}

// The bins of scores in [0, 1], as thresholds_reached() has them, without a table.
template <typename T>
[[gnu::always_inline]] inline void bins_of(const T *scores, int64_t n, int32_t n_bins,
                                           int32_t *bins) {
  const auto number = static_cast<float>(n_bins);
  for (int64_t i = 0; i < n; ++i) {
    const T score = ((scores[i] >= 0) & (scores[i] <= 1)) ? scores[i] : 0;
    const auto bin = static_cast<int32_t>(score * static_cast<T>(n_bins));
    const float start = static_cast<float>(bin) / number,
                end = static_cast<float>(bin + 1) / number;
    bins[i] =
        bin + ((bin < n_bins) & (score >= static_cast<T>(end))) - (score < static_cast<T>(start));
  }
}

#if defined(__x86_64__)
template <typename T>
[[gnu::target("avx2")]] void bins_by_avx2(const T *scores, int64_t n, int32_t n_bins,
                                          int32_t *bins) {
  bins_of(scores, n, n_bins, bins);
}
#endif

template <typename T> void best_bins_of(const T *scores, int64_t n, int32_t n_bins, int32_t *bins) {
#if defined(__x86_64__)
  if (__builtin_cpu_supports("avx2"))
    return bins_by_avx2(scores, n, n_bins, bins);
#endif
  bins_of(scores, n, n_bins, bins);
}

// What compute() makes of the states, without operators, each of which takes as long as all bins.
double error_on_cpu(CalibrationNorm norm, const int64_t *counts, const double *confidence,
                    int64_t bins) {
  const int64_t *all = counts + kAll * bins;
  const auto total = static_cast<double>(std::accumulate(all, all + bins, int64_t{0}));
  double sum = 0, largest = 0;
  for (int64_t bin = 0; bin < bins; ++bin) {
    if (all[bin] == 0) // differs by 0
      continue;
    const auto number = static_cast<double>(all[bin]);
    const double difference =
        std::abs(static_cast<double>(counts[kRight * bins + bin]) - confidence[bin]) / number;
    sum += difference * (norm == CalibrationNorm::kL2 ? difference : 1) * number;
    largest = std::max(largest, difference);
  }
  if (total == 0)
    return NAN;
  switch (norm) {
  case CalibrationNorm::kL1:
    return sum / total;
  case CalibrationNorm::kL2:
    return std::sqrt(sum / total);
  case CalibrationNorm::kMax:
    return largest;
  }
  return NAN;
}

TaskConfig of_scores(TaskConfig config) {
  config.of_scores = true;
  return config;
}

} // namespace

CalibrationError::CalibrationError(const TaskConfig &config, int64_t n_bins, CalibrationNorm norm)
    : SupervisedMetric({{"counts", {2, n_bins + 1}, StateSpec::Kind::kCount},
                        {"out_of_range", {1}, StateSpec::Kind::kCount},
                        {"confidence", {n_bins + 1}, StateSpec::Kind::kMoment}}),
      name_(task_name(config.task) + std::string("CalibrationError")), config_(of_scores(config)),
      starts_(checked_bins(name_, n_bins) + 1), start_(starts_.values()), norm_(norm) {
  config_.check(name_);
}

void CalibrationError::update(const at::Tensor &preds, const at::Tensor &target) {
  check_inputs({{"preds", preds}, {"target", target}});
  check_shapes(config_, name_, preds, target);
  TORCH_CHECK(preds.is_floating_point(), name_, ": `preds` has dtype ", preds.scalar_type(),
              "; pass floating scores");
  const StateScope scope;
  const at::Tensor scores = probabilities(config_, as_probabilities(config_, preds, target));
  if (!preds.is_cpu())
    update_on_device(scores, target);
  else if (scores.scalar_type() == at::kDouble)
    update_on_cpu<double>(scores, target, preds);
  else
    update_on_cpu<float>(scores, target, preds);
}

template <typename T>
void CalibrationError::update_on_cpu(const at::Tensor &all, const at::Tensor &target,
                                     const at::Tensor &preds) {
  const at::Tensor scores = all.resolve_neg().contiguous();
  const at::Tensor labels = target.resolve_neg().to(at::kLong).contiguous();
  const int64_t n = labels.numel(), bins = starts_.number(), width = scores.size(1);
  const T *all_scores = scores.template const_data_ptr<T>();
  const detail::ScoreRows<T> rows{
      all_scores, labels.const_data_ptr<int64_t>(), n,
      width,      width == 1 ? 2 : width,           config_.ignore_index};
  // Of few bins four each, in turn, so that a sample need not wait for the one before.
  const int64_t turns = bins <= 1024 ? 4 : 1;
  std::vector<Bin> seen(turns * bins);
  const auto add = [&](int64_t i, int64_t bin, int64_t is_right, T confidence) {
    Bin &to = seen[(i & (turns - 1)) * bins + bin];
    to.counts += Bin::Counts{is_right, 1};
    to.confidence += static_cast<double>(confidence);
  };
  int64_t out_of_range = 0;
  if (width == 1) {
    int32_t bin[detail::kSampleBlock];
    out_of_range = detail::each_sample<T>(
        rows, {0, 1},
        [&](int64_t i, int64_t label, const T *p) {
          add(i, bin[i % detail::kSampleBlock], label, *p);
        },
        [&](const detail::ScoreRows<T> &block) {
          best_bins_of(block.scores, block.samples, static_cast<int32_t>(bins - 1), bin);
        });
  } else {
    static_assert(detail::kSampleBlock <= detail::kArgmaxBlock);
    int32_t best[detail::kSampleBlock];
    out_of_range = detail::each_sample<T>(
        rows, {0, 1},
        [&](int64_t i, int64_t label, const T *p) {
          const int64_t said = best[i % detail::kSampleBlock];
          add(i, thresholds_reached(p[said], start_, /*evenly_spaced=*/true) - 1, said == label,
              p[said]);
        },
        [&](const detail::ScoreRows<T> &block) {
          detail::argmax(block.scores, block.samples, width, width, 1, best);
        });
  }
  if (validates_eagerly(config_.validate, preds))
    refuse_out_of_range(config_, name_, out_of_range, labels.numel());

  std::vector<at::Tensor> states = states_on(preds.device());
  const at::Tensor old_counts_state = states[kCounts], old_confidence_state = states[kConfidence];
  const int64_t *old_counts = old_counts_state.const_data_ptr<int64_t>();
  const double *old_confidence = old_confidence_state.const_data_ptr<double>();
  states[kCounts] = at::detail::empty_cpu(old_counts_state.sizes(), at::kLong);
  states[kConfidence] = at::detail::empty_cpu(old_confidence_state.sizes(), at::kDouble);
  int64_t *counts = states[kCounts].mutable_data_ptr<int64_t>();
  double *confidence = states[kConfidence].mutable_data_ptr<double>();
  for (int64_t bin = 0; bin < bins; ++bin) {
    Bin all;
    for (int64_t turn = 0; turn < turns; ++turn)
      all.add(seen[turn * bins + bin]);
    counts[kRight * bins + bin] = old_counts[kRight * bins + bin] + all.counts[kRight];
    counts[kAll * bins + bin] = old_counts[kAll * bins + bin] + all.counts[kAll];
    confidence[bin] = old_confidence[bin] + all.confidence;
  }
  if (out_of_range)
    add_number(states[kOutOfRange], out_of_range);
  set_states(std::move(states));
}

void CalibrationError::update_on_device(const at::Tensor &scores, const at::Tensor &target) {
  const at::Tensor labels = target.reshape({-1, 1}).to(at::kLong);
  const bool binary = config_.task == Task::kBinary;
  const at::Tensor valid = scores.ge(0)
                               .bitwise_and(scores.le(1))
                               .all(1, /*keepdim=*/true)
                               .bitwise_and(labels.ge(0))
                               .bitwise_and(labels.lt(binary ? 2 : config_.classes));
  at::Tensor counted = valid, invalid = valid.bitwise_not();
  if (config_.ignore_index) {
    const at::Tensor kept = labels.ne(*config_.ignore_index);
    counted = counted.bitwise_and(kept);
    invalid = invalid.bitwise_and(kept);
  }
  const at::Tensor out_of_range = invalid.sum();
  if (validates_eagerly(config_.validate, scores)) {
    // NOLINTNEXTLINE(device-host-sync): asked for by Validate::kEager
    refuse_out_of_range(config_, name_, out_of_range.item<int64_t>(), labels.size(0));
  }

  std::vector<at::Tensor> states = states_on(scores.device());
  at::Tensor confidence = scores, right = labels;
  if (!binary) {
    const auto [highest, best] = scores.max(1, /*keepdim=*/true);
    confidence = highest;
    right = best.eq(labels).to(at::kLong);
  }
  // What does not count goes to a bin after the last.
  const int64_t bins = starts_.number();
  const at::Tensor left_out = counted.bitwise_not();
  const at::Tensor starts =
      device_starts_.on(scores.device(), [&](at::Device on) { return starts_.on(on); });
  const at::Tensor bin =
      (thresholds_reached(confidence, starts) - 1).masked_fill(left_out, bins).view(-1);
  const auto histogram = [&](const at::Tensor &x) {
    return at::zeros({bins + 1}, x.options()).scatter_add(0, bin, x.reshape(-1)).narrow(0, 0, bins);
  };
  const at::Tensor &sums = states[kConfidence];
  const Accumulation format =
      sums.scalar_type() == at::kDouble ? Accumulation::kDouble : Accumulation::kFloatPair;
  states[kCounts] =
      states[kCounts] + at::stack({histogram(right), histogram(at::ones_like(labels))});
  states[kConfidence] = (Wide::from_state(sums) +
                         Wide::from(histogram(confidence.to(detail::base_dtype(format))), format))
                            .to_state();
  states[kOutOfRange] = states[kOutOfRange] + out_of_range;
  set_states(std::move(states));
}

at::Tensor CalibrationError::compute() const {
  const StateScope scope;
  const std::vector<at::Tensor> &states = computable_states();
  if (states[kCounts].is_cpu()) {
    check_valid();
    const at::Tensor error = at::detail::empty_cpu({}, at::kFloat);
    *error.mutable_data_ptr<float>() = static_cast<float>(
        error_on_cpu(norm_, states[kCounts].const_data_ptr<int64_t>(),
                     states[kConfidence].const_data_ptr<double>(), starts_.number()));
    return error;
  }
  const at::Tensor confidence = Wide::from_state(states[kConfidence]).rounded();
  const at::Tensor counts = states[kCounts].to(confidence.scalar_type());
  const at::Tensor total = counts[kAll].sum();
  // An empty bin differs by 0.
  const at::Tensor difference =
      detail::absolute(counts[kRight] - confidence) / counts[kAll].clamp_min(1);
  const at::Tensor share = counts[kAll] / total;
  at::Tensor error;
  switch (norm_) {
  case CalibrationNorm::kL1:
    error = (difference * share).sum();
    break;
  case CalibrationNorm::kL2:
    error = (difference.square() * share).sum().sqrt();
    break;
  case CalibrationNorm::kMax:
    error = difference.amax().masked_fill(total.eq(0), NAN);
    break;
  }
  return shaped_result(error.masked_fill(states[kOutOfRange].gt(0), NAN), at::kFloat);
}

void CalibrationError::check_valid() const {
  check_none_left_out(config_, name_, computable_states()[kOutOfRange]);
}

std::string CalibrationError::signature() const {
  return config_.signature() +
         c10::str(", n_bins=", starts_.number() - 1, ", norm=", static_cast<int>(norm_));
}

at::Tensor binary_calibration_error(const at::Tensor &preds, const at::Tensor &target,
                                    const BinaryCalibrationErrorOptions &options) {
  return detail::evaluate<BinaryCalibrationError>(options, preds, target);
}

at::Tensor multiclass_calibration_error(const at::Tensor &preds, const at::Tensor &target,
                                        const MulticlassCalibrationErrorOptions &options) {
  return detail::evaluate<MulticlassCalibrationError>(options, preds, target);
}

} // namespace devsan::metrics
