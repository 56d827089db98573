// Operators of GPUs that have no equivalent here: they fail by name, with the reason and the
// remedy. The table comes from not_simulated.txt, as does what `devsan doctor --sim` lists.
#include <cstring>

#include <torch/library.h>

#include "runtime/sim/operators/library.h"

namespace devsan::sim {
namespace {

struct Refused {
  const char *name;
  c10::DispatchKey key;
  const char *reason;
  const char *remedy;
};

constexpr Refused kRefused[] = {
#include "not_simulated.inc"
};

std::string qualifiedName(const c10::OperatorName &name) {
  return name.overload_name.empty() ? name.name : name.name + "." + name.overload_name;
}

void refuse(const c10::OperatorHandle &op, torch::jit::Stack *) {
  const std::string name = qualifiedName(op.operator_name());
  for (const Refused &refused : kRefused)
    TORCH_CHECK_NOT_IMPLEMENTED(name != std::string("aten::") + refused.name,
                                "not simulated: ", name, ", because ", refused.reason, "; ",
                                refused.remedy);
  TORCH_CHECK_NOT_IMPLEMENTED(false, "not simulated: ", name);
}

DEVSAN_SIM_AT_LOAD(DEVSAN_SIM_KERNELS) {
  for (const Refused &refused : kRefused) {
    auto *library =
        new torch::Library(torch::Library::IMPL, "aten", refused.key, __FILE__, __LINE__);
    library->impl(refused.name, torch::CppFunction::makeFromBoxedFunction<&refuse>());
  }
}

} // namespace
} // namespace devsan::sim
