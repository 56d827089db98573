#include "metrics/classification/classification_metric.h"

#include <cmath>

#include <ATen/ATen.h>

namespace devsan::metrics {
namespace {

enum StateIndex { kCounts, kOutOfRange };

} // namespace

ClassificationMetric::ClassificationMetric(const char *formula, const TaskConfig &config,
                                           Tally tally)
    : ClassificationMetric(formula, config, tally_sizes(config, tally)) {
  tally_ = tally;
}

ClassificationMetric::ClassificationMetric(const char *formula, const TaskConfig &config,
                                           std::vector<int64_t> sizes)
    : ClassificationMetric(
          formula, config,
          std::vector<StateSpec>{{"counts", std::move(sizes), StateSpec::Kind::kCount},
                                 {"out_of_range", {1}, StateSpec::Kind::kCount}}) {}

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

void ClassificationMetric::update(const at::Tensor &preds, const at::Tensor &target) {
  check_inputs({{"preds", preds}, {"target", target}});
  check_shapes(config_, name_, preds, target);

  const StateScope scope;
  const BatchCounts batch = count(preds, target);
  if (validates_eagerly(config_.validate, preds) && batch.out_of_range.defined()) {
    // NOLINTNEXTLINE(device-host-sync): the CPU's own memory, or asked for by Validate::kEager
    refuse(batch.out_of_range.item<int64_t>(), target.numel());
  }

  std::vector<at::Tensor> states = states_on(preds.device());
  const at::Tensor &counts = states[kCounts];
  const bool alone = holds_alone(counts);
  if (batch.out_of_range.defined())
    states[kOutOfRange] = states[kOutOfRange] + batch.out_of_range;
  states[kCounts] = added(counts, batch, alone);
  set_states(std::move(states));
}

ClassificationMetric::Verdict ClassificationMetric::verdict() const {
  return {value(computable_states()[kCounts]), out_of_range()};
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
  const at::Tensor shown = counts ? result : result.to(at::kFloat);
  if (verdict.out_of_range.is_cpu()) {
    check_none(verdict.out_of_range);
    return shown;
  }
  const at::Tensor invalid = verdict.out_of_range.gt(0).reshape({});
  return counts ? shown.masked_fill(invalid, -1) : shown.masked_fill(invalid, NAN);
}

void ClassificationMetric::check_valid() const {
  const StateScope scope;
  check_none(out_of_range());
}

void ClassificationMetric::check_none(const at::Tensor &out_of_range) const {
  const auto number = out_of_range.item<int64_t>();
  TORCH_CHECK(number == 0, name_, ": ", number, " samples ",
              fault(config_, "had", " and were left out"));
}

void ClassificationMetric::refuse(int64_t out_of_range, int64_t samples) const {
  TORCH_CHECK(out_of_range == 0, name_, ": ", out_of_range, " of ", samples, " samples ",
              fault(config_, "have", ""));
}

at::Tensor wide(const at::Tensor &counts) {
  const bool has_double = default_accumulation(counts.device()) == Accumulation::kDouble;
  return counts.to(has_double ? at::kDouble : at::kFloat);
}

} // namespace devsan::metrics
