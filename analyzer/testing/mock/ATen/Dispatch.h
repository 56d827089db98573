#pragma once
#include <c10/core/Scalar.h>

namespace c10 {
struct Half {
  unsigned short x;
};
} // namespace c10

#define AT_DISPATCH_CASE_MOCK(enum_type, cpp_type, ...)                                            \
  case enum_type: {                                                                                \
    using scalar_t [[maybe_unused]] = cpp_type;                                                    \
    return __VA_ARGS__();                                                                          \
  }
#define AT_DISPATCH_FLOATING_TYPES(TYPE, NAME, ...)                                                \
  [&] {                                                                                            \
    switch (TYPE) {                                                                                \
      AT_DISPATCH_CASE_MOCK(::c10::ScalarType::Float, float, __VA_ARGS__)                          \
      AT_DISPATCH_CASE_MOCK(::c10::ScalarType::Double, double, __VA_ARGS__)                        \
    default:                                                                                       \
      break;                                                                                       \
    }                                                                                              \
  }()
#define AT_DISPATCH_ALL_TYPES(TYPE, NAME, ...) AT_DISPATCH_FLOATING_TYPES(TYPE, NAME, __VA_ARGS__)
#define AT_DISPATCH_FLOATING_TYPES_AND_HALF(TYPE, NAME, ...)                                       \
  AT_DISPATCH_FLOATING_TYPES(TYPE, NAME, __VA_ARGS__)
