#include "metrics/python/binding.h"

#include <algorithm>
#include <string_view>

#include <torch/csrc/distributed/c10d/ProcessGroup.hpp>

namespace devsan::metrics::python {

std::vector<std::unique_ptr<Kind>> &kinds() {
  static auto *const all = new std::vector<std::unique_ptr<Kind>>;
  return *all;
}

at::Tensor tensor_input(const Kind &kind, size_t index, PyObject *given) {
  TORCH_CHECK_TYPE(THPVariable_Check(given), kind.name, ": `", kind.about.inputs[index],
                   "` is of type ", Py_TYPE(given)->tp_name, "; pass a torch.Tensor");
  return THPVariable_Unpack(given);
}

namespace {

// Python's calling convention without a tuple and a dictionary of arguments: update() is called for
// every batch, and pybind11's own way costs as much as the update of a small one.
PyObject *call_update(PyObject *self, PyObject *const *args, Py_ssize_t count, PyObject *keywords) {
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

PyMethodDef update_method = {"update",
                             reinterpret_cast<PyCFunction>(reinterpret_cast<void *>(call_update)),
                             METH_FASTCALL | METH_KEYWORDS, "Folds in a batch."};

} // namespace

template <class Change> void Handle::change(const Change &change) {
  without_gil([&] {
    const std::lock_guard lock(mutex_);
    change(*metric_);
    ++version_;
  });
}

template <class Read> auto Handle::read(const Read &read) const {
  return without_gil([&] {
    const std::lock_guard lock(mutex_);
    return read(static_cast<const Metric &>(*metric_));
  });
}

std::unique_ptr<Handle> Handle::fresh() const {
  auto handle = std::make_unique<Handle>(*kind_, maker_, by_class_);
  handle->metric_->device_policy(read([](const Metric &metric) { return metric.device_policy(); }));
  return handle;
}

Values Handle::compute() const {
  return read([&](const Metric &metric) { return kind_->compute(metric, by_class_); });
}

void Handle::set_device_policy(DevicePolicy policy) {
  change([&](Metric &metric) { metric.device_policy(policy); });
}

void Handle::check_valid() const {
  read([&](const Metric &metric) { kind_->check_valid(metric); });
}

void Handle::reset() {
  change([&](Metric &metric) {
    metric.reset();
    updates_ = 0;
    synced_ = false;
  });
}

void Handle::to(at::Device device) {
  change([&](Metric &metric) { metric.to(device); });
}

std::optional<at::Device> Handle::device() const {
  return read([](const Metric &metric) { return metric.device(); });
}

void Handle::merge(const Handle &other) {
  without_gil([&] {
    std::unique_lock own(mutex_, std::defer_lock), others(other.mutex_, std::defer_lock);
    if (this == &other)
      own.lock();
    else
      std::lock(own, others);
    metric_->merge(*other.metric_);
    updates_ += other.updates_;
    ++version_;
  });
}

void Handle::sync(c10d::ProcessGroup &group) {
  const auto held = c10::intrusive_ptr<c10d::ProcessGroup>::reclaim_copy(&group);
  change([&](Metric &metric) {
    metric.sync(held);
    synced_ = true;
  });
}

void Handle::unsync() {
  change([&](Metric &metric) {
    metric.unsync();
    synced_ = false;
  });
}

py::dict Handle::states() const {
  const auto states = read([](const Metric &metric) { return metric.state_dict(); });
  py::dict named;
  for (const auto &state : states)
    named[py::str(state.key())] = state.value();
  return named;
}

void Handle::load(const py::dict &states) {
  torch::OrderedDict<std::string, at::Tensor> named("State");
  for (const auto &[name, state] : states) {
    if (!THPVariable_Check(state.ptr()))
      throw py::type_error(c10::str(kind_->name, ": state `", py::str(name).cast<std::string>(),
                                    "` is of type ", Py_TYPE(state.ptr())->tp_name,
                                    "; pass a torch.Tensor"));
    named.insert(py::str(name).cast<std::string>(), THPVariable_Unpack(state.ptr()));
  }
  change([&](Metric &metric) { metric.load_state_dict(named); });
}

PYBIND11_MODULE(_metrics, module) {
  module.doc() = "The metrics in C++, of which devsan.metrics makes its classes.";

  py::class_<Argument>(module, "Argument")
      .def_readonly("name", &Argument::name)
      .def_readonly("annotation", &Argument::annotation)
      .def_readonly("required", &Argument::required)
      .def_readonly("default", &Argument::default_value);

  py::class_<Handle>(module, "Handle")
      .def("fresh", &Handle::fresh)
      .def_property_readonly("update",
                             [](py::handle self) {
                               return py::reinterpret_steal<py::object>(
                                   PyCFunction_NewEx(&update_method, self.ptr(), nullptr));
                             })
      .def("compute", &Handle::compute)
      .def("check_valid", &Handle::check_valid)
      .def("reset", &Handle::reset)
      .def("to", &Handle::to)
      .def_property_readonly("device", &Handle::device)
      .def("set_device_policy",
           [](Handle &handle, py::handle policy) {
             handle.set_device_policy(Conversion<DevicePolicy>::from(
                 Place{handle.kind().name, "device_policy"}, policy));
           })
      .def("merge", &Handle::merge)
      .def("sync", &Handle::sync)
      .def("unsync", &Handle::unsync)
      .def_property_readonly("synced", &Handle::synced)
      .def("states", &Handle::states)
      .def("load", &Handle::load)
      .def_property("updates", &Handle::updates, &Handle::set_updates)
      .def_property_readonly("version", &Handle::version)
      // For extension modules that work on the metric in C++.
      .def_property_readonly("address", &Handle::address);

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
      .def_property_readonly("fixed",
                             [](const Kind &kind) {
                               py::dict fixed;
                               for (const auto &[name, value] : kind.about.fixed)
                                 fixed[name] = value;
                               return fixed;
                             })
      .def_property_readonly("higher_is_better",
                             [](const Kind &kind) { return kind.about.higher_is_better; })
      // Options that no metric can be made of are ValueErrors.
      .def("make", [](const Kind &kind, const py::dict &options) {
        try {
          return kind.make(options);
        } catch (const c10::Error &error) {
          throw py::value_error(error.what_without_backtrace());
        }
      });

  bind_aggregation();
  bind_classification();
  bind_image();
  bind_regression();
  bind_retrieval();
  bind_text();
  py::list all;
  for (const std::unique_ptr<Kind> &kind : kinds())
    all.append(py::cast(*kind, py::return_value_policy::reference));
  module.attr("kinds") = all;
}

} // namespace devsan::metrics::python
