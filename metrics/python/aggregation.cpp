// The aggregators: a line for each, with what its options do not say.

#include "metrics/python/binding.h"

#include <ATen/ops/full.h>

#include "metrics/aggregation/cat_metric.h"
#include "metrics/aggregation/max_metric.h"
#include "metrics/aggregation/mean_metric.h"
#include "metrics/aggregation/min_metric.h"
#include "metrics/aggregation/sum_metric.h"

namespace devsan::metrics::python {
namespace {

constexpr const char *kDomain = "aggregation";

// A tensor, or a number, or what torch.as_tensor() takes; undefined where it is a number.
struct Value {
  at::Tensor tensor;
  double number = 0;

  Value(Handle &handle, const char *input, PyObject *given) {
    if (is_tensor(given)) {
      tensor = tensor_in(given);
      return;
    }
    try {
      if (PyFloat_Check(given) || PyLong_Check(given))
        number = number_in(given);
      else
        tensor = tensor_in(imported("torch").attribute("as_tensor")(Object::borrowed(given)).get());
    } catch (const Raised &) {
      TORCH_CHECK_TYPE(false, handle.stateful().name(), ": `", input, "` is of type ",
                       type_name(given), "; pass a tensor, a number, or a list of numbers");
    }
  }
};

template <class M> void update_of_values(Handle &handle, PyObject *const *inputs) {
  const Value value(handle, "value", inputs[0]);
  handle.update<M>([&](M &metric) {
    if (value.tensor.defined())
      metric.update(value.tensor);
    else
      metric.update(value.number);
  });
}

template <class M> void update_of_weighted_values(Handle &handle, PyObject *const *inputs) {
  if (!inputs[1]) {
    update_of_values<M>(handle, inputs);
    return;
  }
  const Value value(handle, "value", inputs[0]), weight(handle, "weight", inputs[1]);
  handle.update<M>([&](M &metric) {
    if (!weight.tensor.defined() && !value.tensor.defined())
      metric.update(value.number, weight.number);
    else if (!weight.tensor.defined())
      metric.update(value.tensor, weight.number);
    else if (!value.tensor.defined())
      metric.update(at::full({}, value.number, weight.tensor.options().dtype(at::kDouble)),
                    weight.tensor);
    else
      metric.update(value.tensor, weight.tensor);
  });
}

} // namespace

template <> void update<CatMetric>(Handle &handle, PyObject *const *inputs) {
  update_of_values<CatMetric>(handle, inputs);
}
template <> void update<MaxMetric>(Handle &handle, PyObject *const *inputs) {
  update_of_values<MaxMetric>(handle, inputs);
}
template <> void update<MinMetric>(Handle &handle, PyObject *const *inputs) {
  update_of_values<MinMetric>(handle, inputs);
}
template <> void update<SumMetric>(Handle &handle, PyObject *const *inputs) {
  update_of_values<SumMetric>(handle, inputs);
}
template <> void update<RunningSum>(Handle &handle, PyObject *const *inputs) {
  update_of_values<RunningSum>(handle, inputs);
}
template <> void update<MeanMetric>(Handle &handle, PyObject *const *inputs) {
  update_of_weighted_values<MeanMetric>(handle, inputs);
}
template <> void update<RunningMean>(Handle &handle, PyObject *const *inputs) {
  update_of_weighted_values<RunningMean>(handle, inputs);
}

#define DEVSAN_BIND(Class, ...) bind<Class, Class##Options>(kDomain, #Class, "", About __VA_ARGS__);

void bind_aggregation() {
  DEVSAN_BIND(MeanMetric,
              {.summary = R"(Weighted mean of all values, sum(value * weight) / sum(weight).

compute(): [], NaN where the weights' sum is 0.)",
               .inputs = {"value", "weight"},
               .optional_inputs = 1,
               .lower = {},
               .upper = {}})
  DEVSAN_BIND(SumMetric,
              {.summary = "Sum of all values.", .inputs = {"value"}, .lower = {}, .upper = {}})
  DEVSAN_BIND(MaxMetric, {.summary = R"(The largest of all values.

compute(): [], -inf where there were no values.)",
                          .inputs = {"value"},
                          .lower = {},
                          .upper = {}})
  DEVSAN_BIND(MinMetric, {.summary = R"(The smallest of all values.

compute(): [], inf where there were no values.)",
                          .inputs = {"value"},
                          .lower = {},
                          .upper = {}})
  DEVSAN_BIND(
      CatMetric,
      {.summary =
           R"(All values, one after the other. Values are kept as they are, without a copy, and must not be written to, which
compute() notices.

compute(): [sum of N, ...] of the inputs' dtype. Where rows with NaN are left out it waits for the device once.)",
       .inputs = {"value"},
       .lower = {},
       .upper = {}})
  DEVSAN_BIND(RunningMean, {.summary = "Weighted mean of the values of the last `window` updates.",
                            .inputs = {"value", "weight"},
                            .optional_inputs = 1,
                            .lower = {},
                            .upper = {}})
  DEVSAN_BIND(RunningSum, {.summary = "Sum of the values of the last `window` updates.",
                           .inputs = {"value"},
                           .lower = {},
                           .upper = {}})
}

} // namespace devsan::metrics::python
