// How events are put into words.
#pragma once

#include "runtime/event.h"

#include <string>
#include <string_view>

namespace devsan::runtime {

// "cpu", "cuda:1", "mps".
std::string deviceName(DeviceId device);

// "4 B", "1.5 MB".
std::string bytesText(std::uint64_t bytes);

// "640 ns", "1.2 ms".
std::string durationText(std::uint64_t nanoseconds);

// "once", "100 times".
std::string timesText(std::uint64_t count);

// The operator as users know it, from the name of its class in at::_ops: "to_dtype_layout" is
// "aten::to", "add_Tensor" is "aten::add".
std::string operatorName(std::string_view ops_class);

} // namespace devsan::runtime
