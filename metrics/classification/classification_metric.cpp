#include "metrics/classification/classification_metric.h"

#include <cmath>

#include <ATen/ATen.h>

namespace devsan::metrics {
namespace {

enum StateIndex { kCounts, kOutOfRange };

const char *task_name(Task task) {
  switch (task) {
  case Task::kBinary:
    return "Binary";
  case Task::kMulticlass:
    return "Multiclass";
  case Task::kMultilabel:
    return "Multilabel";
  }
  return "";
}

// What is wrong with samples out of range, and what to do: for after "N samples ".
std::string fault(const TaskConfig &config, const char *verb, const char *consequence) {
  const char *const ignore = "or name the value that marks unlabelled samples as ignore_index";
  const char *const logits = config.from_logits ? "" : "say from_logits(true) of logits, ";
  const char *const score = config.from_logits ? "NaN" : "no probability in [0, 1]";
  if (config.thresholds) {
    const std::string classes = config.task == Task::kMulticlass
                                    ? c10::str("outside [0, ", config.classes, ")")
                                    : "other than 0 and 1";
    return c10::str(verb, " a target ", classes, ", or a score that is ", score, consequence,
                    "; correct them, ", logits, ignore);
  }
  if (config.task == Task::kMulticlass)
    return c10::str(verb, " a target (or predicted label) outside [0, ", config.classes, ")",
                    consequence, "; correct them, ", ignore);
  return c10::str(verb, " a target (or predicted label) other than 0 and 1, or a score that is ",
                  score, consequence, "; correct them, ", logits, ignore);
}

} // namespace

ClassificationMetric::ClassificationMetric(const char *formula, const TaskConfig &config,
                                           Tally tally)
    : ClassificationMetric(formula, config, tally_sizes(config, tally)) {
  tally_ = tally;
}

ClassificationMetric::ClassificationMetric(const char *formula, const TaskConfig &config,
                                           std::vector<int64_t> sizes)
    : SupervisedMetric({{"counts", std::move(sizes), StateSpec::Kind::kCount},
                        {"out_of_range", {1}, StateSpec::Kind::kCount}}),
      name_(std::string(task_name(config.task)) + formula), config_(config) {
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
    const auto number = batch.out_of_range.item<int64_t>();
    TORCH_CHECK(number == 0, name_, ": ", number, " of ", target.numel(), " samples ",
                fault(config_, "have", ""));
  }

  std::vector<at::Tensor> states = states_on(preds.device());
  const at::Tensor &counts = states[kCounts];
  const bool alone = holds_alone(counts);
  if (batch.out_of_range.defined())
    states[kOutOfRange] = states[kOutOfRange] + batch.out_of_range;
  states[kCounts] = added(counts, batch, alone);
  set_states(std::move(states));
}

at::Tensor ClassificationMetric::compute() const {
  const StateScope scope;
  const std::vector<at::Tensor> &states = computable_states();
  const at::Tensor &out_of_range = states[kOutOfRange];
  const at::Tensor result = value(states[kCounts]);
  const bool counts = at::isIntegralType(result.scalar_type(), /*includeBool=*/false);
  const at::Tensor shown = counts ? result : result.to(at::kFloat);
  if (out_of_range.is_cpu()) {
    check_valid();
    return shown;
  }
  const at::Tensor invalid = out_of_range.gt(0).squeeze(0);
  return counts ? shown.masked_fill(invalid, -1) : shown.masked_fill(invalid, NAN);
}

void ClassificationMetric::check_valid() const {
  const auto number = computable_states()[kOutOfRange].item<int64_t>();
  TORCH_CHECK(number == 0, name_, ": ", number, " samples ",
              fault(config_, "had", " and were left out"));
}

at::Tensor wide(const at::Tensor &counts) {
  const bool has_double = default_accumulation(counts.device()) == Accumulation::kDouble;
  return counts.to(has_double ? at::kDouble : at::kFloat);
}

} // namespace devsan::metrics
