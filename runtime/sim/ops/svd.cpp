// Singular values: the driver= of cuSOLVER, which the CPU's operator refuses, and cuSOLVER's layout
// of V.
#include <ATen/Context.h>
#include <ATen/core/Tensor.h>

#include "runtime/sim/dispatch/fallback.h"
#include "runtime/sim/operators/library.h"

namespace devsan::sim {
namespace {

constexpr std::size_t kDriver = 3;

bool usesCusolver() {
  return at::globalContext().linalgPreferredBackend() != at::LinalgBackend::Magma;
}

void takeDriver(const c10::OperatorHandle &op, torch::jit::Stack *stack) {
  c10::IValue &driver = (*stack)[stack->size() - op.schema().arguments().size() + kDriver];
  if (driver.isNone() || !usesCusolver())
    return; // with MAGMA the operator refuses it as on a GPU
  const std::string &name = driver.toStringRef();
  TORCH_CHECK(name == "gesvd" || name == "gesvdj" || name == "gesvda",
              "torch.linalg.svd: unknown svd driver ", name,
              " in svd_cusolver computation. The supported drivers are: gesvd, gesvdj, gesvda");
  driver = c10::IValue();
}

void svd(const c10::OperatorHandle &op, c10::DispatchKeySet keys, torch::jit::Stack *stack) {
  takeDriver(op, stack);
  runOnCpu<TensorKind::kDense>(op, keys, stack);
  at::Tensor v = stack->back().toTensor();
  if (usesCusolver())
    stack->back() = v.contiguous();
}

void svdOut(const c10::OperatorHandle &op, c10::DispatchKeySet keys, torch::jit::Stack *stack) {
  takeDriver(op, stack);
  runOnCpu<TensorKind::kDense>(op, keys, stack);
}

} // namespace

DEVSAN_SIM_LIBRARY_IMPL(aten, CUDA, m) {
  m.impl("_linalg_svd", torch::CppFunction::makeFromBoxedFunction<&svd>());
  m.impl("_linalg_svd.U", torch::CppFunction::makeFromBoxedFunction<&svdOut>());
}

} // namespace devsan::sim
