#include "metrics/classification/counts.h"

#include <algorithm>

#include <ATen/ATen.h>

namespace devsan::metrics {
namespace {

// How often each of the `bins` numbers from 0 occurs, or with weights, how much; `indices` may hold
// `bins` for nowhere.
at::Tensor count_indices(const at::Tensor &indices, int64_t bins, const at::Tensor &weights) {
  const at::Tensor each = weights.defined() ? weights : at::ones_like(indices);
  return at::zeros({bins + 1}, each.options()).scatter_add(0, indices, each).narrow(0, 0, bins);
}

// How many of `hits` (bool) there are, or with weights, one for each row, how much.
at::Tensor number(const at::Tensor &hits, const at::Tensor &weights,
                  at::OptionalIntArrayRef dims = std::nullopt) {
  if (!weights.defined())
    return hits.sum(dims);
  const at::Tensor each = hits.dim() == 1 ? weights : weights.unsqueeze(-1);
  return each.expand_as(hits).masked_fill(hits.bitwise_not(), 0).sum(dims);
}

at::Tensor count_classes(const TaskConfig &config, Tally tally, const Samples &batch,
                         const at::Tensor &weights) {
  const int64_t classes = config.classes;
  const at::Tensor uncounted = batch.counted.bitwise_not();
  if (tally == Tally::kMatrix)
    return count_indices(
        (batch.target * classes + batch.predicted).masked_fill(uncounted, classes * classes),
        classes * classes, weights);
  const at::Tensor correct = batch.predicted.eq(batch.target).bitwise_and(batch.counted);
  if (tally == Tally::kTotals)
    return at::stack({number(correct, weights), number(batch.counted, weights)});
  // One histogram for the three counts, each in bins of its own.
  const int64_t bins = 3 * classes;
  return count_indices(
      at::cat({batch.target.masked_fill(correct.bitwise_not(), bins),
               (batch.target + kTargets * classes).masked_fill(uncounted, bins),
               (batch.predicted + kPredictions * classes).masked_fill(uncounted, bins)}),
      bins, weights.defined() ? weights.repeat({3}) : weights);
}

at::Tensor count_labels(Tally tally, const Samples &batch, const at::Tensor &weights) {
  const at::Tensor &counted = batch.counted;
  const at::Tensor target = batch.target.bitwise_and(counted);
  const at::Tensor predicted = batch.predicted.bitwise_and(counted);
  const at::Tensor both = target.bitwise_and(predicted);
  const auto sums = [&](const std::vector<at::Tensor> &hits) {
    if (!weights.defined())
      return at::stack(hits).sum(1);
    std::vector<at::Tensor> each;
    for (const at::Tensor &hit : hits)
      each.push_back(number(hit, weights, 0));
    return at::stack(each);
  };
  if (tally == Tally::kMatrix) {
    const at::Tensor neither = counted.bitwise_and(target.bitwise_or(predicted).bitwise_not());
    return sums({neither, predicted.bitwise_xor(both), target.bitwise_xor(both), both}).t();
  }
  const at::Tensor each = sums({both, target, predicted, counted});
  return tally == Tally::kTotals ? each.sum(1) : each;
}

// Whether each sample is right as a whole, and whether it counts. What is ignored is never wrong.
struct WholeSamples {
  at::Tensor right, included;
};

WholeSamples whole_samples(const Samples &batch) {
  // Rows are what has to be right together.
  const auto rows = [&](const at::Tensor &x) {
    return x.dim() == 2 ? x : x.view({batch.inner ? x.numel() / batch.inner : 0, batch.inner});
  };
  const at::Tensor wrong = batch.predicted.ne(batch.target).bitwise_and(batch.counted);
  const at::Tensor included = rows(batch.out_of_range).any(1).bitwise_not();
  return {included.bitwise_and(rows(wrong).any(1).bitwise_not()), included};
}

} // namespace

std::vector<int64_t> tally_sizes(const TaskConfig &config, Tally tally) {
  const bool multiclass = config.task == Task::kMulticlass;
  switch (tally) {
  case Tally::kTotals:
    return {multiclass ? 2 : 4, 1};
  case Tally::kMargins:
    return {multiclass ? 3 : 4, config.classes};
  case Tally::kMatrix:
    if (config.task == Task::kMultilabel)
      return {config.classes, 2, 2};
    return std::vector<int64_t>(2, multiclass ? config.classes : 2);
  case Tally::kSamples:
    return {2};
  }
  return {};
}

at::Tensor added(const at::Tensor &state, const BatchCounts &batch, bool may_change) {
  const bool in_place = may_change && state.is_cpu() && state.is_contiguous();
  if (!in_place && batch.counts.defined())
    return state + batch.counts;
  // No more of a large state is touched than changes.
  const at::Tensor sum = in_place ? state : state.clone(at::MemoryFormat::Contiguous);
  int64_t *to = sum.mutable_data_ptr<int64_t>();
  if (batch.counts.defined()) {
    const int64_t *counts = batch.counts.const_data_ptr<int64_t>();
    for (int64_t i = 0; i < sum.numel(); ++i)
      to[i] += counts[i];
  } else {
    const int64_t *place = batch.places.const_data_ptr<int64_t>();
    for (int64_t i = 0; i < batch.places.numel(); ++i)
      if (place[i] >= 0)
        ++to[place[i]];
  }
  return sum;
}

BatchCounts count_each(const TaskConfig &config, Tally tally, const at::Tensor &preds,
                       const at::Tensor &target) {
  const Samples batch = samples(config, preds, target);
  const int64_t n = target.size(0), inner = batch.inner;
  std::vector<int64_t> sizes = tally_sizes(config, tally);
  sizes.insert(sizes.begin(), n);
  at::Tensor counts;
  if (tally == Tally::kSamples) {
    const auto [right, included] = whole_samples(batch);
    // Of a sample without parts nothing is counted.
    const int64_t parts = config.task == Task::kMultilabel ? inner : std::min<int64_t>(inner, 1);
    counts = at::stack({right, included}, -1).view({n, parts, 2}).sum(1);
  } else if (config.task != Task::kMulticlass) {
    const at::Tensor wanted = batch.target.bitwise_and(batch.counted);
    const at::Tensor predicted = batch.predicted.bitwise_and(batch.counted);
    const at::Tensor all =
        at::stack({wanted.bitwise_and(predicted), wanted, predicted, batch.counted})
            .view({4, n, inner, config.classes})
            .sum(2);
    counts = (tally == Tally::kTotals ? all.sum(2, /*keepdim=*/true) : all).transpose(0, 1);
  } else {
    const at::Tensor correct = batch.predicted.eq(batch.target).bitwise_and(batch.counted);
    if (tally == Tally::kTotals) {
      counts = at::stack({correct, batch.counted}).view({2, n, inner}).sum(2).t();
    } else {
      // As count_classes(), with bins of its own for each sample.
      const int64_t bins = 3 * config.classes, nowhere = n * bins;
      const at::Tensor own = (at::arange(n, batch.target.options()) * bins)
                                 .unsqueeze(1)
                                 .expand({n, inner})
                                 .reshape(-1);
      const at::Tensor uncounted = batch.counted.bitwise_not();
      const at::Tensor target_bin = batch.target + own, predicted_bin = batch.predicted + own;
      counts = count_indices(
          at::cat(
              {target_bin.masked_fill(correct.bitwise_not(), nowhere),
               (target_bin + kTargets * config.classes).masked_fill(uncounted, nowhere),
               (predicted_bin + kPredictions * config.classes).masked_fill(uncounted, nowhere)}),
          nowhere, {});
    }
  }
  return {counts.reshape(sizes), {}, batch.out_of_range.sum()};
}

BatchCounts weigh(const TaskConfig &config, Tally tally, const at::Tensor &preds,
                  const at::Tensor &target, const at::Tensor &weights) {
  const Samples batch = samples(config, preds, target);
  at::Tensor counts;
  if (tally == Tally::kSamples) {
    const auto [right, included] = whole_samples(batch);
    counts = at::stack({number(right, weights), number(included, weights)});
  } else {
    counts = config.task == Task::kMulticlass ? count_classes(config, tally, batch, weights)
                                              : count_labels(tally, batch, weights);
  }
  return {counts.reshape(tally_sizes(config, tally)), {}, batch.out_of_range.sum()};
}

BatchCounts count_on_device(const TaskConfig &config, Tally tally, const at::Tensor &preds,
                            const at::Tensor &target) {
  return weigh(config, tally, preds, target, {});
}

} // namespace devsan::metrics
