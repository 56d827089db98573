#include "metrics/functional/cumsum.h"

#include <ATen/ATen.h>
#include <c10/core/WrapDimMinimal.h>
#include <c10/core/impl/LocalDispatchKeySet.h>
#include <torch/version.h>

namespace devsan::metrics {
namespace {

constexpr bool kCudaScanIsDeterministic =
    TORCH_VERSION_MAJOR > 2 || (TORCH_VERSION_MAJOR == 2 && TORCH_VERSION_MINOR >= 6);

bool libtorch_scan_suffices(const at::Tensor &x) {
  if (!at::globalContext().deterministicAlgorithms() || !(x.is_floating_point() || x.is_complex()))
    return true;
  return x.is_cpu() || x.is_meta() || (x.is_cuda() && kCudaScanIsDeterministic);
}

} // namespace

namespace detail {

at::Tensor doubling_scan(const at::Tensor &x, int64_t dim) {
  if (x.dim() == 0)
    return x;
  const int64_t length = x.size(dim);
  at::Tensor sums = x;
  for (int64_t step = 1; step < length; step *= 2) {
    const int64_t rest = length - step;
    sums = at::cat(
        {sums.narrow(dim, 0, step), sums.narrow(dim, step, rest) + sums.narrow(dim, 0, rest)}, dim);
  }
  return sums;
}

} // namespace detail

at::Tensor cumsum(const at::Tensor &x, int64_t dim, std::optional<at::ScalarType> dtype) {
  const int64_t axis = c10::maybe_wrap_dim(dim, x.dim());
  const bool integral = at::isIntegralType(x.scalar_type(), /*includeBool=*/true);
  const at::ScalarType result = dtype.value_or(integral ? at::kLong : x.scalar_type());
  const at::ScalarType inner = result == at::kHalf || result == at::kBFloat16 ? at::kFloat : result;

  const c10::impl::ExcludeDispatchKeyGuard no_autocast(c10::autocast_dispatch_keyset);
  const at::Tensor terms = x.to(inner);
  const at::Tensor sums =
      libtorch_scan_suffices(terms) ? at::cumsum(terms, axis) : detail::doubling_scan(terms, axis);
  return sums.to(result);
}

} // namespace devsan::metrics
