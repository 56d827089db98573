// Dtypes that one of the CPU's and CUDA's kernels of an operator takes and the other does not.
//
// What the CPU's takes alone is refused. A program that computes with one of them would fail on a
// GPU, so a simulated device refuses it with CUDA's words. Asked by the fallback, on any thread,
// for the few operators that have a rule.
#pragma once

#include <string_view>

#include <ATen/core/Tensor.h>
#include <ATen/core/ivalue.h>
#include <c10/util/SmallVector.h>

#include "operator_facts.h"

namespace devsan::sim {

// The rule for an operator of ATen or its in-place form; null if there is none.
const DtypeRule *dtypeRule(const c10::OperatorName &op);

// Throws CUDA's error if the operator's first tensor has a dtype that CUDA has no kernel for.
void checkDtype(const DtypeRule &rule, const OperatorFacts &facts, const c10::IValue *arguments);

// What CUDA's takes alone, or computes with fewer roundings, is computed in float32, in which
// CUDA's kernels compute too. Bits per ScalarType; 0 for most operators.
std::uint64_t dtypesComputedWider(std::string_view op, TensorKind kind);

// For the duration of such a call: arguments (on the CPU) of one of these dtypes are others until
// finish(), which gives the results, and what was to be written, their dtype.
class WiderCall {
public:
  WiderCall(const OperatorFacts &facts, TensorKind kind, c10::IValue *arguments);
  void finish(const OperatorFacts &facts, c10::IValue *results) const;

private:
  struct Replaced {
    at::Tensor narrow, wide;
    bool is_changed;
  };
  std::optional<at::ScalarType> dtype_; // none: nothing is replaced
  c10::SmallVector<Replaced, 4> replaced_;
};

} // namespace devsan::sim
