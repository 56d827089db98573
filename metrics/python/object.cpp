#include "metrics/python/object.h"

namespace devsan::metrics::python {

struct Raised::Error {
  PyObject *type = nullptr, *value = nullptr, *trace = nullptr;
  Error() { PyErr_Fetch(&type, &value, &trace); }
  Error(const Error &) = delete;
  ~Error() {
    const Gil gil; // the last copy may go anywhere
    for (PyObject *held : {type, value, trace})
      Py_XDECREF(held);
  }
};

Raised::Raised() : error_(std::make_shared<Error>()) {}

Raised::Raised(PyObject *type, const std::string &text) {
  PyErr_SetString(type, text.c_str());
  error_ = std::make_shared<Error>();
}

void Raised::restore() const {
  PyErr_Restore(Py_XNewRef(error_->type), Py_XNewRef(error_->value), Py_XNewRef(error_->trace));
}

Object imported(const char *module) {
  return Object(PyImport_ImportModule(module));
}

std::string text_of(PyObject *text) {
  Py_ssize_t size = 0;
  const char *const data = PyUnicode_AsUTF8AndSize(text, &size);
  if (!data)
    throw Raised();
  return {data, static_cast<size_t>(size)};
}

std::string str(PyObject *object) {
  return text_of(Object(PyObject_Str(object)).get());
}

std::string repr(PyObject *object) {
  return text_of(Object(PyObject_Repr(object)).get());
}

std::string type_name(PyObject *object) {
  const Object type = Object::borrowed(reinterpret_cast<PyObject *>(Py_TYPE(object)));
  std::string name = text_of(type.attribute("__name__").get());
  if (PyType_GetFlags(Py_TYPE(object)) & Py_TPFLAGS_HEAPTYPE)
    return name;
  const std::string module = str(type.attribute("__module__").get());
  return module == "builtins" ? name : module + "." + name;
}

std::vector<Object> items_of(PyObject *iterable) {
  std::vector<Object> items;
  const Object iterator(PyObject_GetIter(iterable));
  while (PyObject *const item = PyIter_Next(iterator.get()))
    items.emplace_back(item);
  if (PyErr_Occurred())
    throw Raised();
  return items;
}

double number_in(PyObject *number) {
  const double value = PyFloat_AsDouble(number);
  if (value == -1 && PyErr_Occurred())
    throw Raised();
  return value;
}

PyObject *find(PyObject *dict, const char *key) {
  return PyDict_GetItemString(dict, key);
}

} // namespace devsan::metrics::python
