// What looks like a restored device, or like a thread's entry, and is neither.
// RUN: not %check_mock | %file_check
#include <c10/cuda/CUDAException.h>
#include <c10/cuda/CUDAGuard.h>
#include <torch/torch.h>

#include <functional>
#include <thread>

// Called directly too.
void both(int device) {
  // CHECK: :[[@LINE+1]]:3: warning: the caller's current device is changed and not restored [device-raw-set-device]
  cudaSetDevice(device);
  cudaDeviceSynchronize();
}
void starts(int device) {
  std::thread thread(both, device);
  both(device);
}

// Restored under another condition than it was changed.
void otherCondition(int device, bool change, bool restore) {
  int old = 0;
  cudaGetDevice(&old);
  if (change)
    // CHECK: :[[@LINE+1]]:5: warning: the caller's current device is changed {{.*}} [device-raw-set-device]
    cudaSetDevice(device);
  if (restore)
    cudaSetDevice(old);
}

// A function object that may never be called.
std::function<void()> later(int device) {
  int old = 0;
  cudaGetDevice(&old);
  std::function<void()> restore([=] { cudaSetDevice(old); });
  // CHECK: :[[@LINE+1]]:3: warning: the caller's current device is changed {{.*}} [device-raw-set-device]
  cudaSetDevice(device);
  return restore;
}
