/* What simulated devices have not, and say so. */
#include "runtime/cuda/standin/driver/driver.h"

#define DEVSAN_REFUSE(name, what)                                                                  \
  int name(void) {                                                                                 \
    return devsan_standin_refuse(what " (" #name ")");                                             \
  }
DEVSAN_REFUSE(cuLinkCreate_v2, "GPU kernels that are loaded from code")
DEVSAN_REFUSE(cuLinkAddData_v2, "GPU kernels that are loaded from code")
DEVSAN_REFUSE(cuLinkComplete, "GPU kernels that are loaded from code")
DEVSAN_REFUSE(cuFuncSetAttribute, "GPU kernels that are loaded from code")
DEVSAN_REFUSE(cuFuncSetCacheConfig, "GPU kernels that are loaded from code")
DEVSAN_REFUSE(cuTensorMapEncodeTiled, "tensor maps of GPU kernels")

DEVSAN_LOOKED_UP(DEVSAN_REFUSE)

/* In tests of the runtime, kernels that are loaded from code do nothing, as all others. */
static char loaded;
#define DEVSAN_FROM_CODE(name, type, value)                                                        \
  int name(type *out) {                                                                            \
    if (devsan_standin_is_simulated())                                                             \
      return devsan_standin_refuse("GPU kernels that are loaded from code (" #name ")");           \
    *out = value;                                                                                  \
    return kSuccess;                                                                               \
  }
DEVSAN_FROM_CODE(cuModuleLoad, void *, &loaded)
DEVSAN_FROM_CODE(cuModuleLoadData, void *, &loaded)
DEVSAN_FROM_CODE(cuModuleLoadDataEx, void *, &loaded)
DEVSAN_FROM_CODE(cuModuleGetFunction, void *, &loaded)
DEVSAN_FROM_CODE(cuFuncGetAttribute, int, 0)
DEVSAN_FROM_CODE(cuOccupancyMaxActiveBlocksPerMultiprocessor, int, 2)
