#include "metrics/metric.h"

#include <algorithm>
#include <limits>

#include <ATen/ATen.h>
#include <torch/csrc/distributed/c10d/ProcessGroup.hpp>

#include "metrics/detail/wide.h"
#include "metrics/distributed/exchange.h"
#include "metrics/distributed/packing.h"

namespace devsan::metrics {
namespace {

// The header of sync() has room for so many lists, whatever the metric, because ranks with
// different metrics must still be able to tell each other.
constexpr size_t kMaxLists = 4;

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
    : specs_(std::move(specs)), accumulation_(accumulation), pieces_(specs_.size()) {
  size_t lists = 0;
  for (size_t i = 0; i < specs_.size(); ++i)
    lists += is_list(i);
  TORCH_INTERNAL_ASSERT(lists <= kMaxLists);
}
Metric::~Metric() = default;

Accumulation Metric::accumulation_on(at::Device device) const {
  return accumulation_.value_or(default_accumulation(device));
}

const char *Metric::accumulation_name() const {
  return !accumulation_                            ? "default"
         : *accumulation_ == Accumulation::kDouble ? "double"
                                                   : "float pair";
}

void Metric::check_not_synced(const char *call) const {
  TORCH_CHECK(!synced_, name(), ": ", call,
              " after sync() would count other ranks' samples twice; call unsync() first");
}

void Metric::check_inputs(NamedInputs inputs) const {
  check_not_synced("update()");
  std::optional<at::Device> expected = device();
  const char *holder = "the metric's states";
  for (const auto &[input_name, input] : inputs) {
    TORCH_CHECK(input.defined(), name(), ": `", input_name,
                "` is an undefined tensor; pass a tensor");
    TORCH_CHECK(input.layout() == at::kStrided, name(), ": `", input_name, "` has layout ",
                input.layout(), "; pass a dense tensor (", input_name, ".to_dense())");
    if (!expected) {
      expected = input.device();
      holder = input_name;
    }
    TORCH_CHECK(input.device() == *expected, name(), ": `", input_name, "` lies on ",
                input.device(), ", but ", holder,
                states_.empty() && !pinned_ ? " lies on " : " lie on ", *expected,
                "; move the input with ", input_name, ".to(\"", *expected,
                "\"), or the metric with metric.to(\"", input.device(), "\")");
  }
}

std::vector<at::Tensor> Metric::states_on(at::Device device) const {
  if (!states_.empty())
    return states_;
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

void Metric::append(const std::vector<at::Tensor> &pieces) {
  size_t next = 0;
  for (size_t i = 0; i < specs_.size(); ++i) {
    if (!is_list(i))
      continue;
    const at::Tensor &piece = pieces[next++];
    TORCH_CHECK(piece.dim() >= 1 && piece.dim() <= static_cast<int64_t>(PackedShape::kMaxDims),
                name(), ": `", specs_[i].name, "` has shape ", piece.sizes(),
                "; pass [N, ...] of at most ", static_cast<int64_t>(PackedShape::kMaxDims),
                " dimensions");
    const at::Tensor *like = nullptr;
    if (!pieces_[i].empty())
      like = &pieces_[i].back().rows;
    else if (!states_.empty() && states_[i].size(0) != 0)
      like = &states_[i];
    TORCH_CHECK(piece.size(0) == 0 || !like || piece.sizes().slice(1) == like->sizes().slice(1),
                name(), ": `", specs_[i].name, "` has shape ", piece.sizes(),
                ", but what was seen before has ", like->sizes(),
                "; pass tensors that differ in the first dimension only");
    pieces_[i].reserve(pieces_[i].size() + 1);
  }
  if (states_.empty())
    states_ = states_on(pieces.front().device());
  next = 0;
  for (size_t i = 0; i < specs_.size(); ++i) {
    if (!is_list(i))
      continue;
    const at::Tensor rows = pieces[next++].detach();
    if (rows.size(0) != 0)
      pieces_[i].push_back(
          {rows, rows.is_inference() ? std::nullopt : std::optional<uint32_t>(rows._version())});
  }
}

void Metric::concatenate_lists() const {
  if (std::all_of(pieces_.begin(), pieces_.end(), [](const auto &list) { return list.empty(); }))
    return;
  const StateScope scope;
  for (size_t i = 0; i < states_.size(); ++i) {
    if (pieces_[i].empty())
      continue;
    std::vector<at::Tensor> lists{states_[i]};
    for (const Piece &piece : pieces_[i]) {
      TORCH_CHECK(!piece.version || piece.rows._version() == *piece.version, name(),
                  ": a tensor of `", specs_[i].name,
                  "` was written to after update(), which keeps the tensor itself and "
                  "no copy; pass a clone() of a tensor that is used again");
      lists.push_back(piece.rows);
    }
    states_[i] = concatenated(std::move(lists), states_[i]);
    pieces_[i].clear();
  }
}

const std::vector<at::Tensor> &Metric::states() const {
  concatenate_lists();
  return states_;
}

const std::vector<at::Tensor> &Metric::computable_states() const {
  TORCH_CHECK(!states_.empty(), name(),
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

void Metric::reset() {
  states_.clear();
  pieces_.assign(specs_.size(), {});
  own_states_.clear();
  synced_ = false;
}

void Metric::to(at::Device device) {
  check_not_synced("to()");
  const StateScope scope;
  if (states_.empty()) {
    pinned_ =
        states_on(device).front().device(); // with its index: "cuda" means the current one, now
    return;
  }
  const Accumulation format = accumulation_on(states_.front().device());
  TORCH_CHECK(accumulation_on(device) == format, name(), ": cannot move its states from ",
              states_.front().device(), " to ", device,
              ", which accumulates in another number format; call to() before the first update()");
  std::vector<at::Tensor> moved;
  for (const at::Tensor &state : states())
    moved.push_back(state.to(device));
  states_ = std::move(moved);
  pinned_ = states_.front().device();
}

torch::OrderedDict<std::string, at::Tensor> Metric::state_dict() const {
  torch::OrderedDict<std::string, at::Tensor> named("State");
  const std::vector<at::Tensor> &all = states();
  for (size_t i = 0; i < all.size(); ++i)
    named.insert(specs_[i].name, all[i]);
  return named;
}

void Metric::load_state_dict(const torch::OrderedDict<std::string, at::Tensor> &states) {
  check_not_synced("load_state_dict()");
  const StateScope scope;
  std::vector<at::Tensor> loaded;
  if (!states.is_empty()) {
    TORCH_CHECK(states.size() == specs_.size(), name(), ": the dictionary holds ", states.size(),
                " states, not ", specs_.size(), "; pass the state_dict() of the same class");
    const at::Tensor &first = states.items().front().value();
    TORCH_CHECK(first.defined(), name(),
                ": the dictionary holds an undefined tensor; the checkpoint is damaged");
    const at::Device source = first.device();
    TORCH_CHECK(device().value_or(source) == source, name(), ": the dictionary's states lie on ",
                source, ", this metric on ", *device(), "; move them to ", *device(), " first");
    const std::vector<at::Tensor> expected = states_on(source);
    const auto fits = [&](const at::Tensor &state, size_t i) {
      return state.device() == source &&
             (is_list(i)
                  ? state.dim() >= 1 && state.dim() <= static_cast<int64_t>(PackedShape::kMaxDims)
                  : state.sizes() == expected[i].sizes() &&
                        state.scalar_type() == expected[i].scalar_type());
    };
    for (size_t i = 0; i < specs_.size(); ++i) {
      const at::Tensor *state = states.find(specs_[i].name);
      TORCH_CHECK(state && state->defined(), name(), ": the dictionary has no state `",
                  specs_[i].name, "`; pass the state_dict() of the same class");
      TORCH_CHECK(fits(*state, i), name(), ": state `", specs_[i].name, "` is ",
                  state->scalar_type(), " of shape ", state->sizes(), " on ", state->device(),
                  ", not ", expected[i].scalar_type(), " of shape ", expected[i].sizes(), " on ",
                  source, "; pass the state_dict() of a metric with the same options");
      loaded.push_back(state->detach().clone());
    }
  }
  states_ = std::move(loaded);
  pieces_.assign(specs_.size(), {});
}

std::optional<at::Device> Metric::device() const {
  if (!states_.empty())
    return states_.front().device();
  return pinned_;
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

void Metric::merge(const Metric &other) {
  check_not_synced("merge()");
  other.check_not_synced("merge() of a synced metric");
  TORCH_CHECK(name() == other.name() && signature() == other.signature(), name(), ": cannot merge ",
              other.name(), "(", other.signature(), ") into ", name(), "(", signature(),
              "); both need the same class and options");
  if (other.states_.empty())
    return;
  TORCH_CHECK(device().value_or(*other.device()) == *other.device(), name(),
              ": the other metric's states lie on ", *other.device(), ", these on ", *device(),
              "; move one of them with to() first");
  const StateScope scope;
  // Before either side changes.
  const std::vector<at::Tensor> &others = other.states();
  const std::vector<at::Tensor> &own = states();
  for (size_t i = 0; i < own.size(); ++i)
    TORCH_CHECK(!is_list(i) || own[i].size(0) == 0 || others[i].size(0) == 0 ||
                    own[i].sizes().slice(1) == others[i].sizes().slice(1),
                name(), ": `", specs_[i].name, "` of the other metric has shape ",
                others[i].sizes(), ", but ", own[i].sizes(),
                " here; both may differ in the first dimension only");
  states_ = own.empty() ? others : merged(own, others);
}

void Metric::sync(const c10::intrusive_ptr<c10d::ProcessGroup> &group) {
  check_not_synced("sync()");
  TORCH_CHECK(group, name(), ": sync() needs a process group");
  const StateScope scope;

  // Device types, not devices: every rank has its own index.
  constexpr int64_t kNoDevice = -1;
  constexpr size_t kLists = 2; // where the lists begin in the header
  const std::optional<at::Device> own_device = device();
  const auto signature_hash =
      static_cast<int64_t>(std::hash<std::string>()(name() + "(" + signature() + ")"));
  std::vector<int64_t> header(kLists + kMaxLists * PackedShape::kNumbers);
  header[0] = signature_hash;
  header[1] = own_device ? static_cast<int64_t>(own_device->type()) : kNoDevice;
  size_t next = kLists;
  for (size_t i = 0; i < states().size(); ++i)
    if (is_list(i)) {
      PackedShape::of(states_[i]).write(&header[next]);
      next += PackedShape::kNumbers;
    }
  const auto headers = exchange_headers(header, own_device, group);

  int64_t device_type = kNoDevice;
  for (size_t rank = 0; rank < headers.size(); ++rank) {
    TORCH_CHECK(headers[rank][0] == signature_hash, name(), ": rank ", rank,
                " syncs another metric or other options than ", name(), "(", signature(),
                ") on rank ", group->getRank(), "; every rank must sync the same metric");
    if (headers[rank][1] == kNoDevice)
      continue;
    TORCH_CHECK(device_type == kNoDevice || device_type == headers[rank][1], name(),
                ": the ranks' states lie on different device types (",
                at::Device(static_cast<at::DeviceType>(device_type)), " and ",
                at::Device(static_cast<at::DeviceType>(headers[rank][1])), " of rank ", rank,
                "); move them to one type with to() first");
    device_type = headers[rank][1];
  }
  TORCH_CHECK(device_type != kNoDevice, name(),
              ": sync() before any rank's first update(); nothing was seen yet");

  std::vector<at::Tensor> own =
      states_on(own_device.value_or(at::Device(static_cast<at::DeviceType>(device_type))));
  std::vector<std::vector<PackedShape>> shapes(headers.size());
  next = kLists;
  for (size_t i = 0; i < own.size(); ++i) {
    std::vector<PackedShape *> of_ranks;
    for (size_t rank = 0; rank < headers.size(); ++rank) {
      shapes[rank].reserve(own.size());
      shapes[rank].push_back(is_list(i) ? PackedShape::read(&headers[rank][next])
                                        : PackedShape::of(own[i]));
      of_ranks.push_back(&shapes[rank].back());
    }
    if (!is_list(i))
      continue;
    agree_on_rows(of_ranks, name() + ": `" + specs_[i].name + "`");
    own[i] = own[i].to(of_ranks[group->getRank()]->dtype);
    next += PackedShape::kNumbers;
  }
  int64_t longest = 0;
  for (const std::vector<PackedShape> &of_rank : shapes) {
    int64_t length = 0;
    for (const PackedShape &shape : of_rank)
      length += shape.nbytes();
    longest = std::max(longest, length);
  }
  const at::Tensor gathered = all_gather_bytes(pack(own, longest), group);

  // Lists are concatenated once for all ranks.
  std::vector<at::Tensor> total;
  std::vector<std::vector<at::Tensor>> lists(own.size());
  for (int64_t rank = 0; rank < gathered.size(0); ++rank) {
    std::vector<at::Tensor> states = unpack(gathered[rank], shapes[rank]);
    for (size_t i = 0; i < own.size(); ++i)
      if (is_list(i)) {
        lists[i].push_back(states[i]);
        states[i] = states[i].narrow(0, 0, 0);
      }
    total = total.empty() ? states : merged(total, states);
  }
  for (size_t i = 0; i < own.size(); ++i)
    if (is_list(i))
      total[i] = concatenated(std::move(lists[i]), total[i]);
  own_states_ = std::exchange(states_, std::move(total));
  synced_ = true;
}

void Metric::unsync() {
  TORCH_CHECK(synced_, name(), ": unsync() without a sync() before it");
  states_ = std::exchange(own_states_, {});
  synced_ = false;
}

} // namespace devsan::metrics
