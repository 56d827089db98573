// RUN: %check_mock | %file_check --allow-empty
#include <ATen/cuda/CUDAContext.h>
#include <cublas_v2.h>
#include <torch/extension.h>

#include <map>
#include <mutex>
#include <vector>

cublasHandle_t perDevice(int device) {
  static cublasHandle_t handles[16];
  if (!handles[device])
    cublasCreate(&handles[device]);
  return handles[device];
}

cudaStream_t keyed(const at::Tensor &x) {
  static std::map<int, cudaStream_t> streams;
  if (!streams.count(x.get_device()))
    cudaStreamCreate(&streams[x.get_device()]);
  return streams[x.get_device()];
}

int blocksOf(int device) {
  static std::vector<cudaDeviceProp> properties(16);
  cudaGetDeviceProperties(&properties[device], device);
  return properties[device].multiProcessorCount;
}

void each(int devices) {
  static std::vector<cudaStream_t> streams(16);
  for (int i = 0; i < devices; ++i) {
    cudaSetDevice(i);
    cudaStreamCreate(&streams[i]);
  }
}

// The properties of every device, filled once.
std::once_flag filled;
std::vector<cudaDeviceProp> table;
const cudaDeviceProp &propertiesOf(int device) {
  std::call_once(filled, [] {
    int count = 0;
    cudaGetDeviceCount(&count);
    table.resize(count);
    for (int i = 0; i < count; ++i)
      cudaGetDeviceProperties(&table[i], i);
  });
  return table[device];
}
int warpsOf(int device, int devices) {
  static std::vector<int> warps(16);
  for (int d = 0; d < devices; ++d)
    cudaDeviceGetAttribute(&warps[d], cudaDevAttrWarpSize, d);
  return warps[device];
}

at::Tensor renewed(const at::Tensor &x) {
  static at::Tensor buffer;
  if (!buffer.defined() || buffer.device() != x.device())
    buffer = torch::empty({1024}, x.options());
  return x + buffer;
}

cudaStream_t ofThread() {
  static thread_local cudaStream_t stream = nullptr;
  if (!stream)
    cudaStreamCreate(&stream);
  return stream;
}

// On the host, or the same everywhere.
int others() {
  static at::Tensor table = torch::zeros({16});
  static int count = c10::cuda::device_count();
  static cudaStream_t none = nullptr;
  return table.size(0) + count + (none == nullptr);
}

bool query(cudaStream_t stream);
bool ready() {
  static bool ready = query(at::cuda::getCurrentCUDAStream());
  return ready;
}

class Owner {
public:
  Owner() { cublasCreate(&handle_); }

private:
  cublasHandle_t handle_;
};

// A function object makes nothing until it is called.
void later() {
  static const auto launch = [](at::Tensor x) { return at::cuda::getCurrentCUDAStream(); };
}

// Containers that have keys, whatever they are called.
template <typename Key, typename Value> struct Registry {
  using mapped_type = Value;
  void emplace(Key key, Value value);
};
void put(int device) {
  static Registry<int, at::cuda::CUDAStream> streams;
  streams.emplace(device, at::cuda::getStreamFromPool());
}
