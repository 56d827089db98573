#include "analyzer/model/data/member_uses.h"

#include "analyzer/ast/contains.h"
#include "analyzer/ast/torch_api.h"

#include <clang/AST/ExprCXX.h>
#include <clang/AST/ParentMapContext.h>
#include <llvm/ADT/StringSwitch.h>

namespace devsan::analyzer {

using namespace clang;

namespace {

enum class Use { kUnderstood, kUnknown, kGoesOn };

bool reads(const ImplicitCastExpr *cast) {
  return cast->getCastKind() == CK_LValueToRValue || cast->getType().isConstQualified();
}

// To the base that has the method, or to what is read.
Use useOfCast(const ImplicitCastExpr *cast) {
  const bool is_same =
      cast->getCastKind() == CK_UncheckedDerivedToBase || cast->getCastKind() == CK_DerivedToBase;
  return is_same || reads(cast) ? Use::kGoesOn : Use::kUnknown;
}

bool givesElement(llvm::StringRef method) {
  return llvm::StringSwitch<bool>(method)
      .Cases({"at", "front", "back", "value"}, true)
      .Default(false);
}

Use useByMethod(const CXXMethodDecl *method) {
  const llvm::StringRef name = nameOf(method);
  if (isTorchDecl(method))
    return name == "set_data" || name == "reset" ? Use::kUnknown : Use::kUnderstood;
  if (!method->getParent()->isInStdNamespace())
    return Use::kUnknown;
  if (givesElement(name))
    return Use::kGoesOn;
  return llvm::StringSwitch<Use>(name)
      .Cases({"push_back", "emplace_back", "push_front", "push", "insert", "emplace", "assign"},
             Use::kUnderstood)
      .Cases({"clear", "reserve", "pop_back", "erase"}, Use::kUnderstood)
      .Case("resize", Use::kGoesOn) // to the call, which may fill it
      .Default(Use::kUnknown);
}

// Of the object of an operator. Elements that are assigned are no member's value.
Use useByOperator(const CXXOperatorCallExpr *call, bool is_element) {
  switch (call->getOperator()) {
  case OO_Equal:
    return is_element ? Use::kUnknown : Use::kUnderstood;
  case OO_PlusEqual:
  case OO_MinusEqual:
  case OO_StarEqual:
  case OO_SlashEqual:
    return Use::kUnderstood;
  case OO_Subscript:
    return Use::kGoesOn;
  default:
    return Use::kUnknown;
  }
}

// What `parent` does with `child`; `is_element` where that is an element of the member.
Use useBy(const Stmt *parent, const Stmt *child, bool &is_element) {
  if (isa<ParenExpr>(parent))
    return Use::kGoesOn;
  if (const auto *cast = dyn_cast<ImplicitCastExpr>(parent))
    return useOfCast(cast);
  if (const auto *access = dyn_cast<MemberExpr>(parent)) {
    // A member of the member is asked about by itself.
    const auto *method = dyn_cast<CXXMethodDecl>(access->getMemberDecl());
    const Use use = method ? useByMethod(method) : Use::kUnderstood;
    is_element |= use == Use::kGoesOn;
    return use;
  }
  // The call of the method that was just named.
  if (const auto *call = dyn_cast<CXXMemberCallExpr>(parent)) {
    if (call->getCallee()->IgnoreParens() != child)
      return Use::kUnknown;
    const bool fills = nameOf(call->getMethodDecl()) == "resize" && call->getNumArgs() > 1;
    return fills ? Use::kUnknown : Use::kGoesOn;
  }
  if (const auto *call = dyn_cast<CXXOperatorCallExpr>(parent)) {
    if (call->getNumArgs() == 0 || call->getArg(0) != child || !ownerOf(call->getDirectCallee()))
      return Use::kUnknown;
    const Use use = useByOperator(call, is_element);
    is_element |= use == Use::kGoesOn;
    return use;
  }
  if (const auto *call = dyn_cast<CallExpr>(parent)) {
    const FunctionDecl *callee = call->getDirectCallee();
    const bool moves = callee && callee->isInStdNamespace() && nameOf(callee) == "move";
    // An operator of LibTorch writes into the tensor, wherever that is.
    const bool writes_there = callee && isTorchDecl(callee) && nameOf(callee) != "load";
    return moves || writes_there ? Use::kUnderstood : Use::kUnknown;
  }
  // TensorOptions(device), IValue(tensor): LibTorch copies what it takes by reference.
  if (const auto *made = dyn_cast<CXXConstructExpr>(parent))
    return isTorchDecl(made->getConstructor()) ? Use::kUnderstood : Use::kUnknown;
  return isa<CompoundStmt>(parent) ? Use::kUnderstood : Use::kUnknown;
}

// A list in braces is there twice: as written, and with what converts its elements.
const Stmt *parentOf(const Stmt *child, ASTContext &context) {
  const Stmt *list = nullptr;
  for (const DynTypedNode &parent : context.getParents(*child)) {
    const Stmt *statement = parent.get<Stmt>();
    if (statement && !isa<InitListExpr>(statement))
      return statement;
    list = list ? list : statement;
  }
  return list;
}

// It replaces what even a copy, or a constant tensor, is.
bool setsData(const Stmt *part) {
  const auto *access = dyn_cast_or_null<MemberExpr>(part);
  return access && nameOf(access->getMemberDecl()->getAsFunction()) == "set_data";
}

// `for (auto tensor : member)`: no more than a look at each element.
bool isLookedThrough(const Stmt *child, ASTContext &context) {
  for (const DynTypedNode &parent : context.getParents(*child))
    if (const auto *range = parent.get<VarDecl>(); range && range->isImplicit())
      for (const DynTypedNode &declaration : context.getParents(*range))
        for (const DynTypedNode &loop : context.getParents(declaration))
          if (const auto *over = loop.get<CXXForRangeStmt>();
              over && over->getRangeStmt() == declaration.get<DeclStmt>()) {
            const QualType type = over->getLoopVariable()->getType();
            return (!type->isReferenceType() || type.getNonReferenceType().isConstQualified()) &&
                   !contains(over->getBody(), setsData);
          }
  return false;
}

} // namespace

bool isUseUnderstood(const MemberExpr *member, ASTContext &context) {
  bool is_read = member->getType().isConstQualified(), is_element = false;
  for (const Stmt *child = member;;) {
    const Stmt *parent = parentOf(child, context);
    if (setsData(parent))
      return false;
    const auto *cast = dyn_cast<ImplicitCastExpr>(child);
    is_read |= cast && reads(cast);
    if (is_read || !parent)
      return is_read || isLookedThrough(child, context);
    if (const Use use = useBy(parent, child, is_element); use != Use::kGoesOn)
      return use == Use::kUnderstood;
    child = parent;
  }
}

} // namespace devsan::analyzer
