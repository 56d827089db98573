// The module _metrics: the classes Core, Handle and Bundle, each method and property of which is a
// member of the class in C++, and what is known of each kind.

#include <algorithm>
#include <iterator>
#include <new>

#include <c10/util/Logging.h> // vectors as text

#include "metrics/python/binding.h"
#include "metrics/wrappers/metric_tracker.h"

#include <structmember.h> // needs Python.h before it

namespace devsan::metrics::python {

namespace {

struct CoreObject {
  PyObject_HEAD PyObject *weak_references;
  std::shared_ptr<Core> core;
};

PyTypeObject *core_type = nullptr, *handle_type = nullptr, *bundle_type = nullptr;

template <class C> PyTypeObject *type_of() {
  if constexpr (std::is_same_v<C, Handle>)
    return handle_type;
  else if constexpr (std::is_same_v<C, Bundle>)
    return bundle_type;
  else
    return core_type;
}

CoreObject *core_object(PyObject *object) {
  return reinterpret_cast<CoreObject *>(object);
}

// Of an object of that type.
template <class C> C &core_in(PyObject *object) {
  return static_cast<C &>(*core_object(object)->core);
}

Object new_object(PyTypeObject *type, std::shared_ptr<Core> core) {
  Object object(PyType_GenericAlloc(type, 0));
  new (&core_object(object.get())->core) std::shared_ptr<Core>(std::move(core));
  return object;
}

void free_object(PyObject *object) {
  PyTypeObject *const type = Py_TYPE(object);
  PyObject_ClearWeakRefs(object);
  core_object(object)->core.~shared_ptr();
  PyObject_Free(object);
  Py_DECREF(type);
}

// What a member returns, as Python's.
template <class R> Object returned(R &&value) {
  return object_of(value);
}
Object returned(std::shared_ptr<Core> core) {
  const bool handle = dynamic_cast<const Handle *>(core.get());
  return new_object(handle ? handle_type : bundle_type, std::move(core));
}
Object returned(std::shared_ptr<Handle> handle) {
  return new_object(handle_type, std::move(handle));
}

// What a member takes, from Python's.
template <class A> A passed(PyObject *given) {
  using T = std::decay_t<A>;
  if constexpr (std::is_base_of_v<Core, T>) {
    TORCH_CHECK_TYPE(PyObject_TypeCheck(given, type_of<T>()), type_name(given), " is no metric of ",
                     str(reinterpret_cast<PyObject *>(type_of<T>())));
    return core_in<T>(given);
  } else if constexpr (std::is_same_v<T, at::Tensor>) {
    TORCH_CHECK_TYPE(is_tensor(given), "Expected a torch.Tensor, but got ", type_name(given));
    return tensor_in(given);
  } else if constexpr (std::is_same_v<T, at::Device>) {
    return device_in(given);
  } else if constexpr (std::is_same_v<T, int64_t>) {
    const int64_t value = PyLong_AsLongLong(given);
    if (value == -1 && PyErr_Occurred())
      throw Raised();
    return value;
  } else {
    return given;
  }
}

template <class C, class R, class... A, size_t... i>
Object call(R (C::*member)(A...), PyObject *self, PyObject *const *given,
            std::index_sequence<i...>) {
  C &core = core_in<C>(self);
  if constexpr (std::is_void_v<R>) {
    (core.*member)(passed<A>(given[i])...);
    return Object::borrowed(Py_None);
  } else {
    return returned((core.*member)(passed<A>(given[i])...));
  }
}
template <class C, class R, class... A>
Object call(R (C::*member)(A...), PyObject *self, PyObject *const *given, Py_ssize_t count) {
  TORCH_CHECK_TYPE(count == sizeof...(A), "takes ", sizeof...(A), " arguments, but got ", count);
  return call(member, self, given, std::index_sequence_for<A...>{});
}
template <class C, class R>
Object call(R (C::*member)() const, PyObject *self, PyObject *const *, Py_ssize_t) {
  return returned((core_in<C>(self).*member)());
}

// The members as CPython calls them.
template <auto member> PyObject *method(PyObject *self, PyObject *const *given, Py_ssize_t count) {
  return guarded([&] { return call(member, self, given, count); });
}
template <auto member> PyObject *get(PyObject *self, void *) {
  return guarded([&] { return call(member, self, nullptr, 0); });
}
template <auto member> int set(PyObject *self, PyObject *value, void *) {
  PyObject *const none = guarded([&] { return call(member, self, &value, value ? 1 : 0); });
  Py_XDECREF(none);
  return none ? 0 : -1;
}

template <class F> PyCFunction as_function(F *function) {
  return reinterpret_cast<PyCFunction>(reinterpret_cast<void (*)()>(function));
}
template <auto member> PyMethodDef method_named(const char *name) {
  return {name, as_function(method<member>), METH_FASTCALL, nullptr};
}
template <auto member> PyGetSetDef property(const char *name) {
  return {name, get<member>, nullptr, nullptr, nullptr};
}

// update() by CPython's vector call, without a tuple and a dictionary of arguments: it is called
// for every batch.
Object fold_in(Handle &handle, PyObject *const *args, Py_ssize_t count, PyObject *keywords) {
  const Kind &kind = handle.kind();
  const std::vector<const char *> &names = kind.about.inputs;
  PyObject *inputs[kMaxInputs] = {};
  TORCH_CHECK_TYPE(static_cast<size_t>(count) <= names.size(), kind.name, ": update() was passed ",
                   count, " arguments; pass ", names.size());
  std::copy_n(args, count, inputs);
  const Py_ssize_t named = keywords ? PyTuple_Size(keywords) : 0;
  for (Py_ssize_t i = 0; i < named; ++i) {
    const std::string name = text_of(PyTuple_GetItem(keywords, i));
    const auto known = std::find(names.begin(), names.end(), name);
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
  return Object::borrowed(Py_None);
}

PyObject *update(PyObject *self, PyObject *const *args, Py_ssize_t count, PyObject *keywords) {
  return guarded([&] { return fold_in(core_in<Handle>(self), args, count, keywords); });
}

// Not by the function's own name, under which torch.compile would look for it in the class.
PyObject *get_updater(PyObject *self, void *) {
  static PyMethodDef function = {"update", as_function(update), METH_FASTCALL | METH_KEYWORDS,
                                 "Folds in a batch."};
  return PyCFunction_NewEx(&function, self, nullptr);
}

// Bundle(name, parts): of each part its name and core.
PyObject *new_bundle(PyTypeObject *type, PyObject *args, PyObject *) {
  return guarded([&] {
    const char *name = nullptr;
    PyObject *given = nullptr;
    if (!PyArg_ParseTuple(args, "sO:Bundle", &name, &given))
      throw Raised();
    Bundle::Parts parts;
    for (const Object &part : items_of(given)) {
      const char *part_name = nullptr;
      PyObject *core = nullptr;
      if (!PyArg_ParseTuple(part.get(), "sO!", &part_name, core_type, &core))
        throw Raised();
      parts.emplace_back(part_name, core_object(core)->core);
    }
    return new_object(type, std::make_shared<Bundle>(name, std::move(parts)));
  });
}

PyMethodDef core_methods[] = {method_named<&Core::fresh>("fresh"),
                              method_named<&Core::swap>("swap"),
                              method_named<&Core::reset>("reset"),
                              method_named<&Core::to>("to"),
                              method_named<&Core::set_device_policy>("set_device_policy"),
                              method_named<&Core::merge>("merge"),
                              method_named<&Core::sync>("sync"),
                              method_named<&Core::unsync>("unsync"),
                              method_named<&Core::states>("states"),
                              method_named<&Core::load>("load"),
                              {}};
PyGetSetDef core_properties[] = {
    property<&Core::device>("device"),
    property<&Core::synced>("synced"),
    property<&Core::largest_state>("largest_state"),
    property<&Core::version>("version"),
    property<&Core::captured>("captured"),
    {"updates", get<&Core::updates>, set<&Core::set_updates>, nullptr, nullptr},
    {}};
PyMethodDef handle_methods[] = {method_named<&Handle::compute>("compute"),
                                method_named<&Handle::compute_by_name>("compute_by_name"),
                                method_named<&Handle::query_values>("query_values"),
                                method_named<&Handle::of_images>("of_images"),
                                method_named<&Handle::check_valid>("check_valid"),
                                method_named<&Handle::join>("join"),
                                method_named<&Handle::leave>("leave"),
                                {}};
PyGetSetDef handle_properties[] = {{"updater", get_updater, nullptr, nullptr, nullptr},
                                   property<&Handle::shares>("shares"),
                                   property<&Handle::state_signature>("state_signature"),
                                   // For extension modules that work on the metric in C++.
                                   property<&Handle::address>("address"),
                                   {}};
PyMethodDef bundle_methods[] = {method_named<&Bundle::all_or_nothing>("all_or_nothing"),
                                method_named<&Bundle::merged>("merged"),
                                {}};
PyGetSetDef bundle_properties[] = {{}};
PyMemberDef core_members[] = {
    {"__weaklistoffset__", T_PYSSIZET, offsetof(CoreObject, weak_references), READONLY, nullptr},
    {}};

// Of C++ alone, unless `make` makes one for Python.
PyTypeObject *new_type(const char *name, PyMethodDef *methods, PyGetSetDef *properties,
                       newfunc make = nullptr) {
  PyType_Slot slots[] = {{Py_tp_dealloc, reinterpret_cast<void *>(free_object)},
                         {Py_tp_methods, methods},
                         {Py_tp_getset, properties},
                         {Py_tp_members, core_members},
                         {make ? Py_tp_new : 0, reinterpret_cast<void *>(make)},
                         {}};
  const unsigned flags = make ? 0 : Py_TPFLAGS_DISALLOW_INSTANTIATION;
  PyType_Spec spec = {name, sizeof(CoreObject), 0,
                      static_cast<unsigned>(Py_TPFLAGS_DEFAULT | Py_TPFLAGS_BASETYPE) | flags,
                      slots};
  PyObject *const base = reinterpret_cast<PyObject *>(core_type);
  return reinterpret_cast<PyTypeObject *>(
      Object(base ? PyType_FromSpecWithBases(&spec, base) : PyType_FromSpec(&spec)).release());
}

Object namespace_of(std::initializer_list<std::pair<const char *, Object>> fields) {
  const Object dict(PyDict_New()), none(PyTuple_New(0));
  for (const auto &[name, value] : fields)
    if (PyDict_SetItemString(dict.get(), name, value.get()) < 0)
      throw Raised();
  const Object type = imported("types").attribute("SimpleNamespace");
  return Object(PyObject_Call(type.get(), none.get(), dict.get()));
}

// A metric of a kind, from options by name.
PyObject *make(PyObject *self, PyObject *options) {
  return guarded([&] {
    TORCH_CHECK_TYPE(PyDict_Check(options), "options are of type ", type_name(options),
                     "; pass a dict");
    const auto *const kind = static_cast<const Kind *>(PyCapsule_GetPointer(self, nullptr));
    return returned(kind->make(options));
  });
}
PyMethodDef make_method = {"make", make, METH_O, "A metric of this kind."};

PyObject *best_of(PyObject *, PyObject *const *given, Py_ssize_t count) {
  return guarded([&] {
    TORCH_CHECK_TYPE(count == 2, "takes values and whether a higher one is better");
    const BestMetric best =
        metrics::best_of(passed<at::Tensor>(given[0]),
                         Conversion<bool>::from(Place{"best_of", "maximize"}, given[1]));
    return tuple_of(best.value, best.step);
  });
}
PyMethodDef functions[] = {
    {"best_of", as_function(best_of), METH_FASTCALL,
     "best_of(values, maximize): the best of them, and the number of its step."},
    {}};

Object described(const Kind &kind) {
  std::vector<Object> arguments;
  for (const Argument &argument : kind.arguments)
    arguments.push_back(namespace_of({{"name", object_of(argument.name)},
                                      {"annotation", object_of(argument.annotation)},
                                      {"required", object_of(argument.required)},
                                      {"default", argument.default_value}}));
  const Object itself(PyCapsule_New(const_cast<Kind *>(&kind), nullptr, nullptr));
  return namespace_of({{"name", object_of(kind.name)},
                       {"function", object_of(kind.function)},
                       {"domain", object_of(kind.domain)},
                       {"arguments", object_of(arguments)},
                       {"results", object_of(kind.results)},
                       {"summary", object_of(kind.about.summary)},
                       {"inputs", object_of(kind.about.inputs)},
                       {"optional_inputs", object_of(kind.about.optional_inputs)},
                       {"of_scores", object_of(kind.about.of_scores)},
                       {"by_name", object_of(kind.about.by_name)},
                       {"of_images", object_of(kind.of_images != nullptr)},
                       {"higher_is_better", object_of(kind.about.higher_is_better)},
                       {"lower", object_of(kind.about.lower)},
                       {"upper", object_of(kind.about.upper)},
                       {"make", Object(PyCFunction_NewEx(&make_method, itself.get(), nullptr))}});
}

Object make_module() {
  static PyModuleDef definition = {PyModuleDef_HEAD_INIT,
                                   "_metrics",
                                   "The metrics in C++, of which devsan.metrics makes its classes.",
                                   -1,
                                   functions,
                                   nullptr,
                                   nullptr,
                                   nullptr,
                                   nullptr};
  find_torch();
  core_type = new_type("devsan.metrics._metrics.Core", core_methods, core_properties);
  handle_type = new_type("devsan.metrics._metrics.Handle", handle_methods, handle_properties);
  bundle_type =
      new_type("devsan.metrics._metrics.Bundle", bundle_methods, bundle_properties, new_bundle);
  bind_aggregation();
  bind_classification();
  bind_detection();
  bind_image();
  bind_regression();
  bind_retrieval();
  bind_segmentation();
  bind_text();
  std::vector<Object> all;
  for (const std::unique_ptr<Kind> &kind : kinds())
    all.push_back(described(*kind));

  Object module(PyModule_Create(&definition));
  const std::pair<const char *, PyObject *> contents[] = {
      {"Core", reinterpret_cast<PyObject *>(core_type)},
      {"Handle", reinterpret_cast<PyObject *>(handle_type)},
      {"Bundle", reinterpret_cast<PyObject *>(bundle_type)},
      {"MetricError", metric_error()},
      {"kinds", object_of(all).release()}};
  for (const auto &[name, object] : contents)
    if (PyModule_AddObjectRef(module.get(), name, object) < 0)
      throw Raised();
  return module;
}

} // namespace

} // namespace devsan::metrics::python

PyMODINIT_FUNC PyInit__metrics() {
  return devsan::metrics::python::guarded(devsan::metrics::python::make_module);
}
