// How quantities are put into words, in messages and reports alike.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

namespace devsan::core {

// "4 B", "1.5 MB"; powers of 1000.
std::string bytesText(std::uint64_t bytes);

// "640 ns", "1.2 ms".
std::string durationText(std::uint64_t nanoseconds);

// "1 finding", "3 findings".
std::string countText(std::uint64_t count, std::string_view noun);

// "once", "100 times".
std::string timesText(std::uint64_t count);

} // namespace devsan::core
