#pragma once

#include "metrics/classification/each_sample.h"
#include "metrics/classification/task.h"
#include "metrics/detail/constant.h"
#include "metrics/metric.h"

namespace devsan::metrics {

// What the calibration error is of the bins' differences d, each with its share s of the samples.
enum class CalibrationNorm {
  kL1,  // sum s |d|, the expected calibration error
  kL2,  // sqrt(sum s d^2), the root mean square calibration error
  kMax, // max |d|, the maximum calibration error
};

template <class Self> class CalibrationOptions : public TaskOptions<Self> {
  DEVSAN_SHARED_ARG(int64_t, n_bins) = 15;
  DEVSAN_SHARED_ARG(CalibrationNorm, norm) = CalibrationNorm::kL1;
  // Scores are logits: their sigmoid, of several classes their softmax, is taken.
  DEVSAN_SHARED_ARG(std::optional<bool>, from_logits) = false;
};

struct BinaryCalibrationErrorOptions : CalibrationOptions<BinaryCalibrationErrorOptions> {
  static constexpr Task kTask = Task::kBinary;
};

struct MulticlassCalibrationErrorOptions : CalibrationOptions<MulticlassCalibrationErrorOptions> {
  static constexpr Task kTask = Task::kMulticlass;
  MulticlassCalibrationErrorOptions(int64_t num_classes) : num_classes_(num_classes) {}
  TORCH_ARG(int64_t, num_classes);
};

// How far confidence is from accuracy: the samples are sorted into bins by their confidence, and of
// each bin the difference of its accuracy and its mean confidence is taken (Guo et al., On
// Calibration of Modern Neural Networks, 2017). Confidence is the highest probability, accuracy
// whether that class is the target; of binary tasks, as in TorchMetrics, the probability of class
// 1 and the target.
//
// update()   preds floating, of several classes [N, C, ...]; see the task in task.h. Half and
//            bfloat16 are widened to float32. Out of range are targets that are no class and scores
//            that are no probabilities, see Validate.
// compute()  float32 []; NaN where there were no samples. Where deferred validation has met samples
//            out of range, it throws for states on the CPU; on other devices, where it must not
//            wait, the result is NaN, and check_valid() tells how many.
//
// A bin starts at i / n_bins, inclusive; a confidence of 1 has a bin of its own, as in
// TorchMetrics. States: of each bin the samples, those of them that are right, and the sum of their
// confidences; not, as in TorchMetrics, every sample.
class CalibrationError : public SupervisedMetric {
public:
  std::string name() const final { return name_; }
  void update(const at::Tensor &preds, const at::Tensor &target) final;
  at::Tensor compute() const final;

  // Throws if deferred validation has left out samples. Reads one number from the device.
  void check_valid() const;

protected:
  CalibrationError(const TaskConfig &config, int64_t n_bins, CalibrationNorm norm);
  std::string signature() const final;

private:
  template <typename T>
  void update_on_cpu(const at::Tensor &scores, const at::Tensor &target, const at::Tensor &preds);
  void update_on_device(const at::Tensor &scores, const at::Tensor &target);

  std::string name_;
  TaskConfig config_;
  Thresholds starts_;        // of the bins
  std::vector<float> start_; // the same, on the host
  CalibrationNorm norm_;
  detail::Constant device_starts_;
};

class BinaryCalibrationError final : public CalibrationError {
public:
  using Options = BinaryCalibrationErrorOptions;
  explicit BinaryCalibrationError(const Options &options = {})
      : CalibrationError(TaskConfig(options), options.n_bins(), options.norm()) {}
  std::unique_ptr<Metric> clone() const override {
    return std::make_unique<BinaryCalibrationError>(*this);
  }
};

class MulticlassCalibrationError final : public CalibrationError {
public:
  using Options = MulticlassCalibrationErrorOptions;
  explicit MulticlassCalibrationError(const Options &options)
      : CalibrationError(TaskConfig(options), options.n_bins(), options.norm()) {}
  std::unique_ptr<Metric> clone() const override {
    return std::make_unique<MulticlassCalibrationError>(*this);
  }
};

// The functional forms.
at::Tensor binary_calibration_error(const at::Tensor &preds, const at::Tensor &target,
                                    const BinaryCalibrationErrorOptions &options = {});
at::Tensor multiclass_calibration_error(const at::Tensor &preds, const at::Tensor &target,
                                        const MulticlassCalibrationErrorOptions &options);

} // namespace devsan::metrics
