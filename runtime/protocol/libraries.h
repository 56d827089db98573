// Whose a library is, by its path: LibTorch's or CUDA's own.
#pragma once

#include <algorithm>
#include <array>
#include <span>
#include <string_view>

namespace devsan::runtime {

// Not all of libtorch* and libcu*: libtorchvision, libcustom_ops and their kin are programs on top.
inline constexpr std::array<std::string_view, 15> kTorchLibraries = {
    "libtorch.so",     "libtorch_cpu",     "libtorch_cuda", "libtorch_global", "libtorch_hip",
    "libtorch_python", "libtorch_nvshmem", "libtorch_xpu",  "libc10.so",       "libc10_cuda",
    "libc10_hip",      "libc10_xpu",       "libcaffe2",     "libshm",          "libaoti_"};

// By the names of NVIDIA's packages.
inline constexpr std::array<std::string_view, 22> kCudaLibraries = {
    "libcuda.so", "libcudart.so", "libcublas",     "libcudnn",    "libcudss",     "libcufft",
    "libcufile",  "libcupti.so",  "libcurand",     "libcusolver", "libcusparse",  "libcutensor",
    "libnccl.so", "libnpp",       "libnvcuvid",    "libnvfatbin", "libnvJitLink", "libnvjpeg",
    "libnvrtc",   "libnvshmem",   "libnvToolsExt", "libnvidia-"};

inline bool hasName(std::string_view path, std::span<const std::string_view> prefixes) {
  const std::string_view name = path.substr(path.rfind('/') + 1);
  return std::ranges::any_of(prefixes,
                             [&](std::string_view prefix) { return name.starts_with(prefix); });
}

inline bool isTorchLibrary(std::string_view path) {
  const bool is_in_package = path.find("-packages/torch/") != std::string_view::npos;
  return hasName(path, kTorchLibraries) || path.find("/torch/lib/") != std::string_view::npos ||
         (is_in_package && path.substr(path.rfind('/') + 1).starts_with("_C"));
}

inline bool isCudaLibrary(std::string_view path) {
  return hasName(path, kCudaLibraries);
}

} // namespace devsan::runtime
