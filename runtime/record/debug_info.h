// Kinds of thread-local state of our own that LibTorch carries from a thread to the threads that
// work for it: into a backward, into its pools. Each kind has a name and a number, both its own.
#pragma once

#include <c10/util/ThreadLocalDebugInfo.h>
#include <cstdint>
#include <string_view>
#include <type_traits>

namespace devsan::runtime {

// Until LibTorch 2.12 a kind is a number, counted from 0; since then the address of a name.
template <typename Kind = c10::DebugInfoKind>
constexpr Kind debugInfoKind(const std::string_view *name, std::uint8_t number) {
  if constexpr (std::is_enum_v<Kind>)
    return static_cast<Kind>(0xd0 + number);
  else
    return Kind(name);
}

} // namespace devsan::runtime
