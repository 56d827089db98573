// How events are put into words.
#pragma once

#include "core/text/quantities.h"
#include "runtime/protocol/event.h"

#include <string>
#include <string_view>

namespace devsan::runtime {

// "cpu", "cuda:1", "mps".
std::string deviceName(DeviceId device);

using core::bytesText;
using core::durationText;
using core::timesText;

// The operator as users know it, from the name of its class in at::_ops: "to_dtype_layout" is
// "aten::to", "add_Tensor" is "aten::add".
std::string operatorName(std::string_view ops_class);

} // namespace devsan::runtime
