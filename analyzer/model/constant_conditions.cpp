#include "analyzer/model/constant_conditions.h"

#include <clang/AST/DeclTemplate.h>
#include <clang/AST/ExprCXX.h>
#include <clang/AST/IgnoreExpr.h>
#include <clang/Lex/Lexer.h>
#include <llvm/ADT/SmallVector.h>

#include <optional>

namespace devsan::analyzer {

using namespace clang;

namespace {

// Whether a directive chooses that code: it is inside an `#if`, or one is inside it. The `#ifndef`
// around a header, which keeps it from being read twice, chooses nothing.
bool isChosenByDirective(SourceRange code, const ASTContext &context) {
  const SourceManager &sources = context.getSourceManager();
  const auto [file, begin] = sources.getDecomposedExpansionLoc(code.getBegin());
  const auto [file_of_end, end] = sources.getDecomposedExpansionLoc(code.getEnd());
  if (file != file_of_end)
    return true;
  Lexer lexer(file, sources.getBufferOrFake(file), sources, context.getLangOpts());
  llvm::SmallVector<bool, 4> is_guard; // of each `#if` around
  unsigned directives = 0;
  llvm::StringRef guard;
  for (Token token; !lexer.LexFromRawLexer(token);) {
    const unsigned at = sources.getFileOffset(token.getLocation());
    if (at >= begin && llvm::is_contained(is_guard, false))
      return true;
    if (at > end) // what an `#if` adds to its end begins there
      return token.is(tok::hash) && token.isAtStartOfLine();
    if (token.isNot(tok::hash) || !token.isAtStartOfLine() || lexer.LexFromRawLexer(token) ||
        token.isNot(tok::raw_identifier))
      continue;
    const llvm::StringRef directive = token.getRawIdentifier();
    ++directives;
    if (directive.starts_with("if")) {
      is_guard.push_back(false);
      if (directive == "ifndef" && directives == 1 && !lexer.LexFromRawLexer(token) &&
          token.is(tok::raw_identifier))
        guard = token.getRawIdentifier();
    } else if (directive == "define" && directives == 2 && !lexer.LexFromRawLexer(token) &&
               token.is(tok::raw_identifier) && token.getRawIdentifier() == guard) {
      is_guard.front() = true;
    } else if (is_guard.empty()) {
      continue;
    } else if (directive.starts_with("el")) {
      is_guard.back() = false;
    } else if (directive == "endif") {
      is_guard.pop_back();
    }
  }
  return false;
}

// An argument of a template stays one.
const Expr *withoutCasts(const Expr *expr) {
  return IgnoreExprNodes(const_cast<Expr *>(expr), IgnoreParensSingleStep,
                         IgnoreImplicitCastsSingleStep);
}

class Constants {
public:
  explicit Constants(const ASTContext &context) : context_(context) {}

  // None where another build, or what the program is given, may decide otherwise.
  std::optional<bool> truth(const Expr *expr) const {
    expr = withoutCasts(expr);
    if (const auto *negation = dyn_cast<UnaryOperator>(expr);
        negation && negation->getOpcode() == UO_LNot) {
      const std::optional<bool> negated = truth(negation->getSubExpr());
      return negated ? std::optional(!*negated) : std::nullopt;
    }
    if (const auto *binary = dyn_cast<BinaryOperator>(expr); binary && binary->isLogicalOp()) {
      const bool decides = binary->getOpcode() == BO_LOr; // for the whole, if one side is so
      const std::optional<bool> left = truth(binary->getLHS()), right = truth(binary->getRHS());
      if (left == decides || right == decides)
        return decides;
      return left && right ? std::optional(!decides) : std::nullopt;
    }
    const std::optional<llvm::APSInt> number = value(expr);
    return number ? std::optional(*number != 0) : std::nullopt;
  }

  std::optional<llvm::APSInt> value(const Expr *expr) const {
    Expr::EvalResult result;
    if (expr->isValueDependent() || expr->containsErrors() || !isConstant(expr) ||
        !expr->EvaluateAsInt(result, context_))
      return std::nullopt;
    return result.Val.getInt();
  }

private:
  bool isConstant(const Expr *expr) const {
    expr = withoutCasts(expr);
    if (expr->getExprLoc().isMacroID())
      return false;
    if (isa<IntegerLiteral, CXXBoolLiteralExpr, CharacterLiteral>(expr))
      return !isChosenByDirective(expr->getSourceRange(), context_);
    if (const auto *reference = dyn_cast<DeclRefExpr>(expr))
      return isConstant(reference->getDecl());
    if (const auto *member = dyn_cast<MemberExpr>(expr))
      return isConstant(member->getMemberDecl());
    return isa<UnaryOperator, BinaryOperator, ConditionalOperator, CXXStaticCastExpr,
               CStyleCastExpr, CXXFunctionalCastExpr>(expr) &&
           llvm::all_of(expr->children(), [&](const Stmt *part) {
             const auto *operand = dyn_cast_or_null<Expr>(part);
             return operand && isConstant(operand);
           });
  }

  bool isConstant(const ValueDecl *decl) const {
    if (const auto *one = dyn_cast<EnumConstantDecl>(decl))
      return !one->getInitExpr() || isConstant(one->getInitExpr());
    const auto *variable = dyn_cast<VarDecl>(decl);
    if (!variable || !variable->getType().isConstQualified() ||
        variable->getType().isVolatileQualified() ||
        !variable->getType()->isIntegralOrEnumerationType() || isa<ParmVarDecl>(variable) ||
        variable->isTemplated() || variable->getTemplateSpecializationKind() != TSK_Undeclared ||
        variable->getInstantiatedFromStaticDataMember() || variable->hasAttr<WeakAttr>())
      return false;
    const VarDecl *definition = nullptr;
    const Expr *init = variable->getAnyInitializer(definition);
    return init && !init->isValueDependent() &&
           !context_.getSourceManager().isInSystemHeader(definition->getLocation()) &&
           isConstant(init) && !isChosenByDirective(definition->getSourceRange(), context_);
  }

  const ASTContext &context_;
};

bool isNeverTaken(const SwitchStmt *branch, const Stmt *label, const ASTContext &context) {
  const Constants constants(context);
  const std::optional<llvm::APSInt> chosen = constants.value(branch->getCond());
  if (!chosen)
    return false;
  const CaseStmt *taken = nullptr;
  bool is_case = false; // the label
  for (const SwitchCase *one = branch->getSwitchCaseList(); one; one = one->getNextSwitchCase()) {
    const auto *with_value = dyn_cast<CaseStmt>(one);
    is_case |= with_value && with_value == label;
    if (!with_value)
      continue;
    if (with_value->getLHS()->isValueDependent())
      return false;
    const auto is_at_least = [&](const Expr *bound) {
      return llvm::APSInt::compareValues(*chosen, bound->EvaluateKnownConstInt(context)) >= 0;
    };
    const auto is_equal = [&](const Expr *bound) {
      return llvm::APSInt::isSameValue(*chosen, bound->EvaluateKnownConstInt(context));
    };
    if (with_value->caseStmtIsGNURange()
            ? is_at_least(with_value->getLHS()) &&
                  (is_equal(with_value->getRHS()) || !is_at_least(with_value->getRHS()))
            : is_equal(with_value->getLHS()))
      taken = with_value;
  }
  return taken ? label != taken : is_case;
}

} // namespace

bool isNeverTaken(const CFGBlock &block, unsigned way, const CFGBlock &next,
                  const ASTContext &context) {
  const Stmt *branch = block.getTerminatorStmt();
  if (!branch || isa<ForStmt, WhileStmt, DoStmt, CXXForRangeStmt>(branch))
    return false;
  if (const auto *by_value = dyn_cast<SwitchStmt>(branch))
    return isNeverTaken(by_value, next.getLabel(), context);
  const auto *condition = dyn_cast_or_null<Expr>(block.getTerminatorCondition(false));
  if (!condition || block.succ_size() != 2)
    return false;
  const std::optional<bool> truth = Constants(context).truth(condition);
  return truth && *truth != (way == 0);
}

} // namespace devsan::analyzer
