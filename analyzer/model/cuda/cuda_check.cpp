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

namespace {

// What `scope::name` finds, be it through `using namespace`.
DeclContext::lookup_result lookUp(const DeclContext *scope, DeclarationName name,
                                  llvm::SmallPtrSetImpl<const DeclContext *> &seen) {
  DeclContext::lookup_result found = scope->lookup(name);
  if (!found.empty() || !seen.insert(scope->getPrimaryContext()).second)
    return found;
  for (const UsingDirectiveDecl *directive : scope->using_directives()) {
    found = lookUp(directive->getNominatedNamespace(), name, seen);
    if (!found.empty())
      break;
  }
  return found;
}

DeclContext::lookup_result lookUp(const DeclContext *scope, DeclarationName name) {
  llvm::SmallPtrSet<const DeclContext *, 4> seen;
  return lookUp(scope, name, seen);
}

} // namespace

bool CudaCheck::sees(ASTContext &context, llvm::StringRef qualified_name) {
  llvm::SmallVector<llvm::StringRef, 4> names;
  qualified_name.split(names, "::");
  const DeclContext *scope = context.getTranslationUnitDecl();
  for (llvm::StringRef name : llvm::ArrayRef(names).drop_back()) {
    const DeclContext *inner = nullptr;
    for (const NamedDecl *decl : lookUp(scope, &context.Idents.get(name)))
      if (const auto *space = dyn_cast<NamespaceDecl>(decl->getUnderlyingDecl()))
        inner = space;
    if (!inner)
      return false;
    scope = inner;
  }
  return !lookUp(scope, &context.Idents.get(names.back())).empty();
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
