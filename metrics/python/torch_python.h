// Where tensors, and PyTorch's other objects, cross between Python and C++: all that another
// PyTorch can break. PyTorch's own headers for it need pybind11 and more than CPython's limited
// API. With the GIL.
#pragma once

#include <ATen/core/Tensor.h>
#include <c10/util/intrusive_ptr.h>

#include "metrics/python/object.h"

namespace c10d {
class ProcessGroup;
}

namespace devsan::metrics::python {

// Throws ImportError if this PyTorch is none that the module fits.
void find_torch();

bool is_tensor(PyObject *object);
// Of what is_tensor().
const at::Tensor &tensor_in(PyObject *tensor);

bool is_dtype(PyObject *object);
at::ScalarType dtype_in(PyObject *dtype);
at::Device device_in(PyObject *device);
c10::intrusive_ptr<c10d::ProcessGroup> group_in(PyObject *group);

// devsan.metrics.MetricError: what a metric refuses, as whoever catches TorchMetrics' errors knows
// it, which are ValueError, RuntimeError or TypeError from metric to metric.
PyObject *metric_error();

// Makes the exception that is being handled Python's; RuntimeError, ValueError and TypeError become
// MetricError, which says the same in_words_of_python().
void raise_in_python();

// Runs `call`, which gives an Object, as the binding of an operator of torch is run: C++ warnings
// as Python's, errors without their C++ backtrace. Null where Python has an error.
template <class Call> PyObject *guarded(const Call &call) noexcept;

// C++ warnings of this thread, until they are told.
class Warnings {
public:
  Warnings();
  Warnings(const Warnings &) = delete;
  ~Warnings();
  // As Python's; whether none became an error that Python has. One that it has before stays.
  bool tell();

private:
  struct Handler final : c10::WarningHandler {
    void process(const c10::Warning &warning) override { all.push_back(warning); }
    std::vector<c10::Warning> all;
  };
  Handler handler_;
  c10::WarningHandler *before_;
};

template <class Call> PyObject *guarded(const Call &call) noexcept {
  Warnings warnings;
  Object result;
  try {
    result = call();
  } catch (...) {
    raise_in_python();
  }
  return warnings.tell() ? result.release() : nullptr;
}

} // namespace devsan::metrics::python
