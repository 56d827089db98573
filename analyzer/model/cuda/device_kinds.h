// Where a function takes from a tensor which kind of device it is on, and drops which one of that
// kind: `x.type()`, `x.device().type()`, `x.is_cuda() ? kCUDA : kCPU`. Facts only; the check on
// lost indices judges them.
#pragma once

#include "analyzer/model/cuda/cuda_work.h"

namespace devsan::analyzer {

struct DeviceKind {
  enum class From { kLegacyType, kLegacyCuda, kDeviceType, kIsCuda };
  From from;
  const clang::Expr *expr;             // what names the kind
  const clang::Expr *tensor = nullptr; // whose kind it is
  bool guarded = false;                // a guard is live
  bool device_set = false;             // a device was set before, for the rest of the function
};

// DeprecatedTypeProperties: what `x.type()` gives.
bool isLegacyType(clang::QualType type);

// Those that end in a new tensor, in options or in a device, in the order of the source.
std::vector<DeviceKind> deviceKinds(const CudaWork &work);

// A variable of the function whose value was made for the device that was current, whichever that
// is: factories were told "CUDA" without an index, and nothing from elsewhere came in.
bool isMadeOnCurrent(const clang::ValueDecl *tensor, const CudaWork &work);

} // namespace devsan::analyzer
