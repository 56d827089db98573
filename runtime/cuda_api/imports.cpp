// Where the functions of imports.S are: in the simulator, which `devsan run --sim` brings into the
// process after the program has been linked and started. Without it, or where it lacks one, the
// call is refused, with the function's name.
#include <atomic>
#include <cstddef>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <string>

#include <dlfcn.h>

#include <c10/core/impl/VirtualGuardImpl.h>
#include <c10/util/Exception.h>
#include <c10/util/Type.h>

#define DEVSAN_EXPORT __attribute__((visibility("default")))

extern "C" __attribute__((visibility("hidden"))) std::atomic<void *> devsan_functions[];
extern "C" __attribute__((visibility("hidden"))) const char devsan_imports[];

namespace {

// The functions of imports.S have names for the linker alone.
const char *nameOf(std::size_t index) {
  constexpr std::size_t kSize = 16;
  Dl_info function;
  if (!dladdr(devsan_imports + kSize * index, &function) || !function.dli_sname)
    std::abort(); // each is exported
  return function.dli_sname;
}

thread_local const char *missing = "";

bool isSimulated() {
  return dlsym(RTLD_DEFAULT, "devsan_sim_for_cuda") != nullptr;
}

// In the place of a C++ function, whose result and arguments do not matter then.
[[noreturn]] void refuse() {
  const std::string name = c10::demangle(missing);
  TORCH_CHECK_NOT_IMPLEMENTED(!isSimulated(), "not simulated: ", name);
  TORCH_CHECK(false, name,
              ": no CUDA device. The program is built for simulated devices: start it "
              "by `devsan run --sim=N -- PROGRAM`");
}

// In the place of a function of CUDA's libraries: their own numbers for what is not supported.
template <int Status> int status() {
  return Status;
}
const char *text() {
  return "not simulated";
}

void *refusalOf(const char *name) {
  static const struct {
    const char *prefix;
    int (*refusal)();
  } kLibraries[] = {{"cublas", status<15>},  {"cudnn", status<3000>}, {"cufft", status<16>},
                    {"curand", status<203>}, {"cusolver", status<9>}, {"cusparse", status<10>},
                    {"nccl", status<5>},     {"nvml", status<3>},     {"nvrtc", status<3>}};
  missing = name;
  if (std::strncmp(name, "_Z", 2) == 0)
    return reinterpret_cast<void *>(refuse);
  std::fprintf(stderr, "devsan: not simulated: %s\n", name);
  if (std::strstr(name, "String") || std::strstr(name, "LastError"))
    return reinterpret_cast<void *>(text);
  for (const auto &library : kLibraries)
    if (std::strncmp(name, library.prefix, std::strlen(library.prefix)) == 0)
      return reinterpret_cast<void *>(library.refusal);
  std::abort(); // generate_imports.py takes no other name
}

} // namespace

// Called by devsan_search, in the place of the function, on any thread.
extern "C" __attribute__((visibility("hidden"))) void *devsan_find_function(std::size_t index) {
  const char *name = nameOf(index);
  void *function = dlsym(RTLD_NEXT, name);
  if (!function)
    return refusalOf(name); // asked again: the simulator may come later
  devsan_functions[index].store(function, std::memory_order_relaxed);
  return function;
}

namespace c10::cuda {

// 0 where the process has no CUDA devices, not even simulated ones: programs go on with the CPU.
DEVSAN_EXPORT DeviceIndex device_count() noexcept {
  return impl::hasDeviceGuardImpl(DeviceType::CUDA)
             ? impl::VirtualGuardImpl(DeviceType::CUDA).deviceCount()
             : DeviceIndex{0};
}

} // namespace c10::cuda

// c10::cuda::CUDACachingAllocator::allocator: the simulator stores its own there.
extern "C" DEVSAN_EXPORT std::atomic<const void *>
    devsan_caching_allocator __asm__("_ZN3c104cuda20CUDACachingAllocator9allocatorE"){};
