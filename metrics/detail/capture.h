#pragma once

#include <c10/core/Device.h>
#include <c10/core/impl/VirtualGuardImpl.h>

namespace devsan::metrics::detail {

// Whether what is enqueued on the device's current stream becomes part of a CUDA graph instead of
// being done. Releases of PyTorch whose guards do not tell say no.
template <class Guard = c10::impl::VirtualGuardImpl> bool is_capturing(c10::Device device) {
  if (!device.is_cuda())
    return false;
  if constexpr (requires(const Guard &guard) {
                  guard.isStreamCapturing(guard.getStream(device));
                }) {
    const Guard guard(device.type());
    return guard.isStreamCapturing(guard.getStream(device));
  }
  return false;
}

} // namespace devsan::metrics::detail
