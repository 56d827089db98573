#pragma once
#include "cuda_runtime.h"

namespace cutlass {
struct KernelHardwareInfo {
  int device_id = 0;
  int sm_count = 0;
  int max_active_clusters = 0;

  static int query_device_multiprocessor_count(int device_id = 0);
};
} // namespace cutlass
