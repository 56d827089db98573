#include "analyzer/calls/function_names.h"

#include "analyzer/ast/ast_visitor.h"
#include "analyzer/calls/file_calls.h"

#include <clang/AST/ASTContext.h>
#include <clang/AST/DeclCXX.h>
#include <clang/AST/DeclTemplate.h>
#include <clang/Basic/SourceManager.h>
#include <llvm/ADT/SmallString.h>

namespace devsan::analyzer {
namespace {

// Absolute, because diagnostics give absolute paths.
std::string pathOf(const clang::SourceManager &sources, clang::FileID file) {
  clang::OptionalFileEntryRef entry = sources.getFileEntryRefForID(file);
  if (!entry)
    return {};
  llvm::SmallString<256> path(entry->getName());
  sources.getFileManager().makeAbsolutePath(path);
  return std::string(path);
}

// Of a method, where all of its class's bases are known: one that is unknown, or made of the class
// itself, may call any.
bool isCalledByName(const clang::FunctionDecl *function) {
  const auto *method = llvm::dyn_cast<clang::CXXMethodDecl>(function);
  if (!method)
    return true;
  const clang::CXXRecordDecl *record = method->getParent();
  const auto is_plain = [](const clang::CXXRecordDecl *base) {
    return base->hasDefinition() && !base->isInvalidDecl() && !base->hasAnyDependentBases() &&
           !llvm::isa<clang::ClassTemplateSpecializationDecl>(base);
  };
  return !method->isVirtual() && record->hasDefinition() && !record->isInvalidDecl() &&
         !record->hasAnyDependentBases() && record->forallBases(is_plain);
}

class Visitor : public AstVisitor {
public:
  template <typename Add> Visitor(Add add) : add_(add) {}

  bool VisitFunctionDecl(clang::FunctionDecl *function) override {
    const auto *method = llvm::dyn_cast<clang::CXXMethodDecl>(function);
    if (function->isThisDeclarationADefinition() && !(method && method->getParent()->isLambda()))
      add_(function);
    return true;
  }

private:
  std::function<void(clang::FunctionDecl *)> add_;
};

} // namespace

void FunctionNames::add(llvm::ArrayRef<clang::Decl *> decls) {
  for (clang::Decl *decl : decls) {
    const clang::SourceManager &sources = decl->getASTContext().getSourceManager();
    Visitor visitor([&](clang::FunctionDecl *function) {
      const auto begin = sources.getDecomposedExpansionLoc(function->getBeginLoc());
      const auto end = sources.getDecomposedExpansionLoc(function->getEndLoc());
      if (begin.first == end.first)
        by_file_[pathOf(sources, begin.first)].push_back(
            {begin.second, end.second, function->getQualifiedNameAsString(), usrOf(function),
             isCalledByName(function)});
    });
    visitor.TraverseDecl(decl);
  }
}

const FunctionNames::Range *FunctionNames::around(llvm::StringRef file, unsigned offset) const {
  auto ranges = by_file_.find(file);
  if (ranges == by_file_.end())
    return nullptr;
  const Range *innermost = nullptr;
  for (const Range &range : ranges->second)
    if (range.begin <= offset && offset <= range.end &&
        (!innermost || range.begin >= innermost->begin))
      innermost = &range;
  return innermost;
}

} // namespace devsan::analyzer
