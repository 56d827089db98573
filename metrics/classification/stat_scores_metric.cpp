#include "metrics/classification/stat_scores_metric.h"

#include <ATen/ATen.h>

namespace devsan::metrics {
namespace {

// Rows of the counts. A sample of several classes has one target, so that the sum of the targets
// tells how many there are; labels are counted each on its own and need a row for it. Over all
// classes, the targets are as many as the predictions.
enum CountRow { kTruePositives, kTargets, kPredictions, kCounted };

bool over_all_classes(const TaskConfig &config) {
  return config.average == Average::kMicro && !config.by_class;
}

std::vector<int64_t> count_sizes(const TaskConfig &config, bool one_row) {
  if (config.task == Task::kMulticlass)
    return one_row ? std::vector<int64_t>{2, 1} : std::vector<int64_t>{3, config.classes};
  return {4, one_row ? 1 : config.classes};
}

at::Tensor count_classes(const Samples &batch, int64_t classes, bool one_row) {
  const at::Tensor correct = batch.predicted.eq(batch.target).bitwise_and(batch.counted);
  if (one_row)
    return at::stack({correct.sum(), batch.counted.sum()}).unsqueeze(1);
  // One histogram for the three counts, each in bins of its own; whatever does not count goes to
  // the bin after the last.
  const int64_t nowhere = 3 * classes;
  const at::Tensor uncounted = batch.counted.bitwise_not();
  const at::Tensor bins =
      at::cat({batch.target.masked_fill(correct.bitwise_not(), nowhere),
               (batch.target + kTargets * classes).masked_fill(uncounted, nowhere),
               (batch.predicted + kPredictions * classes).masked_fill(uncounted, nowhere)});
  return at::zeros({nowhere + 1}, bins.options())
      .scatter_add(0, bins, at::ones_like(bins))
      .narrow(0, 0, nowhere)
      .view({3, classes});
}

at::Tensor count_labels(const Samples &batch, bool one_row) {
  const at::Tensor target = batch.target.bitwise_and(batch.counted);
  const at::Tensor predicted = batch.predicted.bitwise_and(batch.counted);
  const at::Tensor sums =
      at::stack({target.bitwise_and(predicted), target, predicted, batch.counted}).sum(1);
  return one_row ? sums.sum(1, /*keepdim=*/true) : sums;
}

} // namespace

at::Tensor StatCounts::averaged(const at::Tensor &score, Appearing appearing) const {
  if (config.task == Task::kBinary || config.average == Average::kMicro)
    return score.squeeze(0);
  if (config.average == Average::kNone)
    return score;
  at::Tensor weights;
  if (config.average == Average::kWeighted)
    weights = tp + fn;
  else if (!multiclass())
    weights = at::ones_like(score);
  else if (appearing == Appearing::kTopKAsTarget && config.top_k > 1)
    weights = (tp + fn).gt(0).to(score.scalar_type());
  else
    weights = (tp + fn + fp).gt(0).to(score.scalar_type());
  return safe_divide((score * weights).sum(), weights.sum());
}

StatScoresMetric::StatScoresMetric(const char *formula, const TaskConfig &config)
    : ClassificationMetric(formula, config, count_sizes(config, over_all_classes(config))) {}

at::Tensor StatScoresMetric::count(const Samples &samples) const {
  return config().task == Task::kMulticlass
             ? count_classes(samples, config().classes, over_all_classes(config()))
             : count_labels(samples, over_all_classes(config()));
}

at::Tensor StatScoresMetric::value(const at::Tensor &counts) const {
  const at::Tensor tp = counts[kTruePositives];
  const at::Tensor targets = counts[kTargets];
  const bool multiclass = config().task == Task::kMulticlass;
  const at::Tensor predictions =
      multiclass && over_all_classes(config()) ? targets : counts[kPredictions];
  // How often a class could have been right or wrong.
  const at::Tensor all = !multiclass                  ? counts[kCounted]
                         : over_all_classes(config()) ? targets * config().classes
                                                      : targets.sum();
  const at::Tensor fp = predictions - tp;
  const at::Tensor exact = at::stack({tp, fp, all - targets - fp, targets - tp});
  const at::Tensor real = wide(exact);
  return value(StatCounts{exact, real[0], real[1], real[2], real[3], config()});
}

} // namespace devsan::metrics
