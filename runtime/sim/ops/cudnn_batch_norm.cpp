// cuDNN's batch normalisation: what nn.BatchNorm runs on a GPU. The reserve is empty, as cuDNN's is
// where it fuses nothing.
#include <ATen/ops/empty.h>
#include <ATen/ops/native_batch_norm.h>
#include <ATen/ops/native_batch_norm_backward.h>

#include "operands.h"
#include "runtime/sim/dispatch/checked_kernel.h"
#include "runtime/sim/operators/library.h"

namespace devsan::sim {
namespace {

using at::Tensor;

std::tuple<Tensor, Tensor, Tensor, Tensor>
cudnnBatchNorm(const Tensor &input, const Tensor &weight, const OptionalTensor &bias,
               const OptionalTensor &running_mean, const OptionalTensor &running_var, bool training,
               double momentum, double epsilon) {
  auto [output, mean, inverse_deviation] = at::native_batch_norm(
      input, weight, bias, running_mean, running_var, training, momentum, epsilon);
  return {output, mean, inverse_deviation, at::empty({0}, input.options().dtype(at::kByte))};
}

std::tuple<Tensor &, Tensor &, Tensor &, Tensor &>
cudnnBatchNormOut(const Tensor &input, const Tensor &weight, const OptionalTensor &bias,
                  const OptionalTensor &running_mean, const OptionalTensor &running_var,
                  bool training, double momentum, double epsilon, Tensor &out, Tensor &mean,
                  Tensor &inverse_deviation, Tensor &reserve) {
  auto results =
      cudnnBatchNorm(input, weight, bias, running_mean, running_var, training, momentum, epsilon);
  auto store = [](Tensor &to, const Tensor &from) {
    to.resize_(from.sizes());
    to.copy_(from);
  };
  store(out, std::get<0>(results));
  store(mean, std::get<1>(results));
  store(inverse_deviation, std::get<2>(results));
  store(reserve, std::get<3>(results));
  return {out, mean, inverse_deviation, reserve};
}

// Autograd asks for it in training alone.
std::tuple<Tensor, Tensor, Tensor>
cudnnBatchNormBackward(const Tensor &input, const Tensor &grad_output, const Tensor &weight,
                       const OptionalTensor &running_mean, const OptionalTensor &running_var,
                       const OptionalTensor &save_mean, const OptionalTensor &save_var,
                       double epsilon, const Tensor &) {
  return at::native_batch_norm_backward(grad_output, input, weight, running_mean, running_var,
                                        save_mean, save_var, true, epsilon, {true, true, true});
}

} // namespace

DEVSAN_SIM_LIBRARY_IMPL(aten, CUDA, m) {
  m.impl("cudnn_batch_norm", checked<&cudnnBatchNorm>());
  m.impl("cudnn_batch_norm.out", checked<&cudnnBatchNormOut>());
  m.impl("cudnn_batch_norm_backward", checked<&cudnnBatchNormBackward>());
}

} // namespace devsan::sim
