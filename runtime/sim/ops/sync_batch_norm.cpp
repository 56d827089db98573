// The steps of nn.SyncBatchNorm: statistics of one device, of all devices, and the gradient from
// sums over all devices. Statistics are in float for inputs of half precision, and over all
// dimensions but the second.
#include <vector>

#include <ATen/TensorOperators.h>
#include <ATen/ops/full.h>
#include <ATen/ops/rsqrt.h>
#include <ATen/ops/var_mean.h>

#include "operands.h"
#include "runtime/sim/dispatch/checked_kernel.h"
#include "runtime/sim/operators/library.h"

namespace devsan::sim {
namespace {

using at::Tensor;

std::vector<int64_t> allButChannels(const Tensor &input) {
  std::vector<int64_t> dims{0};
  for (int64_t dim = 2; dim < input.dim(); ++dim)
    dims.push_back(dim);
  return dims;
}

Tensor perChannel(const Tensor &values, const Tensor &input) {
  std::vector<int64_t> shape(input.dim(), 1);
  shape[1] = -1;
  return values.reshape(shape);
}

std::tuple<Tensor, Tensor> stats(const Tensor &input, double eps) {
  auto [variance, mean] = at::var_mean(widened(input), allButChannels(input), false, false);
  return {mean, at::rsqrt(variance + eps)};
}

Tensor normalise(const Tensor &input, const OptionalTensor &weight, const OptionalTensor &bias,
                 const Tensor &mean, const Tensor &invstd, double) {
  Tensor result = (widened(input) - perChannel(mean, input)) * perChannel(invstd, input);
  if (has(weight))
    result = result * perChannel(*weight, input);
  if (has(bias))
    result = result + perChannel(*bias, input);
  return result.to(input.scalar_type());
}

Tensor &normaliseOut(const Tensor &input, const OptionalTensor &weight, const OptionalTensor &bias,
                     const Tensor &mean, const Tensor &invstd, double eps, Tensor &out) {
  out.resize_(input.sizes());
  return out.copy_(normalise(input, weight, bias, mean, invstd, eps));
}

void follow(const OptionalTensor &running, const Tensor &value, double momentum) {
  if (has(running))
    running->mul_(1 - momentum).add_(value.to(running->scalar_type()), momentum);
}

std::tuple<Tensor, Tensor> gatherWithCounts(const Tensor &, const Tensor &mean,
                                            const Tensor &invstd,
                                            const OptionalTensor &running_mean,
                                            const OptionalTensor &running_var, double momentum,
                                            double eps, const Tensor &counts) {
  Tensor count = counts.to(mean.scalar_type()).view({-1, 1}), total = count.sum();
  Tensor common = (mean * count).sum(0) / total;
  Tensor variance = invstd.pow(-2) - eps;
  Tensor deviation = ((variance + (mean - common).square()) * count).sum(0);
  follow(running_mean, common, momentum);
  follow(running_var, deviation / (total - 1), momentum);
  return {common, at::rsqrt(deviation / total + eps)};
}

std::tuple<Tensor, Tensor> gather(const Tensor &input, const Tensor &mean, const Tensor &invstd,
                                  const OptionalTensor &running_mean,
                                  const OptionalTensor &running_var, double momentum, double eps,
                                  int64_t count) {
  return gatherWithCounts(input, mean, invstd, running_mean, running_var, momentum, eps,
                          at::full({mean.size(0)}, count, mean.options()));
}

std::tuple<Tensor, Tensor, Tensor, Tensor>
backwardReduce(const Tensor &grad_out, const Tensor &input, const Tensor &mean,
               const Tensor &invstd, const OptionalTensor &weight, bool for_input, bool for_weight,
               bool for_bias) {
  Tensor grad = widened(grad_out);
  auto dims = allButChannels(input);
  Tensor sum = grad.sum(dims);
  Tensor product = (grad * (widened(input) - perChannel(mean, input))).sum(dims);
  auto dtype = has(weight) ? weight->scalar_type() : input.scalar_type();
  return {for_input ? sum : Tensor(), for_input ? product : Tensor(),
          for_weight ? (product * invstd).to(dtype) : Tensor(),
          for_bias ? sum.to(dtype) : Tensor()};
}

Tensor backwardElement(const Tensor &grad_out, const Tensor &input, const Tensor &mean,
                       const Tensor &invstd, const OptionalTensor &weight, const Tensor &sum,
                       const Tensor &product, const Tensor &count) {
  Tensor total = count.sum().to(mean.scalar_type());
  Tensor centred = widened(input) - perChannel(mean, input);
  Tensor grad = widened(grad_out) - perChannel(sum / total, input) -
                centred * perChannel(invstd.square() * product / total, input);
  Tensor factor = has(weight) ? invstd * *weight : invstd;
  return (grad * perChannel(factor, input)).to(input.scalar_type());
}

} // namespace

DEVSAN_SIM_LIBRARY_IMPL(aten, CUDA, m) {
  m.impl("batch_norm_stats", TORCH_FN(stats));
  m.impl("batch_norm_elemt", checked<&normalise>());
  m.impl("batch_norm_elemt.out", checked<&normaliseOut>());
  m.impl("batch_norm_gather_stats", checked<&gather>());
  m.impl("batch_norm_gather_stats_with_counts", checked<&gatherWithCounts>());
  m.impl("batch_norm_backward_reduce", checked<&backwardReduce>());
  m.impl("batch_norm_backward_elemt", checked<&backwardElement>());
}

} // namespace devsan::sim
