#include "metrics/classification/classification_metric.h"

#include <cmath>

#include <ATen/ATen.h>

#include "metrics/detail/wide.h"

namespace devsan::metrics {
namespace {

enum StateIndex { kCounts, kOutOfRange };

} // namespace

ClassificationMetric::ClassificationMetric(const char *formula, const TaskConfig &config,
                                           Tally tally)
    : ClassificationMetric(
          formula, config,
          config.samplewise ? std::vector<StateSpec>{{"counts", {}, StateSpec::Kind::kList},
                                                     {"out_of_range", {1}, StateSpec::Kind::kCount}}
                            : std::vector<StateSpec>{
                                  {"counts", tally_sizes(config, tally), kind_of_counts(config)},
                                  {"out_of_range", {1}, StateSpec::Kind::kCount}}) {
  tally_ = tally;
}

ClassificationMetric::ClassificationMetric(const char *formula, const TaskConfig &config,
                                           std::vector<StateSpec> specs)
    : SupervisedMetric(std::move(specs)), name_(task_name(config.task) + std::string(formula)),
      config_(config) {
  config_.check(name_);
}

std::string ClassificationMetric::state_signature() const {
  return tally_ ? c10::str("tally=", static_cast<int>(*tally_), ", ", config_.state_signature())
                : std::string();
}

BatchCounts ClassificationMetric::count(const at::Tensor &preds, const at::Tensor &target) const {
  return counts_on_cpu(config_, *tally_, preds) ? count_on_cpu(config_, *tally_, preds, target)
                                                : count_on_device(config_, *tally_, preds, target);
}

BatchCounts ClassificationMetric::weigh(const at::Tensor &preds, const at::Tensor &target,
                                        const at::Tensor &weights) const {
  return metrics::weigh(config_, *tally_, preds, target, weights);
}

void ClassificationMetric::check_batch(const at::Tensor &preds, const at::Tensor &target,
                                       const at::Tensor &weight) const {
  if (weight.defined())
    check_inputs({{"preds", preds}, {"target", target}, {"weight", weight}});
  else
    check_inputs({{"preds", preds}, {"target", target}});
  check_shapes(config_, name_, preds, target);
  if (weight.defined())
    check_weights(config_, name_, whole_samples(), target, weight);
}

void ClassificationMetric::update(const at::Tensor &preds, const at::Tensor &target,
                                  const at::Tensor &weight) {
  check_batch(preds, target, weight);
  if (config_.samplewise) {
    update_each(preds, target);
    return;
  }

  const StateScope scope;
  const Accumulation format = accumulation_on(preds.device());
  const BatchCounts batch = counted(preds, target, weight);
  if (validates_eagerly(config_.validate, preds) && batch.out_of_range.defined()) {
    // NOLINTNEXTLINE(device-host-sync): the CPU's own memory, or asked for by Validate::kEager
    const auto out_of_range = batch.out_of_range.item<int64_t>();
    if (out_of_range && preds.is_cpu())
      refuse_other_classes(config_, name_, preds, target);
    refuse_out_of_range(config_, name_, out_of_range, target.numel());
  }

  std::vector<at::Tensor> states = states_on(preds.device());
  const at::Tensor &counts = states[kCounts];
  const bool alone = holds_alone(counts);
  if (batch.out_of_range.defined())
    states[kOutOfRange] = states[kOutOfRange] + batch.out_of_range;
  states[kCounts] =
      config_.weighted
          ? (detail::Wide::from_state(counts) + detail::Wide::from(batch.counts, format)).to_state()
          : added(counts, batch, alone);
  set_states(std::move(states));
}

BatchCounts ClassificationMetric::counted(const at::Tensor &preds, const at::Tensor &target,
                                          const at::Tensor &weight) const {
  const auto counts = [&](const at::Tensor &scores) {
    return config_.weighted
               ? weigh(scores, target,
                       sample_weights(config_, whole_samples(), target, weight,
                                      detail::base_dtype(accumulation_on(preds.device()))))
               : count(scores, target);
  };
  if (!preds.is_cpu())
    return counts(as_probabilities(config_, preds, target));
  // Probabilities are read once: only what is out of range may be a logit.
  BatchCounts batch = counts(preds);
  // NOLINTNEXTLINE(device-host-sync): the CPU's own memory
  if (!batch.out_of_range.defined() || batch.out_of_range.item<int64_t>() == 0)
    return batch;
  const at::Tensor scores = as_probabilities(config_, preds, target);
  return scores.is_same(preds) ? batch : counts(scores);
}

void ClassificationMetric::update_each(const at::Tensor &preds, const at::Tensor &target) {
  TORCH_CHECK(
      target.dim() >= (config_.task == Task::kMultilabel ? 3 : 2), name_, ": `target` has shape ",
      target.sizes(),
      ", but for a score of each sample there has to be a dimension more; pass it, or leave "
      "multidim_average at kGlobal");
  const StateScope scope;
  const BatchCounts batch =
      count_each(config_, *tally_, as_probabilities(config_, preds, target), target);
  if (validates_eagerly(config_.validate, preds)) {
    // NOLINTNEXTLINE(device-host-sync): the CPU's own memory, or asked for by Validate::kEager
    refuse_out_of_range(config_, name_, batch.out_of_range.item<int64_t>(), target.numel());
  }
  append({batch.counts});
  std::vector<at::Tensor> states = states_on(preds.device());
  states[kOutOfRange] = states[kOutOfRange] + batch.out_of_range;
  set_states(std::move(states));
}

void ClassificationMetric::check_loaded(const std::vector<at::Tensor> &states) const {
  const at::Tensor &counts = states[kCounts];
  TORCH_CHECK(!config_.samplewise || counts.size(0) == 0 ||
                  (counts.scalar_type() == at::kLong &&
                   counts.sizes().slice(1) == at::IntArrayRef(tally_sizes(config_, *tally_))),
              name_, ": `counts` is ", counts.scalar_type(), " of shape ", counts.sizes(),
              ", but each sample has Long counts of shape ",
              at::IntArrayRef(tally_sizes(config_, *tally_)));
}

at::Tensor ClassificationMetric::summed(const at::Tensor &state) const {
  if (config_.samplewise && state.size(0) == 0) { // of nothing the list does not know the shape
    std::vector<int64_t> sizes = tally_sizes(config_, *tally_);
    sizes.insert(sizes.begin(), 0);
    return at::zeros(sizes, state.options().dtype(at::kLong));
  }
  return config_.weighted ? detail::Wide::from_state(state).rounded() : state;
}

ClassificationMetric::Verdict ClassificationMetric::verdict() const {
  return {value(summed(computable_states()[kCounts])), out_of_range()};
}

at::Tensor ClassificationMetric::out_of_range() const {
  return computable_states()[kOutOfRange];
}

at::Tensor ClassificationMetric::compute() const {
  const StateScope scope;
  return shown(verdict());
}

at::Tensor ClassificationMetric::shown(const Verdict &verdict) const {
  const at::Tensor &result = verdict.value;
  const bool counts = at::isIntegralType(result.scalar_type(), /*includeBool=*/false);
  at::Tensor shown = counts ? result : result.to(at::kFloat);
  if (verdict.out_of_range.is_cpu()) {
    check_none_left_out(config_, name_, verdict.out_of_range);
    return shown;
  }
  const at::Tensor invalid = verdict.out_of_range.gt(0).reshape({});
  return counts ? shown.masked_fill(invalid, -1) : shown.masked_fill(invalid, NAN);
}

void ClassificationMetric::check_valid() const {
  const StateScope scope;
  check_none_left_out(config_, name_, out_of_range());
}

void warn_of_zeros(const at::Tensor &numbers, const char *text) {
  if (!numbers.is_cpu())
    return;
  // NOLINTNEXTLINE(device-host-sync): the CPU's own memory
  const auto zeros = numbers.eq(0).sum().item<int64_t>();
  if (zeros > 0)
    TORCH_WARN(zeros, text);
}

at::Tensor wide(const at::Tensor &counts) {
  const bool has_double = default_accumulation(counts.device()) == Accumulation::kDouble;
  return counts.to(has_double ? at::kDouble : at::kFloat);
}

} // namespace devsan::metrics
