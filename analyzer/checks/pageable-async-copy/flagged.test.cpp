// RUN: not %check_mock | %file_check
#include <torch/torch.h>

#include <vector>

at::Tensor factory(const at::Tensor &x) {
  auto host = torch::zeros({4});
  // CHECK: :[[@LINE+1]]:15: warning: the copy blocks in spite of non_blocking: the host's side is in pageable memory [device-pageable-async-copy]
  return host.to(x.device(), torch::kFloat, /*non_blocking=*/true);
  // CHECK: :[[@LINE-3]]:15: note: made here, not pinned
}

at::Tensor values(const at::Tensor &x, std::vector<float> v) {
  return torch::tensor(v).to(x.device(), torch::kFloat, /*non_blocking=*/true);
  // CHECK: :[[@LINE-1]]:27: warning: the copy blocks{{.*}}[device-pageable-async-copy]
}

at::Tensor blob(const at::Tensor &x, std::vector<float> v) {
  return torch::from_blob(v.data(), {4}).to(x.device(), torch::kFloat, /*non_blocking=*/true);
  // CHECK: :[[@LINE-1]]:42: warning: the copy blocks{{.*}}[device-pageable-async-copy]
}
