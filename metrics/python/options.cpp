#include "metrics/python/options.h"

namespace devsan::metrics::python {

namespace {

// As Python's own, which pass through the translation of C++ errors.
[[noreturn]] void raise(PyObject *type, const std::string &text) {
  PyErr_SetString(type, text.c_str());
  throw py::error_already_set();
}

} // namespace

void Place::refuse_value(py::handle given, const std::string &expected) const {
  raise(PyExc_ValueError, c10::str(metric, ": ", option, " is ",
                                   py::repr(given).cast<std::string>(), "; pass ", expected));
}

void Place::refuse_type(py::handle given, const std::string &expected) const {
  raise(PyExc_TypeError, c10::str(metric, ": ", option, " is of type ",
                                  Py_TYPE(given.ptr())->tp_name, "; pass ", expected));
}

int64_t Conversion<int64_t>::from(const Place &place, py::handle given) {
  if (PyBool_Check(given.ptr()) || !PyIndex_Check(given.ptr()))
    place.refuse_type(given, "an integer");
  const Py_ssize_t value = PyNumber_AsSsize_t(given.ptr(), PyExc_OverflowError);
  if (PyErr_Occurred())
    throw py::error_already_set();
  return value;
}

double Conversion<double>::from(const Place &place, py::handle given) {
  const double value = PyFloat_AsDouble(given.ptr());
  if (PyErr_Occurred()) {
    PyErr_Clear();
    place.refuse_type(given, "a number");
  }
  return value;
}

bool Conversion<bool>::from(const Place &place, py::handle given) {
  if (!PyBool_Check(given.ptr()))
    place.refuse_type(given, "True or False");
  return given.cast<bool>();
}

at::ScalarType Conversion<at::ScalarType>::from(const Place &place, py::handle given) {
  if (!THPDtype_Check(given.ptr()))
    place.refuse_type(given, "a torch.dtype");
  return given.cast<at::ScalarType>();
}

Thresholds Conversion<Thresholds>::from(const Place &place, py::handle given) {
  if (PyLong_Check(given.ptr()))
    return Thresholds(Conversion<int64_t>::from(place, given));
  if (!py::isinstance<py::list>(given) && !py::isinstance<py::tuple>(given))
    place.refuse_type(given,
                      "a number of thresholds, their values as a list or a tensor [T], or None");
  std::vector<double> thresholds;
  for (const py::handle value : given)
    thresholds.push_back(Conversion<double>::from(place, value));
  return Thresholds(thresholds);
}

} // namespace devsan::metrics::python
