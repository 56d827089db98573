#include "metrics/python/torch_python.h"

#include <algorithm>
#include <atomic>
#include <iterator>

#include <ATen/EmptyTensor.h>
#include <torch/csrc/distributed/c10d/GroupRegistry.hpp>
#include <torch/csrc/distributed/c10d/ProcessGroup.hpp>

#include "metrics/python/options.h"

// As torch/csrc/autograd/python_variable.h and torch/csrc/Exceptions.h declare them.
extern PyObject *THPVariableClass;
extern PyObject *ParameterClass;
PyObject *THPVariable_Wrap(const at::TensorBase &tensor);
namespace torch {
void translate_exception_to_python(const std::exception_ptr &error);
}

namespace devsan::metrics::python {

namespace {

// Of torch, never freed.
PyObject *device_type = nullptr, *dtype_type = nullptr;
PyObject *dtypes[static_cast<size_t>(at::ScalarType::NumOptions)] = {}; // null where torch has none
// Where the object of a tensor has it: behind the object's head, and in PyTorch 2.8 a word further.
size_t tensor_at = 0;

bool has_tensor_at(PyObject *object, size_t at, const at::Tensor &tensor) {
  return *reinterpret_cast<void **>(reinterpret_cast<char *>(object) + at) ==
         tensor.unsafeGetTensorImpl();
}

bool is_of(PyObject *object, PyObject *type) {
  return reinterpret_cast<PyObject *>(Py_TYPE(object)) == type;
}

} // namespace

void find_torch() {
  const Object torch = imported("torch");
  device_type = torch.attribute("device").release();
  dtype_type = torch.attribute("dtype").release();
  for (size_t i = 0; i < std::size(dtypes); ++i) {
    const auto type = static_cast<at::ScalarType>(i);
    if (type == at::ScalarType::Undefined)
      continue;
    dtypes[i] =
        PyObject_GetAttrString(torch.get(), std::string(c10::getDtypeNames(type).first).c_str());
    if (!dtypes[i])
      PyErr_Clear();
  }
  const at::Tensor probe = at::detail::empty_cpu({1}, at::kFloat);
  const Object object = object_of(probe);
  for (const size_t at : {sizeof(PyObject), sizeof(PyObject) + sizeof(void *)})
    if (!tensor_at && has_tensor_at(object.get(), at, probe))
      tensor_at = at;
  // Which PyTorch tells to Python, and so to who looks for it elsewhere.
  const Object address = object.attribute("_cdata");
  if (!tensor_at || PyLong_AsVoidPtr(address.get()) != probe.unsafeGetTensorImpl())
    throw Raised(PyExc_ImportError, "its tensors have another place in their objects of Python");
}

bool is_tensor(PyObject *object) {
  if (is_of(object, THPVariableClass) || is_of(object, ParameterClass))
    return true;
  const int is = PyObject_IsInstance(object, THPVariableClass);
  if (is < 0)
    throw Raised();
  return is;
}

const at::Tensor &tensor_in(PyObject *tensor) {
  return *reinterpret_cast<const at::Tensor *>(reinterpret_cast<const char *>(tensor) + tensor_at);
}

Object object_of(const at::Tensor &tensor) {
  return Object(THPVariable_Wrap(tensor));
}

bool is_dtype(PyObject *object) {
  return is_of(object, dtype_type);
}

at::ScalarType dtype_in(PyObject *dtype) {
  const auto known = std::find(std::begin(dtypes), std::end(dtypes), dtype);
  TORCH_CHECK_TYPE(known != std::end(dtypes), str(dtype), " is no dtype of tensors");
  return static_cast<at::ScalarType>(known - std::begin(dtypes));
}

Object object_of(const at::ScalarType &dtype) {
  return Object::borrowed(dtypes[static_cast<size_t>(dtype)]);
}

at::Device device_in(PyObject *device) {
  TORCH_CHECK_TYPE(is_of(device, device_type), "a device is of type ", type_name(device),
                   "; pass a torch.device");
  return at::Device(str(device));
}

Object object_of(const at::Device &device) {
  return Object::borrowed(device_type)(object_of(device.str()));
}

c10::intrusive_ptr<c10d::ProcessGroup> group_in(PyObject *group) {
  // By a name for this call, since a group need not have one.
  static std::atomic<int64_t> last = 0;
  const std::string name = c10::str("devsan.metrics ", ++last);
  const Object registry = imported("torch._C._distributed_c10d");
  const int is = PyObject_IsInstance(group, registry.attribute("ProcessGroup").get());
  TORCH_CHECK_TYPE(is == 1, "a process group is of type ", type_name(group),
                   "; pass a torch.distributed.ProcessGroup");
  registry.attribute("_register_process_group")(object_of(name), Object::borrowed(group));
  auto held = c10d::resolve_process_group(name);
  registry.attribute("_unregister_process_group")(object_of(name));
  return held;
}

PyObject *metric_error() {
  static PyObject *const error = [] {
    const Object bases(PyTuple_Pack(3, PyExc_RuntimeError, PyExc_ValueError, PyExc_TypeError));
    return Object(PyErr_NewExceptionWithDoc(
                      "devsan.metrics.MetricError",
                      "What a metric refuses: an argument, an input, or a call. It is all of "
                      "RuntimeError, ValueError and TypeError, one of which TorchMetrics raises, "
                      "from metric to metric.",
                      bases.get(), nullptr))
        .release();
  }();
  return error;
}

void raise_in_python() {
  try {
    throw;
  } catch (const Raised &raised) {
    raised.restore();
  } catch (...) {
    torch::translate_exception_to_python(std::current_exception());
  }
  PyObject *type = nullptr, *value = nullptr, *trace = nullptr;
  PyErr_Fetch(&type, &value, &trace);
  if (type == PyExc_RuntimeError || type == PyExc_ValueError || type == PyExc_TypeError)
    try {
      Object words = object_of(in_words_of_python(value ? str(value) : ""));
      Py_XDECREF(std::exchange(value, words.release()));
      Py_DECREF(std::exchange(type, Py_NewRef(metric_error())));
    } catch (const std::exception &) { // a text that has no UTF-8; it stays as it is
    }
  PyErr_Restore(type, value, trace);
}

Warnings::Warnings() : before_(c10::WarningUtils::get_warning_handler()) {
  c10::WarningUtils::set_warning_handler(&handler_);
}

Warnings::~Warnings() {
  c10::WarningUtils::set_warning_handler(before_);
}

bool Warnings::tell() {
  if (handler_.all.empty())
    return true;
  PyObject *type = nullptr, *value = nullptr, *trace = nullptr;
  PyErr_Fetch(&type, &value, &trace);
  for (const c10::Warning &warning : handler_.all) {
    const c10::SourceLocation &place = warning.source_location();
    const std::string text = place.file ? c10::str(warning.msg(), " (Triggered internally at ",
                                                   place.file, ":", place.line, ".)")
                                        : warning.msg();
    const bool deprecation = std::holds_alternative<c10::DeprecationWarning>(warning.type());
    if (PyErr_WarnEx(deprecation ? PyExc_DeprecationWarning : PyExc_UserWarning, text.c_str(), 1) >=
        0)
      continue;
    if (!type)
      return false;
    PyErr_Print();
  }
  PyErr_Restore(type, value, trace);
  return true;
}

} // namespace devsan::metrics::python
