// Whether this machine has a driver of NVIDIA's, found without touching it: nothing is loaded, no
// device is opened.
#pragma once

#include <filesystem>

namespace devsan::command {

// What shows it, below `root` ("/" but in tests): a device file, the kernel module, or the driver's
// library where the loader would find it. Empty where nothing does.
std::filesystem::path realDriver(const std::filesystem::path &root);

} // namespace devsan::command
