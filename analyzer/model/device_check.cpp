#include "analyzer/model/device_check.h"

#include "analyzer/ast/unresolved_code.h"

#include <clang/AST/ParentMapContext.h>
#include <clang/AST/StmtCXX.h>
#include <clang/ASTMatchers/ASTMatchFinder.h>
#include <clang/Lex/Lexer.h>

namespace devsan::analyzer {

using namespace clang;
using namespace clang::ast_matchers;

void DeviceCheck::registerMatchers(MatchFinder *finder) {
  finder->addMatcher(
      functionDecl(isDefinition(), unless(isImplicit()), unless(isExpansionInSystemHeader()))
          .bind("function"),
      this);
}

void DeviceCheck::check(const MatchFinder::MatchResult &result) {
  useModel(*result.Context);
  if (const FunctionFacts *facts = model_->facts(result.Nodes.getNodeAs<FunctionDecl>("function")))
    examine(*facts);
}

void DeviceCheck::useModel(ASTContext &context) {
  if (!model_)
    model_ = DeviceModel::of(context);
}

void DeviceCheck::onEndOfTranslationUnit() {
  model_.reset();
  reported_.clear();
}

bool DeviceCheck::firstAt(const Expr *expr) {
  // What the body of a macro of the project does is one finding, wherever that is used.
  const SourceManager &sources = model_->context().getSourceManager();
  const SourceLocation name = nameLocation(expr);
  const SourceLocation written = sources.getSpellingLoc(name);
  const bool by_macro = sources.isMacroBodyExpansion(name) && !sources.isInSystemHeader(written);
  return reported_.insert(by_macro ? written : sources.getFileLoc(name)).second;
}

std::string DeviceCheck::spelling(const Expr *expr) {
  return shortText(model_->context(), expr->getSourceRange());
}

SourceLocation DeviceCheck::nameLocation(const Expr *expr) {
  SourceLocation location = expr->getBeginLoc();
  const Expr *inner = strip(expr);
  if (const auto *call = dyn_cast<CXXMemberCallExpr>(inner))
    if (const auto *member = dyn_cast<MemberExpr>(call->getCallee()->IgnoreParens()))
      location = member->getMemberLoc();
  if (const auto *call = dyn_cast<CallExpr>(inner))
    if (const auto *member =
            dyn_cast<CXXDependentScopeMemberExpr>(call->getCallee()->IgnoreParens()))
      location = member->getMemberLoc();
  return location;
}

SourceLocation DeviceCheck::locationOf(const Expr *expr) {
  return model_->context().getSourceManager().getFileLoc(nameLocation(expr));
}

unsigned DeviceCheck::lineOf(const Expr *expr) {
  return model_->context().getSourceManager().getExpansionLineNumber(locationOf(expr));
}

namespace {

bool isStatementOf(const Stmt *child, const Stmt *parent) {
  if (const auto *branch = dyn_cast<IfStmt>(parent))
    return child != branch->getCond();
  if (const auto *loop = dyn_cast<ForStmt>(parent))
    return child != loop->getCond();
  if (const auto *comma = dyn_cast<BinaryOperator>(parent))
    return comma->getOpcode() == BO_Comma && child == comma->getLHS();
  return isa<CompoundStmt, CXXForRangeStmt, WhileStmt, DoStmt, SwitchCase>(parent);
}

// try { x.to(device); } asks whether that is possible, ({ x.to(device); }) has the result as its
// value.
bool isAsked(ASTContext &context, const Stmt *block) {
  const DynTypedNodeList parents = context.getParents(*block);
  return !parents.empty() && (parents[0].get<CXXTryStmt>() || parents[0].get<StmtExpr>());
}

} // namespace

bool DeviceCheck::isDiscarded(const Expr *expr) {
  ASTContext &context = model_->context();
  const Stmt *child = expr;
  for (;;) {
    const DynTypedNodeList parents = context.getParents(*child);
    const Stmt *parent = parents.empty() ? nullptr : parents[0].get<Stmt>();
    // EXPECT_THROW(x.to(device), …) and whatever else a macro makes a statement of.
    if (!parent || context.getSourceManager().isMacroBodyExpansion(parent->getBeginLoc()))
      return false;
    const auto *comma = dyn_cast<BinaryOperator>(parent);
    const bool passed_on = comma && comma->getOpcode() == BO_Comma && child == comma->getRHS();
    if (passed_on || isa<FullExpr, CXXBindTemporaryExpr, ParenExpr>(parent))
      child = parent;
    else
      return isStatementOf(child, parent) && !isAsked(context, parent);
  }
}

std::optional<DataHolder> DeviceCheck::holderFor(const FunctionFacts &facts, const Expr *expr,
                                                 const Place &place) {
  // Parameters are those of the template.
  const bool is_parameter = place.of.fields.empty() && isa_and_nonnull<ParmVarDecl>(place.of.root);
  const bool is_one = is_parameter || !facts.function->isTemplateInstantiation();
  return is_one && !expr->getBeginLoc().isMacroID() ? holderOf(place) : std::nullopt;
}

// Options that are there get `.device(…)`, a call without any gets options of its own.
llvm::SmallVector<FixItHint, 4> DeviceCheck::passDevice(const Expr *factory,
                                                        const std::string &device) {
  const auto *call = dyn_cast<CallExpr>(strip(factory));
  const SourceManager &sources = model_->context().getSourceManager();
  // A function that makes the tensor elsewhere does not see the other one.
  if (!call || !isFactory(call->getDirectCallee()) || !editable(call) ||
      !call->getRParenLoc().isFileID())
    return {};
  for (const Expr *argument : argumentsOf(call))
    if (isTensorOptions(argument->getType())) {
      const Expr *written = argument->IgnoreUnlessSpelledInSource();
      if (!editable(written))
        return {};
      const llvm::StringRef text = textOf(model_->context(), written->getSourceRange());
      const SourceLocation end =
          Lexer::getLocForEndOfToken(written->getEndLoc(), 0, sources, getLangOpts());
      if (text == "{}")
        return {FixItHint::CreateReplacement(written->getSourceRange(), device)};
      if (text.starts_with("{"))
        return {};
      if (isTensorOptions(written->getType()))
        return {FixItHint::CreateInsertion(end, ".device(" + device + ")")};
      if (isScalarType(written->getType()))
        return {FixItHint::CreateInsertion(written->getBeginLoc(), "torch::dtype("),
                FixItHint::CreateInsertion(end, ").device(" + device + ")")};
      return {};
    }
  unsigned options = 0;
  const FunctionDecl *callee = call->getDirectCallee();
  while (options < callee->getNumParams() &&
         !isTensorOptions(callee->getParamDecl(options)->getType()))
    ++options;
  // Optional parameters before the options would be skipped by an argument appended.
  if (options != argumentsOf(call).size())
    return {};
  return {FixItHint::CreateInsertion(call->getRParenLoc(), ", " + device)};
}

bool DeviceCheck::editable(const Expr *expr) {
  return expr->getBeginLoc().isFileID() && expr->getEndLoc().isFileID();
}

} // namespace devsan::analyzer
