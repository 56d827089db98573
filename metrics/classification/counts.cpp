#include "metrics/classification/counts.h"

#include <ATen/ATen.h>

namespace devsan::metrics {
namespace {

// How often each of the `bins` numbers from 0 occurs; `indices` may hold `bins` for nowhere.
at::Tensor count_indices(const at::Tensor &indices, int64_t bins) {
  return at::zeros({bins + 1}, indices.options())
      .scatter_add(0, indices, at::ones_like(indices))
      .narrow(0, 0, bins);
}

at::Tensor count_classes(const TaskConfig &config, Tally tally, const Samples &batch) {
  const int64_t classes = config.classes;
  const at::Tensor uncounted = batch.counted.bitwise_not();
  if (tally == Tally::kMatrix)
    return count_indices(
        (batch.target * classes + batch.predicted).masked_fill(uncounted, classes * classes),
        classes * classes);
  const at::Tensor correct = batch.predicted.eq(batch.target).bitwise_and(batch.counted);
  if (tally == Tally::kTotals)
    return at::stack({correct.sum(), batch.counted.sum()});
  // One histogram for the three counts, each in bins of its own.
  const int64_t bins = 3 * classes;
  return count_indices(
      at::cat({batch.target.masked_fill(correct.bitwise_not(), bins),
               (batch.target + kTargets * classes).masked_fill(uncounted, bins),
               (batch.predicted + kPredictions * classes).masked_fill(uncounted, bins)}),
      bins);
}

at::Tensor count_labels(Tally tally, const Samples &batch) {
  const at::Tensor &counted = batch.counted;
  const at::Tensor target = batch.target.bitwise_and(counted);
  const at::Tensor predicted = batch.predicted.bitwise_and(counted);
  const at::Tensor both = target.bitwise_and(predicted);
  if (tally == Tally::kMatrix) {
    const at::Tensor neither = counted.bitwise_and(target.bitwise_or(predicted).bitwise_not());
    return at::stack({neither, predicted.bitwise_xor(both), target.bitwise_xor(both), both})
        .sum(1)
        .t();
  }
  const at::Tensor sums = at::stack({both, target, predicted, counted}).sum(1);
  return tally == Tally::kTotals ? sums.sum(1) : sums;
}

at::Tensor count_whole_samples(const Samples &batch) {
  // Rows are what has to be right together.
  const auto rows = [&](const at::Tensor &x) {
    return x.dim() == 2 ? x : x.view({batch.inner ? x.numel() / batch.inner : 0, batch.inner});
  };
  const at::Tensor wrong = batch.predicted.ne(batch.target).bitwise_and(batch.counted);
  const at::Tensor included =
      rows(batch.counted).any(1).bitwise_and(rows(batch.out_of_range).any(1).bitwise_not());
  const at::Tensor right = included.bitwise_and(rows(wrong).any(1).bitwise_not());
  return at::stack({right.sum(), included.sum()});
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

BatchCounts count_on_device(const TaskConfig &config, Tally tally, const at::Tensor &preds,
                            const at::Tensor &target) {
  const Samples batch = samples(config, preds, target);
  const at::Tensor counts = tally == Tally::kSamples           ? count_whole_samples(batch)
                            : config.task == Task::kMulticlass ? count_classes(config, tally, batch)
                                                               : count_labels(tally, batch);
  return {counts.reshape(tally_sizes(config, tally)), {}, batch.out_of_range.sum()};
}

} // namespace devsan::metrics
