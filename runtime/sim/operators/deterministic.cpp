#include "deterministic.h"

#include <memory>

#include <ATen/Context.h>
#include <ATen/core/Reduction.h>
#include <ATen/core/Tensor.h>

#include "library.h"
#include "operator_facts.h"

namespace devsan::sim {
namespace {

// cuBLAS is asked for by matrix products, and has words of its own.
constexpr std::string_view kCublas = "cuBLAS";

// The conditions are those of ATen's source and of the docstring of
// torch.use_deterministic_algorithms.
struct Condition {
  std::string_view text, argument;
  bool (*reached)(const c10::IValue &);
};

bool never(const c10::IValue &) {
  return false;
}
bool isTrue(const c10::IValue &value) {
  return value.toBool();
}
bool isGiven(const c10::IValue &value) {
  return value.isTensor() && value.toTensor().defined();
}
bool isFloating(const c10::IValue &value) {
  return value.toTensor().is_floating_point();
}
template <std::int64_t number> bool differsFrom(const c10::IValue &value) {
  return value.toInt() != number;
}
constexpr std::int64_t kModeMax = 2; // of at::native::EmbeddingBagMode
bool isModeMax(const c10::IValue &value) {
  return value.toInt() == kModeMax;
}
bool isMultiply(const c10::IValue &value) {
  return value.toStringView() == "multiply";
}
bool isProd(const c10::IValue &value) {
  return value.toStringView() == "prod";
}

constexpr Condition kConditions[] = {
    {"_bincount_cuda", "weights", &isGiven},
    {"_histc_cuda with floating point input", "self", &isFloating},
    {"embedding_bag_backward_cuda_max", "mode", &isModeMax},
    {"nll_loss2d_forward_out_cuda_template", "reduction", &differsFrom<at::Reduction::None>},
    // The CPU's kernel refuses the rest.
    {"put_", "accumulate", &isTrue},
    // Sums, means and plain scatters become an index_put_.
    {"scatter_add_cuda_kernel", "self", &never},
    {"scatter_cuda_", "self", &never},
    {"scatter_reduce_cuda_kernel", "reduce", &isMultiply},
    {"scatter_reduce_cuda_mean_", "self", &never},
    {"scatter_reduce_cuda_prod_", "reduce", &isProd},
    {"scatter_reduce_cuda_sum_", "self", &never},
    {kCublas, "self", &isFloating},
};

// An argument that an overload lacks has the value that does not lead to the alert.
std::optional<Alert> alertOf(const c10::FunctionSchema &schema, std::string_view text) {
  for (const Condition &condition : kConditions) {
    if (condition.text != text)
      continue;
    std::optional<int> argument = schema.argumentIndexWithName(std::string(condition.argument));
    if (!argument)
      return std::nullopt;
    return Alert{text, condition.reached, static_cast<std::size_t>(*argument)};
  }
  return Alert{text};
}

// Releases whose matrix products depend on the environment have a check for it.
template <class Context> void alertCublas(const Context &context) {
  if constexpr (requires { context.alertCuBLASConfigNotDeterministic(); })
    context.alertCuBLASConfigNotDeterministic();
}

thread_local bool inside_one_kernel = false;

} // namespace

OneKernelScope::OneKernelScope() : before_(std::exchange(inside_one_kernel, true)) {}
OneKernelScope::~OneKernelScope() {
  inside_one_kernel = before_;
}

std::vector<Alert> alertsOf(const c10::FunctionSchema &schema, std::string_view texts) {
  std::vector<Alert> alerts;
  while (!texts.empty()) {
    const std::size_t end = std::min(texts.find('|'), texts.size());
    if (std::optional<Alert> alert = alertOf(schema, texts.substr(0, end)))
      alerts.push_back(*alert);
    texts.remove_prefix(std::min(end + 1, texts.size()));
  }
  return alerts;
}

void alertNotDeterministic(const std::vector<Alert> &alerts, const c10::IValue *arguments) {
  const at::Context &context = at::globalContext();
  if (C10_LIKELY(!context.deterministicAlgorithms()) || inside_one_kernel)
    return;
  for (const Alert &alert : alerts) {
    if (alert.reached != nullptr && !alert.reached(arguments[alert.argument]))
      continue;
    if (alert.text == kCublas)
      alertCublas(context);
    else
      context.alertNotDeterministic(alert.text);
  }
}

namespace {

class AlertsFirst : public c10::OperatorKernel {
public:
  AlertsFirst(runtime::SafeKernelFunction kernel, std::vector<Alert> alerts)
      : kernel_(std::move(kernel)), alerts_(std::move(alerts)) {}

  void operator()(const c10::OperatorHandle &op, c10::DispatchKeySet keys,
                  torch::jit::Stack *stack) {
    alertNotDeterministic(alerts_,
                          stack->data() + (stack->size() - op.schema().arguments().size()));
    OneKernelScope one;
    kernel_.callBoxed(op, keys, stack);
  }

private:
  runtime::SafeKernelFunction kernel_;
  std::vector<Alert> alerts_;
};

// The simulator's own kernels, so that none has to think of it.
DEVSAN_SIM_AT_LOAD(DEVSAN_SIM_WRAPPERS) {
  runtime::KernelRegistrar registrar("aten", c10::DispatchKey::CUDA);
  for (const CudaOperator &cuda : cudaOperators()) {
    if (cuda.alerts.empty())
      continue;
    const std::size_t dot = std::min(cuda.name.find('.'), cuda.name.size());
    const std::string name = "aten::" + std::string(cuda.name.substr(0, dot));
    const std::string overload(cuda.name.substr(std::min(dot + 1, cuda.name.size())));
    auto op = c10::Dispatcher::singleton().findSchema({name, overload});
    if (!op || !op->hasKernelForDispatchKey(c10::DispatchKey::CUDA))
      continue;
    if (auto own = runtime::findKernel(name.c_str(), overload.c_str(), c10::DispatchKey::CUDA))
      registrar.wrap(
          *own, std::make_unique<AlertsFirst>(own->kernel, alertsOf(op->schema(), cuda.alerts)));
  }
}

} // namespace
} // namespace devsan::sim
