// Convolutions by the names of their GPU kernels, as programs and exported graphs call them; the
// layers take at::convolution (convolution.cpp).
#include <vector>

#include <ATen/TensorOperators.h>
#include <ATen/ops/convolution.h>
#include <ATen/ops/relu.h>

#include "operands.h"
#include "runtime/sim/dispatch/checked_kernel.h"
#include "runtime/sim/operators/library.h"

namespace devsan::sim {
namespace {

using at::IntArrayRef;
using at::Tensor;

Tensor convolve(const Tensor &self, const Tensor &weight, const OptionalTensor &bias,
                IntArrayRef stride, IntArrayRef padding, IntArrayRef dilation, int64_t groups) {
  const std::vector<int64_t> no_output_padding(padding.size(), 0);
  return at::convolution(self, weight, bias, stride, padding, dilation, false, no_output_padding,
                         groups);
}

Tensor convolution(const Tensor &self, const Tensor &weight, IntArrayRef padding,
                   IntArrayRef stride, IntArrayRef dilation, int64_t groups, bool, bool, bool) {
  return convolve(self, weight, std::nullopt, stride, padding, dilation, groups);
}

Tensor &convolutionOut(const Tensor &self, const Tensor &weight, IntArrayRef padding,
                       IntArrayRef stride, IntArrayRef dilation, int64_t groups, bool, bool, bool,
                       Tensor &out) {
  Tensor result = convolve(self, weight, std::nullopt, stride, padding, dilation, groups);
  out.resize_(result.sizes());
  return out.copy_(result);
}

Tensor transposed(const Tensor &self, const Tensor &weight, IntArrayRef padding,
                  IntArrayRef output_padding, IntArrayRef stride, IntArrayRef dilation,
                  int64_t groups, bool, bool, bool) {
  return at::convolution(self, weight, std::nullopt, stride, padding, dilation, true,
                         output_padding, groups);
}

Tensor convolutionRelu(const Tensor &self, const Tensor &weight, const OptionalTensor &bias,
                       IntArrayRef stride, IntArrayRef padding, IntArrayRef dilation,
                       int64_t groups) {
  return at::relu(convolve(self, weight, bias, stride, padding, dilation, groups));
}

Tensor convolutionAddRelu(const Tensor &self, const Tensor &weight, const Tensor &z,
                          const std::optional<at::Scalar> &alpha, const OptionalTensor &bias,
                          IntArrayRef stride, IntArrayRef padding, IntArrayRef dilation,
                          int64_t groups) {
  Tensor result = convolve(self, weight, bias, stride, padding, dilation, groups);
  return at::relu(result.add(z, alpha.value_or(1)));
}

Tensor depthwise(const Tensor &self, const Tensor &weight, IntArrayRef, const OptionalTensor &bias,
                 IntArrayRef stride, IntArrayRef padding, IntArrayRef dilation) {
  return convolve(self, weight, bias, stride, padding, dilation, self.size(1));
}

const Tensor &depthwiseOut(const Tensor &self, const Tensor &weight, IntArrayRef kernel,
                           const OptionalTensor &bias, IntArrayRef stride, IntArrayRef padding,
                           IntArrayRef dilation, const Tensor &out) {
  Tensor result = depthwise(self, weight, kernel, bias, stride, padding, dilation);
  out.resize_(result.sizes());
  return out.copy_(result);
}

} // namespace

DEVSAN_SIM_LIBRARY_IMPL(aten, CUDA, m) {
  m.impl("cudnn_convolution", checked<&convolution>());
  m.impl("cudnn_convolution.out", checked<&convolutionOut>());
  m.impl("cudnn_convolution_transpose", checked<&transposed>());
  m.impl("cudnn_convolution_relu", checked<&convolutionRelu>());
  m.impl("cudnn_convolution_add_relu", checked<&convolutionAddRelu>());
  m.impl("_conv_depthwise2d", checked<&depthwise>());
  m.impl("_conv_depthwise2d.out", checked<&depthwiseOut>());
  m.impl("conv_depthwise3d", checked<&depthwise>());
}

} // namespace devsan::sim
