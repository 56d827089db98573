// RUN: %check_mock | %file_check --allow-empty
#include <c10/cuda/CUDAFunctions.h>
#include <torch/torch.h>

void initialise(at::Tensor x) {
  cudaSetDevice(x.get_device()); // NOLINT(device-raw-set-device): set once per process
}
