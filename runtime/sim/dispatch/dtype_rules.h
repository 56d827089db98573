// Dtypes that the CPU's kernel of an operator takes and CUDA's does not. A program that computes
// with one of them would fail on a GPU, so a simulated device refuses it with CUDA's words. Asked
// by the fallback, on any thread, for the few operators that have a rule.
#pragma once

#include <string_view>

#include <ATen/core/ivalue.h>

#include "operator_facts.h"

namespace devsan::sim {

// The rule for all overloads of "aten::name" and its in-place form; null if there is none.
const DtypeRule *dtypeRule(std::string_view op);

// Throws CUDA's error if the operator's first tensor has a dtype that CUDA has no kernel for.
void checkDtype(const DtypeRule &rule, const OperatorFacts &facts, const c10::IValue *arguments);

} // namespace devsan::sim
