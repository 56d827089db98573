#include "runtime/offline/build_info.h"

namespace devsan::runtime {

BuildInfo buildInfo() {
  return {DEVSAN_TORCH_VERSION, DEVSAN_PYTHON};
}

} // namespace devsan::runtime
