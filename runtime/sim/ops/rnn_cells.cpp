// The fused LSTM and GRU cells, which ATen has for GPUs only, from operators that the CPU has. The
// workspace holds what the backward formulas need; its layout is ours, since only these functions
// read it. As on a GPU, 16-bit operands are computed with in float and rounded once, at the end.
#include <ATen/TensorOperators.h>
#include <ATen/ops/cat.h>
#include <ATen/ops/sigmoid.h>
#include <ATen/ops/tanh.h>
#include <ATen/ops/zeros_like.h>

#include "operands.h"
#include "runtime/sim/operators/library.h"

namespace devsan::sim {
namespace {

using at::Tensor;

Tensor withBias(const Tensor &gates, const OptionalTensor &bias) {
  return has(bias) ? widened(gates) + widened(*bias) : widened(gates);
}

Tensor sigmoidSlope(const Tensor &value) {
  return value * (1 - value);
}
Tensor tanhSlope(const Tensor &value) {
  return 1 - value * value;
}

std::tuple<Tensor, Tensor, Tensor> lstmCell(const Tensor &input_gates, const Tensor &hidden_gates,
                                            const Tensor &cx, const OptionalTensor &input_bias,
                                            const OptionalTensor &hidden_bias) {
  auto gates =
      (withBias(input_gates, input_bias) + withBias(hidden_gates, hidden_bias)).chunk(4, 1);
  Tensor in = at::sigmoid(gates[0]), forget = at::sigmoid(gates[1]), cell = at::tanh(gates[2]),
         out = at::sigmoid(gates[3]);
  Tensor cy = forget * widened(cx) + in * cell;
  at::ScalarType dtype = cx.scalar_type();
  return {(out * at::tanh(cy)).to(dtype), cy.to(dtype),
          at::cat({in, forget, cell, out}, 1).to(dtype)};
}

std::tuple<Tensor, Tensor, Tensor> lstmCellBackward(const OptionalTensor &grad_hy,
                                                    const OptionalTensor &grad_cy, const Tensor &cx,
                                                    const Tensor &cy, const Tensor &workspace,
                                                    bool has_bias) {
  if (!has(grad_hy) && !has(grad_cy))
    return {};
  auto gates = widened(workspace).chunk(4, 1);
  const Tensor &in = gates[0], &forget = gates[1], &cell = gates[2], &out = gates[3];
  Tensor squashed = at::tanh(widened(cy));
  Tensor dhy = has(grad_hy) ? widened(*grad_hy) : at::zeros_like(squashed);
  Tensor dcy = dhy * out * tanhSlope(squashed);
  if (has(grad_cy))
    dcy = dcy + widened(*grad_cy);
  Tensor grad_gates =
      at::cat({dcy * cell * sigmoidSlope(in), dcy * widened(cx) * sigmoidSlope(forget),
               dcy * in * tanhSlope(cell), dhy * squashed * sigmoidSlope(out)},
              1)
          .to(cx.scalar_type());
  return {grad_gates, (dcy * forget).to(cx.scalar_type()), has_bias ? grad_gates.sum(0) : Tensor()};
}

std::tuple<Tensor, Tensor> gruCell(const Tensor &input_gates, const Tensor &hidden_gates,
                                   const Tensor &hx, const OptionalTensor &input_bias,
                                   const OptionalTensor &hidden_bias) {
  auto from_input = withBias(input_gates, input_bias).chunk(3, 1);
  auto from_hidden = withBias(hidden_gates, hidden_bias).chunk(3, 1);
  Tensor reset = at::sigmoid(from_input[0] + from_hidden[0]);
  Tensor update = at::sigmoid(from_input[1] + from_hidden[1]);
  Tensor candidate = at::tanh(from_input[2] + reset * from_hidden[2]);
  Tensor before = widened(hx);
  at::ScalarType dtype = hx.scalar_type();
  return {(candidate + update * (before - candidate)).to(dtype),
          at::cat({reset, update, candidate, before, from_hidden[2]}, 1).to(dtype)};
}

std::tuple<Tensor, Tensor, Tensor, Tensor, Tensor>
gruCellBackward(const Tensor &grad_hy, const Tensor &workspace, bool has_bias) {
  auto saved = widened(workspace).chunk(5, 1);
  const Tensor &reset = saved[0], &update = saved[1], &candidate = saved[2], &hx = saved[3],
               &hidden = saved[4];
  Tensor dhy = widened(grad_hy);
  Tensor dupdate = dhy * (hx - candidate) * sigmoidSlope(update);
  Tensor dcandidate = dhy * (1 - update) * tanhSlope(candidate);
  Tensor dreset = dcandidate * hidden * sigmoidSlope(reset);
  at::ScalarType dtype = grad_hy.scalar_type();
  Tensor grad_input = at::cat({dreset, dupdate, dcandidate}, 1).to(dtype);
  Tensor grad_hidden = at::cat({dreset, dupdate, dcandidate * reset}, 1).to(dtype);
  return {grad_input, grad_hidden, (dhy * update).to(dtype),
          has_bias ? grad_input.sum(0) : Tensor(), has_bias ? grad_hidden.sum(0) : Tensor()};
}

} // namespace

DEVSAN_SIM_LIBRARY_IMPL(aten, CUDA, m) {
  m.impl("_thnn_fused_lstm_cell", TORCH_FN(lstmCell));
  m.impl("_thnn_fused_lstm_cell_backward_impl", TORCH_FN(lstmCellBackward));
  m.impl("_thnn_fused_gru_cell", TORCH_FN(gruCell));
  m.impl("_thnn_fused_gru_cell_backward", TORCH_FN(gruCellBackward));
}

} // namespace devsan::sim
