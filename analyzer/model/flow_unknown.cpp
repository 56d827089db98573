#include "analyzer/model/flow_transfer.h"

#include "analyzer/ast/torch_api.h"
#include "analyzer/facts/operators.h"

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

// `model->` or `model.` of a module, in front of a call that is not understood.
bool isOfModule(const Expr *object) {
  const QualType type = object->getType();
  return !type.isNull() && !object->isTypeDependent() &&
         isModule(type->isPointerType() ? type->getPointeeType() : type);
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

// std::get<0>
bool isTupleGet(const Expr *callee) {
  const auto *overloads = dyn_cast<UnresolvedLookupExpr>(callee->IgnoreParenImpCasts());
  return overloads && identifierOf(overloads->getName()) == "get" &&
         llvm::any_of(overloads->decls(),
                      [](const NamedDecl *decl) { return decl->isInStdNamespace(); });
}

// What is made of tensors by operators, if one of these is a tensor; empty for other expressions. A
// stream or an iterator has operators of its own.
llvm::SmallVector<const Expr *, 2> operandsOf(const Expr *expr) {
  llvm::SmallVector<const Expr *, 2> operands;
  if (const auto *unary = dyn_cast<UnaryOperator>(expr)) {
    if (unary->getOpcode() == UO_Minus || unary->getOpcode() == UO_Not)
      operands.push_back(unary->getSubExpr());
  } else if (const auto *binary = dyn_cast<BinaryOperator>(expr)) {
    if (!binary->isAssignmentOp() && !binary->isLogicalOp() && !binary->isCommaOp() &&
        !binary->isPtrMemOp())
      operands = {binary->getLHS(), binary->getRHS()};
  } else if (const auto *subscript = dyn_cast<ArraySubscriptExpr>(expr)) {
    operands.push_back(subscript->getLHS());
  }
  const bool is_other = llvm::any_of(operands, [](const Expr *operand) {
    const QualType type = operand->getType();
    return type.isNull() ||
           !(operand->isTypeDependent() || type->isArithmeticType() || isTensor(type));
  });
  return is_other ? llvm::SmallVector<const Expr *, 2>() : operands;
}

// Whether what a method of at::Tensor gives holds a tensor, whatever the method is given; nothing
// where there is none of that name, or they differ.
std::optional<bool> givesTensor(ASTContext &context, llvm::StringRef name) {
  const auto lookup = [&](const DeclContext *scope, llvm::StringRef id) {
    return scope->lookup(&context.Idents.get(id));
  };
  bool gives_tensor = false, gives_other = false;
  for (const NamedDecl *space : lookup(context.getTranslationUnitDecl(), "at"))
    for (llvm::StringRef owner : {"Tensor", "TensorBase"})
      if (const auto *scope = dyn_cast<NamespaceDecl>(space))
        for (const NamedDecl *found : lookup(scope, owner))
          if (const auto *record = dyn_cast<CXXRecordDecl>(found);
              record && record->hasDefinition())
            for (const NamedDecl *method : lookup(record->getDefinition(), name))
              if (const FunctionDecl *function = method->getAsFunction())
                (holdsTensor(function->getReturnType()) ? gives_tensor : gives_other) = true;
  return gives_tensor != gives_other ? std::optional(gives_tensor) : std::nullopt;
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
  if (Place known = facts_.value(expr).place; known.onHost())
    return known;
  if (const auto *reference = dyn_cast<DeclRefExpr>(expr)) {
    // `auto [values, indices] = x.max(unknown)`
    const auto *binding = dyn_cast<BindingDecl>(reference->getDecl());
    const auto *variable =
        dyn_cast_or_null<VarDecl>(binding ? binding->getDecomposedDecl() : reference->getDecl());
    return variable && variable->isLocalVarDecl() && variable->getInit()
               ? placeOfUnknown(variable->getInit(), steps - 1)
               : std::nullopt;
  }
  for (const Expr *operand : operandsOf(expr))
    if (const std::optional<Place> place = placeOfUnknown(operand, steps - 1))
      return place;
  const auto *call = dyn_cast<CallExpr>(expr);
  if (!call)
    return std::nullopt;
  const llvm::SmallVector<const Expr *, 4> arguments(call->arguments());
  if (arguments.size() == 1 && isTupleGet(call->getCallee()))
    return placeOfUnknown(arguments[0], steps - 1);
  if (isTorchFunction(call->getCallee()))
    return Place::unknown();
  const auto [object, name] = unknownMethod(call);
  if (!object)
    return std::nullopt;
  if (isOfModule(object))
    return name == "forward" ? std::optional(Place::unknown()) : std::nullopt;
  if (name == "to")
    if (const std::optional<Value> device = deviceAmong(arguments))
      return device->place;
  std::optional<Place> of_object = placeOfUnknown(object, steps - 1);
  if (!of_object || name == "to")
    return of_object;
  if (!movesTensor(name))
    return givesTensor(context_, name).value_or(false) ? of_object : std::nullopt;
  const Place moved = facts_.value(call).place;
  return moved.is(Place::Kind::kNone) ? Place::unknown() : moved;
}

// A method of a tensor whose arguments, or what made the tensor, are not understood; or of a
// module.
std::optional<Value> Flow::evaluateUnknownMethod(const CallExpr *call) {
  const auto [object, name] = unknownMethod(call);
  if (!object || name == "item")
    return std::nullopt;
  if (isOfModule(object) && name == "forward") {
    record({Operation::Kind::kModule, call, name, object, {}, {}, Value::unknown(), {}});
    return Value::unknown();
  }
  const std::optional<Place> place = placeOfUnknown(object, kMaxSteps);
  if (!place)
    return std::nullopt;
  const llvm::SmallVector<const Expr *, 4> arguments = argumentsOf(call);
  if (movesTensor(name)) {
    // Where to, only what is not understood may tell.
    if ((name == "to" || name == "_to_copy" || name == "type_as") && !deviceAmong(arguments))
      return std::nullopt;
    return evaluateMove(call, name, object);
  }
  const std::optional<bool> gives_tensor = givesTensor(context_, name);
  if (!gives_tensor)
    return std::nullopt;
  Value self = facts_.value(object);
  if (self.place.is(Place::Kind::kNone))
    self.place = *place;
  facts_.values_[strip(object)] = self;
  std::vector<Operand> operands = tensorOperands(nullptr, arguments);
  operands.insert(operands.begin(), {object, self});
  Value result = *gives_tensor ? combine(valuesOf(operands)) : Value();
  record({Operation::Kind::kTensorOp, call, name, object, {}, std::move(operands), result, {}});
  return result;
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

void Flow::recordUnknownCall(const RecoveryExpr *call) {
  llvm::SmallVector<const Expr *, 4> arguments;
  for (const Expr *part : call->subExpressions())
    if (!part->getType().isNull() && !part->containsErrors() && !part->isTypeDependent())
      arguments.push_back(part);
  if (arguments.size() > 1)
    record({Operation::Kind::kCall,
            call,
            "",
            nullptr,
            {},
            tensorOperands(nullptr, arguments),
            {},
            {}});
}

namespace {

// Something that is not understood, and no list, as sizes are.
bool mayGiveDevice(const Expr *argument) {
  const auto *list = dyn_cast<InitListExpr>(argument->IgnoreParenImpCasts());
  return (argument->containsErrors() || argument->isTypeDependent()) &&
         !(list && list->getNumInits() > 1);
}

// Which of LibTorch's factories is called although some of its arguments, such as the sizes, are
// not understood. Only where one of the others gives the device, or none of these does: what comes
// first is never one. `all` says that no argument is lost.
const FunctionDecl *unresolvedFactory(const Expr *callee, llvm::ArrayRef<const Expr *> arguments,
                                      bool all) {
  const bool has_device = llvm::any_of(arguments, [](const Expr *argument) {
    return !argument->containsErrors() && givesDevice(argument);
  });
  const bool has_none =
      all && !arguments.empty() && llvm::none_of(arguments.drop_front(), mayGiveDevice);
  if (!has_device && !has_none)
    return nullptr;
  callee = callee->IgnoreParenImpCasts();
  const auto factory = [](const NamedDecl *decl) -> const FunctionDecl * {
    const FunctionDecl *function = decl->getUnderlyingDecl()->getAsFunction();
    return !ownerOf(function) && isFactory(function) ? function : nullptr;
  };
  if (const auto *named = dyn_cast<DeclRefExpr>(callee))
    return factory(named->getDecl());
  if (const auto *overloads = dyn_cast<UnresolvedLookupExpr>(callee))
    for (const NamedDecl *decl : overloads->decls())
      if (const FunctionDecl *function = factory(decl))
        return function;
  return nullptr;
}

} // namespace

// A device with an index of which nothing is known, because a missing header declares what gives
// it; or options with one.
std::optional<Value> Flow::numberedDevice(const Expr *expr) const {
  llvm::SmallVector<const Expr *, 4> parts;
  if (const auto *list = dyn_cast<ParenListExpr>(expr)) {
    for (unsigned i = 0; i < list->getNumExprs(); ++i)
      parts.push_back(list->getExpr(i));
  } else if (const auto *made = dyn_cast<CXXUnresolvedConstructExpr>(expr)) {
    parts.append(made->arg_begin(), made->arg_end());
  } else if (const auto *call = dyn_cast<CallExpr>(expr)) {
    const auto [object, name] = unknownMethod(call);
    if (object && name != "device") {
      const Value value = facts_.value(object);
      return value.has(Origin::Kind::kDeviceIndex) ? std::optional(value) : std::nullopt;
    }
    if (object)
      parts.append(call->arg_begin(), call->arg_end());
  }
  if (parts.size() != 2)
    return std::nullopt;
  Value value = facts_.value(parts[0]);
  addIndex(value, parts[1]);
  return value.has(Origin::Kind::kDeviceIndex) ? std::optional(value) : std::nullopt;
}

std::optional<Value> Flow::evaluateUnresolved(const Expr *expr) {
  // In a template, its instantiations know better.
  const bool is_template = functionOf(facts_.function)->isDependentContext();
  if (const auto *unknown = dyn_cast<RecoveryExpr>(expr)) {
    // What is left of a call: the function, and the arguments that are understood.
    if (const llvm::ArrayRef<const Expr *> parts = unknown->subExpressions(); parts.size() > 1)
      if (const FunctionDecl *factory = unresolvedFactory(parts[0], parts.drop_front(), false))
        return evaluateFactory(unknown, nameOf(factory), nullptr, parts.drop_front());
    // A call of something that a missing header declares.
    recordUnknownCall(unknown);
    return Value::unknown();
  }
  if (const auto *call = dyn_cast<CallExpr>(expr);
      call && (call->containsErrors() || call->isTypeDependent())) {
    recordUnknownRead(call);
    const llvm::SmallVector<const Expr *, 4> arguments = argumentsOf(call);
    if (const FunctionDecl *factory =
            unresolvedFactory(call->getCallee(), arguments, /*all=*/!is_template))
      return evaluateFactory(call, nameOf(factory), nullptr, arguments);
    // Of a tensor of the host, all but a move is there as well.
    if (const auto [object, name] = unknownMethod(call);
        object && !object->getType().isNull() && (name == "cpu" || !movesTensor(name)) &&
        (object->isTypeDependent() || isTensor(object->getType())))
      if (Value self = facts_.value(object); self.place.onHost())
        return self;
  }
  if (!is_template && !expr->getType().isNull() && expr->isTypeDependent()) {
    if (const auto *call = dyn_cast<CallExpr>(expr))
      if (std::optional<Value> result = evaluateUnknownMethod(call))
        return result;
    std::vector<Value> operands;
    for (const Expr *operand : operandsOf(expr))
      if (placeOfUnknown(operand, kMaxSteps))
        operands.push_back(facts_.value(operand));
    if (!operands.empty())
      return combine(operands);
  }
  // Code with errors keeps expressions without a type; what they give may be anything, as
  // templates' open ends may.
  if (!expr->getType().isNull() && !expr->isTypeDependent() && !expr->containsErrors())
    return std::nullopt;
  // A variable without a type.
  if (const std::optional<Path> named = isa<DeclRefExpr>(expr) ? path(expr) : std::nullopt)
    if (Value held = load(*named); !held.place.is(Place::Kind::kNone))
      return held;
  return numberedDevice(expr).value_or(Value::unknown());
}

} // namespace devsan::analyzer
