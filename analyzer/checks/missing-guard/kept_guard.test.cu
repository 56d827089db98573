// A guard that is a member or a base of a class, or that lives in a function which runs a lambda.
// RUN: not %check_mock | %file_check
#include <ATen/cuda/CUDAContext.h>
#include <c10/cuda/CUDAGuard.h>
#include <torch/extension.h>

#include <functional>
#include <memory>
#include <optional>
#include <string>

template <typename scalar_t> __global__ void scale(scalar_t *x, int n) {}

struct Context {
  c10::cuda::CUDAGuard guard;
  explicit Context(const at::Tensor &t) : guard(t.device()) {}
};
struct Session : private Context {
  explicit Session(const at::Tensor &t) : Context(t) {}
};
void inContext(at::Tensor x) {
  Context context(x);
  scale<float><<<1, 256>>>(x.data_ptr<float>(), x.numel());
}
void inSession(at::Tensor x) {
  const Session session(x);
  scale<float><<<1, 256>>>(x.data_ptr<float>(), x.numel());
}
void onHeap(at::Tensor x) {
  auto context = std::make_unique<Context>(x);
  scale<float><<<1, 256>>>(x.data_ptr<float>(), x.numel());
}

class Launcher {
public:
  explicit Launcher(at::Tensor x) : x_(x) { guard_.set_device(x.device()); }
  void go() { scale<float><<<1, 256>>>(x_.data_ptr<float>(), x_.numel()); }

private:
  c10::cuda::OptionalCUDAGuard guard_;
  at::Tensor x_;
};

template <class Function> void onDeviceOf(const at::Tensor &t, Function function) {
  const c10::cuda::CUDAGuard guard(t.device());
  function();
}
void called(const at::Tensor &t, const std::function<void()> &function) {
  c10::cuda::OptionalCUDAGuard guard(at::device_of(t));
  function();
}
void runsLambdas(at::Tensor x) {
  onDeviceOf(x, [&] { scale<float><<<1, 256>>>(x.data_ptr<float>(), x.numel()); });
  const auto launch = [&] { scale<double><<<1, 256>>>(x.data_ptr<double>(), x.numel()); };
  onDeviceOf(x, launch);
  called(x, [&] { scale<float><<<1, 256>>>(x.data_ptr<float>(), x.numel()); });
}

// The guard's braces are those of the `if`, its scope is that of the variable.
void setInBranch(at::Tensor x) {
  std::optional<c10::cuda::CUDAGuard> guard;
  if (x.is_cuda()) {
    guard.emplace(x.device());
  }
  scale<float><<<1, 256>>>(x.data_ptr<float>(), x.numel());
}

// Called once without a guard; after the lambda; a class that only refers to a guard.
template <class Function> void afterwards(const at::Tensor &t, Function function) {
  {
    const c10::cuda::CUDAGuard guard(t.device());
  }
  function();
}
void runsBare(at::Tensor x) {
  // CHECK: :[[@LINE+1]]:23: error: the kernel runs {{.*}} 'x'{{.*}}[device-missing-guard]
  afterwards(x, [&] { scale<float><<<1, 256>>>(x.data_ptr<float>(), x.numel()); });
  onDeviceOf(x, [] {});
  // CHECK: :[[@LINE+1]]:3: error: the kernel runs {{.*}} 'x'{{.*}}[device-missing-guard]
  scale<float><<<1, 256>>>(x.data_ptr<float>(), x.numel());
}
struct Refers {
  c10::cuda::CUDAGuard *guard = nullptr;
  std::string name;
};
void refers(at::Tensor x) {
  Refers refers;
  // CHECK: :[[@LINE+1]]:3: error: the kernel runs {{.*}} 'x'{{.*}}[device-missing-guard]
  scale<float><<<1, 256>>>(x.data_ptr<float>(), x.numel());
}
