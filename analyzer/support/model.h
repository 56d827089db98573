// The device model of one translation unit, shared by all checks that run on it: facts per
// function, computed when first asked for, and what needs to see several functions, such as which
// code runs on every step. One thread at a time.
#pragma once

#include "analyzer/support/flow.h"

#include <memory>

namespace devsan::analyzer {

class DeviceModel {
public:
  explicit DeviceModel(clang::ASTContext &context);

  // The model that the checks on `context` share; it lives as long as one of them holds it.
  static std::shared_ptr<DeviceModel> of(clang::ASTContext &context);

  clang::ASTContext &context() { return context_; }

  // Facts of a function of the program; null for library code, lambdas (part of their function) and
  // what has no body.
  const FunctionFacts *facts(const clang::FunctionDecl *function);

  // Why `statement` of `function` runs on every step: "in a loop", "in 'forward'", "in
  // 'safeDivide', which 'update' calls". Empty where it does not, or only every so many steps.
  std::string everyStep(const clang::Stmt *statement, const clang::FunctionDecl *function);
  // The innermost loop around `statement` in its function.
  const clang::Stmt *loopAround(const clang::Stmt *statement);

  // A guard that sets the current device is live at `statement`.
  bool guarded(const clang::Stmt *statement);
  // Autograd is off at `statement`.
  bool gradOff(const clang::Stmt *statement);
  // The user said that waiting is meant: a devsan::AllowSync lives there.
  bool syncAllowed(const clang::Stmt *statement);

  // Classes whose state lives across steps: torch::nn::Module's, and metrics, with update() on
  // tensors.
  static bool isStateful(const clang::CXXRecordDecl *record);
  static bool isMetric(const clang::CXXRecordDecl *record);

  const clang::Expr *replacedByCallee(const clang::FunctionDecl *callee,
                                      std::optional<unsigned> argument);

private:
  struct Caller {
    const clang::FunctionDecl *function;
    const clang::Stmt *call;
  };
  std::string functionStep(const clang::FunctionDecl *function, int depth);
  void collectCallers();
  bool setUpBefore(const clang::Stmt *statement,
                   llvm::function_ref<bool(const clang::Stmt *)> test);

  clang::ASTContext &context_;
  llvm::DenseMap<const clang::FunctionDecl *, std::unique_ptr<FunctionFacts>> facts_;
  llvm::DenseMap<const clang::FunctionDecl *, std::vector<Caller>> callers_;
  std::set<const clang::FunctionDecl *> asking_;
  bool callers_known_ = false;
};

} // namespace devsan::analyzer
