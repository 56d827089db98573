#include "analyzer/run/unknown_names.h"

#include "analyzer/run/clang_run.h"

#include <clang/AST/ASTContext.h>
#include <clang/AST/Decl.h>
#include <clang/Sema/Lookup.h>
#include <clang/Sema/Scope.h>
#include <clang/Sema/Sema.h>
#include <llvm/ADT/StringExtras.h>

namespace devsan::analyzer {

using namespace clang;

// What the text around the name makes of it.
UnknownNames::Use UnknownNames::useOf(const LookupResult &result, const Scope *scope) const {
  const SourceManager &sources = sema_->getSourceManager();
  const auto [file, offset] = sources.getDecomposedLoc(result.getNameLoc());
  const llvm::StringRef text = sources.getBufferData(file);
  const llvm::StringRef before = text.take_front(offset).rtrim();
  llvm::StringRef after =
      text.drop_front(offset + result.getLookupName().getAsIdentifierInfo()->getLength()).ltrim();
  if (after.consume_front("::"))
    return Use::kType;
  const auto begins_name = [](llvm::StringRef rest) {
    return !rest.empty() && (llvm::isAlpha(rest.front()) || rest.front() == '_');
  };
  if (begins_name(after))
    return Use::kType;
  const bool is_parameter = scope->isFunctionPrototypeScope();
  const bool begins_statement =
      before.ends_with(";") || before.ends_with("{") || before.ends_with("}");
  if ((after.starts_with("&") || after.starts_with("*")) &&
      (is_parameter || begins_statement || before.ends_with("const")))
    return begins_name(after.ltrim("&* ")) || is_parameter ? Use::kType : Use::kValue;
  // A call is kept without its callee.
  return is_parameter || after.starts_with("(") || after.starts_with("<") ? Use::kNone
                                                                          : Use::kValue;
}

bool UnknownNames::LookupUnqualified(LookupResult &result, Scope *scope) {
  const IdentifierInfo *name = result.getLookupName().getAsIdentifierInfo();
  const SourceLocation location = result.getNameLoc();
  const bool asks_for_any = result.getLookupKind() == Sema::LookupOrdinaryName ||
                            result.getLookupKind() == Sema::LookupNestedNameSpecifierName;
  // Members are laid out, for which their types have to be known.
  const bool is_inside = scope && (scope->getFnParent() || scope->isFunctionPrototypeScope()) &&
                         !scope->isClassScope();
  if (!sema_ || !name || !asks_for_any || !is_inside || result.isForRedeclaration() ||
      location.isInvalid() || location.isMacroID() || !is_wanted_() || sema_->isSFINAEContext() ||
      !isInUserCode(sema_->getSourceManager(), location))
    return false;
  const Use use = useOf(result, scope);
  if (use == Use::kNone ||
      (use == Use::kValue && result.getLookupKind() != Sema::LookupOrdinaryName))
    return false;
  NamedDecl *&decl = made_[{name, static_cast<int>(use)}];
  if (!decl) {
    ASTContext &context = sema_->Context;
    DeclContext *unit = context.getTranslationUnitDecl();
    auto *id = const_cast<IdentifierInfo *>(name);
    TypeSourceInfo *type = context.getTrivialTypeSourceInfo(context.DependentTy, location);
    if (use == Use::kType)
      decl = TypedefDecl::Create(context, unit, location, location, id, type);
    else
      decl = VarDecl::Create(context, unit, location, location, id, context.DependentTy, type,
                             SC_Extern);
  }
  result.addDecl(decl);
  result.resolveKind();
  return true;
}

} // namespace devsan::analyzer
