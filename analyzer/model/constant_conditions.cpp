#include "analyzer/model/constant_conditions.h"

#include <clang/AST/ExprCXX.h>
#include <clang/AST/IgnoreExpr.h>
#include <clang/AST/ParentMapContext.h>
#include <clang/Lex/Lexer.h>
#include <llvm/ADT/STLExtras.h>

namespace devsan::analyzer {

using namespace clang;

namespace {

// An argument of a template stays one.
const Expr *withoutCasts(const Expr *expr) {
  return IgnoreExprNodes(const_cast<Expr *>(expr), IgnoreParensSingleStep,
                         IgnoreImplicitCastsSingleStep);
}

} // namespace

bool ConstantConditions::hasAlternatives(FileID file) {
  const auto [found, is_new] = alternatives_.try_emplace(file, false);
  if (!is_new)
    return found->second;
  const SourceManager &sources = context_.getSourceManager();
  Lexer lexer(file, sources.getBufferOrFake(file), sources, context_.getLangOpts());
  for (Token token; !lexer.LexFromRawLexer(token);)
    if (token.is(tok::hash) && token.isAtStartOfLine() && !lexer.LexFromRawLexer(token) &&
        token.is(tok::raw_identifier) && token.getRawIdentifier().starts_with("if"))
      return found->second = true;
  return false;
}

// Whether a name that is a macro's in this build is in the code or behind it.
bool ConstantConditions::hasMacro(SourceRange code) const {
  const SourceManager &sources = context_.getSourceManager();
  const auto [file, begin] = sources.getDecomposedLoc(code.getBegin());
  const auto [file_of_end, end] = sources.getDecomposedLoc(code.getEnd());
  if (code.isInvalid() || code.getBegin().isMacroID() || code.getEnd().isMacroID() ||
      file != file_of_end)
    return true;
  const llvm::StringRef text = sources.getBufferData(file);
  Lexer lexer(sources.getLocForStartOfFile(file), context_.getLangOpts(), text.begin(),
              text.begin() + begin, text.end());
  bool is_behind = false;
  for (Token token; !is_behind && !lexer.LexFromRawLexer(token);) {
    is_behind = sources.getFileOffset(token.getLocation()) > end;
    if (token.is(tok::raw_identifier) &&
        context_.Idents.get(token.getRawIdentifier()).hadMacroDefinition())
      return true;
  }
  return false;
}

// In the whole condition that the branch is a part of.
bool ConstantConditions::isBesideMacro(const Stmt *branch) {
  const auto [found, is_new] = beside_macros_.try_emplace(branch, true);
  if (!is_new)
    return found->second;
  const Stmt *whole = branch, *around = branch;
  while (isa<Expr>(around)) {
    const auto parents = context_.getParents(*around);
    whole = around;
    around = parents.size() == 1 ? parents[0].get<Stmt>() : nullptr;
    if (!around)
      break; // of a declaration
  }
  SourceRange condition = whole->getSourceRange();
  if (const auto *choice = dyn_cast_or_null<IfStmt>(around))
    condition = {choice->getIfLoc(), choice->getRParenLoc()};
  else if (const auto *by_value = dyn_cast_or_null<SwitchStmt>(around))
    condition = {by_value->getSwitchLoc(), by_value->getRParenLoc()};
  return beside_macros_[branch] = hasMacro(condition);
}

std::optional<bool> ConstantConditions::truth(const Expr *expr) {
  expr = withoutCasts(expr);
  if (const auto found = truths_.find(expr); found != truths_.end())
    return found->second;
  const std::optional<bool> computed = computeTruth(expr);
  return truths_[expr] = computed;
}

// None where another build, or what the program is given, may decide otherwise.
std::optional<bool> ConstantConditions::computeTruth(const Expr *expr) {
  if (const auto *negation = dyn_cast<UnaryOperator>(expr);
      negation && negation->getOpcode() == UO_LNot) {
    const std::optional<bool> negated = truth(negation->getSubExpr());
    return negated ? std::optional(!*negated) : std::nullopt;
  }
  if (const auto *binary = dyn_cast<BinaryOperator>(expr); binary && binary->isLogicalOp()) {
    const bool decides = binary->getOpcode() == BO_LOr; // for the whole, if one side is so
    const std::optional<bool> left = truth(binary->getLHS());
    if (left == decides)
      return decides;
    const std::optional<bool> right = truth(binary->getRHS());
    if (right == decides)
      return decides;
    return left && right ? std::optional(!decides) : std::nullopt;
  }
  const std::optional<llvm::APSInt> number = value(expr);
  return number ? std::optional(*number != 0) : std::nullopt;
}

std::optional<llvm::APSInt> ConstantConditions::value(const Expr *expr) {
  Expr::EvalResult result;
  if (expr->isValueDependent() || expr->containsErrors() || !isConstant(expr) ||
      !expr->EvaluateAsInt(result, context_))
    return std::nullopt;
  return result.Val.getInt();
}

bool ConstantConditions::isConstant(const Expr *expr) {
  expr = withoutCasts(expr);
  if (expr->getExprLoc().isMacroID())
    return false;
  if (isa<IntegerLiteral, CXXBoolLiteralExpr, CharacterLiteral>(expr))
    return true;
  if (const auto *reference = dyn_cast<DeclRefExpr>(expr))
    return isConstant(reference->getDecl());
  if (const auto *member = dyn_cast<MemberExpr>(expr))
    return isConstant(member->getMemberDecl());
  if (const auto *braces = dyn_cast<InitListExpr>(expr))
    return braces->getNumInits() == 1 && isConstant(braces->getInit(0));
  return isa<UnaryOperator, BinaryOperator, ConditionalOperator, CXXStaticCastExpr, CStyleCastExpr,
             CXXFunctionalCastExpr>(expr) &&
         llvm::all_of(expr->children(), [&](const Stmt *part) {
           const auto *operand = dyn_cast_or_null<Expr>(part);
           return operand && isConstant(operand);
         });
}

bool ConstantConditions::isConstant(const ValueDecl *decl) {
  const auto *variable = dyn_cast<VarDecl>(decl);
  const auto *enumerator = dyn_cast<EnumConstantDecl>(decl);
  const Decl *settles = variable ? variable->getInitializingDeclaration() : nullptr;
  if (enumerator)
    settles = cast<EnumDecl>(enumerator->getDeclContext())->getDefinition();
  if (!settles)
    return false;
  const auto *enumeration = dyn_cast<EnumDecl>(settles);
  // Another build may have another header.
  if (context_.getSourceManager().getFileID(settles->getLocation()) != file_)
    return false;
  const auto [found, is_new] = constants_.try_emplace(settles, false); // in a circle it is none
  if (!is_new)
    return found->second;
  const bool is_constant =
      enumeration ? isConstantEnum(enumeration) : isConstantVariable(cast<VarDecl>(settles));
  return constants_[settles] = is_constant;
}

bool ConstantConditions::isConstantVariable(const VarDecl *variable) {
  const Expr *init = variable->getInit();
  return variable->getType().isConstQualified() && !variable->getType().isVolatileQualified() &&
         variable->getType()->isIntegralOrEnumerationType() && !isa<ParmVarDecl>(variable) &&
         !variable->isInvalidDecl() && !variable->isTemplated() &&
         variable->getTemplateSpecializationKind() == TSK_Undeclared &&
         !variable->getInstantiatedFromStaticDataMember() && !variable->hasAttr<WeakAttr>() &&
         init && !init->isValueDependent() && !hasMacro(variable->getSourceRange()) &&
         isConstant(init);
}

bool ConstantConditions::isConstantEnum(const EnumDecl *enumeration) {
  const auto is_number = [&](const EnumConstantDecl *one) {
    const std::optional<Token> next = Lexer::findNextToken(
        one->getLocation(), context_.getSourceManager(), context_.getLangOpts());
    const Expr *init = one->getInitExpr();
    return init ? isa<IntegerLiteral>(withoutCasts(init)) : next && next->isNot(tok::equal);
  };
  return !enumeration->isInvalidDecl() && !enumeration->isTemplated() &&
         !hasMacro(enumeration->getSourceRange()) &&
         llvm::all_of(enumeration->enumerators(), is_number);
}

std::optional<const CaseStmt *> ConstantConditions::takenCase(const SwitchStmt *branch) {
  const auto [found, is_new] = taken_cases_.try_emplace(branch);
  if (!is_new)
    return found->second;
  const std::optional<llvm::APSInt> chosen = value(branch->getCond());
  if (!chosen || isBesideMacro(branch))
    return std::nullopt;
  const CaseStmt *taken = nullptr;
  for (const SwitchCase *one = branch->getSwitchCaseList(); one; one = one->getNextSwitchCase()) {
    const auto *with_value = dyn_cast<CaseStmt>(one);
    if (!with_value)
      continue;
    const std::optional<llvm::APSInt> from = value(with_value->getLHS());
    const std::optional<llvm::APSInt> to =
        with_value->caseStmtIsGNURange() ? value(with_value->getRHS()) : from;
    if (!from || !to)
      return std::nullopt;
    if (llvm::APSInt::compareValues(*chosen, *from) >= 0 &&
        llvm::APSInt::compareValues(*chosen, *to) <= 0)
      taken = with_value;
  }
  return taken_cases_[branch] = taken;
}

bool ConstantConditions::isNeverTaken(const CFGBlock &block, unsigned way, const CFGBlock &next) {
  const Stmt *branch = block.getTerminatorStmt();
  if (!branch || !isa<IfStmt, SwitchStmt, BinaryOperator, ConditionalOperator>(branch) ||
      branch->getBeginLoc().isMacroID())
    return false;
  file_ = context_.getSourceManager().getFileID(branch->getBeginLoc());
  if (hasAlternatives(file_))
    return false;
  if (const auto *by_value = dyn_cast<SwitchStmt>(branch)) {
    const std::optional<const CaseStmt *> taken = takenCase(by_value);
    const Stmt *label = next.getLabel();
    if (!taken)
      return false;
    if (*taken)
      return label != *taken;
    for (const SwitchCase *one = by_value->getSwitchCaseList(); one; one = one->getNextSwitchCase())
      if (one == label)
        return isa<CaseStmt>(one);
    return false;
  }
  const auto *condition = dyn_cast_or_null<Expr>(block.getTerminatorCondition(false));
  if (!condition || block.succ_size() != 2)
    return false;
  const std::optional<bool> decided = truth(condition);
  return decided && *decided != (way == 0) && !isBesideMacro(branch);
}

} // namespace devsan::analyzer
