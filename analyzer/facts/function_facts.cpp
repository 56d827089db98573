#include "analyzer/facts/function_facts.h"

#include <algorithm>

namespace devsan::analyzer {

std::vector<Value> valuesOf(std::span<const Operand> operands) {
  std::vector<Value> values;
  values.reserve(operands.size());
  for (const Operand &operand : operands)
    values.push_back(operand.value);
  return values;
}

const Operation *FunctionFacts::find(Operation::Kind kind, Code expr) const {
  const auto found = std::ranges::find_if(operations, [&](const Operation &operation) {
    return operation.kind == kind && operation.expr == expr;
  });
  return found == operations.end() ? nullptr : &*found;
}

} // namespace devsan::analyzer
