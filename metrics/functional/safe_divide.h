#pragma once

#include <ATen/core/Tensor.h>
#include <c10/core/Scalar.h>

namespace devsan::metrics {

// num / denom, with `zero_division` where denom is 0 (not NaN or infinity), computed wholly on the
// inputs' device: no value is read by the host and none is copied from it.
//
// num, denom  broadcastable, on one device (anything else is an error, also for 0-dim host tensors,
// which would be an
//             implicit copy). Integers and bool are converted to float32 first, floating dtypes
//             follow type promotion.
// gradient    exact: 1/denom and -num/denom^2, and 0 (not NaN) for both where denom is 0.
at::Tensor safe_divide(const at::Tensor &num, const at::Tensor &denom,
                       const at::Scalar &zero_division = 0.);

} // namespace devsan::metrics
