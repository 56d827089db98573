#include "metrics/metric.h"

#include <algorithm>
#include <atomic>
#include <limits>

#include <ATen/ATen.h>

#include "metrics/detail/capture.h"
#include "metrics/detail/wide.h"
#include "metrics/distributed/packing.h"

namespace devsan::metrics {
namespace {

// Rows of nothing have neither dtype nor size to speak of.
at::Tensor concatenated(std::vector<at::Tensor> lists, const at::Tensor &nothing) {
  std::erase_if(lists, [](const at::Tensor &list) { return list.size(0) == 0; });
  return lists.empty() ? nothing : at::cat(lists);
}

} // namespace

Accumulation default_accumulation(at::Device device) {
  return device.is_mps() || device.is_xpu() ? Accumulation::kFloatPair : Accumulation::kDouble;
}

Metric::StateScope::StateScope()
    : no_inference_mode_(false), no_autocast_(c10::autocast_dispatch_keyset) {}

Metric::Metric(std::vector<StateSpec> specs, std::optional<Accumulation> accumulation)
    : specs_(std::move(specs)), accumulation_(accumulation), store_(std::make_shared<Store>()) {}
Metric::Metric(const Metric &other)
    : Stateful(other), specs_(other.specs_), accumulation_(other.accumulation_),
      store_(std::make_shared<Store>(*other.store_)) {
  if (!store_->captured)
    return;
  for (DeviceStates &part : store_->by_device)
    part.states = copies_of(part.states);
  store_->own_states = copies_of(store_->own_states);
  store_->captured = false;
}
Metric::~Metric() = default;

torch::OrderedDict<std::string, at::Tensor> Metric::compute_dict() const {
  torch::OrderedDict<std::string, at::Tensor> named("Value");
  named.insert("", compute());
  return named;
}

Accumulation Metric::accumulation_on(at::Device device) const {
  return accumulation_.value_or(default_accumulation(device));
}

const char *Metric::accumulation_name() const {
  return !accumulation_                            ? "default"
         : *accumulation_ == Accumulation::kDouble ? "double"
                                                   : "float pair";
}

void Metric::collect(const std::string &prefix, Holders &holders) const {
  holders.push_back({prefix, this});
}

std::optional<at::Device> Metric::device() const {
  return own_device();
}

std::optional<at::Device> Metric::own_device() const {
  const Store &store = *store_;
  const bool home = store.policy == DevicePolicy::kPerDevice && store.pinned;
  return home || store.by_device.empty() ? store.pinned : store.by_device.front().device();
}

// That states can move to `device`: that it accumulates in the same format.
void Metric::check_format(at::Device device) const {
  for (const DeviceStates &part : store_->by_device)
    TORCH_CHECK(accumulation_on(device) == accumulation_on(part.device()), name(),
                ": cannot move its states from ", part.device(), " to ", device,
                ", which accumulates in another number format; call to() before the first "
                "update()");
}

void Metric::check_inputs(NamedInputs inputs) const {
  // A metric with states of its own need not look for others.
  const bool wrapper = specs_.empty();
  if (wrapper || store_->synced)
    check_not_synced("update()");
  const std::optional<at::Device> held = device();
  const bool follow = (wrapper ? device_policy() : store_->policy) == DevicePolicy::kFollow;
  std::optional<at::Device> expected = follow ? held : std::nullopt;
  const char *holder = "the metric's states";
  for (const auto &[input_name, input] : inputs) {
    TORCH_CHECK(input.defined(), name(), ": `", input_name,
                "` is an undefined tensor; pass a tensor");
    TORCH_CHECK(input.layout() == at::kStrided, name(), ": `", input_name, "` has layout ",
                input.layout(), "; pass a dense tensor (", input_name, ".to_dense())");
    TORCH_CHECK(!input.is_nested(), name(), ": `", input_name,
                "` is a nested tensor; pass one for each of its parts");
    TORCH_CHECK(!input.is_quantized(), name(), ": `", input_name, "` has dtype ",
                input.scalar_type(), "; pass real numbers (", input_name, ".dequantize())");
    if (!expected) {
      expected = input.device();
      holder = input_name;
    }
    TORCH_CHECK(input.device() == *expected, name(), ": `", input_name, "` lies on ",
                input.device(), ", but ", holder,
                holder == inputs.begin()->first ? " lies on " : " lie on ", *expected,
                "; move the input with ", input_name, ".to(\"", *expected,
                "\"), or the metric with metric.to(\"", input.device(), "\")");
  }
  if (expected)
    check_capture(*expected);
  if (follow || !held || !expected || *held == *expected)
    return;
  TORCH_CHECK(held->is_meta() == expected->is_meta(), name(), ": `", inputs.begin()->first,
              "` lies on ", *expected, ", but the metric's states on ", *held,
              ", and meta tensors have no values to move; use a metric for each");
  check_format(*expected);
}

void Metric::check_not_captured(at::Device device, const char *reason) const {
  TORCH_CHECK(!detail::is_capturing(device), name(),
              ": update() cannot be part of a CUDA graph: ", reason,
              "; call it after the replay, with what the graph has computed");
}

// Each replay of a graph computes the next states from those that lie where the last ones lay. So
// there have to be some, and they must not move.
void Metric::check_capture(at::Device device) const {
  if (specs_.empty() || !detail::is_capturing(device))
    return;
  for (const StateSpec &spec : specs_)
    if (spec.kind == StateSpec::Kind::kList)
      check_not_captured(device, "it keeps its inputs, so that its states grow");
  if (store_->policy != DevicePolicy::kFollow)
    check_not_captured(device, "its states have no place of their own, by its device policy");
  TORCH_CHECK(!store_->by_device.empty(), name(),
              ": has no states yet that a CUDA graph could add to; call update() once before the "
              "capture (reset() forgets that batch)");
}

bool Metric::validates_eagerly(Validate validate, const at::Tensor &input) const {
  const bool eager =
      validate == Validate::kEager || (validate == Validate::kAuto && input.is_cpu());
  if (eager)
    check_not_captured(input.device(), "it looks at the values, as validate says (eager)");
  return eager && !input.is_meta();
}

std::vector<at::Tensor> Metric::fresh_states(at::Device device) const {
  constexpr double kInfinity = std::numeric_limits<double>::infinity();
  const Accumulation format = accumulation_on(device);
  const auto real = at::TensorOptions().device(device).dtype(detail::base_dtype(format));
  std::vector<at::Tensor> fresh;
  for (const StateSpec &spec : specs_) {
    switch (spec.kind) {
    case StateSpec::Kind::kCount:
      fresh.push_back(at::zeros(spec.sizes, real.dtype(at::kLong)));
      break;
    case StateSpec::Kind::kMoment: {
      std::vector<int64_t> sizes = spec.sizes;
      sizes.insert(sizes.begin(), format == Accumulation::kFloatPair ? 2 : 1);
      fresh.push_back(at::zeros(sizes, real));
      break;
    }
    case StateSpec::Kind::kMaximum:
      fresh.push_back(at::full(spec.sizes, -kInfinity, real));
      break;
    case StateSpec::Kind::kMinimum:
      fresh.push_back(at::full(spec.sizes, kInfinity, real));
      break;
    case StateSpec::Kind::kList:
      fresh.push_back(at::empty({0}, real.dtype(at::kFloat)));
      break;
    }
  }
  return fresh;
}

std::vector<at::Tensor> Metric::on(at::Device device, const std::vector<at::Tensor> &states) {
  std::vector<at::Tensor> moved;
  for (const at::Tensor &state : states)
    // The CPU's memory is pageable: from there the copy would wait anyway, and to there it must.
    moved.push_back(state.to(device, /*non_blocking=*/!device.is_cpu() && !state.is_cpu()));
  return moved;
}

std::vector<at::Tensor> Metric::states_on(at::Device device) const {
  for (const DeviceStates &part : store_->by_device)
    if (part.device() == device)
      return part.states;
  return store_->by_device.empty() || store_->policy == DevicePolicy::kPerDevice
             ? fresh_states(device)
             : on(device, states());
}

std::vector<at::Tensor> Metric::copies_of(const std::vector<at::Tensor> &states) {
  const StateScope scope;
  std::vector<at::Tensor> copies;
  for (const at::Tensor &state : states)
    copies.push_back(state.clone());
  return copies;
}

// `by` where the states lie that a CUDA graph writes to.
void Metric::overwrite(const std::vector<at::Tensor> &states, const std::vector<at::Tensor> &by) {
  for (size_t i = 0; i < states.size(); ++i)
    if (!states[i].is_same(by[i]))
      states[i].copy_(by[i]);
}

void Metric::set_states(std::vector<at::Tensor> states) {
  std::vector<DeviceStates> &parts = store_->by_device;
  const at::Device device = states.front().device();
  auto part = parts.begin();
  if (store_->policy == DevicePolicy::kPerDevice)
    while (part != parts.end() && part->device() != device)
      ++part;
  if (part == parts.end())
    part = parts.insert(part, {{}, std::vector<std::vector<Piece>>(specs_.size())});
  store_->captured |= detail::is_capturing(device);
  if (store_->captured && !part->states.empty())
    overwrite(part->states, states);
  else
    part->states = std::move(states);
}

void Metric::replace_states(std::vector<at::Tensor> states) const {
  if (store_->captured && !store_->synced && !store_->by_device.front().states.empty()) {
    const std::vector<at::Tensor> &own = store_->by_device.front().states;
    overwrite(own, states.empty() ? fresh_states(own.front().device()) : states);
    return;
  }
  store_->by_device.clear();
  if (!states.empty())
    store_->by_device.push_back(
        {std::move(states), std::vector<std::vector<Piece>>(specs_.size())});
}

bool Metric::holds_alone(const at::Tensor &state) const {
  uint32_t holders = 1;
  for (const DeviceStates &part : store_->by_device)
    for (const at::Tensor &own : part.states)
      holders += own.is_same(state);
  const bool alone =
      state.use_count() == holders && state.has_storage() && state.storage().use_count() == 1;
  // The counts are read without an order: a clone that let go in another thread has read first.
  std::atomic_thread_fence(std::memory_order_acquire);
  return alone;
}

void Metric::append(const std::vector<at::Tensor> &pieces) {
  const at::Device device = pieces.front().device();
  size_t next = 0;
  for (size_t i = 0; i < specs_.size(); ++i) {
    if (!is_list(i))
      continue;
    const at::Tensor &piece = pieces[next++];
    TORCH_CHECK(piece.dim() >= 1 && piece.dim() <= static_cast<int64_t>(PackedShape::kMaxDims),
                name(), ": `", specs_[i].name, "` has shape ", piece.sizes(),
                "; pass [N, ...] of at most ", static_cast<int64_t>(PackedShape::kMaxDims),
                " dimensions");
    TORCH_CHECK(!detail::is_storage_only(piece.scalar_type()), name(), ": `", specs_[i].name,
                "` has dtype ", piece.scalar_type(),
                ", which LibTorch neither compares nor concatenates with others; pass ",
                piece.is_floating_point() ? "float32" : "int64");
    for (const DeviceStates &part : store_->by_device) {
      const at::Tensor &like = part.pieces[i].empty() ? part.states[i] : part.pieces[i].back().rows;
      TORCH_CHECK(piece.size(0) == 0 || like.size(0) == 0 ||
                      piece.sizes().slice(1) == like.sizes().slice(1),
                  name(), ": `", specs_[i].name, "` has shape ", piece.sizes(),
                  ", but what was seen before has ", like.sizes(),
                  "; pass tensors that differ in the first dimension only");
    }
  }
  std::vector<DeviceStates> &parts = store_->by_device;
  const auto on_device = [&](const DeviceStates &part) { return part.device() == device; };
  if (std::none_of(parts.begin(), parts.end(), on_device))
    set_states(states_on(device));
  DeviceStates &part = *std::find_if(parts.begin(), parts.end(), on_device);
  next = 0;
  for (size_t i = 0; i < specs_.size(); ++i) {
    if (!is_list(i))
      continue;
    const at::Tensor rows = pieces[next++].detach();
    if (rows.size(0) == 0)
      continue;
    std::vector<Piece> &list = part.pieces[i];
    list.push_back({rows,
                    rows.is_inference() ? std::nullopt : std::optional<uint32_t>(rows._version()),
                    (list.empty() ? 0 : list.back().rows_so_far) + rows.size(0)});
  }
}

void Metric::concatenate_lists(DeviceStates &part) const {
  for (size_t i = 0; i < specs_.size(); ++i) {
    if (part.pieces[i].empty())
      continue;
    const StateScope scope;
    std::vector<at::Tensor> lists{part.states[i]};
    for (const Piece &piece : part.pieces[i]) {
      TORCH_CHECK(!piece.version || piece.rows._version() == *piece.version, name(),
                  ": a tensor of `", specs_[i].name,
                  "` was written to after update(), which keeps the tensor itself and "
                  "no copy; pass a clone() of a tensor that is used again");
      lists.push_back(piece.rows);
    }
    part.states[i] = concatenated(std::move(lists), part.states[i]);
    part.pieces[i].clear();
  }
}

// Concatenates lists, and brings the states of all devices together on that of the results.
void Metric::gather_states() const {
  std::vector<DeviceStates> &parts = store_->by_device;
  for (DeviceStates &part : parts)
    concatenate_lists(part);
  if (parts.empty() || (parts.size() == 1 && parts.front().device() == *own_device()))
    return;
  const StateScope scope;
  std::vector<std::vector<at::Tensor>> moved;
  for (const DeviceStates &part : parts)
    moved.push_back(on(*own_device(), part.states));
  replace_states(merged_all(std::move(moved)));
}

const std::vector<at::Tensor> &Metric::states() const {
  static const std::vector<at::Tensor> none;
  gather_states();
  return store_->by_device.empty() ? none : store_->by_device.front().states;
}

// For others than this metric.
std::vector<at::Tensor> Metric::states_to_hold() const {
  return store_->captured ? copies_of(states()) : states();
}

void Metric::make_states(at::Device device) {
  if (specs_.empty() || !store_->by_device.empty())
    return;
  const StateScope scope;
  set_states(states_on(device));
}

const std::vector<at::Tensor> &Metric::computable_states() const {
  TORCH_CHECK(!store_->by_device.empty(), name(),
              ": compute() before the first update(); nothing was seen yet");
  return states();
}

at::Tensor Metric::shaped_result(const at::Tensor &value, at::ScalarType dtype) const {
  const bool too_wide =
      dtype == at::kDouble && default_accumulation(value.device()) != Accumulation::kDouble;
  TORCH_CHECK(!too_wide, name(), ": results of dtype ", dtype, " do not exist on ", value.device(),
              "; leave the option `dtype` at float32");
  return (value.numel() == 1 ? value.reshape({}) : value).to(dtype);
}

std::vector<at::Tensor> Metric::merged(const std::vector<at::Tensor> &a,
                                       const std::vector<at::Tensor> &b) const {
  using detail::Wide;
  std::vector<at::Tensor> combined;
  for (size_t i = 0; i < a.size(); ++i) {
    switch (specs_[i].kind) {
    case StateSpec::Kind::kCount:
      combined.push_back(a[i] + b[i]);
      break;
    case StateSpec::Kind::kMoment:
      combined.push_back((Wide::from_state(a[i]) + Wide::from_state(b[i])).to_state());
      break;
    case StateSpec::Kind::kMaximum:
      combined.push_back(at::maximum(a[i], b[i]));
      break;
    case StateSpec::Kind::kMinimum:
      combined.push_back(at::minimum(a[i], b[i]));
      break;
    case StateSpec::Kind::kList:
      combined.push_back(concatenated({a[i], b[i]}, a[i]));
      break;
    }
  }
  return combined;
}

// The states of several disjoint sets of samples, combined; lists are concatenated once for all.
std::vector<at::Tensor> Metric::merged_all(std::vector<std::vector<at::Tensor>> parts) const {
  std::vector<std::vector<at::Tensor>> lists(specs_.size());
  std::vector<at::Tensor> total;
  for (std::vector<at::Tensor> &part : parts) {
    for (size_t i = 0; i < part.size(); ++i)
      if (is_list(i)) {
        lists[i].push_back(part[i]);
        part[i] = part[i].narrow(0, 0, 0);
      }
    total = total.empty() ? std::move(part) : merged(total, part);
  }
  for (size_t i = 0; i < total.size(); ++i)
    if (is_list(i))
      total[i] = concatenated(std::move(lists[i]), total[i]);
  return total;
}

// Its own states with those of the same kind of metric; they are not put in place.
std::vector<at::Tensor> Metric::merged_with(const Metric &other) const {
  const std::vector<at::Tensor> &own = states();
  if (other.states().empty())
    return own;
  const at::Device device = own_device().value_or(*other.own_device());
  TORCH_CHECK(store_->policy != DevicePolicy::kFollow || device == *other.own_device(), name(),
              ": the other metric's states lie on ", *other.own_device(), ", these on ", device,
              "; move one of them with to() first");
  other.check_format(device);
  const std::vector<at::Tensor> others = on(device, other.states_to_hold());
  for (size_t i = 0; i < own.size(); ++i)
    TORCH_CHECK(!is_list(i) || own[i].size(0) == 0 || others[i].size(0) == 0 ||
                    own[i].sizes().slice(1) == others[i].sizes().slice(1),
                name(), ": `", specs_[i].name, "` of the other metric has shape ",
                others[i].sizes(), ", but ", own[i].sizes(),
                " here; both may differ in the first dimension only");
  return own.empty() ? others : merged(own, others);
}

// The states under `prefix` in a dictionary, copied; none where it has none of them.
std::vector<at::Tensor>
Metric::loaded(const std::string &prefix,
               const torch::OrderedDict<std::string, at::Tensor> &dictionary) const {
  const auto find = [&](size_t i) { return dictionary.find(prefix + specs_[i].name); };
  const at::Tensor *first = nullptr;
  for (size_t i = 0; i < specs_.size() && !first; ++i)
    first = find(i);
  if (!first)
    return {};
  TORCH_CHECK(first->defined(), name(),
              ": the dictionary holds an undefined tensor; the checkpoint is damaged");
  const at::Device source = first->device();
  const std::optional<at::Device> held = own_device();
  const bool follow = store_->policy == DevicePolicy::kFollow;
  TORCH_CHECK(!follow || held.value_or(source) == source, name(),
              ": the dictionary's states lie on ", source, ", this metric on ", *held,
              "; move them to ", *held, " first");
  const std::vector<at::Tensor> expected = fresh_states(source);
  const auto fits = [&](const at::Tensor &state, size_t i) {
    return state.device() == source && state.layout() == at::kStrided &&
           (is_list(i)
                ? state.dim() >= 1 && state.dim() <= static_cast<int64_t>(PackedShape::kMaxDims)
                : state.sizes() == expected[i].sizes() &&
                      state.scalar_type() == expected[i].scalar_type());
  };
  std::vector<at::Tensor> copies;
  for (size_t i = 0; i < specs_.size(); ++i) {
    const at::Tensor *state = find(i);
    TORCH_CHECK(state && state->defined(), name(), ": the dictionary has no state `", prefix,
                specs_[i].name, "`; pass the state_dict() of the same class");
    TORCH_CHECK(fits(*state, i), name(), ": state `", prefix, specs_[i].name, "` is ",
                state->scalar_type(), " of shape ", state->sizes(), " on ", state->device(),
                ", not ", expected[i].scalar_type(), " of shape ", expected[i].sizes(), " on ",
                source, "; pass the state_dict() of a metric with the same options");
    copies.push_back(state->detach().clone());
  }
  try {
    check_loaded(copies);
  } catch (c10::Error &error) {
    error.add_context("in load_state_dict(); pass the state_dict() of a metric with the same "
                      "options");
    throw;
  }
  return copies;
}

void Metric::check_loaded(const std::vector<at::Tensor> &) const {}

bool Metric::all_empty(const std::vector<at::Tensor> &lists) {
  return std::all_of(lists.begin(), lists.end(),
                     [](const at::Tensor &list) { return list.size(0) == 0; });
}

void Metric::keep_extremes(const std::vector<at::Tensor> &extremes) const {
  const StateScope scope;
  std::vector<at::Tensor> &own = store_->own_states;
  const at::Device device = extremes.front().device();
  const auto with_extremes = [&](const std::vector<at::Tensor> &states) {
    return merged(states.empty() ? fresh_states(device) : on(device, states), extremes);
  };
  if (store_->synced)
    own = with_extremes(own);
  replace_states(with_extremes(states()));
}

} // namespace devsan::metrics
