// The facts of one function: a forward dataflow over clang's CFG that follows tensors, devices,
// options and modules through variables, members and calls. It records what happened as Operations,
// in the order of the code; rules read those and judge. Nothing here knows a rule.
#pragma once

#include "analyzer/facts/function_facts.h"
#include "analyzer/model/constant_conditions.h"
#include "analyzer/model/handles.h"

#include <clang/AST/ASTContext.h>
#include <clang/Analysis/CFG.h>
#include <llvm/ADT/DenseMap.h>

#include <functional>

namespace devsan::analyzer {

class FlowFacts final : public FunctionFacts {
public:
  Value value(Code expr) const override;
  std::optional<Path> path(Code expr) const override { return path(exprOf(expr)); }
  std::optional<Path> path(const clang::Expr *expr) const;

private:
  friend class Flow;
  llvm::DenseMap<const clang::Expr *, Value> values_;
  llvm::DenseMap<const clang::ValueDecl *, Path> aliases_;
};

// Asks what a callee in the same file leaves unmoved of a module that was moved before the call: of
// its object, or of the argument with that index.
using ReplacedByCallee = std::function<const clang::Expr *(const clang::FunctionDecl *callee,
                                                           std::optional<unsigned> argument)>;

// What a function in the same file returns, in terms of its own parameters; null where that is not
// known.
using ReturnedByCallee = std::function<const Value *(const clang::FunctionDecl *callee)>;

// Whether a function in the same file returns only where that parameter is on the host.
using HostCheckedByCallee =
    std::function<bool(const clang::FunctionDecl *callee, unsigned parameter)>;

struct FlowOptions {
  std::optional<Path> assume_moved; // a module that the caller has moved
  ReplacedByCallee replaced_by_callee;
  ReturnedByCallee returned_by_callee;
  HostCheckedByCallee host_checked_by_callee;
  std::vector<Path> on_host;               // what holds the host's data when the function begins
  ConstantConditions *constants = nullptr; // of the file; without them all branches are followed
};

// Null where the function has no body or no control-flow graph, or is too large to be followed in
// the time that a user waits for an answer.
std::unique_ptr<FunctionFacts> analyseFunction(const clang::FunctionDecl *function,
                                               clang::ASTContext &context,
                                               const FlowOptions &options);

} // namespace devsan::analyzer
