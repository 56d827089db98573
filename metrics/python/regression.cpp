// The regression metrics: a line for each, with what its options do not say.

#include "metrics/python/binding.h"

#include "metrics/regression/concordance_corr_coef.h"
#include "metrics/regression/cosine_similarity.h"
#include "metrics/regression/explained_variance.h"
#include "metrics/regression/jensen_shannon_divergence.h"
#include "metrics/regression/kendall_rank_corr_coef.h"
#include "metrics/regression/kl_divergence.h"
#include "metrics/regression/log_cosh_error.h"
#include "metrics/regression/mean_absolute_error.h"
#include "metrics/regression/mean_absolute_percentage_error.h"
#include "metrics/regression/mean_squared_error.h"
#include "metrics/regression/mean_squared_log_error.h"
#include "metrics/regression/pearson_corr_coef.h"
#include "metrics/regression/r2_score.h"
#include "metrics/regression/spearman_corr_coef.h"
#include "metrics/regression/symmetric_mean_absolute_percentage_error.h"
#include "metrics/regression/tweedie_deviance_score.h"
#include "metrics/regression/weighted_mean_absolute_percentage_error.h"

namespace devsan::metrics::python {
namespace {

constexpr const char *kDomain = "regression";

// With TorchMetrics' t_test, that says whether the p-value is wanted, too.
struct KendallOptions : KendallRankCorrCoefOptions {
  TORCH_ARG(bool, t_test) = false;
  // None where no p-value is wanted.
  TORCH_ARG(std::optional<Alternative>, alternative) = Alternative::kTwoSided;
};

struct KendallResult {
  at::Tensor tau, p_value; // the second is undefined where it is not wanted
};

class Kendall : public KendallRankCorrCoef {
public:
  explicit Kendall(const KendallOptions &options)
      : KendallRankCorrCoef(with_alternative(options)), t_test_(options.t_test()) {
    TORCH_CHECK(!t_test_ || options.alternative(),
                "KendallRankCorrCoef: Expected argument `alternative` to be 'two-sided', 'less' or "
                "'greater', as t_test is true, but got None");
  }

  std::unique_ptr<Metric> clone() const override { return std::make_unique<Kendall>(*this); }
  KendallResult result() const { return {compute(), t_test_ ? p_value() : at::Tensor()}; }

private:
  static KendallRankCorrCoefOptions with_alternative(const KendallOptions &options) {
    KendallRankCorrCoefOptions with = options;
    return with.alternative(options.alternative().value_or(Alternative::kTwoSided));
  }

  bool t_test_;
};

} // namespace

template <> struct Fields<KendallResult> {
  static inline const std::vector<std::pair<const char *, at::Tensor KendallResult::*>> kAll = {
      {"tau", &KendallResult::tau}, {"p_value", &KendallResult::p_value}};
};

#define DEVSAN_BIND(Class, function, ...)                                                          \
  bind<Class, Class##Options>(kDomain, #Class, #function, About __VA_ARGS__);

void bind_regression() {
  DEVSAN_BIND(MeanSquaredError, mean_squared_error,
              {.summary = "Mean of (preds - target)^2, or its root.",
               .higher_is_better = false,
               .upper = {}})
  DEVSAN_BIND(MeanAbsoluteError, mean_absolute_error,
              {.summary = "Mean of |preds - target|.", .higher_is_better = false, .upper = {}})
  DEVSAN_BIND(MeanAbsolutePercentageError, mean_absolute_percentage_error,
              {.summary = "Mean of |preds - target| / max(|target|, 1.17e-6); 1 is 100 %.",
               .higher_is_better = false,
               .upper = {}})
  DEVSAN_BIND(
      SymmetricMeanAbsolutePercentageError, symmetric_mean_absolute_percentage_error,
      {.summary = "Mean of 2 |preds - target| / max(|preds| + |target|, 1.17e-6), in [0, 2].",
       .higher_is_better = false,
       .upper = 2.})
  DEVSAN_BIND(
      WeightedMeanAbsolutePercentageError, weighted_mean_absolute_percentage_error,
      {.summary = "Sum of |preds - target| over all samples / max(sum of |target|, 1.17e-6).",
       .higher_is_better = false,
       .upper = {}})
  DEVSAN_BIND(MeanSquaredLogError, mean_squared_log_error,
              {.summary = "Mean of (log(1 + preds) - log(1 + target))^2, for values above -1.",
               .higher_is_better = false,
               .upper = {}})
  DEVSAN_BIND(LogCoshError, log_cosh_error,
              {.summary = "Mean of log(cosh(preds - target)); it does not overflow.",
               .higher_is_better = false,
               .upper = {}})
  DEVSAN_BIND(
      TweedieDevianceScore, tweedie_deviance_score,
      {.summary =
           "Mean deviance of a Tweedie distribution, as scikit-learn's mean_tweedie_deviance.",
       .inputs = {"preds", "targets"},
       .upper = {}})
  DEVSAN_BIND(
      CosineSimilarity, cosine_similarity,
      {.summary =
           R"(Sum or mean over the samples, rows of [N, D], of <preds, target> / (|preds| |target|); NaN where a vector is zero.)",
       .higher_is_better = true,
       .lower = {},
       .upper = {}})
  DEVSAN_BIND(
      KLDivergence, kl_divergence,
      {.summary =
           R"(Kullback-Leibler divergence of the distributions p from q, rows of [N, D], sum p log(p / q) in nats; mean or sum over
the samples.)",
       .higher_is_better = false,
       .inputs = {"p", "q"},
       .upper = {}})
  DEVSAN_BIND(
      JensenShannonDivergence, jensen_shannon_divergence,
      {.summary =
           R"(Jensen-Shannon divergence of the distributions p and q, rows of [N, D], in nats; mean or sum over the samples.)",
       .higher_is_better = false,
       .inputs = {"p", "q"},
       .upper = 0.6931471805599453})
  DEVSAN_BIND(
      R2Score, r2_score,
      {.summary =
           R"(Coefficient of determination, 1 - sum (preds - target)^2 / sum (target - mean target)^2. NaN for fewer than two samples.)",
       .higher_is_better = true,
       .lower = {}})
  DEVSAN_BIND(ExplainedVariance, explained_variance,
              {.summary = "Share of the targets' variance that the predictions explain, 1 - "
                          "var(preds - target) / var(target).",
               .higher_is_better = true,
               .lower = {}})
  DEVSAN_BIND(PearsonCorrCoef, pearson_corrcoef,
              {.summary = "Pearson's correlation coefficient. NaN for fewer than two samples and "
                          "where an input is constant.",
               .lower = -1.})
  DEVSAN_BIND(
      ConcordanceCorrCoef, concordance_corrcoef,
      {.summary =
           R"(Lin's concordance correlation coefficient, 2 cov / (var preds + var target + (mean preds - mean target)^2).)",
       .higher_is_better = true,
       .lower = -1.})
  DEVSAN_BIND(
      SpearmanCorrCoef, spearman_corrcoef,
      {.summary =
           R"(Spearman's rank correlation coefficient. Inputs are kept as they are, without a copy, and must not be written to, which
compute() notices.)",
       .higher_is_better = true,
       .lower = -1.})
  bind<Kendall, KendallOptions>(
      kDomain, "KendallRankCorrCoef", "kendall_rank_corrcoef",
      {.summary =
           R"(Kendall's rank correlation coefficient tau, in O(N log^2 N). Inputs are kept as they are, without a copy, and must not
be written to, which compute() notices.

compute(): tau, or (tau, p_value) with t_test.)",
       .lower = -1.});
}

} // namespace devsan::metrics::python
