#include "analyzer/model/cuda/cuda_check.h"

#include <clang/ASTMatchers/ASTMatchFinder.h>
#include <clang/ASTMatchers/ASTMatchers.h>
#include <clang/Lex/Lexer.h>

namespace devsan::analyzer {

using namespace clang;

void CudaCheck::registerMatchers(ast_matchers::MatchFinder *finder) {
  using namespace ast_matchers;
  finder->addMatcher(functionDecl(isDefinition(), unless(isExpansionInSystemHeader())), this);
}

void CudaCheck::check(const ast_matchers::MatchFinder::MatchResult &result) {
  if (program_)
    return;
  program_ = CudaProgram::of(*result.Context);
  examine(*program_, *result.Context);
}

void CudaCheck::onEndOfTranslationUnit() {
  program_.reset();
}

SourceLocation CudaCheck::place(ASTContext &context, const Expr *expr) {
  return context.getSourceManager().getFileLoc(expr->getBeginLoc());
}

} // namespace devsan::analyzer
