#include "metrics/metric.h"

#include <limits>

#include <ATen/ATen.h>
#include <torch/csrc/distributed/c10d/ProcessGroup.hpp>

#include "metrics/detail/wide.h"
#include "metrics/distributed/exchange.h"

namespace devsan::metrics {

Accumulation default_accumulation(at::Device device) {
  return device.is_mps() || device.is_xpu() ? Accumulation::kFloatPair : Accumulation::kDouble;
}

Metric::StateScope::StateScope()
    : no_inference_mode_(false), no_autocast_(c10::autocast_dispatch_keyset) {}

Metric::Metric(std::vector<StateSpec> specs, std::optional<Accumulation> accumulation)
    : specs_(std::move(specs)), accumulation_(accumulation) {}
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
    }
  }
  return fresh;
}

const std::vector<at::Tensor> &Metric::computable_states() const {
  TORCH_CHECK(!states_.empty(), name(),
              ": compute() before the first update(); nothing was seen yet");
  return states_;
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
  for (const at::Tensor &state : states_)
    moved.push_back(state.to(device));
  states_ = std::move(moved);
  pinned_ = states_.front().device();
}

torch::OrderedDict<std::string, at::Tensor> Metric::state_dict() const {
  torch::OrderedDict<std::string, at::Tensor> states("State");
  for (size_t i = 0; i < states_.size(); ++i)
    states.insert(specs_[i].name, states_[i]);
  return states;
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
    for (size_t i = 0; i < specs_.size(); ++i) {
      const at::Tensor *state = states.find(specs_[i].name);
      TORCH_CHECK(state && state->defined(), name(), ": the dictionary has no state `",
                  specs_[i].name, "`; pass the state_dict() of the same class");
      TORCH_CHECK(state->sizes() == expected[i].sizes() &&
                      state->scalar_type() == expected[i].scalar_type() &&
                      state->device() == source,
                  name(), ": state `", specs_[i].name, "` is ", state->scalar_type(), " of shape ",
                  state->sizes(), " on ", state->device(), ", not ", expected[i].scalar_type(),
                  " of shape ", expected[i].sizes(), " on ", source,
                  "; pass the state_dict() of a metric with the same options");
      loaded.push_back(state->detach().clone());
    }
  }
  states_ = std::move(loaded);
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
  states_ = states_.empty() ? other.states_ : merged(states_, other.states_);
}

void Metric::sync(const c10::intrusive_ptr<c10d::ProcessGroup> &group) {
  check_not_synced("sync()");
  TORCH_CHECK(group, name(), ": sync() needs a process group");
  const StateScope scope;

  // Device types, not devices: every rank has its own index.
  constexpr int64_t kNoDevice = -1;
  const std::optional<at::Device> own_device = device();
  const auto signature_hash =
      static_cast<int64_t>(std::hash<std::string>()(name() + "(" + signature() + ")"));
  const auto headers = exchange_headers(
      {signature_hash, own_device ? static_cast<int64_t>(own_device->type()) : kNoDevice},
      own_device, group);

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

  const std::vector<at::Tensor> own =
      states_on(own_device.value_or(at::Device(static_cast<at::DeviceType>(device_type))));
  std::vector<at::Tensor> pieces;
  for (const at::Tensor &state : own)
    pieces.push_back(state.reshape(-1).view(at::kByte));
  const at::Tensor gathered = all_gather_bytes(at::cat(pieces), group);

  std::vector<at::Tensor> total;
  for (int64_t rank = 0; rank < gathered.size(0); ++rank) {
    std::vector<at::Tensor> states;
    int64_t offset = 0;
    for (const at::Tensor &state : own) {
      const int64_t length = static_cast<int64_t>(state.nbytes());
      // A copy, since a slice of the buffer need not be aligned for its dtype.
      states.push_back(gathered[rank]
                           .narrow(0, offset, length)
                           .clone()
                           .view(state.scalar_type())
                           .view(state.sizes()));
      offset += length;
    }
    total = total.empty() ? states : merged(total, states);
  }
  own_states_ = std::exchange(states_, std::move(total));
  synced_ = true;
}

void Metric::unsync() {
  TORCH_CHECK(synced_, name(), ": unsync() without a sync() before it");
  states_ = std::exchange(own_states_, {});
  synced_ = false;
}

} // namespace devsan::metrics
