#pragma once
#include <torch/types.h>

#include <type_traits>

namespace c10 {
template <typename Func, Func *function> struct CompileTimeFunctionPointer {};
} // namespace c10
#define TORCH_FN(function)                                                                         \
  ::c10::CompileTimeFunctionPointer<std::remove_reference_t<decltype(function)>, function>()

namespace torch {

class Library {
public:
  template <typename Func> Library &def(const char *name, Func &&function);
  template <typename Func> Library &impl(const char *name, Func &&function);
};

namespace detail {
class TorchLibraryInit {
public:
  TorchLibraryInit(void (*init)(Library &));
};
} // namespace detail

} // namespace torch

#define TORCH_LIBRARY(ns, m)                                                                       \
  static void TORCH_LIBRARY_init_##ns(torch::Library &);                                           \
  static const torch::detail::TorchLibraryInit TORCH_LIBRARY_static_init_##ns(                     \
      &TORCH_LIBRARY_init_##ns);                                                                   \
  void TORCH_LIBRARY_init_##ns(torch::Library &m)
#define TORCH_LIBRARY_IMPL(ns, k, m)                                                               \
  static void TORCH_LIBRARY_IMPL_init_##ns##_##k##_0(torch::Library &);                            \
  static const torch::detail::TorchLibraryInit TORCH_LIBRARY_IMPL_static_init_##ns##_##k(          \
      &TORCH_LIBRARY_IMPL_init_##ns##_##k##_0);                                                    \
  void TORCH_LIBRARY_IMPL_init_##ns##_##k##_0(torch::Library &m)
