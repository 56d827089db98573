#pragma once

#include <cstdint>
#include <optional>

#include <ATen/core/Tensor.h>

namespace devsan::metrics {

// Inclusive sums along `dim`, on the device of `x`, never by way of the host.
//
// dtype  of the result: as given, else that of `x` (int64 for integers and bool), also under
// autocast.
//
// Under at::globalContext().deterministicAlgorithms() equal inputs give equal bits on one kind of
// device. LibTorch's own scan does so on the CPU, for integers everywhere (their sums do not depend
// on the order) and, from LibTorch 2.6 on, on CUDA. Before, a one-dimensional floating scan on CUDA
// summed in an order that varies, and raised an error in this mode; of other devices nothing is
// promised. Where LibTorch does not promise it, the sums are built by doubling: ceil(log2 n) passes
// of elementwise additions in a fixed order, O(n log n) work, twice the memory of the result.
//
// Accuracy: half and bfloat16 are summed in float32 and rounded once. Error bound in units of eps *
// sum |x|: n for a sequential scan, log2 n for the doubling scan. The gradient is the same sum from
// the other end.
at::Tensor cumsum(const at::Tensor &x, int64_t dim,
                  std::optional<at::ScalarType> dtype = std::nullopt);

namespace detail {
// The scan used where LibTorch has no deterministic one.
at::Tensor doubling_scan(const at::Tensor &x, int64_t dim);
} // namespace detail

} // namespace devsan::metrics
