#include "metrics/classification/curve_metric.h"

#include <algorithm>
#include <cmath>
#include <limits>

#include <ATen/ATen.h>

#include "metrics/classification/each_sample.h"

namespace devsan::metrics {
namespace {

// Scores that are sorted together, since what is computed of them takes more than ten times their
// memory; on the CPU so many that it stays in the cache.
int64_t sorted_together(const at::Tensor &scores) {
  return int64_t{1} << (scores.is_cpu() ? 18 : 22);
}

// Calls detail::each_sample() for a batch.
template <typename T, typename Visit>
int64_t each_sample(const TaskConfig &config, const at::Tensor &all_scores,
                    const at::Tensor &target, const detail::ScoreRange<T> &range,
                    const Visit &visit) {
  const bool multiclass = config.task == Task::kMulticlass;
  const at::Tensor rows =
      config.task == Task::kMultilabel ? target.movedim(1, -1) : target; // as the scores
  const at::Tensor scores = all_scores.resolve_neg().contiguous();
  const at::Tensor labels = rows.resolve_neg().to(at::kLong).contiguous();
  return detail::each_sample<T>({scores.const_data_ptr<T>(), labels.const_data_ptr<int64_t>(),
                                 labels.numel(), multiclass ? config.classes : 1,
                                 multiclass ? config.classes : 2, config.ignore_index},
                                range, visit);
}

// The counts of a batch in one pass, see CurveMetric.
template <typename T>
BatchCounts count_on_cpu(const TaskConfig &config, const at::Tensor &scores,
                         const at::Tensor &target) {
  const std::vector<float> thresholds = config.thresholds->values();
  const bool evenly_spaced = config.thresholds->evenly_spaced();
  const int64_t classes = config.classes, bins = static_cast<int64_t>(thresholds.size()) + 1;
  const bool multiclass = config.task == Task::kMulticlass;
  const at::Tensor counts = at::zeros({2, classes, bins}, at::kLong);
  int64_t *to = counts.mutable_data_ptr<int64_t>();
  const int64_t width = multiclass ? classes : 1;
  const int64_t out_of_range = each_sample<T>(
      config, scores, target, {0, 1}, [&](int64_t sample, int64_t label, const T *score) {
        for (int64_t c = 0; c < width; ++c) {
          const int64_t of_class = multiclass ? c : sample % classes;
          const bool positive = label == (multiclass ? c : 1);
          ++to[(positive * classes + of_class) * bins +
               thresholds_reached(score[c], thresholds, evenly_spaced)];
        }
      });
  return {counts, {}, out_of_range ? at::scalar_tensor(out_of_range, at::kLong) : at::Tensor()};
}

// How many samples of a batch are out of range, without the softmax of logits: it is NaN for an
// infinite score, and where none is above minus infinity.
template <typename T>
int64_t out_of_range_on_cpu(const TaskConfig &config, const at::Tensor &preds,
                            const at::Tensor &target) {
  const T infinity = std::numeric_limits<T>::infinity();
  const bool classes = config.task == Task::kMulticlass;
  const detail::ScoreRange<T> range =
      config.from_logits
          ? detail::ScoreRange<T>{-infinity, classes ? std::numeric_limits<T>::max() : infinity,
                                  classes}
          : detail::ScoreRange<T>{0, 1};
  return each_sample<T>(config, score_rows(config, preds), target, range,
                        [](int64_t, int64_t, const T *) {});
}

// Numbers below the first one of a run of equal ones, from the numbers below each: `below` ascends
// along the rows, `first` is bool.
at::Tensor of_runs(const at::Tensor &below, const at::Tensor &first) {
  return std::get<0>(below.masked_fill(first.bitwise_not(), 0).cummax(1));
}

// A function between the points (xs, ys), at x, as numpy.interp; before and behind all points as in
// the first and last part.
at::Tensor interpolated(const at::Tensor &x, const at::Tensor &xs, const at::Tensor &ys) {
  const int64_t parts = xs.size(0) - 1;
  if (parts < 1)
    return ys.expand_as(x);
  const auto step = [&](const at::Tensor &of) {
    return of.narrow(0, 1, parts) - of.narrow(0, 0, parts);
  };
  const at::Tensor slope = safe_divide(step(ys), step(xs));
  const at::Tensor start = ys.narrow(0, 0, parts) - slope * xs.narrow(0, 0, parts);
  const at::Tensor known = xs.masked_fill(xs.ne(xs), INFINITY); // NaN is below no x
  const at::Tensor part =
      (at::searchsorted(std::get<0>(known.sort()), x, /*out_int32=*/false, /*right=*/true) - 1)
          .clamp(0, parts - 1);
  return slope.gather(0, part) * x + start.gather(0, part);
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

CurveMetric::CurveMetric(const char *formula, const TaskConfig &config)
    : ClassificationMetric(
          formula, config,
          config.thresholds
              ? std::vector<StateSpec>{{"counts",
                                        {2, config.classes, config.thresholds->number() + 1},
                                        kind_of_counts(config)},
                                       {"out_of_range", {1}, StateSpec::Kind::kCount}}
          : config.weighted ? std::vector<StateSpec>{{"preds", {}, StateSpec::Kind::kList},
                                                     {"target", {}, StateSpec::Kind::kList},
                                                     {"weight", {}, StateSpec::Kind::kList}}
                            : std::vector<StateSpec>{{"preds", {}, StateSpec::Kind::kList},
                                                     {"target", {}, StateSpec::Kind::kList}}) {}

void CurveMetric::check_scores(const at::Tensor &preds) const {
  TORCH_CHECK(!preds.defined() || preds.is_floating_point(), name(), ": Expected ",
              config().task == Task::kMulticlass
                  ? "`preds` to be a float tensor"
                  : "argument `preds` to be an floating tensor with probability/logits scores",
              ", but got tensor with dtype ", preds.scalar_type(), ": labels have no curve");
}

void CurveMetric::update(const at::Tensor &given, const at::Tensor &target,
                         const at::Tensor &weight) {
  check_scores(given);
  if (config().thresholds) {
    ClassificationMetric::update(given, target, weight);
    return;
  }
  check_batch(given, target, weight);
  const StateScope scope;
  const at::Tensor preds = as_probabilities(config(), given, target);
  if (validates_eagerly(config().validate, preds)) {
    if (!preds.is_cpu()) {
      const ScoredSamples batch = scored_samples(config(), preds, target, ScoreScale::kUnrounded);
      // NOLINTNEXTLINE(device-host-sync): asked for by Validate::kEager
      refuse_out_of_range(config(), name(), batch.out_of_range.sum().item<int64_t>(),
                          target.numel());
    } else {
      refuse_out_of_range(config(), name(),
                          preds.scalar_type() == at::kDouble
                              ? out_of_range_on_cpu<double>(config(), preds, target)
                              : out_of_range_on_cpu<float>(config(), preds, target),
                          target.numel());
    }
  }
  const bool binary = config().task == Task::kBinary;
  const auto rows = [&](const at::Tensor &x) { return binary ? x.reshape(-1) : x; };
  if (!config().weighted) {
    append({rows(preds), rows(target)});
  } else if (weight.defined()) {
    append({rows(preds), rows(target), rows(weight)});
  } else {
    const at::Tensor like = config().task == Task::kMultilabel ? target.select(1, 0) : target;
    append({rows(preds), rows(target), rows(at::ones_like(like, at::kFloat))});
  }
}

void CurveMetric::check_loaded(const std::vector<at::Tensor> &states) const {
  if (config().thresholds || all_empty(states))
    return;
  check_batch(states[0], states[1], config().weighted ? states[2] : at::Tensor());
  check_scores(states[0]);
}

at::Tensor CurveMetric::thresholds_on(at::Device device) const {
  return thresholds_.on(device, [&](at::Device on) { return config().thresholds->on(on); });
}

at::Tensor CurveMetric::thresholds() const {
  TORCH_CHECK(config().thresholds, name(),
              ": thresholds were not given, so that every score is one; see result()");
  const StateScope scope;
  return thresholds_on(computable_states().front().device()).clone();
}

BatchCounts CurveMetric::count(const at::Tensor &preds, const at::Tensor &target) const {
  if (preds.is_cpu()) {
    const at::Tensor scores = probabilities(config(), preds);
    return scores.scalar_type() == at::kDouble ? count_on_cpu<double>(config(), scores, target)
                                               : count_on_cpu<float>(config(), scores, target);
  }
  return count_by_operators(preds, target, {});
}

BatchCounts CurveMetric::weigh(const at::Tensor &preds, const at::Tensor &target,
                               const at::Tensor &weights) const {
  return count_by_operators(preds, target, weights);
}

BatchCounts CurveMetric::count_by_operators(const at::Tensor &preds, const at::Tensor &target,
                                            const at::Tensor &weights) const {
  const ScoredSamples batch = scored_samples(config(), preds, target, ScoreScale::kProbabilities);
  const int64_t classes = config().classes, bins = config().thresholds->number() + 1;
  const at::Tensor reached = thresholds_reached(batch.scores, thresholds_on(preds.device()));
  const at::Tensor row =
      at::arange(classes, reached.options()) + batch.target.to(at::kLong) * classes;
  // What does not count goes to a bin after the last, so that nothing has to be selected.
  const at::Tensor places =
      (row * bins + reached).masked_fill(batch.counted.bitwise_not(), 2 * classes * bins).view(-1);
  const at::Tensor each = weights.defined()
                              ? weights.unsqueeze(1).expand_as(batch.scores).reshape(-1)
                              : at::ones_like(places);
  const at::Tensor counts = at::zeros({2 * classes * bins + 1}, each.options())
                                .scatter_add(0, places, each)
                                .narrow(0, 0, 2 * classes * bins);
  return {counts.view({2, classes, bins}), {}, batch.out_of_range.sum()};
}

CurveCounts CurveMetric::binned(const at::Tensor &counts) const {
  const at::Tensor histogram =
      config().average == Average::kMicro ? counts.sum(1, /*keepdim=*/true) : counts;
  // [i]: how many reach at least i thresholds. Of all samples that is 0, of those at or above the
  // i-th threshold i + 1. Summed from above, so that of weights nothing is left where there is
  // nothing.
  const at::Tensor reaching = wide(descending(descending(histogram).cumsum(-1)));
  const at::Tensor predicted = reaching.narrow(-1, 1, config().thresholds->number());
  return {predicted[1],
          predicted[0],
          reaching[1].narrow(-1, 0, 1),
          reaching[0].narrow(-1, 0, 1),
          thresholds_on(counts.device()),
          config()};
}

ScoredSamples CurveMetric::all_samples() const {
  const std::vector<at::Tensor> &states = computable_states();
  at::Tensor preds = states[0], target = states[1];
  if (preds.size(0) == 0) { // of nothing the lists do not know the shape
    const bool labels = config().task == Task::kMultilabel;
    preds = at::empty({0, config().classes}, preds.options());
    target = at::empty({0, labels ? config().classes : 1}, preds.options().dtype(at::kLong));
  }
  ScoredSamples all = scored_samples(config(), preds, target, ScoreScale::kUnrounded);
  if (config().weighted)
    all.weight = wide(states[2]).reshape({-1, 1});
  return all;
}

// A threshold at each score, ties too, ascending, and one above all; samples that do not count are
// above that, where nothing is predicted either.
CurveCounts CurveMetric::exact(const ScoredSamples &samples, const TaskConfig &config) {
  const auto rows = [&](const at::Tensor &x) {
    const at::Tensor all = x.expand_as(samples.scores);
    return config.average == Average::kMicro ? all.reshape({1, -1}) : all.t();
  };
  const at::Tensor counted = rows(samples.counted);
  const at::Tensor scores = rows(samples.scores).masked_fill(counted.bitwise_not(), NAN);
  const auto [sorted, order] = scores.contiguous().sort(1); // NaN last
  const at::Tensor is_positive = rows(samples.target).bitwise_and(counted).gather(1, order);
  const at::Tensor is_negative = counted.gather(1, order).bitwise_xor(is_positive);

  const int64_t n = sorted.size(1);
  const at::Tensor end = at::ones({sorted.size(0), 1}, counted.options());
  const at::Tensor first =
      n == 0 ? end.narrow(1, 0, 0)
             : at::cat({end, sorted.narrow(1, 1, n - 1).ne(sorted.narrow(1, 0, n - 1))}, 1);
  const bool weighted = samples.weight.defined();
  const at::Tensor weights = weighted ? rows(samples.weight).gather(1, order) : at::Tensor();
  const auto at_or_above = [&](const at::Tensor &is_hit) {
    if (weighted) { // from above, so that nothing is left where there is nothing
      const at::Tensor hit = weights.masked_fill(is_hit.bitwise_not(), 0);
      const at::Tensor reaching = descending(descending(hit).cumsum(1));
      const at::Tensor at_runs =
          n == 0 ? reaching
                 : std::get<0>(reaching.masked_fill(first.bitwise_not(), INFINITY).cummin(1));
      return std::pair(at::constant_pad_nd(at_runs, {0, 1}, 0), hit.sum(1, /*keepdim=*/true));
    }
    const at::Tensor hit = is_hit.to(at::kLong), total = hit.sum(1, /*keepdim=*/true);
    const at::Tensor below = n == 0 ? hit : of_runs(hit.cumsum(1) - hit, first);
    return std::pair(wide(at::constant_pad_nd(total - below, {0, 1}, 0)), wide(total));
  };
  const auto [tp, positives] = at_or_above(is_positive);
  const auto [fp, negatives] = at_or_above(is_negative);
  const at::Tensor thresholds = rounded_scores(config, sorted).masked_fill(sorted.ne(sorted), 1);
  return {tp, fp, positives, negatives, at::constant_pad_nd(thresholds, {0, 1}, 1), config};
}

CurveMetric::Curves CurveMetric::curves() const {
  if (config().thresholds)
    return {binned(summed(computable_states().front())), out_of_range(), {}};
  const ScoredSamples samples = all_samples();
  const CurveCounts all = exact(samples, config());
  const at::Tensor out_of_range = samples.out_of_range.sum();

  // Of each run of equal scores one point, and none of the samples that do not count.
  const at::Tensor predicted = all.tp + all.fp;
  const int64_t n = predicted.size(1) - 1;
  const at::Tensor above = predicted.narrow(1, 0, n).ne(predicted.narrow(1, 1, n));
  const at::Tensor kept = at::constant_pad_nd(above, {0, 1}, 1);
  const at::Tensor numbers = kept.sum(1, /*keepdim=*/true);
  // NOLINTNEXTLINE(device-host-sync): the length of the result
  const at::Tensor on_host = numbers.cpu();
  const int64_t *data = on_host.const_data_ptr<int64_t>();
  const std::vector<int64_t> lengths(data, data + on_host.numel());
  const int64_t length = *std::max_element(lengths.begin(), lengths.end());
  // The last ones of the result; before them stays what is at the lowest threshold.
  const at::Tensor places =
      (kept.cumsum(1) - 1 + (length - numbers)).masked_fill(kept.bitwise_not(), length);
  const auto points = [&](const at::Tensor &x) {
    return x.narrow(1, 0, 1)
        .expand({x.size(0), length + 1})
        .scatter(1, places, x)
        .narrow(1, 0, length);
  };
  return {CurveCounts{points(all.tp), points(all.fp), all.positives, all.negatives,
                      points(all.thresholds), config()},
          out_of_range, lengths};
}

at::Tensor CurveMetric::in_order(const at::Tensor &x, bool descending) {
  return std::get<0>(x.sort(0, descending));
}

at::Tensor rates(const CurveCounts &counts) {
  return descending(counts.stacked(counts.fpr(), counts.tpr()));
}

at::Tensor CurveMetric::macro(const Curves &all) const {
  return macro(all, [&](const CurveCounts &counts) { return value(counts); });
}

template <class CurveOf>
at::Tensor CurveMetric::macro(const Curves &all, const CurveOf &curve_of) const {
  const TaskConfig config = one_class();
  const int64_t classes = all.counts.tp.size(0);
  std::vector<at::Tensor> xs, ys;
  for (int64_t row = 0; row < classes; ++row) {
    const at::Tensor curve = curve_of(counts_of_row(all, row, config));
    xs.push_back(curve[0]);
    ys.push_back(curve[1]);
  }
  const at::Tensor x = in_order(at::cat(xs), /*descending=*/false);
  at::Tensor y = at::zeros_like(x);
  for (int64_t row = 0; row < classes; ++row)
    y = y + interpolated(x, xs[row], ys[row]);
  return at::stack({x, y / classes});
}

TaskConfig CurveMetric::one_class() const {
  TaskConfig config = this->config();
  config.task = Task::kBinary;
  return config;
}

CurveCounts CurveMetric::counts_of_row(const Curves &curves, int64_t row,
                                       const TaskConfig &config) {
  const CurveCounts &all = curves.counts;
  const int64_t length = curves.lengths.empty() ? all.tp.size(1) : curves.lengths[row];
  const auto own = [&](const at::Tensor &x) {
    return x.narrow(0, row, 1).narrow(1, x.size(1) - length, length);
  };
  return {own(all.tp),
          own(all.fp),
          all.positives.narrow(0, row, 1),
          all.negatives.narrow(0, row, 1),
          curves.lengths.empty() ? all.thresholds : own(all.thresholds),
          config};
}

ClassificationMetric::Verdict CurveMetric::verdict() const {
  if (config().of_curve && config().average == Average::kMacro) {
    const Curves all = curves();
    const at::Tensor curve = macro(all, rates);
    return {config().of_curve(curve[0], curve[1]), all.out_of_range};
  }
  if (config().thresholds || config().is_curve) {
    const Curves all = curves();
    const bool averaged = config().is_curve && config().average == Average::kMacro;
    return {averaged ? macro(all) : value(all.counts), all.out_of_range};
  }
  const ScoredSamples samples = all_samples();
  const at::Tensor out_of_range = samples.out_of_range.sum();
  const int64_t classes = config().classes;
  const int64_t part = std::max<int64_t>(
      sorted_together(samples.scores) / std::max<int64_t>(samples.scores.size(0), 1), 1);
  if (part >= classes || config().average == Average::kMicro)
    return {value(exact(samples, config())), out_of_range};

  TaskConfig each = config();
  each.average = Average::kNone;
  std::vector<at::Tensor> values, positives;
  for (int64_t first = 0; first < classes; first += part) {
    const auto own = [&](const at::Tensor &x) {
      return x.size(1) == 1 ? x : x.narrow(1, first, std::min(part, classes - first));
    };
    const CurveCounts counts = exact(
        {own(samples.scores), own(samples.target), own(samples.counted), {}, samples.weight}, each);
    values.push_back(value(counts));
    positives.push_back(counts.positives);
  }
  const CurveCounts all{{}, {}, at::cat(positives), {}, {}, config()};
  return {all.averaged(at::cat(values, -1)), out_of_range};
}

at::Tensor CurveMetric::out_of_range() const {
  return config().thresholds ? ClassificationMetric::out_of_range()
                             : all_samples().out_of_range.sum();
}

at::Tensor CurveMetric::value(const at::Tensor &counts) const {
  return value(binned(counts));
}

} // namespace devsan::metrics
