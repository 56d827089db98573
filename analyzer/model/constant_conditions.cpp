#include "analyzer/model/constant_conditions.h"

#include <clang/AST/DeclTemplate.h>
#include <clang/AST/ExprCXX.h>
#include <clang/AST/IgnoreExpr.h>
#include <clang/AST/ParentMapContext.h>
#include <clang/Lex/Lexer.h>
#include <llvm/ADT/STLExtras.h>
#include <llvm/ADT/SmallVector.h>

namespace devsan::analyzer {

using namespace clang;

namespace {

// An argument of a template stays one.
const Expr *withoutCasts(const Expr *expr) {
  return IgnoreExprNodes(const_cast<Expr *>(expr), IgnoreParensSingleStep,
                         IgnoreImplicitCastsSingleStep);
}

// The words of a directive, the hash aside.
llvm::SmallVector<Token, 8> wordsOf(Lexer &lexer, Token &next) {
  llvm::SmallVector<Token, 8> words;
  bool at_end = false;
  while (!at_end) {
    at_end = lexer.LexFromRawLexer(next);
    if (next.is(tok::eof) || next.isAtStartOfLine())
      break;
    words.push_back(next);
  }
  return words;
}

llvm::StringRef nameAt(llvm::ArrayRef<Token> words, unsigned index) {
  return index < words.size() && words[index].is(tok::raw_identifier)
             ? words[index].getRawIdentifier()
             : llvm::StringRef();
}

// The name that the first directive of a header asks for so that it is read once; empty for others.
llvm::StringRef guardOf(llvm::ArrayRef<Token> words) {
  if (nameAt(words, 0) == "ifndef" && words.size() == 2)
    return nameAt(words, 1);
  if (nameAt(words, 0) != "if" || words.size() < 4 || words[1].isNot(tok::exclaim) ||
      nameAt(words, 2) != "defined")
    return {};
  return words[3].is(tok::l_paren) && words.size() == 6 ? nameAt(words, 4)
         : words.size() == 4                            ? nameAt(words, 3)
                                                        : llvm::StringRef();
}

} // namespace

// Where an `#if` is open. The one around a whole header, which keeps it from being read twice,
// chooses nothing.
const std::vector<ConstantConditions::Range> &ConstantConditions::conditionalRanges(FileID file) {
  const auto [found, is_new] = conditional_ranges_.try_emplace(file);
  std::vector<Range> &ranges = found->second;
  if (!is_new)
    return ranges;
  const SourceManager &sources = context_.getSourceManager();
  Lexer lexer(file, sources.getBufferOrFake(file), sources, context_.getLangOpts());
  std::vector<unsigned> open; // begins of `#if`s
  std::vector<Range> inner;   // directly below an outermost one
  llvm::StringRef guard;
  bool is_guarded = false, is_alone = true; // nothing is beside it
  unsigned directives = 0;
  Token token;
  for (bool at_end = lexer.LexFromRawLexer(token); !at_end && token.isNot(tok::eof);) {
    if (token.isNot(tok::hash) || !token.isAtStartOfLine()) {
      is_alone &= !open.empty();
      at_end = lexer.LexFromRawLexer(token);
      continue;
    }
    const unsigned at = sources.getFileOffset(token.getLocation());
    const llvm::SmallVector<Token, 8> words = wordsOf(lexer, token);
    const llvm::StringRef directive = nameAt(words, 0);
    if (directive == "pragma")
      continue;
    is_alone &= !open.empty() || directives == 0;
    ++directives;
    if (directive.starts_with("if")) {
      open.push_back(at);
      if (directives == 1)
        guard = guardOf(words);
    } else if (directive == "define" && directives == 2) {
      is_guarded = !guard.empty() && nameAt(words, 1) == guard;
    } else if (directive.starts_with("el") && open.size() == 1) {
      is_guarded = false;
    } else if (directive == "endif" && !open.empty()) {
      if (open.size() <= 2)
        (open.size() == 2 ? inner : ranges).push_back({open.back(), at});
      open.pop_back();
    }
  }
  if (!open.empty())
    ranges.push_back({open.front(), ~0U});
  if (is_guarded && is_alone)
    ranges = std::move(inner);
  return ranges;
}

// Whether a directive, or a name that is a macro's in this build, is in the code.
bool ConstantConditions::isPreprocessed(SourceRange code, bool with_macros) const {
  const SourceManager &sources = context_.getSourceManager();
  const auto [file, begin] = sources.getDecomposedLoc(code.getBegin());
  const auto [file_of_end, end] = sources.getDecomposedLoc(code.getEnd());
  if (code.getBegin().isMacroID() || code.getEnd().isMacroID() || file != file_of_end)
    return true;
  const llvm::StringRef text = sources.getBufferData(file);
  Lexer lexer(sources.getLocForStartOfFile(file), context_.getLangOpts(), text.begin(),
              text.begin() + begin, text.end());
  for (Token token; !lexer.LexFromRawLexer(token);) {
    const bool is_behind = sources.getFileOffset(token.getLocation()) > end;
    if (token.is(tok::hash) && token.isAtStartOfLine())
      return true;
    if (is_behind) // what an `#if` adds to the end begins there
      return false;
    if (with_macros && token.is(tok::raw_identifier) &&
        context_.Idents.get(token.getRawIdentifier()).hadMacroDefinition())
      return true;
  }
  return false;
}

// The whole statement that the branch is a part of, with what it decides about.
bool ConstantConditions::isChosenByDirective(const Stmt *branch) {
  const auto [found, is_new] = chosen_.try_emplace(branch, true);
  if (!is_new)
    return found->second;
  const Stmt *whole = branch;
  while (isa<Expr>(whole)) {
    const auto parents = const_cast<ASTContext &>(context_).getParents(*whole);
    const Stmt *parent = parents.size() == 1 ? parents[0].get<Stmt>() : nullptr;
    if (!parent)
      break; // of a declaration
    whole = parent;
  }
  if (isa<CompoundStmt>(whole))
    whole = branch;
  return chosen_[branch] = isPreprocessed(whole->getSourceRange(), /*with_macros=*/false);
}

bool ConstantConditions::isSettled(SourceRange definition) {
  const SourceManager &sources = context_.getSourceManager();
  if (definition.isInvalid() || definition.getBegin().isMacroID())
    return false;
  const auto [file, begin] = sources.getDecomposedLoc(definition.getBegin());
  return !isPreprocessed(definition, /*with_macros=*/true) &&
         llvm::none_of(conditionalRanges(file), [begin = begin](const Range &range) {
           return range.first < begin && begin < range.second;
         });
}

// None where another build, or what the program is given, may decide otherwise.
std::optional<bool> ConstantConditions::truth(const Expr *expr) {
  expr = withoutCasts(expr);
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
  const FileID file = context_.getSourceManager().getFileID(settles->getLocation());
  // Another build may have another header.
  if (file != file_ && !(enumeration && enumeration->isScoped()))
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
         init && !init->isValueDependent() && isSettled(variable->getSourceRange()) &&
         isConstant(init);
}

// Which one of a scoped enumeration was chosen is the same in each build, whatever their numbers.
bool ConstantConditions::isConstantEnum(const EnumDecl *enumeration) {
  if (enumeration->isInvalidDecl() || enumeration->isTemplated())
    return false;
  if (enumeration->isScoped())
    return !isPreprocessed(enumeration->getBraceRange(), /*with_macros=*/true);
  const auto is_number = [&](const EnumConstantDecl *one) {
    const std::optional<Token> next = Lexer::findNextToken(
        one->getLocation(), context_.getSourceManager(), context_.getLangOpts());
    const Expr *init = one->getInitExpr();
    return init ? isa<IntegerLiteral>(withoutCasts(init)) : next && next->isNot(tok::equal);
  };
  return isSettled(enumeration->getSourceRange()) &&
         llvm::all_of(enumeration->enumerators(), is_number);
}

bool ConstantConditions::isNeverTaken(const SwitchStmt *branch, const Stmt *label) {
  const std::optional<llvm::APSInt> chosen = value(branch->getCond());
  if (!chosen)
    return false;
  const CaseStmt *taken = nullptr;
  bool is_case = false; // the label
  for (const SwitchCase *one = branch->getSwitchCaseList(); one; one = one->getNextSwitchCase()) {
    const auto *with_value = dyn_cast<CaseStmt>(one);
    is_case |= with_value && with_value == label;
    if (!with_value)
      continue;
    const std::optional<llvm::APSInt> from = value(with_value->getLHS());
    const std::optional<llvm::APSInt> to =
        with_value->caseStmtIsGNURange() ? value(with_value->getRHS()) : from;
    if (!from || !to)
      return false;
    if (llvm::APSInt::compareValues(*chosen, *from) >= 0 &&
        llvm::APSInt::compareValues(*chosen, *to) <= 0)
      taken = with_value;
  }
  return taken ? label != taken : is_case;
}

bool ConstantConditions::isNeverTaken(const CFGBlock &block, unsigned way, const CFGBlock &next) {
  const Stmt *branch = block.getTerminatorStmt();
  if (!branch || !isa<IfStmt, SwitchStmt, BinaryOperator, ConditionalOperator>(branch) ||
      branch->getBeginLoc().isMacroID())
    return false;
  file_ = context_.getSourceManager().getFileID(branch->getBeginLoc());
  if (const auto *by_value = dyn_cast<SwitchStmt>(branch))
    return isNeverTaken(by_value, next.getLabel()) && !isChosenByDirective(branch);
  const auto *condition = dyn_cast_or_null<Expr>(block.getTerminatorCondition(false));
  if (!condition || block.succ_size() != 2)
    return false;
  const std::optional<bool> decided = truth(condition);
  return decided && *decided != (way == 0) && !isChosenByDirective(branch);
}

} // namespace devsan::analyzer
