#include "metrics/wrappers/boot_strapper.h"

#include <ATen/ATen.h>

#include "metrics/detail/host_numbers.h"

namespace devsan::metrics {

BootStrapper::BootStrapper(const SupervisedMetric &base_metric, const BootStrapperOptions &options)
    : options_(options) {
  TORCH_CHECK(options.num_bootstraps() >= 1, name(), ": num_bootstraps is ",
              options.num_bootstraps(), "; pass at least 1");
  TORCH_CHECK(!options.quantile() || (*options.quantile() >= 0 && *options.quantile() <= 1), name(),
              ": quantile is ", options.quantile().value_or(0), "; pass a number in [0, 1]");
  for (int64_t i = 0; i < options.num_bootstraps(); ++i)
    metrics_.push_back(fresh_part("BootStrapper", base_metric));
}

BootStrapper::Draw BootStrapper::draw(int64_t n, at::Device device) const {
  const auto copies = static_cast<int64_t>(metrics_.size());
  const at::TensorOptions indices = at::TensorOptions().dtype(at::kLong);
  switch (options_.sampling_strategy()) {
  case SamplingStrategy::kMultinomial:
    return {at::randint(n, {copies * n}, options_.generator(), indices.device(device)),
            std::vector<int64_t>(metrics_.size(), n)};
  case SamplingStrategy::kPoisson: {
    check_not_captured(device, "the host draws the samples (poisson)");
    const at::Tensor times = at::poisson(at::ones({copies, n}), options_.generator()).to(at::kLong);
    const at::Tensor sample = at::arange(n, indices).expand({copies, n}).reshape(-1);
    const at::Tensor drawn = sample.repeat_interleave(times.view(-1));
    const at::Tensor sizes = times.sum(1);
    const int64_t *first = sizes.const_data_ptr<int64_t>();
    return {detail::from_host(drawn, device), std::vector<int64_t>(first, first + copies)};
  }
  }
  return {};
}

void BootStrapper::update(const at::Tensor &preds, const at::Tensor &target) {
  check_inputs({{"preds", preds}, {"target", target}});
  TORCH_CHECK(preds.dim() >= 1 && target.dim() >= 1 && preds.size(0) == target.size(0), name(),
              ": `preds` has shape ", preds.sizes(), " but `target` ", target.sizes(),
              "; pass [N, ...] with the same N");
  const StateScope scope;
  const int64_t n = preds.size(0);
  Draw drawn{{}, std::vector<int64_t>(metrics_.size(), 0)};
  at::Tensor all_preds = preds, all_target = target;
  if (n != 0) {
    drawn = draw(n, preds.device());
    // Not index_select, which is not implemented for meta tensors.
    all_preds = at::index(preds, {drawn.indices});
    all_target = at::index(target, {drawn.indices});
  }
  all_or_nothing(*metrics_.back(), [&] {
    int64_t start = 0;
    for (size_t i = 0; i < metrics_.size(); ++i) {
      metrics_[i]->update(all_preds.narrow(0, start, drawn.sizes[i]),
                          all_target.narrow(0, start, drawn.sizes[i]));
      start += drawn.sizes[i];
    }
  });
}

at::Tensor BootStrapper::compute() const {
  const StateScope scope;
  std::vector<at::Tensor> values;
  for (const Part &metric : metrics_)
    values.push_back(metric->compute());
  return at::stack(values);
}

torch::OrderedDict<std::string, at::Tensor> BootStrapper::compute_dict() const {
  const StateScope scope;
  const at::Tensor values = compute();
  torch::OrderedDict<std::string, at::Tensor> named("Value");
  if (options_.mean())
    named.insert("mean", values.mean(0));
  if (options_.std())
    named.insert("std", values.std(0));
  if (options_.quantile())
    named.insert("quantile", values.quantile(*options_.quantile(), 0));
  if (options_.raw())
    named.insert("raw", values);
  return named;
}

void BootStrapper::collect(const std::string &prefix, Holders &holders) const {
  for (size_t i = 0; i < metrics_.size(); ++i)
    collect_from(*metrics_[i], prefix + std::to_string(i) + ".", holders);
}

std::string BootStrapper::signature() const {
  return c10::str(metrics_.front()->description(), ", num_bootstraps=", metrics_.size(),
                  ", sampling_strategy=", static_cast<int>(options_.sampling_strategy()));
}

} // namespace devsan::metrics
