// Kinds of our own for LibTorch's ThreadLocalDebugInfo: until LibTorch 2.12 a kind is a number,
// since then the address of a name.
#pragma once

#include <c10/util/ThreadLocalDebugInfo.h>
#include <cstdint>
#include <string_view>
#include <type_traits>

namespace devsan::runtime {

// `number` tells ours apart; LibTorch counts its own from 0.
template <typename Kind = c10::DebugInfoKind>
constexpr Kind debugInfoKind(const std::string_view *name, std::uint8_t number) {
  constexpr std::uint8_t kFirst = 0xd0;
  if constexpr (std::is_enum_v<Kind>)
    return static_cast<Kind>(kFirst + number);
  else
    return Kind(name);
}

} // namespace devsan::runtime
