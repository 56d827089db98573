// Calls that only a template's user, or a pointer, can resolve: what is called may set the device, or launch nothing.
// RUN: %check_mock | %file_check --allow-empty
#include <ATen/cuda/CUDAContext.h>
#include <c10/cuda/CUDAGuard.h>
#include <torch/extension.h>

#include <functional>

__global__ void work(float *p) {}

struct Guarded {
  static void launch(float *p, cudaStream_t s) {
    const c10::cuda::CUDAGuard guard(1);
    work<<<1, 1, 0, s>>>(p);
  }
};
template <typename T, typename Policy> void byPolicy(T *out, cudaStream_t s) { Policy::launch(out, s); }

template <typename T> struct Functor {
  void operator()(T *p, cudaStream_t s) {
    cudaSetDevice(1);
    work<<<1, 1, 0, s>>>(p);
  }
};
template <typename T> void byFunctor(T *out, cudaStream_t s) {
  Functor<T> functor;
  functor(out, s);
}

template <typename T> struct HostOperator {
  static void run(T *p, cudaStream_t s) {}
};
template <typename T> void onHost(T *out, cudaStream_t s) { HostOperator<T>::run(out, s); }

template <typename T> struct Operator {
  static void run(T *p, cudaStream_t s, int device) {
    cudaSetDevice(device);
    work<<<1, 1, 0, s>>>(p);
  }
};
template <typename T> void ofTensor(at::Tensor x, cudaStream_t s) { Operator<T>::run(x.data_ptr<float>(), s, 1); }

struct Runtime {
  static void copy(float *to, const float *from, size_t bytes, cudaStream_t s) {
    cudaMemcpyAsync(to, from, bytes, cudaMemcpyDefault, s);
  }
  static void wait(cudaStream_t s, cudaEvent_t event) { cudaStreamWaitEvent(s, event, 0); }
  static void record(cudaEvent_t *event, cudaStream_t s) { cudaEventRecord(*event, s); }
  static void trace(const char *name, cudaStream_t s) {}
};
template <typename Api> void copies(float *to, const float *from, size_t bytes, cudaStream_t s) {
  Api::copy(to, from, bytes, s);
}
template <typename Api> void follows(float *out, const char *name, cudaEvent_t event, cudaStream_t s) {
  Api::wait(s, event);
  cudaEvent_t done;
  Api::record(&done, s);
  Api::trace(name, s);
}

using Step = void (*)(float *, cudaStream_t);
struct Hooks {
  Step before;
  std::function<void(float *, cudaStream_t)> after;
};
void byHooks(const Hooks &hooks, float *p, cudaStream_t s) {
  hooks.before(p, s);
  hooks.after(p, s);
}
static Step steps[2];
void byTable(int i, float *p, cudaStream_t s) { steps[i](p, s); }

void silent(at::Tensor x, at::Tensor y, const Hooks &hooks, cudaEvent_t event) {
  cudaStream_t stream = at::cuda::getCurrentCUDAStream(x.get_device());
  float *p = x.data_ptr<float>();
  byPolicy<float, Guarded>(p, stream);
  byFunctor<float>(p, stream);
  onHost<float>(p, stream);
  ofTensor<float>(x, stream);
  copies<Runtime>(p, y.data_ptr<float>(), 4, stream);
  follows<Runtime>(p, "x", event, stream);
  byHooks(hooks, p, stream);
  byTable(0, p, stream);
  steps[0](p, stream);
}
