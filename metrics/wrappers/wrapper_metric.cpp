#include "metrics/wrappers/wrapper_metric.h"

namespace devsan::metrics {

WrapperMetric::Part WrapperMetric::fresh_part(const char *wrapper, const SupervisedMetric &metric) {
  TORCH_CHECK(metric.state_dict().is_empty(), wrapper, ": the ", metric.name(),
              " has seen batches already; pass one after reset()");
  return Part(metric);
}

} // namespace devsan::metrics
