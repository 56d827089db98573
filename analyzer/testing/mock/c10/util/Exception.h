#pragma once

namespace c10::detail {
[[noreturn]] void torchCheckFail(const char *function, const char *file, unsigned line, const char *message);
}

#define TORCH_CHECK(condition, ...)                                                                \
  if (!(condition)) {                                                                              \
    ::c10::detail::torchCheckFail(__func__, __FILE__, __LINE__, #condition);                       \
  }
#define TORCH_INTERNAL_ASSERT(...) TORCH_CHECK(__VA_ARGS__)
#define AT_ASSERTM(...) TORCH_CHECK(__VA_ARGS__)
#define AT_ERROR(...) ::c10::detail::torchCheckFail(__func__, __FILE__, __LINE__, "")
#define TORCH_API
