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

std::string CudaCheck::text(ASTContext &context, SourceRange range) {
  const SourceManager &sources = context.getSourceManager();
  const CharSourceRange written = Lexer::makeFileCharRange(CharSourceRange::getTokenRange(range),
                                                           sources, context.getLangOpts());
  return Lexer::getSourceText(written, sources, context.getLangOpts()).str();
}

SourceLocation CudaCheck::place(ASTContext &context, const Expr *expr) {
  return context.getSourceManager().getFileLoc(expr->getBeginLoc());
}

} // namespace devsan::analyzer
