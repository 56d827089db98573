// Host implementations of a program's own GPU kernels, for simulated devices: under
// `devsan run --sim=N` a launch of the kernel runs the function instead, on the thread of the
// launch and before it returns. Anywhere else this does nothing. Header only.
//
//   __global__ void scale(float *values, float factor, int count);      // in the extension
//
//   const devsan::HostKernel scale_on_host(                              // in its test
//       "scale(float*, float, int)",
//       [](const devsan::Launch &, float *values, float factor, int count) {
//         std::for_each(values, values + count, [=](float &value) { value *= factor; });
//       });
#pragma once

#include <cstddef>
#include <cstdio>
#include <dlfcn.h>
#include <functional>
#include <string>
#include <type_traits>
#include <utility>

extern "C" {

// What a launch is, and what the C interface hands over. Layout shared with the stand-in for CUDA's
// runtime.
struct DevSanLaunch {
  const char *kernel; // its name, demangled
  unsigned grid[3], block[3];
  std::size_t shared_memory;
  int device;
  void *stream;
  void *const *arguments; // the address of each
  // Where host code finds what lies at an address of a device; other addresses stay as they are.
  void *(*reach)(const void *address);
  int parameters; // how many the kernel has, -1 where its name does not tell
};

// 0, or an error of CUDA's that the launch then gives.
using DevSanHostKernel = int (*)(const DevSanLaunch *launch, void *data);
}

namespace devsan {

using Launch = DevSanLaunch;

// For all kernels whose demangled name matches `pattern`, in which * stands for anything: a
// template's instantiations differ in their arguments' types, so mostly each wants one of its own.
// The newest that matches counts. The function takes the launch and the kernel's parameters; a
// pointer to device memory can be read and written by it. It takes all of them, or none but the
// launch: a launch fails where it takes another number. Never taken back.
class HostKernel {
public:
  template <typename Function>
  HostKernel(const std::string &pattern, Function function)
      : HostKernel(pattern, std::function(std::move(function))) {}

private:
  template <typename... Parameters>
  HostKernel(const std::string &pattern,
             std::function<void(const Launch &, Parameters...)> function) {
    using Registration = void(const char *, DevSanHostKernel, void *);
    auto *add = reinterpret_cast<Registration *>(dlsym(RTLD_DEFAULT, "devsan_sim_add_host_kernel"));
    if (add == nullptr)
      return;
    add(pattern.c_str(), &run<Parameters...>, new std::function(std::move(function)));
  }

  template <typename... Parameters> static int run(const DevSanLaunch *launch, void *data) {
    constexpr int kLaunchFailure = 719; // cudaErrorLaunchFailure
    constexpr int kTaken = sizeof...(Parameters);
    if (kTaken > 0 && launch->parameters >= 0 && launch->parameters != kTaken) {
      std::fprintf(stderr,
                   "devsan: error: the host implementation of %s takes %d parameters, the kernel "
                   "has %d: take all of them, or none\n",
                   launch->kernel, kTaken, launch->parameters);
      return kLaunchFailure;
    }
    auto &function = *static_cast<std::function<void(const Launch &, Parameters...)> *>(data);
    call(function, *launch, std::index_sequence_for<Parameters...>());
    return 0;
  }
  template <typename... Parameters, std::size_t... indices>
  static void call(std::function<void(const Launch &, Parameters...)> &function,
                   const Launch &launch, std::index_sequence<indices...>) {
    function(launch, argument<std::remove_cvref_t<Parameters>>(launch, indices)...);
  }
  template <typename Parameter> static Parameter argument(const Launch &launch, std::size_t index) {
    const auto &value = *static_cast<const Parameter *>(launch.arguments[index]);
    if constexpr (std::is_pointer_v<Parameter>)
      return static_cast<Parameter>(launch.reach(value));
    else
      return value;
  }
};

} // namespace devsan
