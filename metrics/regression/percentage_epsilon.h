#pragma once

namespace devsan::metrics {

// The least that a percentage error is divided by; the value is TorchMetrics'.
inline constexpr double kPercentageEpsilon = 1.17e-6;

} // namespace devsan::metrics
