#include "runtime/resolve/names.h"

#include <array>
#include <cctype>

namespace devsan::runtime {
std::string deviceName(DeviceId device) {
  // In the order of c10::DeviceType.
  static constexpr std::array kTypes = {"cpu", "cuda", "mkldnn",       "opengl", "opencl", "ideep",
                                        "hip", "fpga", "maia",         "xla",    "vulkan", "metal",
                                        "xpu", "mps",  "meta",         "hpu",    "ve",     "lazy",
                                        "ipu", "mtia", "privateuseone"};
  const auto type = static_cast<std::size_t>(static_cast<std::uint8_t>(device.type));
  std::string name = type < kTypes.size() ? kTypes[type] : "device type " + std::to_string(type);
  if (device.index >= 0 && !device.isHost())
    name += ":" + std::to_string(device.index);
  return name;
}

std::string operatorName(std::string_view ops_class) {
  std::string_view name = ops_class;
  if (name.starts_with("to_"))
    name = "to";
  // Overload names follow the operator's; those of ATen mostly start with a capital.
  for (std::size_t i = 1; i + 1 < name.size(); ++i)
    if (name[i] == '_' && std::isupper(static_cast<unsigned char>(name[i + 1]))) {
      name = name.substr(0, i);
      break;
    }
  for (std::string_view overload : {"_self", "_out", "_dim", "_other", "_memory_format"})
    if (name.ends_with(overload) && name.size() > overload.size())
      name.remove_suffix(overload.size());
  return "aten::" + std::string(name);
}

} // namespace devsan::runtime
