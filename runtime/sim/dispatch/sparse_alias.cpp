#include "sparse_alias.h"

#include <ATen/SparseCsrTensorImpl.h>
#include <ATen/SparseCsrTensorUtils.h>
#include <ATen/SparseTensorImpl.h>
#include <c10/core/InferenceMode.h>

#include "runtime/sim/devices/devices.h"

namespace devsan::sim {
namespace {

using at::SparseCsrTensorImpl;
using at::SparseTensorImpl;

SparseTensorImpl *coordinates(const at::Tensor &tensor) {
  return static_cast<SparseTensorImpl *>(tensor.unsafeGetTensorImpl());
}

SparseCsrTensorImpl *compressed(const at::Tensor &tensor) {
  return static_cast<SparseCsrTensorImpl *>(tensor.unsafeGetTensorImpl());
}

} // namespace

bool isSparse(const at::Tensor &tensor) {
  return tensor.is_sparse() || at::sparse_csr::is_sparse_compressed(tensor);
}

at::Tensor translateSparse(const at::Tensor &tensor, c10::Device device, TranslatePart translate) {
  // A new sparse tensor asks for the current device before it is given its parts.
  CurrentDeviceScope current(device.is_cuda() ? device.index() : currentDevice());
  // As the tensor is, whatever the thread's mode.
  c10::InferenceMode mode(tensor.is_inference());
  at::Tensor made;
  if (tensor.is_sparse()) {
    auto key = device.is_cpu() ? c10::DispatchKey::SparseCPU : c10::DispatchKey::SparseCUDA;
    made = at::detail::make_tensor<SparseTensorImpl>(c10::DispatchKeySet(key), tensor.dtype());
  } else {
    auto key = device.is_cpu() ? c10::DispatchKey::SparseCsrCPU : c10::DispatchKey::SparseCsrCUDA;
    made = at::detail::make_tensor<SparseCsrTensorImpl>(c10::DispatchKeySet(key), device,
                                                        tensor.layout(), tensor.dtype());
  }
  assignSparse(made, tensor, translate);
  return made;
}

void assignSparse(const at::Tensor &to, const at::Tensor &from, TranslatePart translate) {
  if (from.is_sparse()) {
    SparseTensorImpl *source = coordinates(from), *target = coordinates(to);
    at::Tensor indices = translate(source->indices()), values = translate(source->values());
    target->raw_resize_(source->sparse_dim(), source->dense_dim(), source->sizes());
    target->set_indices_and_values_unsafe(indices, values);
    target->set_coalesced(source->coalesced());
  } else {
    SparseCsrTensorImpl *source = compressed(from), *target = compressed(to);
    target->set_layout(source->layout());
    target->set_member_tensors(translate(source->compressed_indices()),
                               translate(source->plain_indices()), translate(source->values()),
                               source->sizes());
  }
}

} // namespace devsan::sim
