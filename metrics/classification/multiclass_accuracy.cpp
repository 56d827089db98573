#include "metrics/classification/multiclass_accuracy.h"

#include <cmath>

#include <ATen/ATen.h>

#include "metrics/functional/safe_divide.h"

namespace devsan::metrics {
namespace {

enum StateIndex { kCounts, kOutOfRange };
enum CountRow { kCorrect, kTargets, kPredictions, kRows };

bool is_integer(const at::Tensor &x) {
  return at::isIntegralType(x.scalar_type(), /*includeBool=*/false);
}

// Micro averages need the two totals alone.
std::vector<int64_t> count_sizes(const MulticlassAccuracyOptions &options) {
  return options.average() == Average::kMicro ? std::vector<int64_t>{2, 1}
                                              : std::vector<int64_t>{kRows, options.num_classes()};
}

} // namespace

MulticlassAccuracy::MulticlassAccuracy(const MulticlassAccuracyOptions &options)
    : SupervisedMetric({{"counts", count_sizes(options), StateSpec::Kind::kCount},
                        {"out_of_range", {1}, StateSpec::Kind::kCount}}),
      options_(options) {
  TORCH_CHECK(options.num_classes() >= 2, "MulticlassAccuracy: num_classes is ",
              options.num_classes(), "; pass at least 2");
  TORCH_CHECK(options.top_k() >= 1 && options.top_k() <= options.num_classes(),
              "MulticlassAccuracy: top_k is ", options.top_k(),
              "; pass a number from 1 to num_classes, ", options.num_classes());
}

void MulticlassAccuracy::check_shapes(const at::Tensor &preds, const at::Tensor &target) const {
  TORCH_CHECK(is_integer(target), name(), ": `target` has dtype ", target.scalar_type(),
              "; pass class indices of an integer dtype");
  TORCH_CHECK(target.dim() >= 1, name(), ": `target` has shape ", target.sizes(),
              "; pass [N, ...]");
  if (is_integer(preds)) {
    TORCH_CHECK(options_.top_k() == 1, name(), ": `preds` holds labels (", preds.scalar_type(),
                "), but top_k is ", options_.top_k(), "; pass scores [N, ", options_.num_classes(),
                ", ...]");
    TORCH_CHECK(preds.sizes() == target.sizes(), name(), ": `preds` holds labels (",
                preds.scalar_type(), ") of shape ", preds.sizes(), " but `target` has shape ",
                target.sizes(), "; pass the same shape");
    return;
  }
  TORCH_CHECK(preds.is_floating_point(), name(), ": `preds` has dtype ", preds.scalar_type(),
              "; pass floating scores or integer labels");
  std::vector<int64_t> expected = target.sizes().vec();
  expected.insert(expected.begin() + 1, options_.num_classes());
  TORCH_CHECK(preds.sizes() == at::IntArrayRef(expected), name(), ": `preds` has shape ",
              preds.sizes(), ", but with `target` of shape ", target.sizes(), " and num_classes ",
              options_.num_classes(), " scores have shape ", at::IntArrayRef(expected));
}

MulticlassAccuracy::Samples MulticlassAccuracy::samples(const at::Tensor &preds,
                                                        const at::Tensor &target) const {
  const int64_t classes = options_.num_classes();
  const auto in_range = [&](const at::Tensor &labels) {
    return labels.ge(0).bitwise_and(labels.lt(classes));
  };

  Samples samples;
  samples.target = target.reshape(-1).to(at::kLong);
  const at::Tensor ignored =
      options_.ignore_index()
          ? samples.target.eq(*options_.ignore_index())
          : at::zeros_like(samples.target, samples.target.options().dtype(at::kBool));
  at::Tensor valid = in_range(samples.target);
  if (is_integer(preds)) {
    samples.predicted = preds.reshape(-1).to(at::kLong);
    valid = valid.bitwise_and(in_range(samples.predicted));
  } else {
    const at::Tensor scores = preds.movedim(1, -1).reshape({-1, classes});
    if (options_.top_k() == 1) {
      samples.predicted = scores.argmax(1);
    } else {
      // A target among the best stands for itself, any other sample for its first guess.
      const at::Tensor best = std::get<1>(scores.topk(options_.top_k(), 1));
      const at::Tensor hit = best.eq(samples.target.unsqueeze(1)).any(1);
      samples.predicted = at::where(hit, samples.target, best.select(1, 0));
    }
  }
  samples.out_of_range = ignored.bitwise_or(valid).bitwise_not();
  samples.counted = valid.bitwise_and(ignored.bitwise_not());
  return samples;
}

void MulticlassAccuracy::update(const at::Tensor &preds, const at::Tensor &target) {
  check_inputs({{"preds", preds}, {"target", target}});
  check_shapes(preds, target);

  const StateScope scope;
  const Samples batch = samples(preds, target);
  if (validates_eagerly(options_.validate(), preds)) {
    // NOLINTNEXTLINE(device-host-sync): the CPU's own memory, or asked for by Validate::kEager
    const auto out_of_range = batch.out_of_range.sum().item<int64_t>();
    TORCH_CHECK(out_of_range == 0, name(), ": ", out_of_range, " of ", batch.target.numel(),
                " samples have a target (or predicted label) outside [0, ", options_.num_classes(),
                "); correct them, or name the value that marks unlabelled samples as ignore_index");
  }

  const at::Tensor correct = batch.predicted.eq(batch.target).bitwise_and(batch.counted);
  at::Tensor counts;
  if (options_.average() == Average::kMicro) {
    counts = at::stack({correct.sum(), batch.counted.sum()}).unsqueeze(1);
  } else {
    // One histogram for the three counts, each in bins of its own; whatever does not count goes to
    // the bin after the last.
    const int64_t classes = options_.num_classes();
    const int64_t nowhere = kRows * classes;
    const at::Tensor uncounted = batch.counted.bitwise_not();
    const at::Tensor bins =
        at::cat({batch.target.masked_fill(correct.bitwise_not(), nowhere),
                 (batch.target + kTargets * classes).masked_fill(uncounted, nowhere),
                 (batch.predicted + kPredictions * classes).masked_fill(uncounted, nowhere)});
    counts = at::zeros({nowhere + 1}, bins.options())
                 .scatter_add(0, bins, at::ones_like(bins))
                 .narrow(0, 0, nowhere)
                 .view({kRows, classes});
  }

  std::vector<at::Tensor> states = states_on(preds.device());
  states[kCounts] = states[kCounts] + counts;
  states[kOutOfRange] = states[kOutOfRange] + batch.out_of_range.sum();
  set_states(std::move(states));
}

at::Tensor MulticlassAccuracy::compute() const {
  const StateScope scope;
  const std::vector<at::Tensor> &states = computable_states();
  const at::Tensor &out_of_range = states[kOutOfRange];
  if (out_of_range.is_cpu())
    check_valid();

  const bool wide = default_accumulation(out_of_range.device()) == Accumulation::kDouble;
  const at::Tensor counts = states[kCounts].to(wide ? at::kDouble : at::kFloat);
  const at::Tensor correct = counts[kCorrect];
  const at::Tensor targets = counts[kTargets];
  const at::Tensor score = safe_divide(correct, targets);
  const auto mean = [&](const at::Tensor &weights) {
    return safe_divide((score * weights).sum(), weights.sum());
  };

  at::Tensor result;
  switch (options_.average()) {
  case Average::kMicro:
    result = score.squeeze(0);
    break;
  case Average::kMacro: {
    // With top_k a prediction is no longer one class, so only the targets say which classes appear.
    const at::Tensor seen = options_.top_k() == 1 ? targets + counts[kPredictions] : targets;
    result = mean(seen.gt(0).to(score.scalar_type()));
    break;
  }
  case Average::kWeighted:
    result = mean(targets);
    break;
  case Average::kNone:
    result = score;
    break;
  }
  return result.masked_fill(out_of_range.gt(0).squeeze(0), NAN).to(at::kFloat);
}

void MulticlassAccuracy::check_valid() const {
  const auto out_of_range = computable_states()[kOutOfRange].item<int64_t>();
  TORCH_CHECK(out_of_range == 0, name(), ": ", out_of_range,
              " samples had a target (or predicted label) outside [0, ", options_.num_classes(),
              ") and were left out; correct them, or name the value that marks unlabelled samples "
              "as ignore_index");
}

std::string MulticlassAccuracy::signature() const {
  return c10::str("num_classes=", options_.num_classes(),
                  ", average=", static_cast<int>(options_.average()), ", top_k=", options_.top_k(),
                  ", ignore_index=",
                  options_.ignore_index() ? std::to_string(*options_.ignore_index()) : "none");
}

} // namespace devsan::metrics
