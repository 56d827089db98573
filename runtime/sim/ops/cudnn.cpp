// Questions that composites ask before they take a cuDNN or MIOpen kernel: a simulated device has
// none.
#include <ATen/core/Tensor.h>

#include "../library.h"

namespace devsan::sim {
namespace {

bool useCtcLoss(const at::Tensor &, const at::Tensor &, at::IntArrayRef, at::IntArrayRef, int64_t) {
  return false;
}

bool useCtcLossTensor(const at::Tensor &, const at::Tensor &, const at::Tensor &,
                      const at::Tensor &, int64_t) {
  return false;
}

} // namespace

DEVSAN_SIM_LIBRARY_IMPL(aten, CUDA, m) {
  m.impl("_use_cudnn_ctc_loss", TORCH_FN(useCtcLoss));
  m.impl("_use_cudnn_ctc_loss.Tensor", TORCH_FN(useCtcLossTensor));
  m.impl("_use_miopen_ctc_loss", TORCH_FN(useCtcLoss));
  m.impl("_use_miopen_ctc_loss.Tensor", TORCH_FN(useCtcLossTensor));
}

} // namespace devsan::sim
