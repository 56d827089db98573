// How well images are divided into segments of things, which can be counted, and stuff, which
// cannot (Kirillov et al. 2019).
#pragma once

#include <string>
#include <utility>
#include <vector>

#include <torch/arg.h>

#include "metrics/detail/constant.h"
#include "metrics/metric.h"
#include "metrics/shared_arg.h"
#include "metrics/validate.h"

namespace devsan::metrics {

template <class Self> class PanopticOptionsOf {
public:
  // The categories of each; none is in both, and there is one at least.
  PanopticOptionsOf(std::vector<int64_t> things, std::vector<int64_t> stuffs)
      : things_(std::move(things)), stuffs_(std::move(stuffs)) {}
  DEVSAN_SHARED_ARG(std::vector<int64_t>, things);
  DEVSAN_SHARED_ARG(std::vector<int64_t>, stuffs);
  // Whether predictions of other categories are void, as targets of these are; else they are out of
  // range.
  DEVSAN_SHARED_ARG(bool, allow_unknown_preds_category) = false;
  DEVSAN_SHARED_ARG(Validate, validate) = Validate::kAuto;
};

class PanopticQualityOptions : public PanopticOptionsOf<PanopticQualityOptions> {
public:
  using PanopticOptionsOf::PanopticOptionsOf;
  // Whether the result has the segmentation and the recognition quality behind the panoptic one.
  TORCH_ARG(bool, return_sq_and_rq) = false;
  // Whether it is of each category instead of their mean.
  TORCH_ARG(bool, return_per_class) = false;
};

class ModifiedPanopticQualityOptions : public PanopticOptionsOf<ModifiedPanopticQualityOptions> {
public:
  using PanopticOptionsOf::PanopticOptionsOf;
};

struct PanopticConfig {
  template <class Options>
  explicit PanopticConfig(const Options &options)
      : things(options.things()), stuffs(options.stuffs()),
        allow_unknown_preds_category(options.allow_unknown_preds_category()),
        validate(options.validate()) {
    if constexpr (requires { options.return_per_class(); }) {
      return_sq_and_rq = options.return_sq_and_rq();
      return_per_class = options.return_per_class();
    } else {
      modified = true;
    }
  }

  std::vector<int64_t> things, stuffs;
  bool allow_unknown_preds_category;
  Validate validate;
  bool return_sq_and_rq = false, return_per_class = false, modified = false;
};

// update()   preds, target: integers [N, ..., 2], of each point its category and its instance; the
//            instance of stuff is not looked at. Points of other categories are void: segments are
//            compared without them, and one that is void to more than half is not missed.
//            Predictions of other categories are out of range, see Validate, where they are not
//            allowed. The points are sorted: five sorts, and no size that depends on values.
// compute()  float64 (float32 where a device has no float64): the mean over the categories that
//            occurred, [], NaN where none did; with return_sq_and_rq [3]; with return_per_class
//            [1, C], or [C, 3], 0 of categories that did not occur; first the things in ascending
//            order, then stuff. Where deferred validation has met predictions out of range, it
//            throws for states on the CPU; on other devices the result is NaN, and check_valid()
//            tells how many.
//
// States, of each category: the sum of the intersections over unions of right segments, and how
// many are right, wrong and missed.
class PanopticMetric : public SupervisedMetric {
public:
  void update(const at::Tensor &preds, const at::Tensor &target) override;
  at::Tensor compute() const override;

  // Throws if predictions were out of range. Reads one number from the device.
  void check_valid() const;

protected:
  PanopticMetric(const char *name, PanopticConfig config);
  std::string signature() const override;
  std::string state_signature() const override;

private:
  // Of predictions and targets, in two rows: half as many operators as one after the other.
  struct Points {
    at::Tensor category, instance; // [2, N * points]: its number, that of the void is C; 0 of stuff
    at::Tensor known;              // bool
  };
  struct Tally {
    at::Tensor iou_sum, right, wrong, missed; // [C]
  };
  at::Tensor numbers_on(at::Device device) const;
  Points points(const at::Tensor &preds, const at::Tensor &target) const;
  Tally tally(const Points &points, int64_t images) const;
  std::string options_text() const;
  int64_t categories() const;

  PanopticConfig config_;
  detail::Constant numbers_; // [2, C]: the categories in ascending order, and the number of each
};

// Panoptic quality: of each category the sum of the intersections over unions of right segments,
// those with more than a half, over their number and half of those wrong and missed.
class PanopticQuality : public PanopticMetric {
public:
  explicit PanopticQuality(const PanopticQualityOptions &options)
      : PanopticMetric("PanopticQuality", PanopticConfig(options)) {}
  DEVSAN_METRIC(PanopticQuality)
};

// The same, but of stuff the sum over all segments that meet, over the number of targets (Porzi et
// al. 2019).
class ModifiedPanopticQuality : public PanopticMetric {
public:
  explicit ModifiedPanopticQuality(const ModifiedPanopticQualityOptions &options)
      : PanopticMetric("ModifiedPanopticQuality", PanopticConfig(options)) {}
  DEVSAN_METRIC(ModifiedPanopticQuality)
};

// The functional forms.
at::Tensor panoptic_quality(const at::Tensor &preds, const at::Tensor &target,
                            const PanopticQualityOptions &options);
at::Tensor modified_panoptic_quality(const at::Tensor &preds, const at::Tensor &target,
                                     const ModifiedPanopticQualityOptions &options);

} // namespace devsan::metrics
