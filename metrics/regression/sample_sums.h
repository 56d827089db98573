// Metrics whose value follows from sums over the samples: the mean squared error and its kin. A
// metric writes its terms of one batch and, where it is not simply their mean, its value; how they
// are accumulated, merged, validated and returned is written here once.
//
// The inputs are widened before anything is computed, so that neither half precision nor a large
// offset of both inputs costs digits. A batch is reduced by ATen's pairwise sum in the base dtype
// of the accumulation format and added to the state in the format itself.
#pragma once

#include "metrics/regression/regression_metric.h"
#include "metrics/validate.h"
#include "metrics/weighted_metric.h"

namespace devsan::metrics {

class SampleSums : public RegressionMetric, public WeightedMetric {
public:
  // terms() and fused() of a metric, where both are one formula: see formula_of().
  struct Formula {
    std::vector<at::Tensor> (*terms)(const at::Tensor &preds, const at::Tensor &target);
    std::optional<std::vector<double>> (*fused)(const at::Tensor &preds, const at::Tensor &target,
                                                detail::Adding adding);
  };

  // preds, target  real tensors of one shape and of any dtypes but bool; N may be 0.
  //   per element  any shape for one output, else [N, num_outputs]
  //   per row      [N, D], D >= 1
  // Which of both, and which values it is defined for, is said by the metric. NaN and infinity
  // propagate to the results of their output.
  void update(const at::Tensor &preds, const at::Tensor &target) override {
    update(preds, target, at::Tensor());
  }

  // weight  of each sample: of the inputs' shape for one output per element, else [N]. Sums and
  //         means are weighted ones.
  void update(const at::Tensor &preds, const at::Tensor &target, const at::Tensor &weight) override;

  // [] for one output, [num_outputs] otherwise, of the option's dtype; NaN where there were no
  // samples, or weights of sum 0. Where deferred validation has met samples that the metric is not
  // defined for, it throws for states on the CPU; on other devices, where it must not wait, the
  // result is NaN, and check_valid() tells how many.
  at::Tensor compute() const final;

  // Throws if deferred validation has left out samples. Reads one number from the device.
  void check_valid() const;

protected:
  enum class Samples { kElements, kRows };

  // What a metric is defined for, and when others are noticed.
  struct Domain {
    std::string text; // after "is defined for", e.g. "preds > 0"
    Validate validate;
  };

  struct Traits {
    std::vector<std::string> sums;                 // the names of the states
    std::optional<Formula> formula = std::nullopt; // none: the metric overrides terms() at least
    Samples samples = Samples::kElements;
    // Of rows: what an error says that they have to be.
    std::string rows = {};
    int64_t num_outputs = 1;
    at::ScalarType dtype = at::kFloat;
    std::optional<Accumulation> accumulation;
    std::optional<Domain> domain = std::nullopt; // none: defined for all values; else one output
  };

  explicit SampleSums(Traits traits);

  // The summands of each sum, [N, num_outputs]. `preds` and `target` are [N, num_outputs], or
  // [N, D], in the base dtype.
  virtual std::vector<at::Tensor> terms(const at::Tensor &preds, const at::Tensor &target) const;

  // The same sums of one output, computed in one pass on the CPU where fused_sums() can; none:
  // terms() does it. None, too, where a sample is outside the domain.
  virtual std::optional<std::vector<double>> fused(const at::Tensor &preds,
                                                   const at::Tensor &target) const;

  // The samples outside the domain, bool [N, 1]; asked for only where there is one. NaN is inside.
  virtual at::Tensor outside_domain(const at::Tensor &preds, const at::Tensor &target) const;

  // The result before it is shaped, [num_outputs].
  virtual at::Tensor value() const { return mean(); }

  // For value(): a sum, and the first sum over the number, or weight, of the samples.
  at::Tensor sum(size_t index = 0) const;
  at::Tensor mean() const;

private:
  static std::vector<StateSpec> specs(const Traits &traits);
  void check_rows(const at::Tensor &preds, const at::Tensor &target) const;
  at::Tensor samples(const char *input_name, const at::Tensor &input) const;
  bool update_fused(const at::Tensor &preds, const at::Tensor &target);

  Traits traits_;
};

} // namespace devsan::metrics
