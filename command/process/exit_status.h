// With what `devsan` itself ends.
#pragma once

#include <string>

namespace devsan::command {

inline constexpr int kSuccess = 0;
inline constexpr int kCannotStart = 2; // also: bad usage
inline constexpr int kFindings = 3;

// "devsan: error: …" on stderr; returns kCannotStart.
int fail(const std::string &message);

} // namespace devsan::command
