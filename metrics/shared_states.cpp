#include "metrics/shared_states.h"

#include <algorithm>

#include <c10/util/accumulate.h>

namespace devsan::metrics {

std::string SharedStates::signature(Metric &metric) {
  const Metric &sharer = metric.sharer();
  const std::string text = sharer.state_signature();
  return text.empty()
             ? text
             : c10::str(text, "|", sharer.device(), "|", static_cast<int>(sharer.device_policy()));
}

void SharedStates::join(Metric &metric, Metric &first) {
  metric.sharer().store_ = first.sharer().store_;
}

bool SharedStates::joined(Metric &a, Metric &b) {
  return a.sharer().store_ == b.sharer().store_;
}

bool SharedStates::captured(Metric &metric) {
  return metric.sharer().store_->captured;
}

int64_t SharedStates::largest(Metric &metric) {
  int64_t largest = 0;
  for (const Metric::StateSpec &spec : metric.sharer().specs_)
    largest = std::max<int64_t>(largest, c10::multiply_integers(spec.sizes));
  return largest;
}

} // namespace devsan::metrics
