// Copies between devices, to and from the host, and reading one element.
#include <ATen/core/Tensor.h>
#include <ATen/ops/_local_scalar_dense.h>
#include <ATen/ops/copy.h>

#include "../blocking.h"
#include "../devices.h"
#include "../library.h"
#include "../memory.h"
#include "../tensor_alias.h"

namespace devsan::sim {
namespace {

// The CPU kernel converts dtypes, resolves conjugates and copies between any strides.
at::Tensor &copy(at::Tensor &self, const at::Tensor &source, bool non_blocking) {
  announceWait(runtime::copyEffect(self, source, non_blocking));
  Translation translation(self.is_cuda() ? self.device() : source.device());
  at::Tensor to = translation.toCpu(self);
  KernelScope kernel(translation.device().index());
  to.copy_(translation.toCpu(source), non_blocking);
  return self;
}

at::Scalar localScalarDense(const at::Tensor &self) {
  announceWait(runtime::readEffect(self));
  return at::_local_scalar_dense(cpuAlias(self));
}

void recordStream(at::Tensor &self, c10::Stream stream) {
  TORCH_CHECK(stream.device_type() == c10::kCUDA, "record_stream: the stream is on ",
              stream.device(), ", not on a CUDA device");
  deviceAllocator()->recordStream(self.storage().data_ptr(), stream);
}

} // namespace

DEVSAN_SIM_LIBRARY_IMPL(aten, CUDA, m) {
  m.impl("copy_", TORCH_FN(copy));
  m.impl("_local_scalar_dense", TORCH_FN(localScalarDense));
  m.impl("record_stream", TORCH_FN(recordStream));
}

DEVSAN_SIM_LIBRARY_IMPL(aten, QuantizedCUDA, m) {
  m.impl("copy_", TORCH_FN(copy));
  m.impl("record_stream", TORCH_FN(recordStream));
}

} // namespace devsan::sim
