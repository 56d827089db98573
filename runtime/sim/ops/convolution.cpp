// Convolution is a composite that picks a kernel by device; on a CUDA tensor it finds ones that exist for GPUs alone. The
// CPU's own choice, oneDNN included, is taken instead.
#include <torch/library.h>

#include "../fallback.h"

namespace devsan::sim {

TORCH_LIBRARY_IMPL(aten, CUDA, m) {
  m.impl("convolution", torch::CppFunction::makeFromBoxedFunction<&runOnCpu<TensorKind::kDense>>());
}

} // namespace devsan::sim
