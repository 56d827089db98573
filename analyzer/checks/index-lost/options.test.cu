// The device type as options, on its own or in a move.
// RUN: not %check_mock | %file_check
#include <ATen/cuda/CUDAContext.h>
#include <c10/cuda/CUDAGuard.h>
#include <torch/extension.h>

#include <optional>

at::Tensor asOptions(at::Tensor x) {
  // CHECK: :[[@LINE+1]]:{{[0-9]+}}: {{.*}}: the device of 'x' loses its index: no guard is live here [device-index-lost]
  return torch::empty({3}, at::TensorOptions(x.device().type()));
}

at::Tensor moved(at::Tensor x, at::Tensor table) {
  // CHECK: :[[@LINE+1]]:{{[0-9]+}}: {{.*}}: the device of 'x' loses its index{{.*}} [device-index-lost]
  return table.to(x.device().type());
}

at::Tensor movedByOptions(at::Tensor x, at::Tensor table) {
  // CHECK: :[[@LINE+1]]:{{[0-9]+}}: {{.*}}: the device of 'x' loses its index{{.*}} [device-index-lost]
  return table.to(at::TensorOptions(x.device().type()));
}

// The whole device; a dtype; under a guard, set later or of the project's own.
at::Tensor whole(at::Tensor x, at::Tensor table) { return table.to(at::TensorOptions(x.device())); }
at::Tensor ofDtype(at::Tensor x) { return torch::empty({3}, at::TensorOptions(x.scalar_type())); }
at::Tensor setLater(at::Tensor x, at::Tensor table) {
  std::optional<c10::cuda::CUDAGuard> guard;
  if (x.is_cuda())
    guard.emplace(x.device());
  return table.to(x.device().type());
}
struct Context {
  c10::cuda::CUDAGuard guard;
  explicit Context(const at::Tensor &t) : guard(t.device()) {}
};
at::Tensor ownGuard(at::Tensor x, at::Tensor table) {
  Context context(x);
  return table.to(x.device().type());
}
at::Tensor guarded(at::Tensor x, at::Tensor table) {
  const c10::cuda::CUDAGuard guard(x.device());
  return table.to(x.device().type());
}
