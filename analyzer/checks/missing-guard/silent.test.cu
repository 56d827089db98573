// RUN: %check_mock | %file_check --allow-empty
#include <ATen/cuda/CUDAContext.h>
#include <c10/cuda/CUDAGuard.h>
#include <torch/extension.h>

#include <optional>

template <typename scalar_t> __global__ void scale(scalar_t *x, int n) {}

void cudaGuard(at::Tensor x) {
  const c10::cuda::CUDAGuard guard(x.device());
  scale<float><<<1, 256>>>(x.data_ptr<float>(), x.numel());
}

void deviceGuard(at::Tensor x) {
  at::DeviceGuard guard(x.device());
  AT_DISPATCH_FLOATING_TYPES(x.scalar_type(), "scale",
                             [&] { scale<scalar_t><<<1, 256>>>(x.data_ptr<scalar_t>(), x.numel()); });
}

void optionalGuard(at::Tensor x) {
  const at::cuda::OptionalCUDAGuard guard(at::device_of(x));
  if (x.numel() > 0)
    scale<float><<<1, 256>>>(x.data_ptr<float>(), x.numel());
}

void lateGuard(at::Tensor x) {
  at::cuda::OptionalCUDAGuard guard;
  guard.set_index(x.get_device());
  scale<float><<<1, 256>>>(x.data_ptr<float>(), x.numel());
}

void emplacedGuard(at::Tensor x) {
  std::optional<c10::cuda::CUDAGuard> guard;
  if (x.is_cuda())
    guard.emplace(x.device());
  scale<float><<<1, 256>>>(x.data_ptr<float>(), x.numel());
}

void insideDispatch(at::Tensor x) {
  AT_DISPATCH_FLOATING_TYPES(x.scalar_type(), "scale", [&] {
    const c10::cuda::CUDAGuard guard(x.device());
    scale<scalar_t><<<1, 256>>>(x.data_ptr<scalar_t>(), x.numel());
  });
}

void streamGuard(at::Tensor x, c10::Stream stream) {
  const c10::cuda::CUDAStreamGuard guard(stream);
  scale<float><<<1, 256>>>(x.data_ptr<float>(), x.numel());
}

#define GUARD_FOR(tensor) const c10::cuda::CUDAGuard device_guard_of_macro((tensor).device())
void macroGuard(at::Tensor x) {
  GUARD_FOR(x);
  scale<float><<<1, 256>>>(x.data_ptr<float>(), x.numel());
}

// Crude, and device-raw-set-device says so, but the device is right.
void rawSet(at::Tensor x) {
  C10_CUDA_CHECK(cudaSetDevice(x.get_device()));
  scale<float><<<1, 256>>>(x.data_ptr<float>(), x.numel());
}

// A guard of the project's own.
class ScopedDevice {
public:
  explicit ScopedDevice(int device) {
    cudaGetDevice(&previous_);
    cudaSetDevice(device);
  }
  ~ScopedDevice() { cudaSetDevice(previous_); }

private:
  int previous_;
};
void ownGuard(at::Tensor x) {
  ScopedDevice scope(x.get_device());
  scale<float><<<1, 256>>>(x.data_ptr<float>(), x.numel());
}

// Raw pointers only: no tensor says which device is meant.
void raw(float *x, int n) { scale<float><<<1, 256>>>(x, n); }

// All callers guard.
static void inner(at::Tensor x) { scale<float><<<1, 256>>>(x.data_ptr<float>(), x.numel()); }
void outer(at::Tensor x) {
  const c10::cuda::CUDAGuard guard(x.device());
  inner(x);
  raw(x.data_ptr<float>(), x.numel());
}

// Checked instead of set.
void checked(at::Tensor x) {
  TORCH_CHECK(x.get_device() == c10::cuda::current_device());
  scale<float><<<1, 256>>>(x.data_ptr<float>(), x.numel());

// Templates whose callers, templates too, have a guard.
template <typename T> void launchFor(const at::Tensor &x) {
  auto stream = at::cuda::getCurrentCUDAStream();
  scale<T><<<1, 256, 0, stream>>>(x.data_ptr<T>(), x.numel());
}
template <typename T, bool twice> void launchTwiceFor(const at::Tensor &x) {
  auto stream = at::cuda::getCurrentCUDAStream();
  scale<T><<<1, 256 * (1 + twice), 0, stream>>>(x.data_ptr<T>(), x.numel());
}
template <bool twice> void guardedTemplate(const at::Tensor &x) {
  c10::cuda::CUDAGuard guard(x.device().index());
  launchFor<float>(x);
  launchTwiceFor<float, twice>(x);
}
void callsTemplates(const at::Tensor &x) {
  guardedTemplate<true>(x);
  const c10::cuda::CUDAGuard guard(x.device());
  launchFor<double>(x);
}

// Made for the current device, in this very function.
void madeHere(int n) {
  const auto options = torch::dtype(torch::kFloat).device(torch::kCUDA);
  at::Tensor x = torch::ones({n}, options), y = x + torch::rand({n}, torch::kCUDA);
  scale<float><<<1, 256, 0, at::cuda::getCurrentCUDAStream()>>>(y.data_ptr<float>(), n);
}
