// RUN: %check_mock | %file_check --allow-empty
#include <c10/cuda/CUDAException.h>
#include <c10/cuda/CUDAGuard.h>
#include <torch/torch.h>

#include <memory>
#include <thread>
#include <vector>

void restores(at::Tensor x) {
  int previous = 0;
  C10_CUDA_CHECK(cudaGetDevice(&previous));
  C10_CUDA_CHECK(cudaSetDevice(x.get_device()));
  C10_CUDA_CHECK(cudaDeviceSynchronize());
  C10_CUDA_CHECK(cudaSetDevice(previous));
}

int restoresOnEveryPath(at::Tensor x) {
  const auto previous = c10::cuda::current_device();
  c10::cuda::set_device(x.get_device());
  if (x.numel() == 0) {
    c10::cuda::set_device(previous);
    return 0;
  }
  c10::cuda::set_device(previous);
  return 1;
}

void guard(at::Tensor x) { const c10::cuda::CUDAGuard guard(x.device()); }

class Scope {
public:
  explicit Scope(int device) {
    cudaGetDevice(&previous_);
    cudaSetDevice(device);
  }
  void move(int device) { cudaSetDevice(device); }
  ~Scope() { cudaSetDevice(previous_); }

private:
  int previous_;
};

// What its name says; the caller is the one to look at.
void setDevice(int device) { C10_CUDA_CHECK(cudaSetDevice(device)); }

// A new thread starts with a device of its own.
void worker(at::Tensor x) {
  std::thread thread([x] { cudaSetDevice(x.get_device()); });
  thread.join();
}

// So do functions that nothing but threads runs.
void serve(int device) { cudaSetDevice(device); cudaDeviceSynchronize(); }
void pull(int device) { cudaSetDevice(device); cudaDeviceSynchronize(); }
class Worker {
public:
  Worker(int device) : device_(device), inner_(&Worker::loop, this) {}
  void start() { outer_ = std::thread([this] { run(); }); }

private:
  void loop() { cudaSetDevice(device_); cudaDeviceSynchronize(); }
  void run() { cudaSetDevice(device_); cudaDeviceSynchronize(); }
  int device_;
  std::thread inner_, outer_;
};
void pool(int devices) {
  std::thread first(serve, 0);
  std::vector<std::thread> threads;
  for (int device = 0; device < devices; ++device)
    threads.emplace_back(pull, device);
}

// Nothing to restore where nothing was changed.
void onlyWhereNeeded(int device) {
  int old = 0;
  cudaGetDevice(&old);
  if (device != old)
    cudaSetDevice(device);
  cudaDeviceSynchronize();
  if (old != device)
    C10_CUDA_CHECK(cudaSetDevice(old));
}
void underOneCondition(int device, bool change) {
  const auto old = c10::cuda::current_device();
  if (change)
    c10::cuda::set_device(device);
  cudaDeviceSynchronize();
  if (change)
    c10::cuda::set_device(old);
}

// An object that restores at the end of its scope.
template <class Function> struct AtExit {
  explicit AtExit(Function function) : function(function) {}
  ~AtExit() { function(); }
  Function function;
};
void atExit(int device) {
  int old = 0;
  cudaGetDevice(&old);
  AtExit restore([&] { cudaSetDevice(old); });
  cudaSetDevice(device);
  cudaDeviceSynchronize();
}
void deleter(int device) {
  int old = 0;
  cudaGetDevice(&old);
  std::shared_ptr<void> restore(nullptr, [old](void *) { cudaSetDevice(old); });
  cudaSetDevice(device);
  cudaDeviceSynchronize();
}

// A program may choose its device once.
int main(int argc, char **argv) { cudaSetDevice(argc); }
