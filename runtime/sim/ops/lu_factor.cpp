// LU factorizations without pivoting, which ATen has on GPUs only.
#include <ATen/TensorIndexing.h>
#include <ATen/TensorOperators.h>
#include <ATen/core/Tensor.h>
#include <ATen/ops/_linalg_check_errors.h>
#include <ATen/ops/arange.h>
#include <ATen/ops/linalg_lu_factor_ex.h>
#include <ATen/ops/lu_unpack.h>

#include "runtime/sim/devices/devices.h"
#include "runtime/sim/dispatch/fallback.h"
#include "runtime/sim/dispatch/tensor_alias.h"
#include "runtime/sim/memory/memory.h"
#include "runtime/sim/operators/library.h"

namespace devsan::sim {
namespace {

using at::indexing::Ellipsis;
using at::indexing::Slice;

constexpr std::size_t kA = 0, kPivot = 1, kCheckErrors = 2; // of the operators' arguments

c10::IValue &argument(const c10::OperatorHandle &op, torch::jit::Stack *stack, std::size_t index) {
  return (*stack)[stack->size() - op.schema().arguments().size() + index];
}

// Gaussian elimination in place, of all matrices of a batch at once. `infos` become the number of
// the first pivot that is zero, or 0.
void eliminate(const at::Tensor &lu, const at::Tensor &infos) {
  infos.zero_();
  for (std::int64_t k = 0, end = std::min(lu.size(-2), lu.size(-1)); k < end; ++k) {
    const at::Tensor pivot = lu.index({Ellipsis, k, k});
    infos.masked_fill_(pivot.eq(0).logical_and(infos.eq(0)), k + 1);
    const at::Tensor below = lu.index({Ellipsis, Slice(k + 1), Slice(k, k + 1)});
    below.div_(pivot.unsqueeze(-1).unsqueeze(-1));
    const at::Tensor right = lu.index({Ellipsis, Slice(k, k + 1), Slice(k + 1)});
    lu.index({Ellipsis, Slice(k + 1), Slice(k + 1)}).sub_(below * right);
  }
  // As ATen does with what cuSOLVER leaves.
  lu.masked_fill_(lu.ne(lu), 0);
}

void luFactorEx(const c10::OperatorHandle &op, c10::DispatchKeySet keys, torch::jit::Stack *stack) {
  c10::IValue &pivot = argument(op, stack, kPivot);
  if (pivot.toBool())
    return runOnCpu<TensorKind::kDense>(op, keys, stack);
  // With pivoting the CPU's kernel checks the operands and makes the results; A may be one of them.
  const at::Tensor a = argument(op, stack, kA).toTensor().clone();
  c10::IValue &check_errors = argument(op, stack, kCheckErrors);
  const bool checks = check_errors.toBool();
  pivot = true;
  check_errors = false;
  runOnCpu<TensorKind::kDense>(op, keys, stack);
  const at::Tensor lu = torch::jit::peek(*stack, 0, 3).toTensor(),
                   pivots = torch::jit::peek(*stack, 1, 3).toTensor(),
                   infos = torch::jit::peek(*stack, 2, 3).toTensor();
  if (a.numel() == 0)
    return;
  {
    CurrentDeviceScope current(a.device().index());
    KernelScope kernel(a.device().index());
    const at::Tensor host = cpuAlias(lu);
    host.copy_(cpuAlias(a));
    eliminate(host, cpuAlias(infos));
    const at::Tensor host_pivots = cpuAlias(pivots);
    host_pivots.copy_(at::arange(1, host_pivots.size(-1) + 1, host_pivots.options()));
  }
  if (checks)
    at::_linalg_check_errors(infos, "torch.linalg.lu_factor_ex", a.dim() == 2);
}

// ATen makes this operator of the others, too.
void lu(const c10::OperatorHandle &op, c10::DispatchKeySet keys, torch::jit::Stack *stack) {
  if (argument(op, stack, kPivot).toBool())
    return runOnCpu<TensorKind::kDense>(op, keys, stack);
  const auto [factors, pivots, infos] =
      at::linalg_lu_factor_ex(argument(op, stack, kA).toTensor(), /*pivot=*/false);
  std::vector<at::Tensor> outs;
  for (std::size_t i = kPivot + 1; i < op.schema().arguments().size(); ++i)
    outs.push_back(argument(op, stack, i).toTensor());
  torch::jit::drop(*stack, op.schema().arguments().size());
  if (outs.empty()) {
    auto [p, l, u] = at::lu_unpack(factors, pivots, true, /*unpack_pivots=*/false);
    return torch::jit::push(*stack, p, l, u);
  }
  at::lu_unpack_out(outs[0], outs[1], outs[2], factors, pivots, true, /*unpack_pivots=*/false);
  torch::jit::push(*stack, outs[0], outs[1], outs[2]);
}

} // namespace

DEVSAN_SIM_LIBRARY_IMPL(aten, CUDA, m) {
  m.impl("linalg_lu_factor_ex", torch::CppFunction::makeFromBoxedFunction<&luFactorEx>());
  m.impl("linalg_lu_factor_ex.out", torch::CppFunction::makeFromBoxedFunction<&luFactorEx>());
  m.impl("linalg_lu", torch::CppFunction::makeFromBoxedFunction<&lu>());
  m.impl("linalg_lu.out", torch::CppFunction::makeFromBoxedFunction<&lu>());
}

} // namespace devsan::sim
