#include "metrics/classification/task.h"

#include <cmath>
#include <limits>

#include <ATen/ATen.h>

#include "metrics/detail/softmax.h"
#include "metrics/detail/text.h"
#include "metrics/weighted_metric.h"

namespace devsan::metrics {
namespace {

bool is_integer(const at::Tensor &x, bool or_bool = false) {
  return at::isIntegralType(x.scalar_type(), /*includeBool=*/or_bool);
}

void check_target(const std::string &name, const at::Tensor &target, const char *of_labels,
                  bool fits) {
  TORCH_CHECK(fits, name, ": Expected argument `target` to be an int or long tensor", of_labels,
              ", but got tensor with dtype ", target.scalar_type());
  TORCH_CHECK(target.dim() >= 1, name, ": `target` has shape ", target.sizes(), "; pass [N, ...]");
}

void check_multiclass(const TaskConfig &config, const std::string &name, const at::Tensor &preds,
                      const at::Tensor &target) {
  check_target(name, target, "", is_integer(target));
  if (is_integer(preds)) {
    TORCH_CHECK(config.top_k == 1, name, ": `preds` holds labels (", preds.scalar_type(),
                "), but top_k is ", config.top_k, "; pass scores [N, ", config.classes, ", ...]");
    TORCH_CHECK(preds.sizes() == target.sizes(), name, ": `preds` holds labels (",
                preds.scalar_type(), ") of shape ", preds.sizes(), " but `target` has shape ",
                target.sizes(), "; pass the same shape");
    return;
  }
  TORCH_CHECK(preds.is_floating_point(), name, ": `preds` has dtype ", preds.scalar_type(),
              "; pass floating scores or integer labels");
  const at::IntArrayRef sizes = preds.sizes(), rest = target.sizes();
  const bool fits = preds.dim() == target.dim() + 1 && sizes[0] == rest[0] &&
                    sizes[1] == config.classes && sizes.slice(2) == rest.slice(1);
  if (fits)
    return;
  std::vector<int64_t> expected = rest.vec();
  expected.insert(expected.begin() + 1, config.classes);
  TORCH_CHECK(false, name, ": `preds` has shape ", sizes, ", but with `target` of shape ", rest,
              " and num_classes ", config.classes, " scores have shape ",
              at::IntArrayRef(expected));
}

// Binary, and several labels.
void check_labels(const TaskConfig &config, const std::string &name, const at::Tensor &preds,
                  const at::Tensor &target) {
  check_target(name, target, " with ground truth labels",
               is_integer(target, /*or_bool=*/true) ||
                   (target.is_floating_point() && !config.of_scores));
  TORCH_CHECK(preds.is_floating_point() || is_integer(preds, /*or_bool=*/true), name,
              ": `preds` has dtype ", preds.scalar_type(),
              "; pass floating scores, or integer or bool labels");
  TORCH_CHECK(preds.sizes() == target.sizes(), name, ": `preds` has shape ", preds.sizes(),
              " but `target` has shape ", target.sizes(), "; pass the same shape");
  TORCH_CHECK(config.task == Task::kBinary || (preds.dim() >= 2 && preds.size(1) == config.classes),
              name, ": `preds` has shape ", preds.sizes(), "; with num_labels ", config.classes,
              " pass [N, ", config.classes, ", ...]");
}

Samples with_validity(const at::Tensor &predicted, const at::Tensor &target,
                      const at::Tensor &valid, const at::Tensor &ignored) {
  return {predicted, target, ignored.defined() ? valid.bitwise_and(ignored.bitwise_not()) : valid,
          (ignored.defined() ? valid.bitwise_or(ignored) : valid).bitwise_not()};
}

// Integers as int64: a comparison rounds the number of classes, or an ignore_index, to the range of
// narrower ones.
at::Tensor comparable(const at::Tensor &x) {
  return is_integer(x) ? x.to(at::kLong) : x;
}

at::Tensor ignored_in(const TaskConfig &config, const at::Tensor &target) {
  return config.ignore_index ? target.eq(*config.ignore_index) : at::Tensor();
}

Samples multiclass_samples(const TaskConfig &config, const at::Tensor &preds,
                           const at::Tensor &all_targets) {
  const auto in_range = [&](const at::Tensor &labels) {
    return labels.ge(0).bitwise_and(labels.lt(config.classes));
  };
  const at::Tensor target = all_targets.reshape(-1).to(at::kLong);
  at::Tensor valid = in_range(target), predicted;
  if (is_integer(preds)) {
    predicted = preds.reshape(-1).to(at::kLong);
    valid = valid.bitwise_and(in_range(predicted));
  } else {
    const at::Tensor scores = preds.movedim(1, -1).reshape({-1, config.classes});
    if (config.top_k == 1) {
      predicted = scores.argmax(1);
    } else {
      // A target among the best stands for itself, any other sample for its first guess.
      const at::Tensor best = std::get<1>(scores.topk(config.top_k, 1));
      const at::Tensor hit = best.eq(target.unsqueeze(1)).any(1);
      predicted = at::where(hit, target, best.select(1, 0));
    }
  }
  return with_validity(predicted, target, valid, ignored_in(config, target));
}

Samples label_samples(const TaskConfig &config, const at::Tensor &preds, const at::Tensor &target) {
  const auto rows = [&](const at::Tensor &x) {
    return config.task == Task::kBinary ? x.reshape({-1, 1})
                                        : x.movedim(1, -1).reshape({-1, config.classes});
  };
  // `valid` stays undefined where every value is.
  const auto labels = [](const at::Tensor &x) -> std::pair<at::Tensor, at::Tensor> {
    if (x.scalar_type() == at::kBool)
      return {x, {}};
    const at::Tensor one = x.eq(1);
    return {one, one.bitwise_or(x.eq(0))};
  };
  const at::Tensor all_targets = rows(comparable(target));
  auto [wanted, valid] = labels(all_targets);
  at::Tensor predicted, valid_preds;
  const at::Tensor all_preds = rows(comparable(preds));
  if (!preds.is_floating_point()) {
    std::tie(predicted, valid_preds) = labels(all_preds);
  } else {
    predicted =
        all_preds.gt(config.from_logits ? std::log(config.threshold) - std::log1p(-config.threshold)
                                        : config.threshold);
    // NaN equals nothing, itself included.
    valid_preds =
        config.from_logits ? all_preds.eq(all_preds) : all_preds.ge(0).bitwise_and(all_preds.le(1));
  }
  if (!valid.defined())
    valid = at::ones_like(wanted);
  if (valid_preds.defined())
    valid = valid.bitwise_and(valid_preds);
  return with_validity(predicted, wanted, valid, ignored_in(config, all_targets));
}

const char *logits_text(const TaskConfig &config) {
  return config.guesses_logits ? "none" : config.from_logits ? "true" : "false";
}

// Whether a score that is not ignored is no probability, bool [].
at::Tensor is_any_outside(const TaskConfig &config, const at::Tensor &preds,
                          const at::Tensor &target) {
  // On the CPU one pass tells the same, unless there is a NaN, which is no logit and hides others.
  if (preds.is_cpu() && !config.ignore_index && preds.numel() > 0) {
    const auto [least, greatest] = preds.aminmax();
    // NOLINTNEXTLINE(device-host-sync): the CPU's own memory
    if (!std::isnan(least.item<double>()))
      return least.lt(0).bitwise_or(greatest.gt(1));
  }
  at::Tensor outside = preds.lt(0).bitwise_or(preds.gt(1));
  if (config.ignore_index) {
    if (config.task == Task::kMulticlass)
      outside = outside.any(1);
    outside = outside.bitwise_and(comparable(target).ne(*config.ignore_index));
  }
  return outside.any();
}

at::Tensor probabilities_of_logits(const TaskConfig &config, const at::Tensor &logits) {
  if (config.task != Task::kMulticlass)
    return logits.sigmoid();
  const at::Tensor last = logits.movedim(1, -1);
  return detail::softmax(last.reshape({-1, last.size(-1)})).view(last.sizes()).movedim(-1, 1);
}

} // namespace

void TaskConfig::check(const std::string &name) const {
  if (task != Task::kBinary)
    TORCH_CHECK(classes >= 2, name, ": ", task == Task::kMulticlass ? "num_classes" : "num_labels",
                " is ", classes, "; pass at least 2");
  TORCH_CHECK(threshold >= 0 && threshold <= 1, name, ": threshold is ", threshold,
              "; pass a probability, also for logits");
  TORCH_CHECK(top_k >= 1 && (top_k == 1 || top_k <= classes), name, ": top_k is ", top_k,
              "; pass a number from 1 to num_classes, ", classes);
  TORCH_CHECK(zero_division >= 0 && zero_division <= 1, name, ": zero_division is ", zero_division,
              "; pass a score in [0, 1]");
  if (thresholds)
    thresholds->check(name);
  const bool curves = is_curve || of_curve; // which are averaged, and not their scores
  TORCH_CHECK(!curves || average != Average::kWeighted, name,
              ": average is kWeighted; pass kMicro, kMacro or kNone");
  TORCH_CHECK(curves || !of_scores || task != Task::kMulticlass || average != Average::kMicro, name,
              ": average is kMicro, but each class is one against the rest; pass kMacro, kWeighted "
              "or kNone");
  TORCH_CHECK(!max_fpr || (*max_fpr > 0 && *max_fpr <= 1), name, ": max_fpr is ",
              max_fpr.value_or(1), "; pass a rate in (0, 1]");
  TORCH_CHECK(min_precision >= 0 && min_precision <= 1, name, ": min_precision is ", min_precision,
              "; pass a score in [0, 1]");
  TORCH_CHECK(min_specificity >= 0 && min_specificity <= 1, name, ": min_specificity is ",
              min_specificity, "; pass a score in [0, 1]");
  TORCH_CHECK(!samplewise || !weighted, name,
              ": samples with a score each have no weights; leave weighted at false");
  TORCH_CHECK(beta > 0 && std::isfinite(beta * beta), name, ": beta is ", beta,
              "; pass a number above 0 whose square is finite");
}

std::string TaskConfig::signature() const {
  using detail::exact_text;
  return c10::str(task == Task::kMultilabel ? "num_labels=" : "num_classes=", classes,
                  ", threshold=", exact_text(threshold), ", from_logits=", logits_text(*this),
                  ", average=", static_cast<int>(average), ", top_k=", top_k,
                  ", ignore_index=", ignore_index ? std::to_string(*ignore_index) : "none",
                  weighted ? ", weighted" : "", samplewise ? ", samplewise" : "",
                  ", zero_division=", exact_text(zero_division), ", beta=", exact_text(beta),
                  ", normalize=", static_cast<int>(normalize),
                  ", weights=", static_cast<int>(weights),
                  of_scores ? ", thresholds=" + (thresholds ? thresholds->text() : "none") : "",
                  max_fpr ? ", max_fpr=" + exact_text(*max_fpr) : "",
                  ", min_precision=", exact_text(min_precision),
                  ", min_specificity=", exact_text(min_specificity));
}

std::string TaskConfig::state_signature() const {
  return c10::str("task=", static_cast<int>(task), ", classes=", classes,
                  ", threshold=", detail::exact_text(threshold),
                  ", from_logits=", logits_text(*this), ", top_k=", top_k,
                  ", ignore_index=", ignore_index ? std::to_string(*ignore_index) : "none",
                  of_scores ? ", thresholds=" + (thresholds ? thresholds->text() : "none") : "",
                  weighted ? ", weighted" : "", samplewise ? ", samplewise" : "",
                  ", validate=", static_cast<int>(validate));
}

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

std::string fault(const TaskConfig &config, const char *verb, const char *consequence) {
  const char *const ignore = "or name the value that marks unlabelled samples as ignore_index";
  const bool told = config.from_logits || config.guesses_logits;
  const char *const logits = told ? "" : "say from_logits(true) of logits, ";
  const char *const score = config.from_logits ? "NaN" : "no probability in [0, 1]";
  if (config.of_scores) {
    const std::string classes = config.task != Task::kMulticlass ? "other than 0 and 1"
                                : config.classes == TaskConfig::kAnyClasses
                                    ? "that is none of the scores' classes"
                                    : c10::str("outside [0, ", config.classes, ")");
    return c10::str(verb, " a target ", classes, ", or a score that is ", score, consequence,
                    "; correct them, ", logits, ignore);
  }
  if (config.task == Task::kMulticlass)
    return c10::str(verb, " a target (or predicted label) outside [0, ", config.classes, ")",
                    consequence, "; correct them, ", ignore);
  return c10::str(verb, " a target (or predicted label) other than 0 and 1, or a score that is ",
                  score, consequence, "; correct them, ", logits, ignore);
}

void refuse_out_of_range(const TaskConfig &config, const std::string &name, int64_t out_of_range,
                         int64_t samples) {
  TORCH_CHECK(out_of_range == 0, name, ": ", out_of_range, " of ", samples, " samples ",
              fault(config, "have", ""));
}

void refuse_other_classes(const TaskConfig &config, const std::string &name,
                          const at::Tensor &preds, const at::Tensor &target) {
  if (config.task != Task::kMulticlass || config.of_scores)
    return;
  for (const auto &[input, labels] : {std::pair("target", target), {"preds", preds}}) {
    if (!is_integer(labels))
      continue;
    const at::Tensor all = labels.to(at::kLong);
    at::Tensor other = all.lt(0).bitwise_or(all.ge(config.classes));
    if (config.ignore_index)
      other = other.bitwise_and(target.ne(*config.ignore_index));
    const auto number = other.sum().item<int64_t>();
    TORCH_CHECK(number == 0, name, ": Detected more unique values in `", input,
                "` than expected. Expected only ", config.classes + (config.ignore_index ? 1 : 0),
                ": ", number, " of ", all.numel(), " samples ", fault(config, "have", ""));
  }
}

void check_none_left_out(const TaskConfig &config, const std::string &name,
                         const at::Tensor &out_of_range) {
  const auto number = out_of_range.item<int64_t>();
  TORCH_CHECK(number == 0, name, ": ", number, " samples ",
              fault(config, "had", " and were left out"));
}

void check_shapes(const TaskConfig &config, const std::string &name, const at::Tensor &preds,
                  const at::Tensor &target) {
  if (config.task == Task::kMulticlass)
    check_multiclass(config, name, preds, target);
  else
    check_labels(config, name, preds, target);
}

namespace {

std::vector<int64_t> weight_sizes(const TaskConfig &config, bool whole_samples,
                                  const at::Tensor &target) {
  std::vector<int64_t> sizes = target.sizes().vec();
  if (config.task == Task::kMultilabel)
    sizes.erase(sizes.begin() + 1);
  else if (whole_samples)
    sizes.resize(1);
  return sizes;
}

} // namespace

void check_weights(const TaskConfig &config, const std::string &name, bool whole_samples,
                   const at::Tensor &target, const at::Tensor &weight) {
  TORCH_CHECK(config.weighted || !weight.defined(), name,
              ": `weight` was passed, but samples are counted in integers; make the metric with "
              "weighted(true)");
  check_weight(name, weight, weight_sizes(config, whole_samples, target));
}

at::Tensor sample_weights(const TaskConfig &config, bool whole_samples, const at::Tensor &target,
                          const at::Tensor &weight, at::ScalarType dtype) {
  return weight.defined()
             ? weight.reshape(-1).to(dtype)
             : at::ones({c10::multiply_integers(weight_sizes(config, whole_samples, target))},
                        target.options().dtype(dtype));
}

at::Tensor as_probabilities(const TaskConfig &config, const at::Tensor &preds,
                            const at::Tensor &target) {
  if (!config.guesses_logits || !preds.is_floating_point())
    return preds;
  const at::Tensor logits = is_any_outside(config, preds, target);
  // NOLINTNEXTLINE(device-host-sync): the CPU's own memory
  if (preds.is_cpu() && !logits.item<bool>())
    return preds;
  const at::Tensor scores = preds.scalar_type() == at::kDouble ? preds : preds.to(at::kFloat);
  const at::Tensor guessed = probabilities_of_logits(config, scores);
  return preds.is_cpu() ? guessed : at::where(logits, guessed, scores);
}

at::Tensor integer_labels(const at::Tensor &target) {
  if (!target.is_floating_point())
    return target;
  constexpr auto kNone = static_cast<double>(std::numeric_limits<int64_t>::min());
  return at::where(target.eq(target.trunc()), target.to(at::kDouble), kNone).to(at::kLong);
}

double score_threshold(const TaskConfig &config, at::ScalarType dtype) {
  const double threshold = config.from_logits
                               ? std::log(config.threshold) - std::log1p(-config.threshold)
                               : config.threshold;
  switch (dtype) {
  case at::kDouble:
    return threshold;
  case at::kHalf:
    return static_cast<at::Half>(static_cast<float>(threshold));
  case at::kBFloat16:
    return static_cast<at::BFloat16>(static_cast<float>(threshold));
  default:
    return static_cast<float>(threshold);
  }
}

Samples samples(const TaskConfig &config, const at::Tensor &preds, const at::Tensor &target) {
  Samples result = config.task == Task::kMulticlass ? multiclass_samples(config, preds, target)
                                                    : label_samples(config, preds, target);
  const size_t outer = config.task == Task::kMultilabel ? 2 : 1;
  result.inner = c10::multiply_integers(target.sizes().slice(outer));
  return result;
}

at::Tensor score_rows(const TaskConfig &config, const at::Tensor &preds) {
  const at::Tensor rows = config.task == Task::kBinary
                              ? preds.reshape({-1, 1})
                              : preds.movedim(1, -1).reshape({-1, config.classes});
  return rows.scalar_type() == at::kDouble ? rows : rows.to(at::kFloat);
}

at::Tensor probabilities(const TaskConfig &config, const at::Tensor &preds) {
  return row_probabilities(config, score_rows(config, preds));
}

at::Tensor row_probabilities(const TaskConfig &config, const at::Tensor &rows) {
  if (!config.from_logits)
    return rows;
  return config.task == Task::kMulticlass ? detail::softmax(rows) : rows.sigmoid();
}

at::Tensor unrounded_scores(const TaskConfig &config, const at::Tensor &preds) {
  const at::Tensor scores = score_rows(config, preds);
  return config.from_logits && config.task == Task::kMulticlass ? detail::log_softmax(scores)
                                                                : scores;
}

at::Tensor rounded_scores(const TaskConfig &config, const at::Tensor &unrounded) {
  if (!config.from_logits)
    return unrounded;
  return config.task == Task::kMulticlass ? unrounded.exp() : unrounded.sigmoid();
}

ScoredSamples scored_samples(const TaskConfig &config, const at::Tensor &preds,
                             const at::Tensor &target, ScoreScale scale) {
  const bool unrounded = scale == ScoreScale::kUnrounded;
  const at::Tensor scores =
      unrounded ? unrounded_scores(config, preds) : probabilities(config, preds);
  // NaN is in no range and equals nothing.
  at::Tensor valid =
      unrounded && config.from_logits ? scores.eq(scores) : scores.ge(0).bitwise_and(scores.le(1));
  at::Tensor wanted, targets;
  if (config.task == Task::kMulticlass) {
    targets = comparable(target).reshape({-1, 1});
    wanted = targets.eq(at::arange(config.classes, targets.options()));
    valid = valid.all(1, /*keepdim=*/true)
                .bitwise_and(targets.ge(0))
                .bitwise_and(targets.lt(config.classes));
  } else {
    targets = comparable(target);
    targets = config.task == Task::kBinary ? targets.reshape({-1, 1})
                                           : targets.movedim(1, -1).reshape({-1, config.classes});
    wanted = targets.eq(1);
    valid = valid.bitwise_and(wanted.bitwise_or(targets.eq(0)));
  }
  const Samples samples = with_validity({}, wanted, valid, ignored_in(config, targets));
  return {scores, wanted, samples.counted, samples.out_of_range, {}};
}

} // namespace devsan::metrics
