// Launches as nvcc takes them: chevrons with blanks between them, braces for dim3. Columns are those of the file.
// RUN: not %check_mock --checks=device-wrong-stream | %file_check
// Many that nothing closes take no longer than others.
// RUN: %python -c "print('#if 0\n' + 'a <<< (b\n' * 100000 + '#endif\nvoid f() {}')" > %t.many.cu && %devsan_check --torch=none %t.many.cu --
#include <ATen/cuda/CUDAContext.h>
#include <torch/extension.h>

#include <iostream>
#include <vector>

template <typename T> __global__ void scale(T *x, int n) {}

void spaced(at::Tensor x) {
  int n = x.numel();
  scale<float> << <1, 256>> >(x.data_ptr<float>(), n);
  // CHECK: :[[@LINE-1]]:3: error: the kernel is launched on the default stream{{.*}}[device-wrong-stream]
  scale<float> < < <(n + 255) / 256, 256 > > > (x.data_ptr<float>(), n);
  // CHECK: :[[@LINE-1]]:3: error: the kernel is launched on the default stream{{.*}}[device-wrong-stream]
  scale<float> << < dim3(n >> 8), 256, 0, at::cuda::getCurrentCUDAStream() >> >(x.data_ptr<float>(), n); /* << < */
  scale<float><<<1, 256, 0, 0>> >(x.data_ptr<float>(), n); scale<float><<<1, 256>>>(x.data_ptr<float>(), n);
  // CHECK: :[[@LINE-1]]:3: error: the kernel is launched on the default stream{{.*}}[device-wrong-stream]
  // CHECK: :[[@LINE-2]]:60: error: the kernel is launched on the default stream{{.*}}[device-wrong-stream]
}

#define LAUNCH(kernel, x) \
  kernel << <1, 256>> > \
    (x.data_ptr<float>(), x.numel())
void inMacro(at::Tensor x) { LAUNCH(scale<float>, x); }
// CHECK: :[[@LINE-3]]:10: error: the kernel is launched on the default stream{{.*}}[device-wrong-stream]

#define LAUNCH_BRACED(kernel, x) \
  kernel<<<{unsigned(x.numel())}, \
           {256, \
           }, { \
           }>>>(x.data_ptr<float>(), x.numel())
void bracesInMacro(at::Tensor x) { LAUNCH_BRACED(scale<float>, x); }
// CHECK: :[[@LINE-5]]:9: error: the kernel is launched on the default stream{{.*}}[device-wrong-stream]

void inBraces(at::Tensor x, const int *sizes) {
  const unsigned n = x.numel();
  scale<float><<<{n}, {256}>>>(x.data_ptr<float>(), n);
  // CHECK: :[[@LINE-1]]:3: error: the kernel is launched on the default stream{{.*}}[device-wrong-stream]
  scale<float> << <{n, dim3{n, 2}.y}, dim3{32, 8}, 0, {}>> >(x.data_ptr<float>(), n);
  // CHECK: :[[@LINE-1]]:3: error: the kernel is launched on the default stream{{.*}}[device-wrong-stream]
  scale<float><<<{ /* one */ }, {unsigned(sizes[0]), 2u, // two
                          1}>>>(x.data_ptr<float>(), n);
  // CHECK: :[[@LINE-2]]:3: error: the kernel is launched on the default stream{{.*}}[device-wrong-stream]
  scale<float><<<{n, }, {32, 8, }>>>(x.data_ptr<float>(), n);
  // CHECK: :[[@LINE-1]]:3: error: the kernel is launched on the default stream{{.*}}[device-wrong-stream]
  using T = dim3;
  scale<float><<<T{}, { // none
                      }>>>(x.data_ptr<float>(), n);
  // CHECK: :[[@LINE-2]]:3: error: the kernel is launched on the default stream{{.*}}[device-wrong-stream]
  scale<float><<<n, [] { return 256; }()>>>(x.data_ptr<float>(), n); // {n}
  // CHECK: :[[@LINE-1]]:3: error: the kernel is launched on the default stream{{.*}}[device-wrong-stream]
}

// What only nvcc knows of a kernel.
template <typename T> __global__ void __cluster_dims__(2, 1, 1) clustered(T *x) {}
template <typename T> __global__ void __launch_bounds__(256) __maxnreg__(32) bounded(T *x) {}
__global__ __block_size__((256, 1, 1), (2, 1, 1)) void sized(float *x) {}
void attributed(at::Tensor x) {
  clustered<<<2, 256>>>(x.data_ptr<float>());
  // CHECK: :[[@LINE-1]]:3: error: the kernel is launched on the default stream{{.*}}[device-wrong-stream]
  bounded<<<2, 256>>>(x.data_ptr<float>());
  // CHECK: :[[@LINE-1]]:3: error: the kernel is launched on the default stream{{.*}}[device-wrong-stream]
  sized<<<2, 256>>>(x.data_ptr<float>());
  // CHECK: :[[@LINE-1]]:3: error: the kernel is launched on the default stream{{.*}}[device-wrong-stream]
}

// What only looks like it.
template <typename T> struct Box {};
template <typename T> std::ostream &operator<< (std::ostream &out, const Box<T> &);
template <typename T> struct Friend {
  friend std::ostream &operator<< <T>(std::ostream &out, const Box<T> &);
};
void similar(std::vector<std::vector<std::vector<int> > > x) {
  std::cout << "<< <1>> >(" << x.size() << std::vector<std::vector<std::vector<int> > >(x).size();
}
