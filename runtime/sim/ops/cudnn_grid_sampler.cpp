// cuDNN's spatial transformer: bilinear, zeros outside, corners aligned.
#include <vector>

#include <ATen/native/GridSamplerUtils.h>
#include <ATen/ops/affine_grid_generator.h>
#include <ATen/ops/affine_grid_generator_backward.h>
#include <ATen/ops/grid_sampler_2d.h>
#include <ATen/ops/grid_sampler_2d_backward.h>

#include "runtime/sim/dispatch/checked_kernel.h"
#include "runtime/sim/operators/library.h"

namespace devsan::sim {
namespace {

using at::Tensor;

constexpr auto kBilinear = static_cast<int64_t>(at::native::GridSamplerInterpolation::Bilinear);
constexpr auto kZeros = static_cast<int64_t>(at::native::GridSamplerPadding::Zeros);

Tensor sample(const Tensor &self, const Tensor &grid) {
  return at::grid_sampler_2d(self, grid, kBilinear, kZeros, true);
}

std::tuple<Tensor, Tensor> sampleBackward(const Tensor &self, const Tensor &grid,
                                          const Tensor &grad_output) {
  return at::grid_sampler_2d_backward(grad_output, self, grid, kBilinear, kZeros, true,
                                      {true, true});
}

Tensor affineGrid(const Tensor &theta, int64_t n, int64_t c, int64_t h, int64_t w) {
  return at::affine_grid_generator(theta, {n, c, h, w}, true);
}

Tensor affineGridBackward(const Tensor &grad, int64_t n, int64_t c, int64_t h, int64_t w) {
  return at::affine_grid_generator_backward(grad, {n, c, h, w}, true);
}

} // namespace

DEVSAN_SIM_LIBRARY_IMPL(aten, CUDA, m) {
  m.impl("cudnn_grid_sampler", checked<&sample>());
  m.impl("cudnn_grid_sampler_backward", checked<&sampleBackward>());
  m.impl("cudnn_affine_grid_generator", TORCH_FN(affineGrid));
  m.impl("cudnn_affine_grid_generator_backward", TORCH_FN(affineGridBackward));
}

} // namespace devsan::sim
