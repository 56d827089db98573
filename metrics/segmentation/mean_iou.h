#pragma once

#include <optional>
#include <string>

#include <torch/arg.h>

#include "metrics/metric.h"
#include "metrics/validate.h"

namespace devsan::metrics {

// How classes are given.
enum class SegmentationFormat {
  kOneHot, // [N, C, ...]: whether a point is of a class, or floating scores of which the highest is
  kIndex,  // [N, H, ...]: the class; up to two dimensions are one image's
  kMixed,  // one of each
};

struct MeanIoUOptions {
  // Needed for kIndex, and by the class for per_class; else none is as many as the inputs have.
  TORCH_ARG(std::optional<int64_t>, num_classes) = std::nullopt;
  // Whether class 0 counts.
  TORCH_ARG(bool, include_background) = true;
  // Whether the result is of each class instead of all.
  TORCH_ARG(bool, per_class) = false;
  TORCH_ARG(SegmentationFormat, input_format) = SegmentationFormat::kOneHot;
  TORCH_ARG(Validate, validate) = Validate::kAuto;
  // Of the result. float64 needs a device that has it.
  TORCH_ARG(at::ScalarType, dtype) = at::kFloat;
};

// Mean intersection over union of the classes of an image's points: mean over images and classes,
// of those that an image has in its prediction or its target. (The ratio of all images' points
// together is MulticlassJaccardIndex.)
//
// update()   see SegmentationFormat; integers, bool, or floating scores. Out of range are indices
//            that are no class, see Validate; such a point is of no class.
// compute()  [], or with per_class [C] (without the background [C - 1]; [] of one class), -1 of
//            classes that no image has; NaN where there was none. Where deferred validation has met
//            indices out of range, it throws for states on the CPU; on other devices the result is
//            NaN, and check_valid() tells how many.
//
// States: the sum of the ratios and their number, of each class with per_class.
class MeanIoU : public SupervisedMetric {
public:
  explicit MeanIoU(const MeanIoUOptions &options = {});
  DEVSAN_METRIC(MeanIoU)
  void update(const at::Tensor &preds, const at::Tensor &target) override;
  at::Tensor compute() const override;

  // Of each image of a batch, [N] or with per_class [N, C]; the states are not looked at.
  at::Tensor of_images(const at::Tensor &preds, const at::Tensor &target) const;

  // Throws if indices were out of range. Reads one number from the device.
  void check_valid() const;

protected:
  std::string signature() const override;

private:
  int64_t classes_of(const at::Tensor &preds, const at::Tensor &target) const;
  void check_in_range(const at::Tensor &out_of_range, const at::Tensor &preds,
                      int64_t classes) const;

  MeanIoUOptions options_;
};

// The functional form, of each image: [N], or with per_class [N, C].
at::Tensor mean_iou(const at::Tensor &preds, const at::Tensor &target,
                    const MeanIoUOptions &options = {});

} // namespace devsan::metrics
