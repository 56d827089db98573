#include "metrics/classification/stat_scores.h"

#include <ATen/ATen.h>

namespace devsan::metrics {

at::Tensor StatScoresFormula::value(const StatCounts &counts) {
  const at::Tensor support = counts.exact[0] + counts.exact[3];
  at::Tensor scores = at::cat({counts.exact, support.unsqueeze(0)}).movedim(0, -1);
  switch (counts.config.task == Task::kBinary ? Average::kMicro : counts.config.average) {
  case Average::kMicro:
    return scores.squeeze(-2);
  case Average::kMacro:
    return wide(scores).mean(-2);
  case Average::kWeighted: {
    const at::Tensor weights = wide(support);
    return safe_divide((wide(scores) * weights.unsqueeze(-1)).sum(-2),
                       weights.sum(-1, /*keepdim=*/true));
  }
  case Average::kNone:
    break;
  }
  return scores;
}

} // namespace devsan::metrics
