// What CUDA has no deterministic kernel for: under torch.use_deterministic_algorithms(True) a
// simulated device refuses it with CUDA's words, or warns with warn_only=True. Which operators
// those are is read from PyTorch's CUDA builds (read_cuda_build.py), release by release. Asked by
// the fallback, and by what wraps the simulator's own kernels, on any thread and before an operator
// runs; a test of one pointer for all other operators.
#pragma once

#include <string_view>
#include <vector>

#include <ATen/core/dispatch/Dispatcher.h>
#include <ATen/core/ivalue.h>

namespace devsan::sim {

// One of an operator's alerts.
struct Alert {
  std::string_view text;
  // Where CUDA's code comes to it for some values of an argument only; else null.
  bool (*reached)(const c10::IValue &argument) = nullptr;
  std::size_t argument = 0; // which
};

// `texts` are separated by |, as in cuda_operators.inc.
std::vector<Alert> alertsOf(const c10::FunctionSchema &schema, std::string_view texts);

void alertNotDeterministic(const std::vector<Alert> &alerts, const c10::IValue *arguments);

// For the duration of a call that CUDA has one kernel for: operators inside it do not alert.
class OneKernelScope {
public:
  OneKernelScope();
  ~OneKernelScope();
  OneKernelScope(const OneKernelScope &) = delete;
  OneKernelScope &operator=(const OneKernelScope &) = delete;

private:
  bool before_;
};

} // namespace devsan::sim
