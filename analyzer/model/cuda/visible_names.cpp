#include "analyzer/model/cuda/visible_names.h"

#include <clang/AST/DeclCXX.h>

namespace devsan::analyzer {

using namespace clang;

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

bool isForHip(const ASTContext &context) {
  return context.Idents.get("hipStream_t").hadMacroDefinition();
}

bool sees(ASTContext &context, llvm::StringRef qualified_name) {
  if (isForHip(context))
    return false;
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

} // namespace devsan::analyzer
