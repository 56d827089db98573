#include "metrics/text/perplexity.h"

#include <ATen/ATen.h>

#include "metrics/classification/log_loss.h"

namespace devsan::metrics {
namespace {

// It is the log loss of logits.
using Loss = LogLossOptions<MulticlassLoss>;

TaskConfig config_of(const PerplexityOptions &options) {
  return TaskConfig(Loss(TaskConfig::kAnyClasses)
                        .ignore_index(options.ignore_index())
                        .validate(options.validate())
                        .from_logits(true));
}

const LogLossFormula &formula() {
  static const LogLossFormula formula{Loss(TaskConfig::kAnyClasses)};
  return formula;
}

} // namespace

Perplexity::Perplexity(const PerplexityOptions &options)
    : SampleLoss("Perplexity", {.config = config_of(options),
                                .of_probabilities = false,
                                .dtype = options.dtype(),
                                .accumulation = options.accumulation()}) {}

void Perplexity::check_shapes(const at::Tensor &preds, const at::Tensor &target) const {
  TORCH_CHECK(preds.is_floating_point(), name(), ": `preds` has dtype ", preds.scalar_type(),
              "; pass floating logits");
  TORCH_CHECK(at::isIntegralType(target.scalar_type(), /*includeBool=*/false), name(),
              ": `target` has dtype ", target.scalar_type(),
              "; pass token indices of an integer dtype");
  TORCH_CHECK(preds.dim() == 3 && preds.size(2) >= 1 && target.dim() == 2 &&
                  preds.sizes().slice(0, 2) == target.sizes(),
              name(), ": `preds` has shape ", preds.sizes(), " and `target` ", target.sizes(),
              "; pass [N, T, C] and [N, T]");
}

at::Tensor Perplexity::rows(const at::Tensor &preds) const {
  const at::Tensor rows = preds.reshape({-1, preds.size(2)});
  return rows.scalar_type() == at::kDouble ? rows : rows.to(at::kFloat);
}

at::Tensor Perplexity::scores(const at::Tensor &rows) const {
  return formula().scores(config(), rows);
}

at::Tensor Perplexity::losses(const at::Tensor &scores, const at::Tensor &target) const {
  return formula().losses(config(), scores, target);
}

void Perplexity::add(const detail::ScoreRows<float> &rows, const double *weight,
                     LossSums &sums) const {
  add_rows(formula(), rows, weight, sums);
}

void Perplexity::add(const detail::ScoreRows<double> &rows, const double *weight,
                     LossSums &sums) const {
  add_rows(formula(), rows, weight, sums);
}

at::Tensor Perplexity::value(const at::Tensor &reduced) const {
  return reduced.exp();
}

} // namespace devsan::metrics
