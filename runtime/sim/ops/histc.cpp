// Histograms of integers, which ATen has on GPUs only: the CPU's kernel takes floating-point
// tensors (16-bit ones too, which CUDA's does not). Every bin's count is exact in double, and so
// are the bins' edges for integers below 2^53.
#include <ATen/TensorOperators.h>
#include <ATen/core/op_registration/adaption.h>
#include <ATen/native/Resize.h>
#include <ATen/ops/histc.h>

#include "runtime/sim/devices/devices.h"
#include "runtime/sim/dispatch/tensor_alias.h"
#include "runtime/sim/memory/memory.h"
#include "runtime/sim/operators/library.h"

namespace devsan::sim {
namespace {

at::Tensor histogram(const at::Tensor &self, std::int64_t bins, const at::Scalar &min,
                     const at::Scalar &max) {
  TORCH_CHECK(self.scalar_type() != at::kHalf, "HalfTensor is not supported");
  TORCH_CHECK_NOT_IMPLEMENTED(self.scalar_type() != at::kBFloat16,
                              "\"histc\" not implemented for 'BFloat16'");
  bool integers = at::isIntegralType(self.scalar_type(), /*includeBool=*/false);
  Translation translation(self.device());
  CurrentDeviceScope current(self.device().index());
  KernelScope kernel(self.device().index());
  at::Tensor host = translation.toCpu(self);
  return translation.toDevice(
      integers ? at::histc(host.to(at::kDouble), bins, min, max).to(self.scalar_type())
               : at::histc(host, bins, min, max));
}

at::Tensor &histogramOut(const at::Tensor &self, std::int64_t bins, const at::Scalar &min,
                         const at::Scalar &max, at::Tensor &out) {
  std::optional<c10::Device> device;
  c10::impl::check_and_update_common_device(device, out, "wrapper_CUDA_out_histc_out", "out");
  c10::impl::check_and_update_common_device(device, self, "wrapper_CUDA_out_histc_out", "self");
  at::Tensor result = histogram(self, bins, min, max);
  at::native::resize_output(out, result.sizes());
  return out.copy_(result);
}

} // namespace

DEVSAN_SIM_LIBRARY_IMPL(aten, CUDA, m) {
  m.impl("histc", TORCH_FN(histogram));
  m.impl("histc.out", TORCH_FN(histogramOut));
}

} // namespace devsan::sim
