#include "metrics/regression/spearman_corr_coef.h"

#include <cmath>

#include <ATen/ATen.h>

namespace devsan::metrics {

SpearmanCorrCoef::SpearmanCorrCoef(const SpearmanCorrCoefOptions &options)
    : RankCorrelation(checked_num_outputs("SpearmanCorrCoef", options.num_outputs()),
                      options.dtype()) {}

at::Tensor SpearmanCorrCoef::compute() const {
  const StateScope scope;
  const All inputs = all();
  if (inputs.n < 2)
    return undefined(inputs);
  // Ranks count from 0.5 here, so that their mean is N / 2 whatever the ties.
  const auto centred_ranks = [&](const at::Tensor &x) {
    const Places at = places(x);
    return at.restored((at.below + at.up_to - inputs.n).to(inputs.base) / 2);
  };
  const at::Tensor dx = centred_ranks(inputs.preds), dy = centred_ranks(inputs.target);
  const at::Tensor xx = dx.square().sum(1), yy = dy.square().sum(1);
  // Exactly 1 where both vary alike, and safe from overflow.
  const at::Tensor r = (dx * dy).sum(1) / (xx * (yy / xx).sqrt());
  return shaped_result(r.clamp(-1, 1).masked_fill(inputs.any_nan, NAN));
}

} // namespace devsan::metrics
