#pragma once

#include <optional>

#include <ATen/core/Generator.h>
#include <torch/arg.h>

#include "metrics/wrappers/wrapper_metric.h"

namespace devsan::metrics {

// How a batch of n samples is resampled.
enum class SamplingStrategy {
  kPoisson,     // each sample as often as a Poisson variable of mean 1 says
  kMultinomial, // n samples drawn with replacement
};

struct BootStrapperOptions {
  BootStrapperOptions(int64_t num_bootstraps = 10) : num_bootstraps_(num_bootstraps) {}
  TORCH_ARG(int64_t, num_bootstraps);
  TORCH_ARG(SamplingStrategy, sampling_strategy) = SamplingStrategy::kPoisson;
  // What compute_dict() has.
  TORCH_ARG(bool, mean) = true;
  TORCH_ARG(bool, std) = true;
  TORCH_ARG(std::optional<double>, quantile) = std::nullopt;
  TORCH_ARG(bool, raw) = false;
  // Where the random numbers come from, so that a seed reproduces them: a CPU generator for
  // kPoisson, one of the inputs' device for kMultinomial. By default the global ones. Clones share
  // it.
  TORCH_ARG(std::optional<at::Generator>, generator) = std::nullopt;
};

// How sure a metric is: its values over resampled batches.
//
// update()        as the metric's, for inputs [N, ...]; each of the num_bootstraps copies of the
//                 metric sees a resampling of its own. Does not wait for the device: kMultinomial
//                 draws there; how many samples kPoisson takes has to be known to the host, so that
//                 they are drawn there and their indices copied from pinned memory, 8 bytes for
//                 each sample and bootstrap.
// compute()       [num_bootstraps, ...], the values of the copies.
// compute_dict()  "mean", "std" (by num_bootstraps - 1, so that it is NaN of one), "quantile" and
//                 "raw" of them, as far as asked for. TorchMetrics takes the quantile over all
//                 numbers of a value that is no scalar, this over the bootstraps alone.
class BootStrapper : public WrapperMetric {
public:
  explicit BootStrapper(const SupervisedMetric &base_metric,
                        const BootStrapperOptions &options = {});
  DEVSAN_METRIC(BootStrapper)
  void update(const at::Tensor &preds, const at::Tensor &target) override;
  at::Tensor compute() const override;
  torch::OrderedDict<std::string, at::Tensor> compute_dict() const override;

protected:
  void collect(const std::string &prefix, Holders &holders) const override;
  std::string signature() const override;

private:
  // Which of n samples each copy takes: all of them one after the other, and how many each.
  struct Draw {
    at::Tensor indices; // int64
    std::vector<int64_t> sizes;
  };
  Draw draw(int64_t n, at::Device device) const;

  BootStrapperOptions options_;
  std::vector<Part> metrics_;
};

} // namespace devsan::metrics
