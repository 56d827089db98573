#include "metrics/segmentation/mean_iou.h"

#include <cmath>

#include <ATen/ATen.h>

#include "metrics/detail/wide.h"

namespace devsan::metrics {
namespace {

using detail::Wide;

enum StateIndex { kScore, kNumber, kOutOfRange };

void check(const MeanIoUOptions &options) {
  const char *const name = "MeanIoU";
  TORCH_CHECK(options.input_format() != SegmentationFormat::kIndex || options.num_classes(), name,
              ": Argument `num_classes` must be provided when `input_format` is 'index'.");
  TORCH_CHECK(!options.num_classes() || *options.num_classes() > 0, name,
              ": Expected argument `num_classes` must be `None` or a positive integer, but got ",
              options.num_classes().value_or(0), ".");
  TORCH_CHECK(!options.num_classes() || options.include_background() || *options.num_classes() > 1,
              name, ": num_classes is 1, and without the background nothing is left");
}

int64_t width(const MeanIoUOptions &options) {
  return *options.num_classes() - (options.include_background() ? 0 : 1);
}

int64_t checked_width(const MeanIoUOptions &options) {
  check(options);
  return options.per_class() && options.num_classes() ? width(options) : 1;
}

// Of each image and class how many points are of both, and of one or the other: int64 [N, C].
struct Overlap {
  at::Tensor both, either, out_of_range;
};

// Points [N, points] as classes; `classes` is none.
Overlap overlap_of_indices(const at::Tensor &preds, const at::Tensor &target, int64_t classes) {
  const auto known = [&](const at::Tensor &x) { return x.ge(0) & x.lt(classes); };
  const at::Tensor preds_known = known(preds), target_known = known(target);
  const at::Tensor p = preds.masked_fill(~preds_known, classes);
  const at::Tensor t = target.masked_fill(~target_known, classes);
  const at::Tensor one = at::ones_like(p);
  const auto count = [&](const at::Tensor &x) {
    return at::zeros({x.size(0), classes + 1}, x.options())
        .scatter_add(1, x, one)
        .narrow(1, 0, classes);
  };
  const at::Tensor both = count(p.masked_fill(p.ne(t), classes));
  return {both, count(p) + count(t) - both, (~preds_known).sum() + (~target_known).sum()};
}

// Points [N, C, points] as whether they are of the class.
Overlap overlap_of_masks(const at::Tensor &preds, const at::Tensor &target) {
  const at::Tensor p = preds.ne(0), t = target.ne(0);
  return {(p & t).sum(2), (p | t).sum(2), at::zeros({}, preds.options().dtype(at::kLong))};
}

at::Tensor flat(const at::Tensor &x, int64_t from) {
  return x.reshape([&] {
    std::vector<int64_t> sizes = x.sizes().slice(0, from).vec();
    sizes.push_back(c10::multiply_integers(x.sizes().slice(from)));
    return sizes;
  }());
}

bool has_classes(const at::Tensor &x, const at::Tensor &other, SegmentationFormat format) {
  return format == SegmentationFormat::kOneHot ||
         (format == SegmentationFormat::kMixed && x.dim() > other.dim());
}

// The class of each point, [N, points]: its index, or that of the highest score.
at::Tensor indices_of(const at::Tensor &x, bool one_hot) {
  return flat(one_hot ? x.argmax(1) : x.to(at::kLong), 1);
}

at::Tensor mask_of(const at::Tensor &x, bool one_hot, int64_t classes) {
  const at::Tensor of_class = at::arange(classes, x.options().dtype(at::kLong)).view({1, -1, 1});
  if (!one_hot || x.is_floating_point())
    return indices_of(x, one_hot).unsqueeze(1).eq(of_class);
  return flat(x, 2);
}

// Indices of up to two dimensions are those of one image.
at::Tensor as_batch(const at::Tensor &x, SegmentationFormat format) {
  return format == SegmentationFormat::kIndex && x.dim() <= 2 ? x.unsqueeze(0) : x;
}

Overlap overlap(const at::Tensor &preds, const at::Tensor &target, int64_t classes,
                const MeanIoUOptions &options) {
  const bool p = has_classes(preds, target, options.input_format());
  const bool t = has_classes(target, preds, options.input_format());
  // One-hot integers may be of several classes, or of none.
  const bool masks = (p && !preds.is_floating_point()) || (t && !target.is_floating_point());
  Overlap found = masks ? overlap_of_masks(mask_of(preds, p, classes), mask_of(target, t, classes))
                        : overlap_of_indices(indices_of(preds, p), indices_of(target, t), classes);
  if (masks && !(p && t)) { // the one of indices
    const at::Tensor indices =
        (p ? target : preds).to(at::kLong); // may be too narrow for `classes`
    found.out_of_range = (indices.lt(0) | indices.ge(classes)).sum();
  }
  if (!options.include_background()) {
    found.both = found.both.narrow(1, 1, found.both.size(1) - 1);
    found.either = found.either.narrow(1, 1, found.either.size(1) - 1);
  }
  return found;
}

} // namespace

MeanIoU::MeanIoU(const MeanIoUOptions &options)
    : SupervisedMetric({{"score", {checked_width(options)}, StateSpec::Kind::kMoment},
                        {"num_batches", {checked_width(options)}, StateSpec::Kind::kCount},
                        {"out_of_range", {1}, StateSpec::Kind::kCount}}),
      options_(options) {}

int64_t MeanIoU::classes_of(const at::Tensor &preds, const at::Tensor &target) const {
  check_inputs({{"preds", preds}, {"target", target}});
  const SegmentationFormat format = options_.input_format();
  const auto refuse = [&](const char *expected) {
    TORCH_CHECK(false, name(),
                ": Predictions and targets are expected to have the same shape, got ",
                preds.sizes(), " and ", target.sizes(), "; pass ", expected);
  };
  if (format == SegmentationFormat::kMixed) {
    const at::Tensor &scores = preds.dim() > target.dim() ? preds : target;
    const at::Tensor &indices = preds.dim() > target.dim() ? target : preds;
    if (scores.dim() != indices.dim() + 1 || indices.dim() < 1 ||
        scores.size(0) != indices.size(0) || scores.sizes().slice(2) != indices.sizes().slice(1))
      refuse("[N, C, ...] and [N, ...]");
  } else if (preds.sizes() != target.sizes() ||
             preds.dim() < (format == SegmentationFormat::kOneHot ? 2 : 1)) {
    refuse(format == SegmentationFormat::kOneHot ? "[N, C, ...]" : "[N, ...]");
  }
  int64_t classes = options_.num_classes().value_or(0);
  for (const auto &[input_name, input, other] :
       {std::tuple("preds", preds, target), std::tuple("target", target, preds)}) {
    const bool one_hot = has_classes(input, other, format);
    TORCH_CHECK(!input.is_complex() && (one_hot || !input.is_floating_point()), name(), ": `",
                input_name, "` has dtype ", input.scalar_type(), "; pass ",
                one_hot ? "real numbers" : "integers, the index of each point's class");
    if (!one_hot)
      continue;
    TORCH_CHECK(input.size(1) > 0 && (classes == 0 || input.size(1) == classes), name(), ": `",
                input_name, "` has shape ", input.sizes(), ", but num_classes is ",
                classes == 0 ? 1 : classes, "; pass [N, num_classes, ...]");
    classes = input.size(1);
  }
  TORCH_CHECK(options_.include_background() || classes > 1, name(),
              ": the inputs have one class, and without the background nothing is left");
  return classes;
}

void MeanIoU::check_in_range(const at::Tensor &out_of_range, const at::Tensor &preds,
                             int64_t classes) const {
  if (!validates_eagerly(options_.validate(), preds))
    return;
  // NOLINTNEXTLINE(device-host-sync): the CPU's own memory, or asked for by Validate::kEager
  const auto number = out_of_range.item<int64_t>();
  TORCH_CHECK(number == 0, name(), ": ", number, " of the inputs' indices are none of ", classes,
              " classes");
}

void MeanIoU::update(const at::Tensor &preds_given, const at::Tensor &target_given) {
  const int64_t classes = classes_of(preds_given, target_given);
  const at::Tensor preds = as_batch(preds_given, options_.input_format());
  const at::Tensor target = as_batch(target_given, options_.input_format());
  TORCH_CHECK(!options_.per_class() || options_.num_classes(), name(),
              ": `num_classes` is not given; the states of each class have to know it");
  const StateScope scope;
  std::vector<at::Tensor> states = states_on(preds.device());
  if (preds.numel() == 0 || target.numel() == 0) {
    set_states(std::move(states));
    return;
  }
  const Overlap found = overlap(preds, target, classes, options_);
  check_in_range(found.out_of_range, preds, classes);
  const Accumulation format = accumulation_on(preds.device());
  const at::ScalarType reals = detail::base_dtype(format);
  const at::Tensor present = found.either.gt(0);
  const at::Tensor ratio = (found.both.to(reals) / found.either.to(reals)).masked_fill(~present, 0);
  const bool each = options_.per_class();
  const at::Tensor sum = each ? ratio.sum(0) : ratio.sum().reshape({1});
  states[kScore] = (Wide::from_state(states[kScore]) + Wide::from(sum, format)).to_state();
  states[kNumber] = states[kNumber] + (each ? present.sum(0) : present.sum());
  states[kOutOfRange] = states[kOutOfRange] + found.out_of_range;
  set_states(std::move(states));
}

at::Tensor MeanIoU::compute() const {
  const StateScope scope;
  const std::vector<at::Tensor> &states = computable_states();
  if (states[kOutOfRange].is_cpu())
    check_valid();
  const at::Tensor score = Wide::from_state(states[kScore]).rounded();
  at::Tensor value = score / states[kNumber].to(score.scalar_type());
  if (options_.per_class())
    value = value.masked_fill(states[kNumber].eq(0), -1);
  value = value.masked_fill(states[kOutOfRange].gt(0), NAN);
  return shaped_result(value, options_.dtype());
}

void MeanIoU::check_valid() const {
  const StateScope scope;
  // NOLINTNEXTLINE(device-host-sync): asked for, or the CPU's own memory
  const auto number = computable_states()[kOutOfRange].item<int64_t>();
  TORCH_CHECK(number == 0, name(), ": ", number,
              " indices were none of the classes; their points were left out");
}

std::string MeanIoU::signature() const {
  return c10::str("num_classes=", options_.num_classes().value_or(-1),
                  ", include_background=", options_.include_background(),
                  ", per_class=", options_.per_class(),
                  ", input_format=", static_cast<int>(options_.input_format()));
}

at::Tensor MeanIoU::of_images(const at::Tensor &preds_given, const at::Tensor &target_given) const {
  const int64_t classes = classes_of(preds_given, target_given);
  const at::Tensor preds = as_batch(preds_given, options_.input_format());
  const at::Tensor target = as_batch(target_given, options_.input_format());
  const StateScope scope;
  const Overlap found = overlap(preds, target, classes, options_);
  check_in_range(found.out_of_range, preds, classes);
  const at::Tensor present = found.either.gt(0);
  const at::Tensor ratio =
      found.both.to(detail::base_dtype(accumulation_on(preds.device()))) / found.either;
  const at::Tensor value = options_.per_class()
                               ? ratio.masked_fill(~present, -1)
                               : ratio.masked_fill(~present, 0).sum(1) / present.sum(1);
  return value.masked_fill(found.out_of_range.gt(0), NAN).to(options_.dtype());
}

at::Tensor mean_iou(const at::Tensor &preds, const at::Tensor &target,
                    const MeanIoUOptions &options) {
  return MeanIoU(options).of_images(preds, target);
}

} // namespace devsan::metrics
