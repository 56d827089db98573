#include "analyzer/answers/edits.h"

#include "analyzer/answers/registration.h"
#include "analyzer/answers/source_program.h"
#include "analyzer/ast/torch_api.h"
#include "analyzer/ast/unresolved_code.h"
#include "analyzer/model/cuda/visible_names.h"

#include <clang/AST/ParentMapContext.h>
#include <clang/Lex/Lexer.h>

namespace devsan::analyzer {

using namespace clang;

Edits editsOf(llvm::ArrayRef<FixItHint> hints) {
  Edits edits;
  for (const FixItHint &hint : hints)
    edits.push_back({hint.RemoveRange.getBegin().getRawEncoding(),
                     hint.RemoveRange.getEnd().getRawEncoding(), hint.RemoveRange.isTokenRange(),
                     hint.CodeToInsert});
  return edits;
}

Hints hintsOf(const Edits &edits) {
  Hints hints;
  for (const Edit &edit : edits)
    hints.push_back(FixItHint::CreateReplacement(
        CharSourceRange({SourceLocation::getFromRawEncoding(edit.begin),
                         SourceLocation::getFromRawEncoding(edit.end)},
                        edit.by_token),
        edit.text));
  return hints;
}

bool isEditable(const Expr *expr) {
  return expr->getBeginLoc().isFileID() && expr->getEndLoc().isFileID();
}

namespace {

// Options that are there get `.device(…)`, a call without any gets options of its own.
Hints deviceGiven(ASTContext &context, const Expr *factory, const std::string &device) {
  const auto *call = dyn_cast<CallExpr>(strip(factory));
  const SourceManager &sources = context.getSourceManager();
  // A function that makes the tensor elsewhere does not see the other one.
  if (!call || !isFactory(call->getDirectCallee()) || !isEditable(call) ||
      !call->getRParenLoc().isFileID())
    return {};
  for (const Expr *argument : argumentsOf(call))
    if (isTensorOptions(argument->getType())) {
      const Expr *written = argument->IgnoreUnlessSpelledInSource();
      if (!isEditable(written))
        return {};
      const llvm::StringRef text = textOf(context, written->getSourceRange());
      const SourceLocation end =
          Lexer::getLocForEndOfToken(written->getEndLoc(), 0, sources, context.getLangOpts());
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

Hints copiedTo(const Expr *expr, const std::string &device) {
  const auto *call = dyn_cast<CallExpr>(strip(expr));
  if (!call || !isEditable(call) || !call->getRParenLoc().isFileID())
    return {};
  return {
      FixItHint::CreateInsertion(call->getRParenLoc().getLocWithOffset(1), ".to(" + device + ")")};
}

Hints argumentAppended(const Expr *expr, const std::string &argument) {
  const auto *call = cast<CallExpr>(expr);
  if (!isEditable(call) || !call->getRParenLoc().isFileID())
    return {};
  return {FixItHint::CreateInsertion(call->getRParenLoc(), ", " + argument)};
}

Hints madeThere(ASTContext &context, const Expr *expr, const std::string &device) {
  const auto *move = dyn_cast<CXXMemberCallExpr>(strip(expr));
  const auto *factory = move ? dyn_cast<CallExpr>(strip(receiverOf(move))) : nullptr;
  if (!factory || argumentsOf(move).size() > 1 || !isEditable(move) ||
      nameOf(calleeOf(factory)) == "from_blob")
    return {};
  Hints hints = deviceGiven(context, factory, device);
  if (!hints.empty())
    hints.push_back(FixItHint::CreateRemoval(CharSourceRange::getCharRange(
        factory->getRParenLoc().getLocWithOffset(1), move->getRParenLoc().getLocWithOffset(1))));
  return hints;
}

// Options keep their dtype, so only their device changes.
Hints deviceNamed(const Expr *request, const Expr *spelled, const std::string &device,
                  bool replace) {
  if (!isEditable(request))
    return {};
  spelled = strip(spelled);
  if (const auto *call = dyn_cast<CXXMemberCallExpr>(strip(request));
      call && spelled == call && call->getNumArgs() == 0) {
    const SourceLocation name = cast<MemberExpr>(call->getCallee()->IgnoreParens())->getMemberLoc();
    return {FixItHint::CreateReplacement(CharSourceRange::getTokenRange(name, call->getRParenLoc()),
                                         "to(" + device + ")")};
  }
  if (replace && isDeviceType(spelled->getType()) && spelled->getSourceRange().isValid() &&
      isEditable(spelled))
    return {FixItHint::CreateReplacement(spelled->getSourceRange(), device)};
  return {};
}

// Asked once for all callers: the current device would be that of the first.
bool isKept(ASTContext &context, const Expr *query) {
  DynTypedNode node = DynTypedNode::create(*query);
  while (!node.get<FunctionDecl>()) {
    if (const auto *variable = node.get<VarDecl>(); variable && variable->hasGlobalStorage())
      return true;
    const DynTypedNodeList parents = context.getParents(node);
    if (parents.empty())
      return false;
    node = parents[0];
  }
  return false;
}

Hints currentDeviceAsked(ASTContext &context, const Expr *query, const Expr *device) {
  device = device->IgnoreParenImpCasts();
  if (!isa<IntegerLiteral>(device) || !device->getBeginLoc().isFileID() || isKept(context, query) ||
      !sees(context, "c10::cuda::current_device"))
    return {};
  return {FixItHint::CreateReplacement(device->getSourceRange(), "c10::cuda::current_device()")};
}

const VarDecl *variableIn(const Expr *expr) {
  const auto *reference = dyn_cast<DeclRefExpr>(strip(expr));
  return reference ? dyn_cast<VarDecl>(reference->getDecl()) : nullptr;
}

bool sharesTensors(const Stmt *init) {
  if (!init)
    return false;
  const auto *reference = dyn_cast<DeclRefExpr>(init);
  if (reference && holdsTensor(reference->getType()) && !isTensor(reference->getType()))
    return true;
  return llvm::any_of(init->children(),
                      [](const Stmt *child) { return child && sharesTensors(child); });
}

// Behind the semicolon of the statement that waits for the call.
SourceLocation endOfWait(ASTContext &context, const Expr *call) {
  const SourceManager &sources = context.getSourceManager();
  const Expr *whole = call;
  bool waits = false;
  for (DynTypedNode node = DynTypedNode::create(*call);;) {
    DynTypedNodeList parents = context.getParents(node);
    if (parents.empty())
      return {};
    node = parents[0];
    if (node.get<CompoundStmt>())
      break;
    whole = node.get<Expr>();
    if (!whole)
      return {};
    const auto *member = dyn_cast<CXXMemberCallExpr>(whole);
    waits |= member && nameOf(calleeOf(member)) == "wait";
  }
  std::optional<Token> semicolon =
      Lexer::findNextToken(whole->getEndLoc(), sources, context.getLangOpts());
  return waits && semicolon && semicolon->is(tok::semi) ? semicolon->getEndLoc() : SourceLocation();
}

std::string indentAt(ASTContext &context, const Expr *expr) {
  const SourceManager &sources = context.getSourceManager();
  return Lexer::getIndentationForLine(expr->getBeginLoc(), sources).str();
}

// A variable or member that keeps what is assigned to it: not the copy, or the reference to who
// knows what, that a loop declares for each element.
bool keepsAssigned(const Expr *receiver) {
  const Expr *tensor = strip(receiver);
  const VarDecl *variable = variableIn(tensor);
  return isa<DeclRefExpr, MemberExpr>(tensor) && !tensor->getType()->isPointerType() &&
         !tensor->getType().isConstQualified() && !(variable && variable->isCXXForRangeDecl());
}

Hints assignedBack(ASTContext &context, const Expr *call) {
  const Expr *receiver = receiverOf(call);
  if (!receiver || !keepsAssigned(receiver) || !isEditable(call))
    return {};
  return {FixItHint::CreateInsertion(call->getBeginLoc(),
                                     (textOf(context, receiver->getSourceRange()) + " = ").str())};
}

// `group->allgather(outputs, inputs)->wait();` is followed by `outputs[0][group->getRank()] =
// inputs[0];`: the lists hold handles, so only the list that is used afterwards may be changed,
// and only where nothing else shares its tensors.
Hints ownPutBack(ASTContext &context, const Expr *gather) {
  const auto *call = dyn_cast<CXXMemberCallExpr>(strip(gather));
  llvm::SmallVector<const Expr *, 4> arguments = argumentsOf(call);
  if (!call || nameOf(calleeOf(call)) != "allgather" || arguments.size() != 2 || !isEditable(call))
    return {};
  const Expr *group = call->getImplicitObjectArgument();
  if (const auto *arrow = dyn_cast<CXXOperatorCallExpr>(strip(group)))
    group = arrow->getArg(0);
  const VarDecl *outputs = variableIn(arguments[0]);
  const VarDecl *inputs = variableIn(arguments[1]);
  if (!outputs || !inputs || !variableIn(group) || sharesTensors(outputs->getInit()))
    return {};
  SourceLocation end = endOfWait(context, call);
  if (end.isInvalid())
    return {};
  bool pointer = cast<MemberExpr>(call->getCallee()->IgnoreParens())->isArrow() ||
                 isa<CXXOperatorCallExpr>(strip(call->getImplicitObjectArgument()));
  std::string rank = variableIn(group)->getNameAsString() + (pointer ? "->" : ".") + "getRank()";
  return {FixItHint::CreateInsertion(end, "\n" + indentAt(context, call) +
                                              outputs->getNameAsString() + "[0][" + rank +
                                              "] = " + inputs->getNameAsString() + "[0];")};
}

} // namespace

Edits SourceProgram::passDevice(Code factory, const std::string &device) {
  return editsOf(deviceGiven(context(), exprOf(factory), device));
}

Edits SourceProgram::copyTo(Code code, const std::string &device) {
  return editsOf(copiedTo(exprOf(code), device));
}

Edits SourceProgram::appendArgument(Code call, const std::string &argument) {
  return editsOf(argumentAppended(exprOf(call), argument));
}

Edits SourceProgram::assignBack(Code call) {
  return editsOf(assignedBack(context(), exprOf(call)));
}

Edits SourceProgram::makeThere(Code move, const std::string &device) {
  return editsOf(madeThere(context(), exprOf(move), device));
}

Edits SourceProgram::nameDevice(Code request, Code spelled, const std::string &device,
                                bool replace) {
  return editsOf(deviceNamed(exprOf(request), exprOf(spelled), device, replace));
}

Edits SourceProgram::putOwnBack(Code gather) {
  return editsOf(ownPutBack(context(), exprOf(gather)));
}

Edits SourceProgram::registerMember(const ClassFacts &facts, const MemberState &member,
                                    std::string_view method) {
  const auto *record = facts.id.as<CXXRecordDecl>();
  return editsOf(registration(record, member, method, members_.definitionsOf(record), context()));
}

Edits SourceProgram::askCurrentDevice(Code query, Code device) {
  return editsOf(currentDeviceAsked(context(), exprOf(query), exprOf(device)));
}

} // namespace devsan::analyzer
