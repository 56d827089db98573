#include "runtime/resolve/frame_kind.h"
#include "runtime/protocol/libraries.h"

#include <algorithm>
#include <array>
#include <optional>
#include <string>

namespace devsan::runtime {
namespace {

bool contains(std::string_view text, std::string_view part) {
  return text.find(part) != std::string_view::npos;
}

template <std::size_t N>
bool startsWithAny(std::string_view text, const std::array<std::string_view, N> &prefixes) {
  return std::ranges::any_of(prefixes,
                             [&](std::string_view prefix) { return text.starts_with(prefix); });
}

template <std::size_t N>
bool containsAny(std::string_view text, const std::array<std::string_view, N> &parts) {
  return std::ranges::any_of(parts, [&](std::string_view part) { return contains(text, part); });
}

constexpr std::array<std::string_view, 17> kSystemModules = {
    "libc.so", "libc-",      "libm.so",    "libm-",    "ld-linux", "libstdc++",
    "libc++",  "libgcc_s",   "libpthread", "libdl",    "libgomp",  "libomp",
    "libiomp", "linux-vdso", "libasan",    "librt.so", "libffi"};
// Compiled modules of Python itself, and of NumPy, which knows nothing of LibTorch.
constexpr std::array<std::string_view, 3> kExtensionFolders = {"/lib-dynload/", "-packages/numpy/",
                                                               "-packages/numpy.libs/"};
// What calls a program's tests, and nothing of theirs.
constexpr std::array<std::string_view, 7> kTestRunners = {
    "-packages/_pytest/", "-packages/pytest/", "-packages/pluggy/", "-packages/xdist/",
    "-packages/execnet/", "/bin/pytest",       "/bin/py.test"};
constexpr std::array<std::string_view, 4> kTorchNamespaces = {
    "at::", "c10::", "torch::", "caffe2::"};
constexpr std::array<std::string_view, 6> kSystemNames = {
    "std::", "__gnu_cxx::", "__cxxabiv1::", "_start", "__libc_", "pybind11::"};
constexpr std::array<std::string_view, 5> kTorchHeaders = {
    "/torch/include/", "/libtorch/include/", "/include/ATen/", "/include/c10/", "/torch/csrc/"};
// CUDA's hold templates and inline functions over its runtime; DevSan's own toolkit has its own.
constexpr std::array<std::string_view, 10> kSystemHeaders = {"/include/c++/",
                                                             "/usr/include/",
                                                             "/usr/lib/",
                                                             "/pybind11/",
                                                             "/usr/local/cuda/",
                                                             "/targets/x86_64-linux/include/",
                                                             "/cuda_runtime/include/",
                                                             "/nvidia/cu12/include/",
                                                             "/nvidia/cu13/include/",
                                                             "/devsan/cuda/include/"};

std::optional<FrameKind> kindOfModule(std::string_view module) {
  const std::string_view name = module.substr(module.rfind('/') + 1);
  if (name.starts_with("libdevsan_"))
    return FrameKind::kDevSan;
  if (isTorchLibrary(module))
    return FrameKind::kTorch;
  if (name.starts_with("python3") || name == "python" || name.starts_with("libpython"))
    return FrameKind::kInterpreter;
  if (startsWithAny(name, kSystemModules) || isCudaLibrary(module) ||
      containsAny(module, kExtensionFolders))
    return FrameKind::kSystem;
  return std::nullopt;
}

} // namespace

FrameKind nativeFrameKind(std::string_view module, std::string_view function,
                          std::string_view file) {
  if (std::optional<FrameKind> kind = kindOfModule(module))
    return *kind;
  // A program holds inlined code of others: debug info says whose, and without it the namespace
  // does.
  if (!file.empty()) {
    if (containsAny(file, kTorchHeaders))
      return FrameKind::kTorch;
    return containsAny(file, kSystemHeaders) ? FrameKind::kSystem : FrameKind::kUser;
  }
  if (startsWithAny(function, kTorchNamespaces))
    return FrameKind::kTorch;
  return startsWithAny(function, kSystemNames) ? FrameKind::kSystem : FrameKind::kUser;
}

FrameKind pythonFrameKind(std::string_view file) {
  if (contains(file, "-packages/torch/"))
    return FrameKind::kTorch;
  if (contains(file, "/python/devsan/") || file.ends_with("/python/sitecustomize.py"))
    return FrameKind::kDevSan;
  if (file.starts_with("<frozen ") || containsAny(file, kTestRunners) ||
      (contains(file, "/lib/python3") && !contains(file, "-packages/")))
    return FrameKind::kSystem;
  return FrameKind::kUser;
}

bool moduleIsOpaque(std::string_view module) {
  const std::optional<FrameKind> kind = kindOfModule(module);
  return kind && *kind != FrameKind::kTorch;
}

} // namespace devsan::runtime
