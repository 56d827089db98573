// Work of a device that Python does on CPU tensors: a graph that torch.compile has compiled for the
// CPU, a kernel in Triton's interpreter. devsan/sim/host_functions.py gives these operators their
// CPU kernel, which calls the function of that number. As operators they get from the fallback what
// every kernel gets: CPU aliases of the device's tensors, blocks of the device for new ones, its
// place on the stream, its generator where they draw (`random`).
#include <ATen/core/enum_tag.h>
#include <torch/library.h>

#include "runtime/sim/operators/library.h"

DEVSAN_SIM_AT_LOAD(DEVSAN_SIM_KERNELS) {
  auto *library =
      new torch::Library(torch::Library::FRAGMENT, "devsan_sim", std::nullopt, __FILE__, __LINE__);
  // `device` is a tensor of the device that the work is done on, and may be empty. Results may be
  // arguments, and views of them.
  const std::string arguments = "(Tensor device, Tensor[] read, Tensor(a!)[] written, Scalar[] "
                                "numbers, int function) -> Tensor(a!)[]";
  library->def(("run_on_host" + arguments).c_str());
  library->def(("run_on_host.random" + arguments).c_str(), {at::Tag::nondeterministic_seeded});
}
