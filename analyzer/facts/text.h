// Text of messages.
#pragma once

#include <initializer_list>
#include <string>
#include <string_view>

namespace devsan::analyzer {

// The pattern with the parts in place of its `{}`, in their order.
std::string fill(std::string_view pattern, std::initializer_list<std::string_view> parts);

} // namespace devsan::analyzer
