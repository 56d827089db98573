#include "analyzer/programs/device_names.h"

#include "analyzer/programs/words.h"

#include <llvm/ADT/ArrayRef.h>
#include <llvm/ADT/STLExtras.h>
#include <llvm/ADT/StringExtras.h>
#include <llvm/ADT/StringSwitch.h>

#include <string>

namespace devsan::analyzer {

using llvm::StringRef;

const llvm::StringSet<> &kindsBesideCuda() {
  static const llvm::StringSet<> kKinds{"mps", "xpu", "hip", "vulkan", "privateuse1", "npu", "hpu"};
  return kKinds;
}

// `kMPS`, `"xpu:1"`. What is "hip" alone need not be a device: those of HIP are called "cuda".
bool isKindBesideCuda(StringRef word) {
  const std::string lower = word.lower();
  StringRef kind = lower;
  if (kind.consume_front("\""))
    kind = kind.take_until([](char c) { return c == '"' || c == ':'; });
  else if (!kind.consume_front("k"))
    return false;
  return kindsBesideCuda().contains(kind) && (kind != "hip" || word.front() == 'k');
}

// "Total CPU/GPU time"
bool isProse(StringRef word) {
  return word.starts_with("\"") && llvm::any_of(word, llvm::isSpace);
}

// `__CUDACC__` and its like ask which compiler it is, as vendored headers do. Prose and what
// LibTorch calls its own macros name nothing.
bool isDeviceWord(StringRef word) {
  if (word.starts_with("__") || word == "TORCH_UNUSED_EXCEPT_CUDA" || isProse(word))
    return false;
  return word.contains_insensitive("cuda") || word.contains_insensitive("accelerator") ||
         isKindBesideCuda(word);
}

bool isHostWord(StringRef word) {
  return word == "kCPU" || word == "CPU" || word.starts_with("\"cpu");
}

// "cuda:1", "cuda:" + n, "cuda:%d": any but the first, or one that is still to be said. "the model
// or cuda:" names none.
bool namesSecondDevice(StringRef word) {
  const bool is_prose = isProse(word);
  if (!word.consume_front("\""))
    return false;
  const std::size_t at = word.find("cuda:");
  if (at == StringRef::npos)
    return false;
  StringRef index = word.drop_front(at + 5);
  if (is_prose && index.find_first_of("0123456789%{") != 0)
    return false;
  return !index.consume_front("0") || (!index.empty() && llvm::isDigit(index.front()));
}

// An option or a key of settings that says which device: "--gpu-id", "d,device".
bool asksForDevice(StringRef literal) {
  if (!literal.starts_with("\""))
    return false;
  return llvm::any_of(llvm::split(literal.trim('"'), ','), [](StringRef part) {
    std::string name = part.trim(" -").lower();
    llvm::erase_if(name, [](char c) { return c == '-' || c == '_'; });
    return llvm::StringSwitch<bool>(name)
        .Cases({"device", "devices", "gpu", "gpus", "gpuid", "gpuids"}, true)
        .Cases({"deviceid", "deviceids", "deviceindex", "gpuindex", "cudadevice"}, true)
        .Default(false);
  });
}

bool isNameOfDevice(StringRef word) {
  const std::string lower = word.lower();
  return isIdentifier(word) &&
         (StringRef(lower).contains("device") || StringRef(lower).contains("gpu"));
}

bool setsDevice(StringRef word) {
  return llvm::StringSwitch<bool>(word)
      .Cases({"cudaSetDevice", "hipSetDevice", "set_device", "setDevice", "SetDevice"}, true)
      .Cases({"ExchangeDevice", "MaybeSetDevice", "exchangeDevice", "set_index"}, true)
      .Cases({"device_index", "setDeviceIndex"}, true)
      .Default(false);
}

bool isGuardOfDevice(StringRef word) {
  return word.ends_with("CUDAGuard") || word.ends_with("DeviceGuard") ||
         word.ends_with("HIPGuard") || word.ends_with("DeviceSwitchGuard");
}

bool worksOnSeveralDevices(StringRef word) {
  return word == "c10d" || word.starts_with("nccl") || word.starts_with("ProcessGroup") ||
         word.contains("PeerAccess") || word.contains("MemcpyPeer") ||
         word.starts_with("cuCtxCreate") || word == "cuCtxSetCurrent" ||
         word == "cuDevicePrimaryCtxRetain";
}

bool choosesStream(StringRef word) {
  std::string name = word.lower();
  llvm::erase(name, '_');
  const StringRef lower = name;
  return lower.contains("stream")
             ? llvm::any_of(llvm::ArrayRef<StringRef>{"pool", "create", "external", "perthread",
                                                      "setcurrent", "guard", "begincapture"},
                            [&](StringRef part) { return lower.contains(part); })
             : word == "UNCHECKED" || word == "CUDAGraph" || word == "capture_begin";
}

bool asksWhatThereIs(StringRef word) {
  return llvm::StringSwitch<bool>(word)
      .Cases({"is_available", "hasCUDA", "cuda_is_available", "device_count"}, true)
      .Cases({"cudaGetDeviceCount", "getNumGPUs", "hasHIP"}, true)
      .Default(false);
}

// Others than this project's programs call what has these words.
bool isForOthers(StringRef word) {
  return llvm::StringSwitch<bool>(word)
      .Cases({"RegisterOperators", "JNIEXPORT", "dllexport"}, true)
      .Cases({"PLUGINLIB_EXPORT_CLASS", "RCLCPP_COMPONENTS_REGISTER_NODE"}, true)
      .Default(false);
}

bool isOfTorch(StringRef word) {
  return word == "torch" || word == "ATen" || word == "c10" || word == "torchvision" ||
         word.starts_with("\"torch/") || word.starts_with("\"ATen/") || word.starts_with("\"c10/");
}

} // namespace devsan::analyzer
