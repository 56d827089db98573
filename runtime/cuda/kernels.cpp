#include "runtime/cuda/kernels.h"

#include "runtime/cuda/driver.h"

#include <array>
#include <cstdint>
#include <cstring>
#include <mutex>
#include <string_view>
#include <unordered_map>

namespace devsan::runtime::cuda {
namespace {

constexpr std::size_t kMaxParameters = 64;
// Words of a struct that are looked at: operators of elements hold a handful of pointers first.
constexpr std::size_t kMaxWords = 64;

struct Layout {
  std::size_t count = 0;
  std::array<std::uint32_t, kMaxParameters> words{}; // whole words of each parameter
};

// A kernel is told by its symbol in the program, by a function or by a handle of a library's.
enum class Handle { kSymbol, kFunction, kKernel };

constinit DriverFunction<int(const void **, const void *)>
    function_of_symbol("cudaGetFuncBySymbol");
constinit DriverFunction<int()> peek_at_last_error("cudaPeekAtLastError");
constinit DriverFunction<int()> take_last_error("cudaGetLastError");
constinit DriverFunction<int(const char **, const void *)> function_name("cuFuncGetName");
constinit DriverFunction<int(const char **, const void *)> name_of_kernel("cuKernelGetName");
using ParameterInfo = int(const void *, std::size_t, std::size_t *, std::size_t *);
constinit DriverFunction<ParameterInfo> function_parameter("cuFuncGetParamInfo");
constinit DriverFunction<ParameterInfo> kernel_parameter("cuKernelGetParamInfo");

Handle handleOf(const DevSanCudaCall &call) {
  if (call.is_driver)
    return Handle::kFunction;
  return std::string_view(call.name).starts_with("__cuda") ? Handle::kKernel : Handle::kSymbol;
}

// A symbol of another CUDA runtime than the one that is asked is unknown there, and the answer is
// that runtime's last error, which the program checks: it is taken away, and where the program has
// not read an error of its own yet, nothing is asked.
const void *functionOfSymbol(const void *symbol) {
  auto *find = function_of_symbol.get();
  auto *peek = peek_at_last_error.get();
  auto *take = take_last_error.get();
  if (!find || !peek || !take || peek() != 0)
    return nullptr;
  const void *function = nullptr;
  if (find(&function, symbol) == 0)
    return function;
  take();
  return nullptr;
}

// Null where the driver has no function for it.
const void *functionOf(const DevSanCudaCall &call) {
  return handleOf(call) == Handle::kSymbol ? functionOfSymbol(call.kernel) : call.kernel;
}

Layout readLayout(const DevSanCudaCall &call) {
  Layout layout;
  auto *parameter =
      handleOf(call) == Handle::kKernel ? kernel_parameter.get() : function_parameter.get();
  const void *function = parameter ? functionOf(call) : nullptr;
  std::size_t offset = 0, size = 0;
  while (function && layout.count < kMaxParameters &&
         parameter(function, layout.count, &offset, &size) == 0)
    layout.words[layout.count++] = static_cast<std::uint32_t>(size / sizeof(std::uint64_t));
  return layout;
}

// Kernels of a program are few, and live as long as their library. A driver's function goes with
// its module, which just-in-time compilers unload, and its handle comes again with another kernel,
// of which too many arguments would be read.
Layout layoutOf(const DevSanCudaCall &call) {
  if (handleOf(call) == Handle::kFunction)
    return readLayout(call);
  static auto *mutex = new std::mutex;
  static auto *layouts = new std::unordered_map<const void *, Layout>;
  {
    std::lock_guard lock(*mutex);
    if (auto known = layouts->find(call.kernel); known != layouts->end())
      return known->second;
  }
  const Layout layout = readLayout(call);
  std::lock_guard lock(*mutex);
  return layouts->try_emplace(call.kernel, layout).first->second;
}

// The driver is asked about what can be an address of a program: above the first pages, below the
// kernel's half, and no small number.
bool canBeAddress(std::uint64_t word) {
  return word >= (std::uint64_t{1} << 20) && word < (std::uint64_t{1} << 47);
}

} // namespace

const char *kernelName(const DevSanCudaCall &call) {
  auto *get = handleOf(call) == Handle::kKernel ? name_of_kernel.get() : function_name.get();
  const void *function = get && call.arguments ? functionOf(call) : nullptr;
  const char *name = nullptr;
  return function && get(&name, function) == 0 && name ? name : "";
}

bool hasLayout(const DevSanCudaCall &call) {
  return layoutOf(call).count > 0;
}

ForeignMemory foreignMemory(const DevSanCudaCall &call, int device) {
  if (!call.arguments)
    return {};
  const Layout layout = layoutOf(call);
  for (std::size_t i = 0; i < layout.count; ++i) {
    const auto *bytes = static_cast<const char *>(call.arguments[i]);
    for (std::size_t k = 0; k < layout.words[i] && k < kMaxWords; ++k) {
      std::uint64_t word;
      std::memcpy(&word, bytes + k * sizeof word, sizeof word);
      if (!canBeAddress(word))
        continue;
      const auto *address = reinterpret_cast<const void *>(word);
      const Memory memory = memoryAt(address);
      if (memory.kind == MemoryKind::kDevice && memory.device >= 0 && memory.device != device)
        return {memory.device, address};
    }
  }
  return {};
}

} // namespace devsan::runtime::cuda
