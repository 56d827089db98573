// Copies between devices, to and from the host, and reading one element.
#include <ATen/EmptyTensor.h>
#include <ATen/core/Tensor.h>
#include <ATen/ops/_local_scalar_dense.h>
#include <ATen/ops/copy.h>
#include <ATen/ops/empty_strided.h>

#include "runtime/sim/devices/devices.h"
#include "runtime/sim/dispatch/tensor_alias.h"
#include "runtime/sim/memory/host_watch.h"
#include "runtime/sim/memory/memory.h"
#include "runtime/sim/operators/library.h"
#include "runtime/sim/streams/blocking.h"
#include "runtime/sim/streams/capturing.h"
#include "runtime/sim/streams/host_wait.h"
#include "runtime/sim/streams/pending_copies.h"
#include "runtime/sim/streams/stream_accesses.h"

namespace devsan::sim {
namespace {

void noteRead(const char *op, const at::Tensor &tensor) {
  if (C10_LIKELY(!areAccessesNoted()))
    return;
  TouchedMemory touched;
  touched.add(tensor, AccessKind::kReads);
  noteAccesses(op, touched, currentStream(tensor.get_device()));
}

void noteCopy(const at::Tensor &to, const at::Tensor &from, c10::Stream stream) {
  if (C10_LIKELY(!areAccessesNoted()))
    return;
  TouchedMemory touched;
  touched.add(from, AccessKind::kReads);
  touched.add(to, AccessKind::kWrites);
  noteAccesses("aten::copy_", touched, stream);
}

// The copy's threads read and write pinned memory as the device would.
void openForCopy(const at::Tensor &tensor) {
  if (tensor.is_cpu() && tensor.has_storage() && tensor.numel() != 0)
    forgetWatches(
        tensor.const_data_ptr(),
        at::detail::computeStorageNbytes(tensor.sizes(), tensor.strides(), tensor.element_size()));
}

// The CPU kernel converts dtypes, resolves conjugates and copies between any strides.
void copyNow(at::Tensor &self, const at::Tensor &source) {
  Translation translation(self.is_cuda() ? self.device() : source.device());
  at::Tensor to = translation.toCpu(self);
  at::Tensor from = translation.toCpu(source);
  openForCopy(self);
  openForCopy(source);
  KernelScope kernel(translation.device().index());
  to.copy_(from, false);
}

void copyToHost(at::Tensor &self, const at::Tensor &source, bool non_blocking) {
  const c10::Stream stream = currentStream(source.get_device());
  noteCopy(self, source, stream);
  if (non_blocking && mayCopyLater(self, source, true)) {
    at::Tensor data =
        at::empty_strided(self.sizes(), self.strides(), self.options().pinned_memory(false));
    data.copy_(cpuAlias(source));
    copyToHostLater(self, std::move(data), stream);
    return;
  }
  waitForCurrentStream(stream.device_index());
  copyNow(self, source);
}

void copyToDevice(at::Tensor &self, const at::Tensor &source, bool non_blocking) {
  const c10::Stream stream = currentStream(self.get_device());
  noteCopy(self, source, stream);
  if (!mayCopyLater(source, self, false)) {
    // The host gathers the bytes first.
    copyNow(self, source);
    const std::uint64_t bytes = std::uint64_t(self.numel()) * source.element_size();
    // In a capture it is refused like a wait.
    if (!non_blocking || isCapturing(stream) ||
        !runtime::isStaged(source.device(), self.device(), bytes))
      waitForCurrentStream(stream.device_index());
  } else if (!non_blocking) {
    waitForCurrentStream(stream.device_index());
    copyNow(self, source);
  } else if (!copyToDeviceLater(self, source, stream)) {
    finishCopiesInto(source, stream);
    copyNow(self, source);
  }
}

// Runs on the source's current stream, after and before what is on the destination's.
void copyBetweenDevices(at::Tensor &self, const at::Tensor &source) {
  const c10::Stream stream = currentStream(source.get_device()),
                    other = currentStream(self.get_device());
  orderAfter(stream, other);
  noteCopy(self, source, stream);
  copyNow(self, source);
  orderAfter(other, stream);
}

at::Tensor &copy(at::Tensor &self, const at::Tensor &source, bool non_blocking) {
  checkMemoryIfNeeded();
  materialize(*self.storage().unsafeGetStorageImpl());
  announceWait(runtime::copyEffect(self, source, non_blocking));
  if (self.is_cuda() && source.is_cuda())
    copyBetweenDevices(self, source);
  else if (source.is_cuda())
    copyToHost(self, source, non_blocking);
  else
    copyToDevice(self, source, non_blocking);
  return self;
}

at::Scalar localScalarDense(const at::Tensor &self) {
  checkMemoryIfNeeded();
  announceWait(runtime::readEffect(self));
  noteRead("aten::_local_scalar_dense", self);
  waitForCurrentStream(self.get_device());
  return at::_local_scalar_dense(cpuAlias(self));
}

void recordTensorStream(at::Tensor &self, c10::Stream stream) {
  TORCH_CHECK(stream.device_type() == c10::kCUDA, "record_stream: the stream is on ",
              stream.device(), ", not on a CUDA device");
  recordStream(self.storage().data_ptr(), stream);
}

} // namespace

DEVSAN_SIM_LIBRARY_IMPL(aten, CUDA, m) {
  m.impl("copy_", TORCH_FN(copy));
  m.impl("_local_scalar_dense", TORCH_FN(localScalarDense));
  m.impl("record_stream", TORCH_FN(recordTensorStream));
}

DEVSAN_SIM_LIBRARY_IMPL(aten, QuantizedCUDA, m) {
  m.impl("copy_", TORCH_FN(copy));
  m.impl("record_stream", TORCH_FN(recordTensorStream));
}

} // namespace devsan::sim
