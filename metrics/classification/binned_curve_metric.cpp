#include "metrics/classification/binned_curve_metric.h"

#include <algorithm>

#include <ATen/ATen.h>

namespace devsan::metrics {
namespace {

// How many of the thresholds each score is at or above.
at::Tensor thresholds_reached(const at::Tensor &scores, const at::Tensor &thresholds) {
  if (scores.is_meta()) // for which bucketize is not implemented
    return at::empty_like(scores, scores.options().dtype(at::kLong));
  return at::bucketize(scores.contiguous(), thresholds.to(scores.scalar_type()),
                       /*out_int32=*/false, /*right=*/true);
}

// The same of one score in [0, 1], in the host's memory. Evenly spaced thresholds are close to
// where the score says.
template <typename T>
int64_t thresholds_reached(T score, const std::vector<float> &thresholds, bool evenly_spaced) {
  if (!evenly_spaced)
    return std::upper_bound(thresholds.begin(), thresholds.end(), score) - thresholds.begin();
  const auto last = static_cast<int64_t>(thresholds.size()) - 1;
  auto i = static_cast<int64_t>(score * static_cast<T>(last));
  while (i < last && score >= thresholds[i + 1])
    ++i;
  while (score < thresholds[i])
    --i;
  return i + 1;
}

// The counts of a batch in one pass, see BinnedCurveMetric.
template <typename T>
BatchCounts count_on_cpu(const TaskConfig &config, const at::Tensor &all_scores,
                         const at::Tensor &target) {
  const std::vector<float> thresholds = config.thresholds->values();
  const bool evenly_spaced = config.thresholds->evenly_spaced();
  const int64_t classes = config.classes, bins = static_cast<int64_t>(thresholds.size()) + 1;
  const bool multiclass = config.task == Task::kMulticlass;
  const at::Tensor rows =
      config.task == Task::kMultilabel ? target.movedim(1, -1) : target; // as the scores
  const at::Tensor scores = all_scores.resolve_neg().contiguous();
  const at::Tensor targets = rows.resolve_neg().to(at::kLong).contiguous();
  const at::Tensor counts = at::zeros({2, classes, bins}, at::kLong);
  const T *score = scores.const_data_ptr<T>();
  const int64_t *wanted = targets.const_data_ptr<int64_t>();
  int64_t *to = counts.mutable_data_ptr<int64_t>();
  int64_t out_of_range = 0;

  // As many scores of one target as count or not together.
  const int64_t width = multiclass ? classes : 1;
  for (int64_t i = 0; i < targets.numel(); ++i, score += width) {
    const int64_t label = wanted[i];
    if (config.ignore_index && label == *config.ignore_index)
      continue;
    bool valid = label >= 0 && label < (multiclass ? classes : 2);
    for (int64_t c = 0; c < width; ++c)
      valid &= score[c] >= 0 && score[c] <= 1;
    if (!valid) {
      ++out_of_range;
      continue;
    }
    for (int64_t c = 0; c < width; ++c) {
      const int64_t of_class = multiclass ? c : i % classes;
      const bool positive = label == (multiclass ? c : 1);
      ++to[(positive * classes + of_class) * bins +
           thresholds_reached(score[c], thresholds, evenly_spaced)];
    }
  }
  return {counts, {}, out_of_range ? at::scalar_tensor(out_of_range, at::kLong) : at::Tensor()};
}

} // namespace

at::Tensor CurveCounts::stacked(const at::Tensor &a, const at::Tensor &b) const {
  const at::Tensor both = at::stack({a, b});
  return one_row() ? both.squeeze(1) : both;
}

at::Tensor descending(const at::Tensor &x) {
  // Neither flip nor index_select, which are not implemented for meta tensors.
  const at::Tensor order = at::arange(x.size(-1) - 1, -1, -1, x.options().dtype(at::kLong));
  return x.gather(-1, order.expand(x.sizes()));
}

at::Tensor CurveCounts::averaged(const at::Tensor &score) const {
  if (one_row())
    return score.squeeze(0);
  switch (config.average) {
  case Average::kMicro:
  case Average::kNone:
    break;
  case Average::kMacro:
    return score.mean();
  case Average::kWeighted:
    return safe_divide((score * positives.squeeze(1)).sum(), positives.sum());
  }
  return score;
}

BinnedCurveMetric::BinnedCurveMetric(const char *formula, const TaskConfig &config)
    : ClassificationMetric(
          formula, config,
          std::vector<int64_t>{2, config.classes, config.thresholds->number() + 1}) {}

const at::Tensor &BinnedCurveMetric::thresholds_on(at::Device device) const {
  if (!thresholds_.defined() || thresholds_.device() != device)
    thresholds_ = config().thresholds->on(device);
  return thresholds_;
}

at::Tensor BinnedCurveMetric::thresholds() const {
  const StateScope scope;
  return thresholds_on(computable_states().front().device()).clone();
}

BatchCounts BinnedCurveMetric::count(const at::Tensor &preds, const at::Tensor &target) const {
  TORCH_CHECK(preds.is_floating_point(), name(), ": `preds` has dtype ", preds.scalar_type(),
              "; pass floating scores, since labels have no curve");
  if (preds.is_cpu()) {
    const at::Tensor scores = probabilities(config(), preds);
    return scores.scalar_type() == at::kDouble ? count_on_cpu<double>(config(), scores, target)
                                               : count_on_cpu<float>(config(), scores, target);
  }
  const ScoredSamples batch = scored_samples(config(), preds, target);
  const int64_t classes = config().classes, bins = config().thresholds->number() + 1;
  const at::Tensor reached = thresholds_reached(batch.scores, thresholds_on(preds.device()));
  const at::Tensor row =
      at::arange(classes, reached.options()) + batch.target.to(at::kLong) * classes;
  // What does not count goes to a bin after the last, so that nothing has to be selected.
  const at::Tensor places =
      (row * bins + reached).masked_fill(batch.counted.bitwise_not(), 2 * classes * bins).view(-1);
  const at::Tensor counts = at::zeros({2 * classes * bins + 1}, places.options())
                                .scatter_add(0, places, at::ones_like(places))
                                .narrow(0, 0, 2 * classes * bins);
  return {counts.view({2, classes, bins}), {}, batch.out_of_range.sum()};
}

at::Tensor BinnedCurveMetric::value(const at::Tensor &counts) const {
  const at::Tensor histogram =
      config().average == Average::kMicro ? counts.sum(1, /*keepdim=*/true) : counts;
  // [i]: how many reach at least i thresholds. Of all samples that is 0, of those at or above the
  // i-th threshold i + 1.
  const at::Tensor below = histogram.cumsum(-1) - histogram;
  const at::Tensor reaching = wide(histogram.sum(-1, /*keepdim=*/true) - below);
  const at::Tensor predicted = reaching.narrow(-1, 1, config().thresholds->number());
  return value(CurveCounts{predicted[1], predicted[0], reaching[1].narrow(-1, 0, 1),
                           reaching[0].narrow(-1, 0, 1), thresholds_on(counts.device()), config()});
}

} // namespace devsan::metrics
