// Extensions on LibTorch's stable interface, which include nothing of ATen.
// RUN: not %check_mock | %file_check
#include <cutlass/cutlass.h>
#include <torch/csrc/stable/ops.h>

int processors(const torch::stable::Tensor &x) {
  cutlass::KernelHardwareInfo info;
  info.device_id = 0;
  // CHECK: :[[@LINE-1]]:3: warning: asks device 0, while 'x' may be on another device [device-zero-properties]
  info.sm_count = cutlass::KernelHardwareInfo::query_device_multiprocessor_count(info.device_id);
  return info.sm_count;
}
int ofTensor(const torch::stable::Tensor &x) {
  cutlass::KernelHardwareInfo info;
  info.device_id = x.get_device_index();
  info.sm_count = cutlass::KernelHardwareInfo::query_device_multiprocessor_count(info.device_id);
  return info.sm_count;
}
