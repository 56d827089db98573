#pragma once

#include <optional>

#include <torch/arg.h>

#include "metrics/metric.h"
#include "metrics/validate.h"

namespace devsan::metrics {

// How the classes' scores become the result.
enum class Average {
  kMicro, // over all samples, whatever their class
  kMacro, // mean of the classes' scores, without the classes that appear neither as target nor as
          // prediction
  kWeighted, // the same weighted by the classes' number of targets
  kNone,     // each class for itself
};

struct MulticlassAccuracyOptions {
  MulticlassAccuracyOptions(int64_t num_classes) : num_classes_(num_classes) {}
  TORCH_ARG(int64_t, num_classes);
  TORCH_ARG(Average, average) = Average::kMacro;
  // A sample counts as right if its target is among the `top_k` highest scores. More than 1 needs
  // scores as input.
  TORCH_ARG(int64_t, top_k) = 1;
  // Samples with this target are left out; need not be a class.
  TORCH_ARG(std::optional<int64_t>, ignore_index) = std::nullopt;
  // When targets and predicted labels outside [0, num_classes) are noticed.
  TORCH_ARG(Validate, validate) = Validate::kAuto;
};

// Accuracy of a classifier of several classes: correct / all samples, for each class or over all,
// see Average. Equal to TorchMetrics' MulticlassAccuracy with multidim_average="global", and for
// kMacro without ignored samples to scikit-learn's balanced_accuracy_score where every class has
// targets.
//
// update()   preds [N, C, ...] floating: logits or probabilities, only their order counts, ties go
// to the first class;
//            or [N, ...] integer: labels. target [N, ...] integer. N may be 0.
// compute()  float32 [], or [num_classes] for kNone; a class without targets scores 0. Where
// deferred validation has met
//            samples out of range, it throws for states on the CPU; on other devices, where it must
//            not wait, the result is NaN, and check_valid() tells how many.
//
// Counts are int64, so that no sample is lost however many there are.
class MulticlassAccuracy : public SupervisedMetric {
public:
  explicit MulticlassAccuracy(const MulticlassAccuracyOptions &options);

  std::string name() const override { return "MulticlassAccuracy"; }
  void update(const at::Tensor &preds, const at::Tensor &target) override;
  at::Tensor compute() const override;

  // Throws if samples were left out because they were out of range. Reads one number from the
  // device.
  void check_valid() const;

protected:
  std::string signature() const override;

private:
  struct Samples {
    at::Tensor predicted, target; // int64 [n], flattened
    at::Tensor counted;           // bool [n]: neither ignored nor out of range
    at::Tensor out_of_range;      // bool [n]
  };

  void check_shapes(const at::Tensor &preds, const at::Tensor &target) const;
  Samples samples(const at::Tensor &preds, const at::Tensor &target) const;

  MulticlassAccuracyOptions options_;
};

} // namespace devsan::metrics
