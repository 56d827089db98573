// With OpenMP on, LibTorch's headers include omp.h, which clang does not bring.
// RUN: not %devsan_check --torch=none --checks=device-host-sync %s -- -fopenmp -isystem %mock 2>&1 | FileCheck %s --implicit-check-not="parsed in part" --implicit-check-not=': warning:'
#include <ATen/cuda/CUDAContext.h>
#include <torch/torch.h>

#ifdef _OPENMP
#include <omp.h>
#endif

double sum(const std::vector<torch::Tensor> &parts, torch::Device device) {
  double total = omp_get_max_threads();
  auto scale = torch::ones({1}, device);
#pragma omp parallel for reduction(+ : total)
  for (int64_t i = 0; i < 8; ++i) {
    // CHECK: :[[@LINE+1]]:{{.*}}device-host-sync
    total += (parts[i] * scale).sum().item<double>();
  }
  return total;
}
