#include "metrics/python/binding.h"

#include <algorithm>
#include <set>
#include <string_view>

#include <torch/csrc/distributed/c10d/ProcessGroup.hpp>

#include "metrics/shared_states.h"

namespace devsan::metrics::python {

std::vector<std::unique_ptr<Kind>> &kinds() {
  static auto *const all = new std::vector<std::unique_ptr<Kind>>;
  return *all;
}

py::handle metric_error() {
  static PyObject *const error = PyErr_NewExceptionWithDoc(
      "devsan.metrics.MetricError",
      "What a metric refuses: an argument, an input, or a call. It is all of RuntimeError, "
      "ValueError and TypeError, one of which TorchMetrics raises, from metric to metric.",
      py::make_tuple(py::handle(PyExc_RuntimeError), py::handle(PyExc_ValueError),
                     py::handle(PyExc_TypeError))
          .ptr(),
      nullptr);
  if (!error)
    throw py::error_already_set();
  return error;
}

void raise_as_metric_error() {
  PyObject *type = nullptr, *value = nullptr, *trace = nullptr;
  PyErr_Fetch(&type, &value, &trace);
  const bool plain =
      type == PyExc_RuntimeError || type == PyExc_ValueError || type == PyExc_TypeError;
  if (!plain) {
    PyErr_Restore(type, value, trace);
    return;
  }
  const py::object held_type = py::reinterpret_steal<py::object>(type);
  const py::object held_trace = py::reinterpret_steal<py::object>(trace);
  const py::object held_value = py::reinterpret_steal<py::object>(value);
  const std::string text = held_value ? py::str(held_value).cast<std::string>() : "";
  PyErr_Restore(py::handle(metric_error()).inc_ref().ptr(),
                py::str(in_words_of_python(text)).release().ptr(), held_trace.inc_ref().ptr());
}

at::Tensor tensor_input(const Kind &kind, size_t index, PyObject *given) {
  TORCH_CHECK_TYPE(given != Py_None, kind.name, ": `", kind.about.inputs[index],
                   "` cannot be None; pass a torch.Tensor");
  TORCH_CHECK_TYPE(THPVariable_Check(given), kind.name, ": Expected argument `",
                   kind.about.inputs[index], "` to be of type `torch.Tensor`, but got ",
                   Py_TYPE(given)->tp_name);
  return THPVariable_Unpack(given);
}

namespace {

// Python's calling convention without a tuple and a dictionary of arguments: update() is called for
// every batch, and pybind11's own way costs as much as the update of a small one.
PyObject *fold_in(PyObject *self, PyObject *const *args, Py_ssize_t count, PyObject *keywords) {
  HANDLE_TH_ERRORS
  Handle &handle = py::cast<Handle &>(py::handle(self));
  const Kind &kind = handle.kind();
  const std::vector<const char *> &names = kind.about.inputs;
  PyObject *inputs[kMaxInputs] = {};
  TORCH_CHECK_TYPE(static_cast<size_t>(count) <= names.size(), kind.name, ": update() was passed ",
                   count, " arguments; pass ", names.size());
  std::copy_n(args, count, inputs);
  const Py_ssize_t named = keywords ? PyTuple_GET_SIZE(keywords) : 0;
  for (Py_ssize_t i = 0; i < named; ++i) {
    const char *const name = PyUnicode_AsUTF8(PyTuple_GET_ITEM(keywords, i));
    if (!name)
      throw py::error_already_set();
    const auto known = std::find_if(names.begin(), names.end(), [&](const char *other) {
      return std::string_view(name) == other;
    });
    TORCH_CHECK_TYPE(known != names.end(), kind.name, ": update() has no argument `", name,
                     "`; pass ", names);
    PyObject *&input = inputs[known - names.begin()];
    TORCH_CHECK_TYPE(!input, kind.name, ": `", name,
                     "` was passed to update() twice; pass it once");
    input = args[count + i];
  }
  for (size_t i = 0; i + kind.about.optional_inputs < names.size(); ++i)
    TORCH_CHECK_TYPE(inputs[i], kind.name, ": update() was called without `", names[i], "`; pass ",
                     names);
  kind.update(handle, inputs);
  Py_RETURN_NONE;
  END_HANDLE_TH_ERRORS
}

PyObject *call_update(PyObject *self, PyObject *const *args, Py_ssize_t count, PyObject *keywords) {
  PyObject *const none = fold_in(self, args, count, keywords);
  if (!none)
    raise_as_metric_error();
  return none;
}

PyMethodDef update_method = {"update",
                             reinterpret_cast<PyCFunction>(reinterpret_cast<void *>(call_update)),
                             METH_FASTCALL | METH_KEYWORDS, "Folds in a batch."};

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

void Core::set_device_policy(DevicePolicy policy) {
  change([&](const auto &) { stateful().device_policy(policy); });
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

void Core::sync(c10d::ProcessGroup &group) {
  const auto held = c10::intrusive_ptr<c10d::ProcessGroup>::reclaim_copy(&group);
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

py::dict Core::states() {
  const auto states = read([&] { return stateful().state_dict(); });
  py::dict named;
  for (const auto &state : states)
    named[py::str(state.key())] = state.value();
  return named;
}

void Core::load(const py::dict &states) {
  torch::OrderedDict<std::string, at::Tensor> named("State");
  for (const auto &[name, state] : states) {
    if (!THPVariable_Check(state.ptr()))
      throw py::type_error(c10::str(stateful().name(), ": state `",
                                    py::str(name).cast<std::string>(), "` is of type ",
                                    Py_TYPE(state.ptr())->tp_name, "; pass a torch.Tensor"));
    named.insert(py::str(name).cast<std::string>(), THPVariable_Unpack(state.ptr()));
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
    const py::gil_scoped_acquire gil; // under which the counts are read
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

py::dict Handle::compute_by_name() {
  const auto values = computed([](const Metric &metric) { return metric.compute_dict(); });
  py::dict named;
  for (const auto &value : values)
    named[py::str(value.key())] = value.value();
  return named;
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

void Handle::merge_states(Core &other) {
  auto *const handle = dynamic_cast<Handle *>(&other);
  TORCH_CHECK(handle, metric_->name(), ": cannot merge ", other.stateful().description(),
              "; both need the same class and options");
  if (resizer_ && handle->resizer_) {
    const std::vector<at::Tensor> &states = handle->metric_->states();
    if (states.empty())
      return;
    resize(outputs_of(states));
  }
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

void Bundle::all_or_nothing(const py::function &update, size_t last) {
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
      together_.update(parts_.at(last).second->stateful(), [&] {
        const py::gil_scoped_acquire gil;
        update();
      });
    } catch (...) {
      const py::gil_scoped_acquire gil; // see swap()
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
    for (auto handle = all.rbegin(); handle != all.rend(); ++handle) // the oldest first
      Together::add(total->metric(), (*handle)->metric());
  });
  return total;
}

void Bundle::merge_states(Core &other) {
  auto *const bundle = dynamic_cast<Bundle *>(&other);
  TORCH_CHECK(bundle, name_, ": cannot merge ", other.stateful().description(), " into ",
              together_.description(), "; both need the same class and options");
  together_.merge(bundle->together_);
  updates_ += bundle->updates_.load();
}

PYBIND11_MODULE(_metrics, module) {
  module.doc() = "The metrics in C++, of which devsan.metrics makes its classes.";

  py::class_<Argument>(module, "Argument")
      .def_readonly("name", &Argument::name)
      .def_readonly("annotation", &Argument::annotation)
      .def_readonly("required", &Argument::required)
      .def_readonly("default", &Argument::default_value);

  py::class_<Core, std::shared_ptr<Core>>(module, "Core")
      .def("fresh", &Core::fresh)
      .def("swap", &Core::swap)
      .def("reset", &Core::reset)
      .def("to", &Core::to)
      .def_property_readonly("device", &Core::device)
      .def("set_device_policy",
           [](Core &core, py::handle policy) {
             core.set_device_policy(Conversion<DevicePolicy>::from(
                 Place{core.stateful().name(), "device_policy"}, policy));
           })
      .def("merge", &Core::merge)
      .def("sync", &Core::sync)
      .def("unsync", &Core::unsync)
      .def_property_readonly("synced", &Core::synced)
      .def("states", &Core::states)
      .def("load", &Core::load)
      .def_property_readonly("largest_state", &Core::largest_state)
      .def_property("updates", &Core::updates, &Core::set_updates)
      .def_property_readonly("version", &Core::version)
      .def_property_readonly("captured", &Core::captured);

  py::class_<Handle, Core, std::shared_ptr<Handle>>(module, "Handle")
      // Not by the function's own name, under which torch.compile would look for it in the class.
      .def_property_readonly("updater",
                             [](py::handle self) {
                               return py::reinterpret_steal<py::object>(
                                   PyCFunction_NewEx(&update_method, self.ptr(), nullptr));
                             })
      .def("compute", &Handle::compute)
      .def("compute_by_name", &Handle::compute_by_name)
      .def("query_values", &Handle::query_values)
      .def("of_images", &Handle::of_images)
      .def("check_valid", &Handle::check_valid)
      .def("join", &Handle::join)
      .def("leave", &Handle::leave)
      .def_property_readonly("shares", &Handle::shares)
      .def_property_readonly("state_signature", &Handle::state_signature)
      // For extension modules that work on the metric in C++.
      .def_property_readonly("address", &Handle::address);

  py::class_<Bundle, Core, std::shared_ptr<Bundle>>(module, "Bundle")
      .def(py::init<std::string, Bundle::Parts>())
      .def("all_or_nothing", &Bundle::all_or_nothing)
      .def("merged", &Bundle::merged);

  py::class_<Kind>(module, "Kind")
      .def_readonly("name", &Kind::name)
      .def_readonly("function", &Kind::function)
      .def_readonly("domain", &Kind::domain)
      .def_readonly("arguments", &Kind::arguments)
      .def_readonly("results", &Kind::results)
      .def_property_readonly("summary", [](const Kind &kind) { return kind.about.summary; })
      .def_property_readonly("inputs", [](const Kind &kind) { return kind.about.inputs; })
      .def_property_readonly("optional_inputs",
                             [](const Kind &kind) { return kind.about.optional_inputs; })
      .def_property_readonly("of_scores", [](const Kind &kind) { return kind.about.of_scores; })
      .def_property_readonly("by_name", [](const Kind &kind) { return kind.about.by_name; })
      .def_property_readonly("of_images",
                             [](const Kind &kind) { return kind.of_images != nullptr; })
      .def_property_readonly("higher_is_better",
                             [](const Kind &kind) { return kind.about.higher_is_better; })
      .def_property_readonly("lower", [](const Kind &kind) { return kind.about.lower; })
      .def_property_readonly("upper", [](const Kind &kind) { return kind.about.upper; })
      .def("make", [](const Kind &kind, const py::dict &options) {
        return with_errors([&] { return kind.make(options); });
      });
  module.attr("MetricError") = metric_error();

  bind_aggregation();
  bind_classification();
  bind_detection();
  bind_image();
  bind_regression();
  bind_retrieval();
  bind_segmentation();
  bind_text();
  py::list all;
  for (const std::unique_ptr<Kind> &kind : kinds())
    all.append(py::cast(*kind, py::return_value_policy::reference));
  module.attr("kinds") = all;
}

} // namespace devsan::metrics::python
