// For the tests: any classification metric from one set of arguments, random batches, and the
// counts as plain loops.
#pragma once

#include <algorithm>
#include <array>
#include <cmath>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include <ATen/ATen.h>

#include "metrics/classification/classification_metric.h"
#include "test/support/values.h"

namespace devsan::metrics {

struct Arguments {
  int64_t classes = 4; // or labels
  Average average = Average::kMacro;
  int64_t top_k = 1;
  std::optional<int64_t> ignore_index = std::nullopt;
  double threshold = 0.5;
  bool from_logits = false;
  double zero_division = 0;
  double beta = 2;
  Validate validate = Validate::kAuto;
  Normalize normalize = Normalize::kNone;
  KappaWeights weights = KappaWeights::kNone;
};

// The metric of type M with those of the arguments that it has.
template <class M> std::unique_ptr<SupervisedMetric> make(const Arguments &a) {
  using Options = typename M::Options;
  constexpr bool binary = Options::kTask == Task::kBinary;
  auto options = [&] {
    if constexpr (requires(Options o) { o.beta(); } && binary)
      return Options(a.beta);
    else if constexpr (requires(Options o) { o.beta(); })
      return Options(a.beta, a.classes);
    else if constexpr (binary)
      return Options();
    else
      return Options(a.classes);
  }();
  options.ignore_index(a.ignore_index).validate(a.validate);
  if constexpr (requires { options.average(); })
    options.average(a.average);
  if constexpr (requires { options.top_k(); })
    options.top_k(a.top_k);
  if constexpr (requires { options.threshold(); })
    options.threshold(a.threshold).from_logits(a.from_logits);
  if constexpr (requires { options.zero_division(); })
    options.zero_division(a.zero_division);
  if constexpr (requires { options.normalize(); })
    options.normalize(a.normalize);
  if constexpr (requires { options.weights(); })
    options.weights(a.weights);
  return std::make_unique<M>(options);
}

#define DEVSAN_TASKS(Name) make<Binary##Name>, make<Multiclass##Name>, make<Multilabel##Name>

using Maker = std::unique_ptr<SupervisedMetric> (*)(const Arguments &);

enum class Input { kScores, kLogits, kLabels };

struct Batch {
  at::Tensor preds, target;
  Batch on(at::Device device) const { return {preds.to(device), target.to(device)}; }
  Batch narrow(int64_t start, int64_t length) const {
    return {preds.narrow(0, start, length), target.narrow(0, start, length)};
  }
};

// [n, classes, 2] (binary: [n, 2]) on the host; the last class is never a target, and where there
// is an ignore_index, a part of the targets is it.
inline Batch random_batch(Task task, Input input, int64_t n, const Arguments &a) {
  const auto sizes = [&](bool with_classes) {
    return with_classes ? std::vector<int64_t>{n, a.classes, 2} : std::vector<int64_t>{n, 2};
  };
  Batch batch;
  if (task == Task::kMulticlass) {
    batch.target = at::randint(0, a.classes - 1, sizes(false), at::kLong);
    batch.preds = input == Input::kLabels ? at::randint(0, a.classes, sizes(false), at::kLong)
                                          : at::randn(sizes(true));
  } else {
    const auto shape = sizes(task == Task::kMultilabel);
    batch.target = at::randint(0, 2, shape, at::kLong);
    if (task == Task::kMultilabel)
      batch.target.select(1, a.classes - 1).fill_(0);
    batch.preds = input == Input::kLabels   ? at::randint(0, 2, shape, at::kLong)
                  : input == Input::kLogits ? at::randn(shape) * 2
                                            : at::rand(shape);
  }
  if (a.ignore_index)
    batch.target.masked_fill_(at::rand(batch.target.sizes()).lt(0.2), *a.ignore_index);
  return batch;
}

struct ClassCounts {
  double tp = 0, fp = 0, tn = 0, fn = 0;
  void add(bool predicted, bool wanted) { (predicted ? wanted ? tp : fp : wanted ? fn : tn) += 1; }
};

// Predicted and true class (of labels: 0 and 1, by label) of each sample that is not ignored, in
// the order of the targets, labels last.
struct Outcome {
  int64_t label, predicted, target;
  int64_t group; // what has to be right together for an exact match
};

inline std::vector<Outcome> reference_outcomes(Task task, const Batch &batch, const Arguments &a) {
  const bool scores = batch.preds.is_floating_point();
  const bool by_class = task == Task::kMulticlass;
  const int64_t labels = task == Task::kMultilabel ? a.classes : 1;
  const auto rows = [&](const at::Tensor &x, bool has_classes) {
    return test::values(has_classes ? x.movedim(1, -1) : x);
  };
  const auto preds = rows(batch.preds, by_class ? scores : labels > 1);
  const auto target = rows(batch.target, labels > 1);
  std::vector<Outcome> outcomes;
  for (size_t i = 0; i < target.size(); ++i) {
    const auto wanted = static_cast<int64_t>(target[i]);
    if (a.ignore_index && wanted == *a.ignore_index)
      continue;
    int64_t predicted;
    if (by_class && scores) {
      const double *row = &preds[i * a.classes];
      const auto better =
          std::count_if(row, row + a.classes, [&](double score) { return score > row[wanted]; });
      predicted = better < a.top_k ? wanted : std::max_element(row, row + a.classes) - row;
    } else if (scores) {
      const double probability = a.from_logits ? 1 / (1 + std::exp(-preds[i])) : preds[i];
      predicted = probability > a.threshold;
    } else {
      predicted = static_cast<int64_t>(preds[i]);
    }
    const int64_t index = static_cast<int64_t>(i);
    const int64_t together = by_class ? batch.target.numel() / batch.target.size(0) : labels;
    outcomes.push_back({index % labels, predicted, wanted, index / together});
  }
  return outcomes;
}

inline std::vector<ClassCounts> reference_counts(Task task, const Batch &batch,
                                                 const Arguments &a) {
  std::vector<ClassCounts> counts(task == Task::kBinary ? 1 : a.classes);
  for (const Outcome &outcome : reference_outcomes(task, batch, a))
    if (task == Task::kMulticlass)
      for (int64_t c = 0; c < a.classes; ++c)
        counts[c].add(outcome.predicted == c, outcome.target == c);
    else
      counts[outcome.label].add(outcome.predicted == 1, outcome.target == 1);
  return counts;
}

} // namespace devsan::metrics
