// Whether the process captures a CUDA graph: PyTorch's generators then take no offset.
#pragma once

namespace devsan::sim {

bool isCapturing();

} // namespace devsan::sim
