// Where a function takes from a tensor which kind of device it is on, and drops which one of that
// kind: `x.type()`, `x.device().type()`, `x.is_cuda() ? kCUDA : kCPU`.
#pragma once

#include "analyzer/facts/cuda_facts.h"
#include "analyzer/model/cuda/cuda_work.h"

namespace devsan::analyzer {

// DeprecatedTypeProperties: what `x.type()` gives.
bool isLegacyType(clang::QualType type);

// Those that end in a new tensor, in options or in a device, in the order of the source.
std::vector<DeviceKind> deviceKinds(const CudaWork &work);

// A variable of the function whose value was made for the device that was current, whichever that
// is: factories were told "CUDA" without an index, and nothing from elsewhere came in.
bool isMadeOnCurrent(const clang::ValueDecl *tensor, const CudaWork &work);

} // namespace devsan::analyzer
