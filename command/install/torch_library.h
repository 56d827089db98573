// What can be read of a LibTorch without loading it.
#pragma once

#include <filesystem>
#include <string>

namespace devsan::command {

// The id of a libtorch_cpu.so, by the same rule as the shim (runtime/preload/preload.c) and the
// build (cmake/torch_id.py); empty where it is none.
std::string torchId(const std::filesystem::path &library);

// By its headers, such as 2.13.0; "of unknown version" without them.
std::string torchVersion(const std::filesystem::path &include);

// _GLIBCXX_USE_CXX11_ABI as it was built with: 0 or 1, from the names that libc10.so exports.
const char *stringAbi(const std::filesystem::path &libraries);

} // namespace devsan::command
