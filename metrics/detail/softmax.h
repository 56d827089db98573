// The softmax of rows. ATen's has no vector instructions for rows shorter than a vector, which
// most classifiers' are; here the exponentials of many rows are taken at once.
#pragma once

#include <ATen/core/Tensor.h>

namespace devsan::metrics::detail {

// Of each row of x [n, width], float32 or float64, and its logarithm. On the CPU, of float32, each
// exponential is right within a few units in the last place, and 0 below e^-87; otherwise ATen's. A
// row with NaN, or without a finite highest number, is NaN.
at::Tensor softmax(const at::Tensor &x);
at::Tensor log_softmax(const at::Tensor &x);

} // namespace devsan::metrics::detail
