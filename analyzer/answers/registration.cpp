#include "analyzer/answers/registration.h"

#include "analyzer/ast/contains.h"
#include "analyzer/ast/torch_api.h"
#include "analyzer/ast/unresolved_code.h"

#include <clang/AST/ExprCXX.h>
#include <clang/Lex/Lexer.h>

namespace devsan::analyzer {

using namespace clang;

namespace {

bool usesKey(const std::vector<const CXXMethodDecl *> &methods, llvm::StringRef key) {
  const auto uses = [&](const Stmt *part) {
    const auto *literal = dyn_cast<StringLiteral>(part);
    return literal && literal->isOrdinary() && literal->getString() == key;
  };
  return llvm::any_of(
      methods, [&](const CXXMethodDecl *method) { return contains(method->getBody(), uses); });
}

class Registration {
public:
  Registration(const FieldDecl &field, llvm::StringRef method,
               const std::vector<const CXXMethodDecl *> &methods, ASTContext &context)
      : field_(field), call_((method + "(\"" + field.getName() + "\", ").str()), methods_(methods),
        context_(context) {}

  // False where it cannot be done.
  bool registerAt(const Expr *site) {
    const Expr *written = asWritten(site);
    if (!written->getBeginLoc().isFileID() || !written->getEndLoc().isFileID() ||
        written->containsErrors() || written->getSourceRange().isInvalid() ||
        textOf(context_, written->getSourceRange()).contains("requires_grad"))
      return false;
    const bool by_default = isa<CXXDefaultInitExpr>(site) || field_.getInClassInitializer() == site;
    const CXXCtorInitializer *initializer = by_default ? nullptr : initializerBy(site);
    const bool in_braces = by_default ? field_.getInClassInitStyle() == ICIS_ListInit
                                      : initializer && startsWith(initializer->getLParenLoc(), '{');
    // `pool(options)` makes the member itself: what it is made of now makes what is registered.
    if (in_braces || (initializer && written->getBeginLoc() == initializer->getMemberLocation()))
      return registerInPlace(initializer);
    if (isa<InitListExpr>(written))
      return false;
    fixes_.push_back(FixItHint::CreateInsertion(written->getBeginLoc(), call_));
    fixes_.push_back(FixItHint::CreateInsertion(endOf(written->getEndLoc()), ")"));
    return true;
  }

  llvm::SmallVector<FixItHint, 4> fixes() { return std::move(fixes_); }

private:
  // `pool(2)` becomes `pool(register_module("pool", MaxPool2d(2)))`, `Linear fc{2, 3};` becomes
  // `Linear fc = register_module("fc", Linear{2, 3});`.
  bool registerInPlace(const CXXCtorInitializer *initializer) {
    const SourceRange type =
        field_.getTypeSourceInfo()->getTypeLoc().getUnqualifiedLoc().getSourceRange();
    const SourceRange range =
        initializer ? SourceRange(initializer->getLParenLoc(), initializer->getRParenLoc())
                    : field_.getInClassInitializer()->getSourceRange();
    const llvm::StringRef name = textOf(context_, type);
    if (name.empty() || type.getBegin().isMacroID() || !range.getBegin().isFileID() ||
        !range.getEnd().isFileID() || range.isInvalid())
      return false;
    const bool in_braces = startsWith(range.getBegin(), '{');
    if (!initializer) {
      fixes_.push_back(FixItHint::CreateInsertion(range.getBegin(), (" = " + call_ + name).str()));
      fixes_.push_back(FixItHint::CreateInsertion(endOf(range.getEnd()), ")"));
      return true;
    }
    fixes_.push_back(FixItHint::CreateReplacement(
        SourceRange(range.getBegin()), ("(" + call_ + name + (in_braces ? "{" : "(")).str()));
    fixes_.push_back(
        FixItHint::CreateReplacement(SourceRange(range.getEnd()), in_braces ? "}))" : ")))"));
    return true;
  }

  const CXXCtorInitializer *initializerBy(const Expr *value) {
    for (const CXXMethodDecl *method : methods_)
      if (const auto *constructor = dyn_cast<CXXConstructorDecl>(method))
        for (const CXXCtorInitializer *initializer : constructor->inits())
          if (initializer->getInit() == value)
            return initializer;
    return nullptr;
  }

  bool startsWith(SourceLocation location, char character) {
    return *context_.getSourceManager().getCharacterData(location) == character;
  }

  SourceLocation endOf(SourceLocation last_token) {
    return Lexer::getLocForEndOfToken(last_token, 0, context_.getSourceManager(),
                                      context_.getLangOpts());
  }

  const FieldDecl &field_;
  const std::string call_; // up to the value
  const std::vector<const CXXMethodDecl *> &methods_;
  ASTContext &context_;
  llvm::SmallVector<FixItHint, 4> fixes_;
};

} // namespace

llvm::SmallVector<FixItHint, 4> registration(const CXXRecordDecl *record, const MemberState &member,
                                             llvm::StringRef method,
                                             const std::vector<const CXXMethodDecl *> &methods,
                                             ASTContext &context) {
  const std::size_t constructors = llvm::count_if(methods, [](const CXXMethodDecl *method) {
    return isa<CXXConstructorDecl>(method) && !method->isImplicit();
  });
  const bool once = member.sites.size() == std::max<std::size_t>(constructors, 1);
  if (!once || record->isDependentContext() || isa<ClassTemplateSpecializationDecl>(record) ||
      usesKey(methods, declOf(member.field)->getName()))
    return {};
  Registration registration(*cast<FieldDecl>(declOf(member.field)), method, methods, context);
  for (const Code site : member.sites)
    if (!registration.registerAt(exprOf(site)))
      return {};
  return registration.fixes();
}

} // namespace devsan::analyzer
