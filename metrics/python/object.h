// Python's objects in C++, by CPython's limited API alone, so that one module serves each Python
// from 3.10 on. All of it needs the GIL, but for copies of Raised, and Gil.
#pragma once

#include <concepts>
#include <cstdint>
#include <exception>
#include <memory>
#include <string>
#include <string_view>
#include <type_traits>
#include <utility>
#include <variant>
#include <vector>

#include <c10/core/Device.h>
#include <c10/core/ScalarType.h>

#define PY_SSIZE_T_CLEAN
#include <Python.h>

namespace at {
class Tensor;
}

namespace devsan::metrics::python {

// An error of Python on its way through C++, taken from the interpreter, which runs other code
// meanwhile.
class Raised : public std::exception {
public:
  Raised();
  // With this one.
  Raised(PyObject *type, const std::string &text);
  // Gives it back, to be returned to Python.
  void restore() const;

private:
  struct Error;
  std::shared_ptr<Error> error_;
};

// A reference that is owned, or none.
class Object {
public:
  Object() = default;
  // Takes it over; throws what Python has raised if it is null.
  explicit Object(PyObject *owned) : object_(owned) {
    if (!owned)
      throw Raised();
  }
  static Object borrowed(PyObject *object) { return Object(Py_XNewRef(object)); }
  Object(const Object &other) : object_(Py_XNewRef(other.object_)) {}
  Object(Object &&other) noexcept : object_(other.release()) {}
  Object &operator=(Object other) noexcept {
    std::swap(object_, other.object_);
    return *this;
  }
  ~Object() { Py_XDECREF(object_); }

  PyObject *get() const { return object_; }
  PyObject *release() noexcept { return std::exchange(object_, nullptr); }

  template <std::same_as<Object>... Arguments>
  Object operator()(const Arguments &...arguments) const {
    return Object(PyObject_CallFunctionObjArgs(object_, arguments.get()...,
                                               static_cast<PyObject *>(nullptr)));
  }
  Object attribute(const char *name) const { return Object(PyObject_GetAttrString(object_, name)); }

private:
  PyObject *object_ = nullptr;
};

Object imported(const char *module);

// What `text` holds, a str.
std::string text_of(PyObject *text);
std::string str(PyObject *object);
std::string repr(PyObject *object);
// As CPython's own errors have it: with its module, unless it is a builtin or a class of Python's.
std::string type_name(PyObject *object);
// All that iterating over it gives.
std::vector<Object> items_of(PyObject *iterable);
double number_in(PyObject *number);
// Null if it is not there; borrowed.
PyObject *find(PyObject *dict, const char *key);

// Of PyTorch's, see torch_python.h.
Object object_of(const at::Tensor &tensor);
Object object_of(const c10::Device &device);
Object object_of(const c10::ScalarType &dtype);

// What it is in Python: a number, text, None for what is not there, or a list.
template <class T> Object object_of(const T &value) {
  if constexpr (std::is_same_v<T, Object>) {
    return value;
  } else if constexpr (std::is_same_v<T, bool>) {
    return Object(PyBool_FromLong(value));
  } else if constexpr (std::is_integral_v<T>) {
    return Object(PyLong_FromLongLong(static_cast<long long>(value)));
  } else if constexpr (std::is_floating_point_v<T>) {
    return Object(PyFloat_FromDouble(value));
  } else if constexpr (std::is_convertible_v<T, std::string_view>) {
    const std::string_view text = value;
    return Object(PyUnicode_FromStringAndSize(text.data(), static_cast<Py_ssize_t>(text.size())));
  } else if constexpr (requires { value.has_value(); }) {
    return value ? object_of(*value) : Object::borrowed(Py_None);
  } else if constexpr (requires { value.valueless_by_exception(); }) {
    return std::visit([](const auto &held) { return object_of(held); }, value);
  } else {
    Object list(PyList_New(static_cast<Py_ssize_t>(value.size())));
    Py_ssize_t i = 0;
    for (const auto &item : value)
      PyList_SetItem(list.get(), i++, object_of(item).release());
    return list;
  }
}

template <class... Items> Object tuple_of(const Items &...items) {
  return Object(PyTuple_Pack(sizeof...(items), object_of(items).get()...));
}

// A dict of `items`, which have a key() and a value().
template <class Items> Object dict_of(const Items &items) {
  Object dict(PyDict_New());
  for (const auto &item : items)
    if (PyDict_SetItemString(dict.get(), item.key().c_str(), object_of(item.value()).get()) < 0)
      throw Raised();
  return dict;
}

// Without the GIL, and with it again.
class NoGil {
public:
  NoGil() : state_(PyEval_SaveThread()) {}
  NoGil(const NoGil &) = delete;
  ~NoGil() { PyEval_RestoreThread(state_); }

private:
  PyThreadState *state_;
};
class Gil {
public:
  Gil() : state_(PyGILState_Ensure()) {}
  Gil(const Gil &) = delete;
  ~Gil() { PyGILState_Release(state_); }

private:
  PyGILState_STATE state_;
};
template <class Call> auto without_gil(const Call &call) {
  const NoGil no_gil;
  return call();
}

} // namespace devsan::metrics::python
