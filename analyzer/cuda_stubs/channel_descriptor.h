#pragma once
#include "cuda_runtime_api.h"

#ifdef __cplusplus
namespace devsan_channel {
template <typename T, typename = void> struct ElementOf {
  using Type = T;
};
template <typename T> struct ElementOf<T, decltype((void)T().x)> {
  using Type = decltype(T::x);
};
} // namespace devsan_channel
// Of a number, or of a vector of them.
template <typename T> cudaChannelFormatDesc cudaCreateChannelDesc() {
  using Element = typename devsan_channel::ElementOf<T>::Type;
  const int bits = 8 * sizeof(Element), count = sizeof(T) / sizeof(Element);
  const cudaChannelFormatKind kind = Element(0.5) != Element(0)   ? cudaChannelFormatKindFloat
                                     : Element(-1) < Element(0) ? cudaChannelFormatKindSigned
                                                                : cudaChannelFormatKindUnsigned;
  return cudaCreateChannelDesc(bits, count > 1 ? bits : 0, count > 2 ? bits : 0, count > 3 ? bits : 0, kind);
}
inline cudaChannelFormatDesc cudaCreateChannelDescHalf() {
  return cudaCreateChannelDesc(16, 0, 0, 0, cudaChannelFormatKindFloat);
}
#endif
