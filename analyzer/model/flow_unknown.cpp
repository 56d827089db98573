#include "analyzer/model/flow_transfer.h"

#include "analyzer/ast/torch_api.h"

namespace devsan::analyzer {

using namespace clang;

namespace {

constexpr unsigned kMaxSteps = 12; // of a chain of calls and variables

llvm::StringRef identifierOf(DeclarationName name) {
  return name.isIdentifier() ? name.getAsIdentifierInfo()->getName() : llvm::StringRef();
}

// The object and the name of `object.name(…)`, where neither type nor method is known.
std::pair<const Expr *, llvm::StringRef> unknownMethod(const CallExpr *call) {
  const Expr *callee = call->getCallee()->IgnoreParenImpCasts();
  if (const auto *member = dyn_cast<CXXDependentScopeMemberExpr>(callee))
    return {member->isImplicitAccess() ? nullptr : member->getBase(),
            identifierOf(member->getMember())};
  if (const auto *member = dyn_cast<UnresolvedMemberExpr>(callee))
    return {member->isImplicitAccess() ? nullptr : member->getBase(),
            identifierOf(member->getMemberName())};
  if (const auto *member = dyn_cast<MemberExpr>(callee))
    return {member->getBase(), identifierOf(member->getMemberDecl()->getDeclName())};
  return {};
}

bool isTorchFunction(const Expr *callee) {
  callee = callee->IgnoreParenImpCasts();
  if (const auto *reference = dyn_cast<DeclRefExpr>(callee))
    return isa<FunctionDecl>(reference->getDecl()) && isTorchDecl(reference->getDecl());
  const auto *overloads = dyn_cast<UnresolvedLookupExpr>(callee);
  return overloads && llvm::any_of(overloads->decls(), [](const NamedDecl *decl) {
           return isTorchDecl(decl->getUnderlyingDecl());
         });
}

} // namespace

// Where a tensor is whose type clang does not know, because something that it is made of has none:
// `model->forward(batch.data)` with a batch of a missing header. Nothing where it need not be one.
std::optional<Place> Flow::placeOfUnknown(const Expr *expr, unsigned steps) const {
  expr = strip(expr);
  if (steps == 0)
    return std::nullopt;
  if (!expr->getType().isNull() && !expr->isTypeDependent())
    return isTensor(expr->getType()) ? std::optional(facts_.value(expr).place) : std::nullopt;
  if (const auto *reference = dyn_cast<DeclRefExpr>(expr)) {
    const auto *variable = dyn_cast<VarDecl>(reference->getDecl());
    return variable && variable->isLocalVarDecl() && variable->getInit()
               ? placeOfUnknown(variable->getInit(), steps - 1)
               : std::nullopt;
  }
  const auto *call = dyn_cast<CallExpr>(expr);
  if (!call)
    return std::nullopt;
  const llvm::SmallVector<const Expr *, 4> arguments(call->arguments());
  if (isTorchFunction(call->getCallee()))
    return Place::unknown();
  const auto [object, name] = unknownMethod(call);
  if (!object)
    return std::nullopt;
  if (!object->isTypeDependent() &&
      isModule(object->getType().isNull()           ? QualType()
               : object->getType()->isPointerType() ? object->getType()->getPointeeType()
                                                    : object->getType()))
    return name == "forward" ? std::optional(Place::unknown()) : std::nullopt;
  if (name == "to")
    if (const std::optional<Value> device = deviceAmong(arguments))
      return device->place;
  const std::optional<Place> of_object = placeOfUnknown(object, steps - 1);
  return of_object && name == "cpu" ? Place::host() : of_object;
}

// In a template, its instantiations know better.
void Flow::recordUnknownRead(const CallExpr *call) {
  const auto [object, name] = unknownMethod(call);
  if (!object || name != "item" || functionOf(facts_.function)->isDependentContext())
    return;
  const std::optional<Place> place = placeOfUnknown(object, kMaxSteps);
  if (!place)
    return;
  Value value;
  value.place = *place;
  facts_.values_[strip(object)] = value;
  record({Operation::Kind::kTensorOp, call, name, object, {}, {{object, value}}, {}, {}});
}

} // namespace devsan::analyzer
