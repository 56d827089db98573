// Stands for LibTorch's header of the same name in programs that are built against a CPU LibTorch
// and without a CUDA toolkit: the same names, made of c10's device-independent streams, so that
// they act on whatever devices the process has (under `devsan run --sim=N`: the simulated ones).
// Reached through the CMake target DevSan::cuda_api, before LibTorch's own headers. Any thread.
#pragma once

#include <functional>
#include <ostream>

#include <c10/core/DeviceGuard.h>
#include <c10/core/Stream.h>
#include <c10/core/impl/VirtualGuardImpl.h>
#include <c10/cuda/CUDAFunctions.h>
#include <c10/util/Exception.h>

struct CUstream_st;
using cudaStream_t = CUstream_st *;

namespace c10::cuda {

class CUDAStream {
public:
  enum Unchecked { UNCHECKED };

  explicit CUDAStream(Stream stream) : stream_(stream) {
    TORCH_CHECK(stream_.device_type() == DeviceType::CUDA);
  }
  explicit CUDAStream(Unchecked, Stream stream) : stream_(stream) {}

  bool operator==(const CUDAStream &other) const noexcept { return stream_ == other.stream_; }
  bool operator!=(const CUDAStream &other) const noexcept { return stream_ != other.stream_; }

  operator cudaStream_t() const { return stream(); }
  operator Stream() const { return stream_; }

  DeviceType device_type() const { return DeviceType::CUDA; }
  DeviceIndex device_index() const { return stream_.device_index(); }
  Device device() const { return {DeviceType::CUDA, device_index()}; }
  StreamId id() const { return stream_.id(); }
  bool query() const { return stream_.query(); }
  void synchronize() const { stream_.synchronize(); }
  bool is_capturing() const { return false; }
  cudaStream_t stream() const {
    return static_cast<cudaStream_t>(
        impl::VirtualGuardImpl(DeviceType::CUDA).getStreamNativeHandle(stream_));
  }
  Stream unwrap() const { return stream_; }
  StreamData3 pack3() const { return stream_.pack3(); }
  static CUDAStream unpack3(StreamId id, DeviceIndex index, DeviceType type) {
    return CUDAStream(Stream::unpack3(id, index, type));
  }

private:
  Stream stream_;
};

inline Device deviceOf(DeviceIndex index) {
  return {DeviceType::CUDA, index < 0 ? current_device() : index};
}

inline CUDAStream getStreamFromPool(const int priority, DeviceIndex index = -1) {
  impl::VirtualGuardImpl guard(DeviceType::CUDA);
  return CUDAStream(guard.getStreamFromGlobalPool(deviceOf(index), priority < 0));
}
inline CUDAStream getStreamFromPool(const bool high_priority = false, DeviceIndex index = -1) {
  return getStreamFromPool(high_priority ? -1 : 0, index);
}
inline CUDAStream getDefaultCUDAStream(DeviceIndex index = -1) {
  return CUDAStream(impl::VirtualGuardImpl(DeviceType::CUDA).getDefaultStream(deviceOf(index)));
}
inline CUDAStream getCurrentCUDAStream(DeviceIndex index = -1) {
  return CUDAStream(impl::VirtualGuardImpl(DeviceType::CUDA).getStream(deviceOf(index)));
}
inline void setCurrentCUDAStream(CUDAStream stream) {
  impl::VirtualGuardImpl(DeviceType::CUDA).exchangeStream(stream.unwrap());
}
inline std::ostream &operator<<(std::ostream &out, const CUDAStream &stream) {
  return out << stream.unwrap();
}

} // namespace c10::cuda

template <> struct std::hash<c10::cuda::CUDAStream> {
  std::size_t operator()(c10::cuda::CUDAStream stream) const noexcept {
    return std::hash<c10::Stream>{}(stream.unwrap());
  }
};
