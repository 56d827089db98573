#include "metrics/detection/panoptic_quality.h"

#include <algorithm>
#include <cmath>

#include <ATen/ATen.h>

#include "metrics/detail/evaluate.h"
#include "metrics/detail/host_numbers.h"
#include "metrics/detail/wide.h"

namespace devsan::metrics {
namespace {

using detail::Wide;

enum StateIndex { kIouSum, kRight, kWrong, kMissed, kOutOfRange };

// Sorted, each once.
std::vector<int64_t> checked(const char *name, const char *option,
                             std::vector<int64_t> categories) {
  std::sort(categories.begin(), categories.end());
  const auto end = std::unique(categories.begin(), categories.end());
  if (end != categories.end())
    TORCH_WARN(name, ": The provided `", option,
               "` categories contained duplicates, which have been removed.");
  categories.erase(end, categories.end());
  return categories;
}

// Numbers from 0 on for keys that are alike, in `order`, which sorts them: [n].
at::Tensor numbered(const at::Tensor &order, const std::vector<at::Tensor> &keys) {
  const int64_t n = order.numel();
  at::Tensor starts = at::zeros({n}, order.options().dtype(at::kBool));
  for (const at::Tensor &key : keys) {
    const at::Tensor sorted = key.gather(0, order);
    starts.narrow(0, 1, n - 1)
        .bitwise_or_(sorted.narrow(0, 1, n - 1).ne(sorted.narrow(0, 0, n - 1)));
  }
  return at::empty_like(order).scatter(0, order, starts.cumsum(0, at::kLong));
}

at::Tensor order_of(const at::Tensor &key) {
  const std::optional<bool> stable = true;
  return std::get<1>(key.sort(stable, 0));
}

// Which segment of its image each point belongs to.
at::Tensor segments(const at::Tensor &key, const at::Tensor &instance) {
  const at::Tensor by_instance = order_of(instance);
  const at::Tensor order = by_instance.gather(0, order_of(key.gather(0, by_instance)));
  return numbered(order, {key, instance});
}

} // namespace

PanopticMetric::PanopticMetric(const char *name, PanopticConfig config)
    : SupervisedMetric([&] {
        config.things = checked(name, "things", config.things);
        config.stuffs = checked(name, "stuffs", config.stuffs);
        const auto c = static_cast<int64_t>(config.things.size() + config.stuffs.size());
        return std::vector<StateSpec>{{"iou_sum", {c}, StateSpec::Kind::kMoment},
                                      {"true_positives", {c}, StateSpec::Kind::kCount},
                                      {"false_positives", {c}, StateSpec::Kind::kCount},
                                      {"false_negatives", {c}, StateSpec::Kind::kCount},
                                      {"out_of_range", {1}, StateSpec::Kind::kCount}};
      }()),
      config_(std::move(config)) {
  TORCH_CHECK(categories() > 0, name, ": At least one of `things` and `stuffs` must be non-empty.");
  std::vector<int64_t> both;
  std::set_intersection(config_.things.begin(), config_.things.end(), config_.stuffs.begin(),
                        config_.stuffs.end(), std::back_inserter(both));
  TORCH_CHECK(both.empty(), name,
              ": Expected arguments `things` and `stuffs` to have distinct keys, but got ",
              config_.things, " and ", config_.stuffs);
}

int64_t PanopticMetric::categories() const {
  return static_cast<int64_t>(config_.things.size() + config_.stuffs.size());
}

PanopticMetric::Points PanopticMetric::points(const at::Tensor &input) const {
  // The categories in ascending order, and the number of each.
  std::vector<std::pair<int64_t, int64_t>> numbers;
  for (const std::vector<int64_t> *all : {&config_.things, &config_.stuffs})
    for (const int64_t category : *all)
      numbers.emplace_back(category, static_cast<int64_t>(numbers.size()));
  std::sort(numbers.begin(), numbers.end());
  std::vector<int64_t> known, number;
  for (const auto &[category, its_number] : numbers) {
    known.push_back(category);
    number.push_back(its_number);
  }
  const at::Tensor table =
      detail::from_host(at::stack({at::tensor(known), at::tensor(number)}), input.device());
  const at::Tensor flat = input.reshape({-1, 2}).to(at::kLong);
  const at::Tensor given = flat.select(1, 0).contiguous();
  const at::Tensor place =
      (given.is_meta() ? at::empty_like(given) // for which there is no search
                       : at::searchsorted(table.select(0, 0).contiguous(), given))
          .clamp_max(categories() - 1);
  const at::Tensor is_known = table.select(0, 0).gather(0, place).eq(given);
  const at::Tensor category =
      table.select(0, 1).gather(0, place).masked_fill(~is_known, categories());
  const auto things = static_cast<int64_t>(config_.things.size());
  return {category, flat.select(1, 1).masked_fill(category.ge(things), 0), is_known};
}

PanopticMetric::Tally PanopticMetric::tally(const Points &preds, const Points &target,
                                            int64_t images) const {
  const int64_t n = preds.category.numel(), c = categories();
  const auto things = static_cast<int64_t>(config_.things.size());
  const at::Tensor image = at::arange(images, preds.category.options())
                               .unsqueeze(1)
                               .expand({images, n / images})
                               .reshape(-1) *
                           (c + 1);
  const at::Tensor pred_of = segments(image + preds.category, preds.instance);
  const at::Tensor target_of = segments(image + target.category, target.instance);
  const at::Tensor both = pred_of * n + target_of;
  const at::Tensor pair_of = numbered(order_of(both), {both});

  // As many segments and pairs as there are points, of which those behind the last have no area.
  const at::Tensor none = at::zeros_like(pred_of), one = at::ones_like(pred_of);
  const auto sum = [&](const at::Tensor &where, const at::Tensor &x) {
    return at::zeros({n}, x.options()).scatter_add(0, where, x);
  };
  const auto each = [&](const at::Tensor &where, const at::Tensor &x) {
    return none.scatter(0, where, x);
  };
  const at::Tensor pred_area = sum(pred_of, one), target_area = sum(target_of, one);
  const at::Tensor pred_category = each(pred_of, preds.category);
  const at::Tensor target_category = each(target_of, target.category);
  const at::Tensor pred_void = sum(pred_of, target.category.eq(c).to(at::kLong));
  const at::Tensor target_void = sum(target_of, preds.category.eq(c).to(at::kLong));

  const at::Tensor meet = sum(pair_of, one), of_pred = each(pair_of, pred_of),
                   of_target = each(pair_of, target_of);
  const auto reals = detail::base_dtype(accumulation_on(preds.category.device()));
  const at::Tensor category = target_category.gather(0, of_target);
  const at::Tensor alike =
      meet.gt(0) & category.ne(c) & pred_category.gather(0, of_pred).eq(category);
  const at::Tensor all = pred_area.gather(0, of_pred) - pred_void.gather(0, of_pred) +
                         target_area.gather(0, of_target) - target_void.gather(0, of_target) - meet;
  const at::Tensor iou = meet.to(reals) / all.to(reals);
  const at::Tensor any = config_.modified ? category.ge(things) : at::zeros_like(alike);
  const at::Tensor right = alike & iou.gt(0.5) & ~any;
  const at::Tensor found = right | (alike & any);

  const auto by_category = [&](const at::Tensor &categories, const at::Tensor &x) {
    return at::zeros({c + 1}, x.options()).scatter_add(0, categories, x).narrow(0, 0, c);
  };
  const at::Tensor matched = right.to(at::kLong);
  const auto left = [&](const at::Tensor &where, const at::Tensor &area, const at::Tensor &voids,
                        const at::Tensor &categories) {
    at::Tensor counted = area.gt(0) & sum(where, matched).eq(0) & (2 * voids).le(area);
    if (config_.modified)
      counted = counted & categories.lt(things);
    return by_category(categories, counted.to(at::kLong));
  };
  at::Tensor rights = by_category(category, matched);
  if (config_.modified)
    rights = rights + by_category(target_category,
                                  (target_area.gt(0) & target_category.ge(things)).to(at::kLong));
  return {by_category(category, iou.masked_fill(~found, 0)), rights,
          left(of_pred, pred_area, pred_void, pred_category),
          left(of_target, target_area, target_void, target_category)};
}

void PanopticMetric::update(const at::Tensor &preds, const at::Tensor &target) {
  check_inputs({{"preds", preds}, {"target", target}});
  TORCH_CHECK(preds.sizes() == target.sizes(), name(),
              ": Expected argument `preds` and `target` to have the same shape, but got ",
              preds.sizes(), " and ", target.sizes());
  TORCH_CHECK(preds.dim() >= 3, name(),
              ": Expected argument `preds` to have at least one spatial dimension (B, "
              "*spatial_dims, 2), got ",
              preds.sizes());
  TORCH_CHECK(preds.size(-1) == 2, name(),
              ": Expected argument `preds` to have exactly 2 channels in the last dimension "
              "(category, instance), got ",
              preds.sizes(), " instead");
  for (const auto &[input_name, input] : {std::pair("preds", preds), std::pair("target", target)})
    TORCH_CHECK(at::isIntegralType(input.scalar_type(), /*includeBool=*/false), name(), ": `",
                input_name, "` has dtype ", input.scalar_type(),
                "; pass integers, of each point its category and its instance");
  const StateScope scope;
  std::vector<at::Tensor> states = states_on(preds.device());
  if (preds.numel() == 0) {
    set_states(std::move(states));
    return;
  }
  const Points predicted = points(preds), expected = points(target);
  if (!config_.allow_unknown_preds_category) {
    const at::Tensor unknown = (~predicted.known).sum();
    if (validates_eagerly(config_.validate, preds)) {
      // NOLINTNEXTLINE(device-host-sync): the CPU's own memory, or asked for by Validate::kEager
      const auto number = unknown.item<int64_t>();
      TORCH_CHECK(number == 0, name(), ": Unknown categories found: ", number, " of ",
                  preds.numel() / 2,
                  " predicted points are of none of `things` and `stuffs`; name their categories, "
                  "or set allow_unknown_preds_category(true)");
    }
    states[kOutOfRange] = states[kOutOfRange] + unknown;
  }
  const Tally batch = tally(predicted, expected, preds.size(0));
  states[kIouSum] = (Wide::from_state(states[kIouSum]) +
                     Wide::from(batch.iou_sum, accumulation_on(preds.device())))
                        .to_state();
  states[kRight] = states[kRight] + batch.right;
  states[kWrong] = states[kWrong] + batch.wrong;
  states[kMissed] = states[kMissed] + batch.missed;
  set_states(std::move(states));
}

at::Tensor PanopticMetric::compute() const {
  const StateScope scope;
  const std::vector<at::Tensor> &states = computable_states();
  if (states[kOutOfRange].is_cpu())
    check_valid();
  const at::Tensor sum = Wide::from_state(states[kIouSum]).rounded();
  const at::Tensor right = states[kRight].to(sum.scalar_type());
  const at::Tensor all = right + (states[kWrong] + states[kMissed]).to(right.scalar_type()) * 0.5;
  const at::Tensor counted = all.gt(0);
  const at::Tensor segmentation = at::where(right.gt(0), sum / right, 0);
  const at::Tensor recognition = at::where(counted, right / all, 0);
  const at::Tensor qualities =
      config_.return_sq_and_rq
          ? at::stack({segmentation * recognition, segmentation, recognition}, -1)
          : (segmentation * recognition).unsqueeze(-1); // [C, 1 or 3]
  const at::Tensor invalid = states[kOutOfRange].gt(0).reshape({});
  if (config_.return_per_class)
    return (config_.return_sq_and_rq ? qualities : qualities.view({1, -1}))
        .masked_fill(invalid, NAN);
  // Categories that did not occur are 0 in all sums.
  const at::Tensor means = qualities.sum(0) / counted.sum();
  return (config_.return_sq_and_rq ? means : means.reshape({})).masked_fill(invalid, NAN);
}

void PanopticMetric::check_valid() const {
  const StateScope scope;
  // NOLINTNEXTLINE(device-host-sync): asked for, or the CPU's own memory
  const auto number = computable_states()[kOutOfRange].item<int64_t>();
  TORCH_CHECK(number == 0, name(), ": ", number,
              " predicted points were of none of `things` and `stuffs`; name their categories, or "
              "set allow_unknown_preds_category(true)");
}

std::string PanopticMetric::options_text() const {
  return c10::str("things=", config_.things, ", stuffs=", config_.stuffs,
                  ", allow_unknown_preds_category=", config_.allow_unknown_preds_category);
}

std::string PanopticMetric::signature() const {
  return c10::str(options_text(), ", return_sq_and_rq=", config_.return_sq_and_rq,
                  ", return_per_class=", config_.return_per_class);
}

std::string PanopticMetric::state_signature() const {
  return c10::str("PanopticMetric ", options_text(), ", modified=", config_.modified,
                  ", validate=", static_cast<int>(config_.validate));
}

at::Tensor panoptic_quality(const at::Tensor &preds, const at::Tensor &target,
                            const PanopticQualityOptions &options) {
  return detail::evaluate<PanopticQuality>(options, preds, target);
}

at::Tensor modified_panoptic_quality(const at::Tensor &preds, const at::Tensor &target,
                                     const ModifiedPanopticQualityOptions &options) {
  return detail::evaluate<ModifiedPanopticQuality>(options, preds, target);
}

} // namespace devsan::metrics
