#include "metrics/detection/panoptic_quality.h"

#include <algorithm>
#include <cmath>

#include <ATen/ATen.h>

#include "metrics/detail/evaluate.h"
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

// Of rows that are sorted by keys: numbers from 0 on, one for keys that are alike; where they stood
// before, as `order` has it.
at::Tensor numbered(const at::Tensor &order, const std::vector<at::Tensor> &sorted_keys) {
  const int64_t n = order.size(-1);
  const at::Tensor starts = at::zeros_like(order, at::kBool);
  for (const at::Tensor &key : sorted_keys)
    starts.narrow(-1, 1, n - 1).bitwise_or_(key.narrow(-1, 1, n - 1).ne(key.narrow(-1, 0, n - 1)));
  return at::empty_like(order).scatter(-1, order, starts.cumsum(-1, at::kLong));
}

std::tuple<at::Tensor, at::Tensor> sorted(const at::Tensor &key) {
  const std::optional<bool> stable = true;
  if (!key.is_cpu() || key.dim() == 1)
    return key.sort(stable, -1);
  const auto first = key[0].sort(stable, -1), second = key[1].sort(stable, -1); // one row by radix
  return {at::stack({std::get<0>(first), std::get<0>(second)}),
          at::stack({std::get<1>(first), std::get<1>(second)})};
}

// Which segment of its image each point belongs to.
at::Tensor segments(const at::Tensor &key, const at::Tensor &instance) {
  const at::Tensor by_instance = std::get<1>(sorted(instance));
  const auto [sorted_key, by_key] = sorted(key.gather(-1, by_instance));
  const at::Tensor order = by_instance.gather(-1, by_key);
  return numbered(order, {sorted_key, instance.gather(-1, order)});
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

at::Tensor PanopticMetric::numbers_on(at::Device device) const {
  return numbers_.on(device, [&](at::Device on) {
    std::vector<std::pair<int64_t, int64_t>> numbers;
    for (const std::vector<int64_t> *all : {&config_.things, &config_.stuffs})
      for (const int64_t category : *all)
        numbers.emplace_back(category, static_cast<int64_t>(numbers.size()));
    std::sort(numbers.begin(), numbers.end());
    const at::Tensor table = at::empty({2, categories()}, at::TensorOptions(on).dtype(at::kLong));
    // Not from host memory, which a CUDA graph would read again.
    for (int64_t i = 0; i < categories(); ++i) {
      table.select(0, 0).select(0, i).fill_(numbers[i].first);
      table.select(0, 1).select(0, i).fill_(numbers[i].second);
    }
    return table;
  });
}

PanopticMetric::Points PanopticMetric::points(const at::Tensor &preds,
                                              const at::Tensor &target) const {
  const at::Tensor both = at::stack(
      {preds.reshape({-1, 2}).to(at::kLong), target.reshape({-1, 2}).to(at::kLong)}); // [2, n, 2]
  const at::Tensor numbers = numbers_on(preds.device());
  const at::Tensor known = numbers.select(0, 0), given = both.select(2, 0).contiguous();
  const at::Tensor place = (given.is_meta() ? at::empty_like(given) // for which there is no search
                                            : at::searchsorted(known, given))
                               .clamp_max_(categories() - 1);
  const at::Tensor is_known = at::index(known, {place}).eq(given);
  const at::Tensor category =
      at::index(numbers.select(0, 1), {place}).masked_fill_(~is_known, categories());
  const auto things = static_cast<int64_t>(config_.things.size());
  return {category, both.select(2, 1).masked_fill(category.ge(things), 0), is_known};
}

PanopticMetric::Tally PanopticMetric::tally(const Points &points, int64_t images) const {
  const int64_t n = points.category.size(1), c = categories();
  const auto things = static_cast<int64_t>(config_.things.size());
  const at::Tensor image =
      at::arange(0, images * (c + 1), c + 1, points.category.options()).unsqueeze(1);
  const at::Tensor segment = segments(
      (points.category.view({2, images, n / images}) + image).view({2, n}), points.instance);
  const auto [sorted_pairs, by_pair] = sorted(segment[0] * n + segment[1]);
  const at::Tensor pair_of = numbered(by_pair, {sorted_pairs}).expand({2, n});

  // As many segments and pairs as there are points, of which those behind the last have no area.
  const at::Tensor none = at::zeros_like(segment), one = at::ones_like(segment);
  const at::Tensor area = none.scatter_add(1, segment, one);
  const at::Tensor other = at::stack({points.category[1], points.category[0]});
  const at::Tensor voids = none.scatter_add(1, segment, other.eq(c).to(at::kLong));
  const at::Tensor categories = none.scatter(1, segment, points.category);
  const at::Tensor meet = none[0].scatter_add(0, pair_of[0], one[0]);
  const at::Tensor of_pair = none.scatter(1, pair_of, segment);

  const auto reals = detail::base_dtype(accumulation_on(segment.device()));
  const at::Tensor categories_of_pair = categories.gather(1, of_pair);
  const at::Tensor category = categories_of_pair[1];
  const at::Tensor alike =
      meet.gt(0).bitwise_and_(category.ne(c)).bitwise_and_(categories_of_pair[0].eq(category));
  const at::Tensor all = (area - voids).gather(1, of_pair).sum(0).sub_(meet);
  const at::Tensor iou = meet.to(reals).div_(all);
  const at::Tensor right = iou.gt(0.5).bitwise_and_(alike);
  at::Tensor matched = right, found = right; // of stuff, if modified, all that meet are found
  if (config_.modified) {
    const at::Tensor stuff = category.ge(things);
    matched = right & ~stuff;
    found = matched | (alike & stuff);
  }

  const auto by_category = [&](const at::Tensor &of, const at::Tensor &x) {
    std::vector<int64_t> sizes = of.sizes().vec();
    sizes.back() = c + 1;
    return at::zeros(sizes, x.options()).scatter_add_(-1, of, x).narrow(-1, 0, c);
  };
  const at::Tensor matches = matched.to(at::kLong);
  at::Tensor left = none.scatter_add(1, of_pair, matches.expand({2, n})).eq(0);
  left.bitwise_and_(area.gt(0)).bitwise_and_((2 * voids).le(area));
  at::Tensor rights = by_category(category, matches);
  if (config_.modified) {
    left.bitwise_and_(categories.lt(things));
    rights = rights +
             by_category(categories[1], (area[1].gt(0) & categories[1].ge(things)).to(at::kLong));
  }
  const at::Tensor wrong_and_missed = by_category(categories, left.to(at::kLong));
  return {by_category(category, iou.masked_fill(~found, 0)), rights, wrong_and_missed[0],
          wrong_and_missed[1]};
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
  const Points both = points(preds, target);
  if (!config_.allow_unknown_preds_category) {
    const at::Tensor unknown = (~both.known[0]).sum();
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
  const Tally batch = tally(both, preds.size(0));
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
