#pragma once

namespace devsan::metrics {

// How the values of the samples become one.
enum class Reduction { kMean, kSum };

} // namespace devsan::metrics
