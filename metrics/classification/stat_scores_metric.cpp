#include "metrics/classification/stat_scores_metric.h"

#include <ATen/ATen.h>

namespace devsan::metrics {
namespace {

bool over_all_classes(const TaskConfig &config) {
  return config.average == Average::kMicro && !config.by_class;
}

} // namespace

at::Tensor StatCounts::averaged(const at::Tensor &score, Appearing appearing) const {
  if (config.task == Task::kBinary || config.average == Average::kMicro)
    return score.squeeze(-1);
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
  return safe_divide((score * weights).sum(-1), weights.sum(-1));
}

StatScoresMetric::StatScoresMetric(const char *formula, const TaskConfig &config)
    : ClassificationMetric(formula, config,
                           over_all_classes(config) ? Tally::kTotals : Tally::kMargins) {}

at::Tensor StatScoresMetric::value(const at::Tensor &counts) const {
  const std::vector<at::Tensor> rows = counts.unbind(-2);
  const at::Tensor &tp = rows[kTruePositives], &targets = rows[kTargets];
  const bool multiclass = config().task == Task::kMulticlass;
  const bool over_all = over_all_classes(config());
  const at::Tensor &predictions = multiclass && over_all ? targets : rows[kPredictions];
  // How often a class could have been right or wrong.
  const at::Tensor all = !multiclass ? rows[kCounted]
                         : over_all  ? targets * config().classes
                                     : targets.sum(-1, /*keepdim=*/true);
  const at::Tensor fp = predictions - tp;
  const at::Tensor exact = at::stack({tp, fp, all - targets - fp, targets - tp});
  const std::vector<at::Tensor> real = wide(exact).unbind();
  return value(StatCounts{exact, real[0], real[1], real[2], real[3], config()});
}

} // namespace devsan::metrics
