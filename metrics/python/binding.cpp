#include "metrics/python/binding.h"

#include <algorithm>
#include <set>
#include <string_view>

#include <torch/csrc/distributed/c10d/ProcessGroup.hpp>

#include "metrics/shared_states.h"
#include "metrics/wrappers/running.h"

namespace devsan::metrics::python {

std::vector<std::unique_ptr<Kind>> &kinds() {
  static auto *const all = new std::vector<std::unique_ptr<Kind>>;
  return *all;
}

at::Tensor tensor_input(const Kind &kind, size_t index, PyObject *given) {
  TORCH_CHECK_TYPE(given != Py_None, kind.name, ": `", kind.about.inputs[index],
                   "` cannot be None; pass a torch.Tensor");
  TORCH_CHECK_TYPE(is_tensor(given), kind.name, ": Expected argument `", kind.about.inputs[index],
                   "` to be of type `torch.Tensor`, but got ", type_name(given));
  return tensor_in(given);
}

namespace {

// The gates of `handles`, in an order that is the same for everyone, taken until the end.
class Gates {
public:
  explicit Gates(const std::vector<Handle *> &handles) {
    for (Handle *handle : handles)
      gates_.insert(&handle->gate());
    for (Gate *gate : gates_)
      gate->mutex.lock();
  }
  Gates(const Gates &) = delete;
  ~Gates() {
    for (Gate *gate : gates_)
      gate->mutex.unlock();
  }

  const std::set<Gate *, std::less<>> &all() const { return gates_; }

private:
  std::set<Gate *, std::less<>> gates_;
};

// What was done with the states of `handles`, once where they share them.
std::vector<Seen *> distinct(const std::vector<Handle *> &handles) {
  std::vector<Seen *> all;
  for (Handle *handle : handles)
    if (std::find(all.begin(), all.end(), &handle->seen()) == all.end())
      all.push_back(&handle->seen());
  return all;
}

// Throws where a metric outside of `handles` has the states of one of them.
void check_whole(const std::vector<Handle *> &handles, const char *call) {
  for (Handle *handle : handles)
    handle->check_alone(call);
}

// While all metrics that share states are changed together.
class Opened {
public:
  explicit Opened(const Gates &gates) {
    for (Gate *gate : gates.all())
      if (!gate->open) {
        gate->open = true;
        opened_.push_back(gate);
      }
  }
  Opened(const Opened &) = delete;
  ~Opened() {
    for (Gate *gate : opened_)
      gate->open = false;
  }

private:
  std::vector<Gate *> opened_;
};

} // namespace

void Seen::change() {
  // One count for all, so that no two metrics that take each other's place have the same.
  static std::atomic<int64_t> last = 0;
  version = ++last;
}

Core::~Core() = default;

std::vector<Handle *> Core::handles() {
  std::vector<Handle *> all;
  collect(all);
  return all;
}

template <class Change> void Core::change(const Change &change) {
  without_gil([&] {
    const std::vector<Handle *> all = handles();
    const Gates gates(all);
    change(all);
    for (Seen *seen : distinct(all))
      seen->change();
  });
}

template <class Read> auto Core::read(const Read &read) {
  return without_gil([&] {
    const Gates gates(handles());
    return read();
  });
}

void Core::reset() {
  change([&](const std::vector<Handle *> &all) {
    if (all.size() == 1)
      check_whole(all, "reset()");
    stateful().reset();
    for (Seen *seen : distinct(all)) {
      seen->updates = 0;
      seen->synced = false;
    }
  });
  set_updates(0);
}

void Core::to(at::Device device) {
  change([&](const auto &) { stateful().to(device); });
}

std::optional<at::Device> Core::device() {
  return read([&] { return stateful().device(); });
}

void Core::set_device_policy(PyObject *policy) {
  const std::string name = stateful().name();
  const auto chosen = Conversion<DevicePolicy>::from(Place{name, "device_policy"}, policy);
  change([&](const auto &) { stateful().device_policy(chosen); });
}

void Core::merge(Core &other) {
  without_gil([&] {
    const std::vector<Handle *> own = handles(), others = other.handles();
    std::vector<Handle *> all = own;
    all.insert(all.end(), others.begin(), others.end());
    const Gates gates(all);
    if (own.size() == 1)
      check_whole(own, "merge()");
    merge_states(other);
    std::set<Seen *, std::less<>> counted;
    for (size_t i = 0; i < own.size(); ++i)
      if (counted.insert(&own[i]->seen()).second) {
        own[i]->seen().updates += others[i]->seen().updates.load();
        own[i]->seen().change();
      }
  });
}

void Core::sync(PyObject *group) {
  const auto held = group_in(group);
  change([&](const std::vector<Handle *> &all) {
    stateful().sync(held);
    for (Seen *seen : distinct(all))
      seen->synced = true;
  });
}

void Core::unsync() {
  change([&](const std::vector<Handle *> &all) {
    stateful().unsync();
    for (Seen *seen : distinct(all))
      seen->synced = false;
  });
}

Object Core::states() {
  return dict_of(read([&] { return stateful().state_dict(); }));
}

void Core::load(PyObject *states) {
  TORCH_CHECK_TYPE(PyDict_Check(states), stateful().name(), ": states are of type ",
                   type_name(states), "; pass a dict");
  torch::OrderedDict<std::string, at::Tensor> named("State");
  for (const Object &name : items_of(states)) {
    const Object state(PyObject_GetItem(states, name.get()));
    TORCH_CHECK_TYPE(is_tensor(state.get()), stateful().name(), ": state `", str(name.get()),
                     "` is of type ", type_name(state.get()), "; pass a torch.Tensor");
    named.insert(str(name.get()), tensor_in(state.get()));
  }
  change([&](const std::vector<Handle *> &all) {
    if (all.size() == 1)
      check_whole(all, "loading states");
    expect_states(named);
    stateful().load_state_dict(named);
  });
}

void Core::swap(Core &other) {
  without_gil([&] {
    const std::vector<Handle *> own = handles(), others = other.handles();
    TORCH_CHECK(own.size() == others.size(), stateful().name(), ": has ", own.size(),
                " metrics, the other one ", others.size());
    std::vector<Handle *> all = own;
    all.insert(all.end(), others.begin(), others.end());
    const Gates gates(all);
    const Gil gil; // under which the counts are read
    for (size_t i = 0; i < own.size(); ++i) {
      std::swap(own[i]->metric_, others[i]->metric_);
      std::swap(own[i]->seen_, others[i]->seen_);
    }
    swap_counts(other);
  });
}

int64_t Core::largest_state() {
  return read([&] {
    int64_t largest = 0;
    for (Handle *handle : handles())
      largest = std::max(largest, SharedStates::largest(handle->metric()));
    return largest;
  });
}

int64_t Core::version() {
  int64_t newest = 0;
  for (Handle *handle : handles()) {
    if (SharedStates::captured(handle->metric())) // whose replays nobody tells of
      handle->seen().change();
    newest = std::max<int64_t>(newest, handle->seen().version);
  }
  return newest;
}

bool Core::captured() {
  const std::vector<Handle *> all = handles();
  return std::any_of(all.begin(), all.end(),
                     [](Handle *handle) { return SharedStates::captured(handle->metric()); });
}

bool Core::synced() {
  const std::vector<Handle *> all = handles();
  return std::any_of(all.begin(), all.end(),
                     [](Handle *handle) { return handle->seen().synced.load(); });
}

std::shared_ptr<Core> Handle::fresh() {
  auto handle = std::make_shared<Handle>(*kind_, maker_, by_class_, resizer_);
  handle->metric_->device_policy(read([&] { return metric_->device_policy(); }));
  return handle;
}

template <class Read> auto Handle::computed(const Read &of_metric) {
  return read([&] {
    if (!metric_->states().empty())
      return of_metric(*metric_);
    const std::unique_ptr<Metric> of_nothing = metric_->clone();
    of_nothing->make_states(metric_->device().value_or(at::kCPU));
    return of_metric(*of_nothing);
  });
}

Values Handle::compute() {
  return computed([&](const Metric &metric) { return kind_->compute(metric, by_class_); });
}

Object Handle::compute_by_name() {
  return dict_of(computed([](const Metric &metric) { return metric.compute_dict(); }));
}

at::Tensor Handle::of_images(const at::Tensor &preds, const at::Tensor &target) {
  return read([&] { return kind_->of_images(*metric_, preds, target); });
}

at::Tensor Handle::query_values() {
  TORCH_CHECK(kind_->query_values, metric_->name(), ": has no values of queries");
  return read(
      [&] { return metric_->states().empty() ? at::empty({0}) : kind_->query_values(*metric_); });
}

void Handle::check_valid() {
  read([&] { kind_->check_valid(*metric_); });
}

// Metrics that share states would have to be resized together.
std::string Handle::state_signature() {
  if (resizer_)
    return {};
  return read([&] { return SharedStates::signature(*metric_); });
}

void Handle::join(Handle &first) {
  SharedStates::join(*metric_, *first.metric_);
  gate_ = first.gate_;
  seen_ = first.seen_;
}

void Handle::leave() {
  metric_ = metric_->clone();
  gate_ = std::make_shared<Gate>();
  auto seen = std::make_shared<Seen>();
  seen->updates = seen_->updates.load();
  seen->synced = seen_->synced.load();
  seen->change();
  seen_ = seen;
}

void Handle::check_alone(const char *call) const {
  TORCH_CHECK(!shares() || gate_->open, metric_->name(),
              ": shares its states with other metrics of its collection, which ", call,
              " would change too; call that of the collection, or take a clone()");
}

namespace {

// The states of all outputs are the longest.
int64_t outputs_of(const std::vector<at::Tensor> &states) {
  int64_t outputs = 1;
  for (const at::Tensor &state : states)
    outputs = state.dim() > 0 ? std::max(outputs, state.size(-1)) : outputs;
  return outputs;
}

} // namespace

void Handle::resize(int64_t num_outputs) {
  if (!metric_->states().empty() || num_outputs < 1)
    return;
  std::shared_ptr<Metric> resized = resizer_(num_outputs);
  resized->device_policy(metric_->device_policy());
  if (metric_->device())
    resized->to(*metric_->device());
  metric_ = std::move(resized);
}

void Handle::expect_columns(const at::Tensor &input) {
  without_gil([&] {
    const std::lock_guard lock(gate_->mutex);
    resize(input.dim() == 2 ? input.size(1) : 1);
  });
}

void Handle::expect_states(const torch::OrderedDict<std::string, at::Tensor> &states) {
  if (!resizer_)
    return;
  metric_->reset();
  resize(outputs_of(states.values()));
}

void Handle::agree_on_outputs(Handle &a, Handle &b) {
  if (!a.resizer_ || !b.resizer_)
    return;
  a.resize(outputs_of(b.metric_->states()));
  b.resize(outputs_of(a.metric_->states()));
}

void Handle::merge_states(Core &other) {
  auto *const handle = dynamic_cast<Handle *>(&other);
  TORCH_CHECK(handle, metric_->name(), ": cannot merge ", other.stateful().description(),
              "; both need the same class and options");
  agree_on_outputs(*this, *handle);
  metric_->merge(*handle->metric_);
}

void Bundle::Together::collect(const std::string &prefix, Holders &holders) const {
  for (const auto &[name, part] : parts_)
    collect_from(part->stateful(), prefix + name + ".", holders);
}

std::string Bundle::Together::signature() const {
  std::string text;
  for (const auto &[name, part] : parts_)
    text += (text.empty() ? "" : ", ") + name + ": " + part->stateful().description();
  return text;
}

Bundle::Bundle(std::string name, Parts parts)
    : name_(std::move(name)), parts_(std::move(parts)), together_(name_, parts_) {}

void Bundle::collect(std::vector<Handle *> &handles) {
  for (const auto &[name, part] : parts_)
    part->collect(handles);
}

std::shared_ptr<Core> Bundle::fresh() {
  Parts parts;
  for (const auto &[name, part] : parts_)
    parts.emplace_back(name, part->fresh());
  auto bundle = std::make_shared<Bundle>(name_, std::move(parts));
  const std::vector<Handle *> own = handles(), copies = bundle->handles();
  for (size_t i = 0; i < own.size(); ++i)
    for (size_t j = 0; j < i; ++j)
      if (own[i]->shares_with(*own[j])) {
        if (!copies[i]->shares_with(*copies[j]))
          copies[i]->join(*copies[j]);
        break;
      }
  return bundle;
}

void Bundle::all_or_nothing(PyObject *update, int64_t last) {
  without_gil([&] {
    const std::vector<Handle *> all = handles();
    const Gates gates(all);
    const Opened opened(gates);
    const std::vector<Seen *> seen = distinct(all);
    std::vector<std::pair<Bundle *, int64_t>> inner;
    count_updates(inner);
    std::vector<int64_t> updates;
    for (const Seen *of_one : seen)
      updates.push_back(of_one->updates);
    // Windows move their metrics.
    std::vector<std::pair<std::shared_ptr<Metric>, std::shared_ptr<Seen>>> places;
    for (Handle *handle : all)
      places.emplace_back(handle->metric_, handle->seen_);
    try {
      together_.update(parts_.at(static_cast<size_t>(last)).second->stateful(), [&] {
        const Gil gil;
        Object::borrowed(update)();
      });
    } catch (...) {
      const Gil gil; // see swap()
      for (size_t i = 0; i < all.size(); ++i)
        std::tie(all[i]->metric_, all[i]->seen_) = places[i];
      for (const auto &[bundle, number] : inner)
        bundle->updates_ = number;
      for (size_t i = 0; i < seen.size(); ++i) {
        seen[i]->updates = updates[i];
        seen[i]->change();
      }
      throw;
    }
  });
  ++updates_;
}

void Bundle::expect_states(const torch::OrderedDict<std::string, at::Tensor> &states) {
  for (const auto &[name, part] : parts_) {
    torch::OrderedDict<std::string, at::Tensor> of_part("State");
    for (const auto &state : states)
      if (state.key().starts_with(name + "."))
        of_part.insert(state.key().substr(name.size() + 1), state.value());
    if (!of_part.is_empty())
      part->expect_states(of_part);
  }
}

void Bundle::swap_counts(Core &other) {
  auto &bundle = dynamic_cast<Bundle &>(other);
  updates_ = bundle.updates_.exchange(updates_);
  for (size_t i = 0; i < parts_.size(); ++i)
    parts_[i].second->swap_counts(*bundle.parts_.at(i).second);
}

void Bundle::count_updates(std::vector<std::pair<Bundle *, int64_t>> &counts) {
  counts.emplace_back(this, updates_);
  for (const auto &[name, part] : parts_)
    if (auto *const bundle = dynamic_cast<Bundle *>(part.get()))
      bundle->count_updates(counts);
}

std::shared_ptr<Handle> Bundle::merged() {
  const std::vector<Handle *> all = handles();
  auto total = std::static_pointer_cast<Handle>(all.front()->fresh());
  without_gil([&] {
    const Gates gates(all);
    std::vector<const Metric *> updates;
    for (Handle *handle : all)
      updates.push_back(&handle->metric());
    Running::add_up(total->metric(), updates);
  });
  return total;
}

void Bundle::merge_states(Core &other) {
  auto *const bundle = dynamic_cast<Bundle *>(&other);
  TORCH_CHECK(bundle, name_, ": cannot merge ", other.stateful().description(), " into ",
              together_.description(), "; both need the same class and options");
  const std::vector<Handle *> own = handles(), others = bundle->handles();
  for (size_t i = 0; i < std::min(own.size(), others.size()); ++i)
    Handle::agree_on_outputs(*own[i], *others[i]);
  together_.merge(bundle->together_);
  updates_ += bundle->updates_.load();
}

} // namespace devsan::metrics::python
