// Extensions of older releases dispatch on `x.type()`, which a release without that overload drops
// with all that is dispatched. A template, so that a release's own comes first.
#pragma once
#include_next <ATen/core/DeprecatedTypeProperties.h>
#include <type_traits>
namespace detail {
template <typename Type, std::enable_if_t<std::is_same_v<Type, at::DeprecatedTypeProperties>, int> = 0>
c10::ScalarType scalar_type(const Type &type) {
  return type.scalarType();
}
} // namespace detail
