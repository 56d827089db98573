// The base of the checks on CUDA work: it hands over the whole program once, and holds what their
// messages and fixes share.
#pragma once

#include "analyzer/model/cuda/cuda_work.h"
#include "analyzer/model/cuda/visible_names.h"
#include "analyzer/model/diagnosis.h"

namespace devsan::analyzer {

class CudaCheck : public RuleCheck {
public:
  using RuleCheck::RuleCheck;

  void registerMatchers(clang::ast_matchers::MatchFinder *finder) override;
  void check(const clang::ast_matchers::MatchFinder::MatchResult &result) override;
  void onEndOfTranslationUnit() override;

protected:
  virtual void examine(const CudaProgram &program, clang::ASTContext &context) = 0;

  // Where the user wrote it.
  static clang::SourceLocation place(clang::ASTContext &context, const clang::Expr *expr);

private:
  std::shared_ptr<CudaProgram> program_;
};

} // namespace devsan::analyzer
