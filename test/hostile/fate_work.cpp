// What the programs of fate_test.py do with a device: three waits at one place, or the same on the
// host. Loaded by Python without its bindings of LibTorch, which take longer than all else.
#include <ATen/ATen.h>
#include <cstdio>
#include <exception>

extern "C" __attribute__((visibility("default"))) int devsan_fate_work(const char *device) {
  try {
    const at::Tensor x = at::ones({4}, at::TensorOptions().device(at::Device(device)));
    double sum = 0;
    for (int i = 0; i < 3; ++i)
      sum += x.sum().item<double>();
    return static_cast<int>(sum);
  } catch (const std::exception &error) {
    std::fprintf(stderr, "fate_work: %s\n", error.what());
    return -1;
  }
}
