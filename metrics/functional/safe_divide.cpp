#include "metrics/functional/safe_divide.h"

#include <ATen/ATen.h>

namespace devsan::metrics {
namespace {

at::Tensor floating(const at::Tensor &x) {
  return at::isIntegralType(x.scalar_type(), /*includeBool=*/true) ? x.to(at::kFloat) : x;
}

} // namespace

at::Tensor safe_divide(const at::Tensor &num, const at::Tensor &denom,
                       const at::Scalar &zero_division) {
  TORCH_CHECK(num.device() == denom.device(), "safe_divide: `num` lies on ", num.device(),
              " but `denom` on ", denom.device(), "; move one with .to()");
  const at::Tensor divisor = floating(denom);
  const at::Tensor is_zero = divisor.eq(0);
  // Two fills instead of one `where`: the values are kernel arguments, while a scalar operand of
  // `where` is a host tensor that has to be copied; and the unused quotients stay finite, so that
  // their gradient is 0 and not 0 * infinity.
  return floating(num).div(divisor.masked_fill(is_zero, 1)).masked_fill(is_zero, zero_division);
}

} // namespace devsan::metrics
