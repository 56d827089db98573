#include "analyzer/ast/torch_api.h"
#include "analyzer/facts/operators.h"
#include "analyzer/model/cuda/device_kinds.h"
#include "analyzer/model/flow_transfer.h"

#include <clang/AST/ASTContext.h>

namespace devsan::analyzer {

using namespace clang;

namespace {

using Kind = Operation::Kind;

// {} or {1} as a shape: no dimension at all.
bool isEmptyList(const Expr *expr) {
  expr = strip(expr);
  if (const auto *construct = dyn_cast_or_null<CXXConstructExpr>(expr)) {
    if (construct->getNumArgs() == 0)
      return true;
    return construct->getNumArgs() == 1 && isEmptyList(construct->getArg(0));
  }
  if (const auto *standard = dyn_cast_or_null<CXXStdInitializerListExpr>(expr))
    return isEmptyList(standard->getSubExpr());
  const auto *list = dyn_cast_or_null<InitListExpr>(expr);
  return list && list->getNumInits() == 0;
}

bool isScalarData(const Expr *expr) {
  expr = strip(expr);
  if (const auto *construct = dyn_cast_or_null<CXXConstructExpr>(expr))
    return construct->getNumArgs() == 1 && isScalarData(construct->getArg(0));
  return expr && !expr->getType().isNull() && expr->getType()->isArithmeticType();
}

// Indices and counts.
bool givesIntegers(llvm::StringRef name) {
  static constexpr llvm::StringRef kNames[] = {"nonzero",       "argmax",       "argmin",
                                               "argsort",       "argwhere",     "bincount",
                                               "count_nonzero", "searchsorted", "bucketize"};
  return llvm::is_contained(kNames, name);
}

// They make integers of a mask.
bool countsMasks(llvm::StringRef name) {
  static constexpr llvm::StringRef kNames[] = {"sum", "nansum", "cumsum", "prod", "cumprod"};
  return llvm::is_contained(kNames, name);
}

bool isDtypeQuery(llvm::StringRef name) {
  return name == "scalar_type" || name == "dtype" || name == "type";
}

} // namespace

std::vector<Operand> Flow::tensorOperands(const Expr *receiver,
                                          llvm::ArrayRef<const Expr *> arguments) const {
  std::vector<Operand> operands;
  auto add = [&](auto &&self, const Expr *expr, int depth) -> void {
    const Expr *inner = strip(expr);
    // A list's elements are operands of their own: cat({a, b}).
    if (const auto *standard = dyn_cast<CXXStdInitializerListExpr>(inner))
      return self(self, standard->getSubExpr(), depth);
    if (const auto *list = dyn_cast<InitListExpr>(inner)) {
      for (const Expr *element : list->inits())
        self(self, element, depth + 1);
      return;
    }
    if (const FunctionDecl *callee = calleeOf(inner);
        isa<CallExpr>(inner) && callee && callee->isInStdNamespace() &&
        (nameOf(callee) == "make_tuple" || nameOf(callee) == "make_pair" ||
         nameOf(callee) == "tie" || nameOf(callee) == "forward_as_tuple")) {
      for (const Expr *element : argumentsOf(inner))
        self(self, element, depth + 1);
      return;
    }
    if (const auto *construct = dyn_cast<CXXConstructExpr>(inner);
        construct && construct->getNumArgs() >= 1 && depth < 6 &&
        holdsTensor(construct->getType())) {
      llvm::SmallVector<const Expr *, 4> parts = argumentsOf(construct);
      if (parts.size() == 1 || isa<CXXTemporaryObjectExpr>(construct)) {
        for (const Expr *part : parts)
          self(self, part, depth + 1);
        return;
      }
    }
    if (holdsTensor(inner->getType()))
      operands.push_back({inner, facts_.value(inner)});
  };
  if (receiver)
    add(add, receiver, 0);
  for (const Expr *argument : arguments)
    if (holdsTensor(argument->getType()) || isa<InitListExpr>(strip(argument)))
      add(add, argument, 0);
  return operands;
}

Value Flow::evaluateTensorMethod(const CallExpr *call, llvm::StringRef name, const Expr *receiver) {
  Value self = facts_.value(receiver);
  llvm::SmallVector<const Expr *, 4> arguments = argumentsOf(call);
  if (name == "operator=") {
    std::optional<Path> target = path(receiver);
    Value assigned = facts_.value(arguments[0]);
    // x = y makes x another tensor; list[i] = y one element of it; x[i] = y copies into x.
    if (target && isa<DeclRefExpr, MemberExpr>(strip(receiver)))
      assign(*target, arguments[0], call);
    else if (target)
      insert(*target, assigned);
    else
      write(receiver, assigned);
    return assigned;
  }
  if (movesTensor(name))
    return evaluateMove(call, name, receiver);
  if (name == "device" || name == "options") {
    Value value;
    value.place = self.place;
    value.dtype = name == "options" ? self.dtype : Dtype::kUnknown;
    if (self.place.isSpelledDevice())
      value.addAll(self).drop(Origin::Kind::kHostCopy).drop(Origin::Kind::kHostScalar);
    return value;
  }
  if (isDtypeQuery(name)) {
    Value value;
    value.dtype = self.dtype;
    if (isLegacyType(call->getType())) {
      value.place = self.place;
      return value;
    }
    if (self.place.maybeOffHost())
      value.add(Origin::Kind::kDtypeOf, call);
    return value;
  }
  if (isFactory(call->getDirectCallee()))
    return evaluateFactory(call, name, receiver, arguments);
  if (name == "accessor") {
    relyOnHost(receiver);
    return {};
  }
  return evaluateTensorOp(call, name, receiver);
}

namespace {

// A variable or member that says which device; not `kCPU`, nor the device of a tensor.
bool isDeviceVariable(const Expr *expr) {
  expr = strip(expr);
  for (const auto *made = dyn_cast<CXXConstructExpr>(expr); made && made->getNumArgs() >= 1;
       made = dyn_cast<CXXConstructExpr>(expr))
    expr = strip(made->getArg(0));
  return isa<DeclRefExpr, MemberExpr>(expr) && isDevice(expr->getType().getNonReferenceType());
}

} // namespace

Value Flow::evaluateMove(const CallExpr *call, llvm::StringRef name, const Expr *receiver) {
  Value self = facts_.value(receiver);
  llvm::SmallVector<const Expr *, 4> arguments = argumentsOf(call);
  Value target;
  Value result = self;
  result.off_host = false;
  if (name == "cpu") {
    target.place = Place::host();
  } else if (name == "to" || name == "_to_copy" || name == "type_as") {
    for (const Expr *argument : arguments)
      if (Dtype dtype = facts_.value(argument).dtype; dtype != Dtype::kUnknown)
        result.dtype = dtype;
    std::optional<Value> device = deviceAmong(arguments);
    if (!device) {
      // A conversion only: the data stays where it is.
      bool dtype_only = llvm::none_of(arguments, [](const Expr *a) {
        return isTensor(a->getType()) || isDevice(a->getType());
      });
      if (!dtype_only)
        result.place = Place::unknown();
      if (result.dtype == Dtype::kIntegral || result.dtype == Dtype::kBool)
        result.no_grad = true;
      record({Kind::kTensorOp, call, name, receiver, {}, {{receiver, self}}, result, {}});
      return result;
    }
    target = *device;
    // `if (device == torch::kCPU) x = x.to(device);`: where that holds, all is on the host.
    if (target.place.onHost() && llvm::any_of(arguments, [&](const Expr *argument) {
          return isDeviceVariable(argument) && !target.has(Origin::Kind::kDeviceName);
        }))
      self.place = result.place = Place::host();
  } else {
    target.place = Place::named(name == "cuda"  ? "CUDA"
                                : name == "hip" ? "HIP"
                                : name == "xpu" ? "XPU"
                                : name == "mps" ? "MPS"
                                                : "VE",
                                -1);
    target.add(Origin::Kind::kDeviceName, call);
  }
  result = moved(std::move(result), target.place, call);
  record({Kind::kMove, call, name, receiver, target, {{receiver, self}}, result, {}});
  return result;
}

Value Flow::evaluateFactory(const Expr *call, llvm::StringRef name, const Expr *receiver,
                            llvm::ArrayRef<const Expr *> arguments) {
  Value target;
  for (const Expr *argument : arguments)
    if (givesDevice(argument)) {
      target = facts_.value(argument);
      break;
    }
  std::vector<Operand> operands = tensorOperands(receiver, arguments);
  Value result;
  result.dtype = target.dtype;
  // A factory's tensor has no graph; the options that ask for one are for parameters, which are
  // nobody's gather.
  result.no_grad = true;
  bool like = name.ends_with("_like") || receiver;
  // A pointer into a tensor's memory says where the blob is. One of a missing header's types is
  // none.
  const bool has_memory =
      name == "from_blob" && !arguments.empty() && !arguments[0]->isTypeDependent();
  const Value memory = has_memory ? facts_.value(arguments[0]) : Value();
  if (!target.place.is(Place::Kind::kNone))
    result.place = target.place;
  else if (!memory.place.is(Place::Kind::kNone))
    result.place = memory.place;
  else if (!operands.empty()) {
    result = combine(valuesOf(operands));
    if (like)
      result.origins.clear();
    result.no_grad = true;
  } else {
    result.place = Place::defaultHost();
    result.add(Origin::Kind::kFactory, call);
  }
  if (name == "tensor" || name == "scalar_tensor") {
    result.zero_dim = !arguments.empty() && isScalarData(arguments[0]);
    result.add(Origin::Kind::kHostScalar, call);
  } else if (!like && !arguments.empty() &&
             (name == "full" || name == "zeros" || name == "ones" || name == "empty")) {
    result.zero_dim = isEmptyList(arguments[0]);
    if (result.zero_dim && result.place.onHost())
      result.add(Origin::Kind::kHostScalar, call);
  } else if (name == "from_blob" && result.place.onHost()) {
    result.add(Origin::Kind::kHostScalar, call);
  }
  record({Kind::kFactory, call, name, receiver, target, operands, result, {}});
  return result;
}

Value Flow::evaluateTensorOp(const CallExpr *call, llvm::StringRef name, const Expr *receiver) {
  std::vector<Operand> operands = tensorOperands(receiver, argumentsOf(call));
  bool gives_tensor = holdsTensor(call->getType());
  Value result;
  if (gives_tensor) {
    result = combine(valuesOf(operands));
    if (acceptsHostOperand(name) && !operands.empty()) {
      Place place = operands[0].value.place;
      result = operands[0].value;
      result.place = place;
    }
    // A result that met another device is no host tensor any more: it is reported where they met.
    if (!result.place.onHost())
      result.drop(Origin::Kind::kFactory);
    if (name == "pin_memory") {
      result.place = Place::host();
      result.drop(Origin::Kind::kFactory);
    }
    if (givesBool(name))
      result.dtype = Dtype::kBool;
    else if (givesIntegers(name) || (countsMasks(name) && result.dtype == Dtype::kBool) ||
             (name == "where" && operands.size() == 1 && argumentsOf(call).size() == 1))
      result.dtype = Dtype::kIntegral;
    if (dropsGrad(name))
      result.no_grad = true;
  }
  // A pointer lies where its tensor does.
  if (receiver && givesMemory(name)) {
    const Value self = facts_.value(receiver);
    result.place = self.place;
    if (const Code factory = self.origin(Origin::Kind::kFactory))
      result.add(Origin::Kind::kFactory, factory);
  }
  record({Kind::kTensorOp, call, name, receiver, {}, operands, result, {}});
  bool writes = isInPlace(name) || name == "set_data" || name == "operator+=" ||
                name == "operator-=" || name == "operator*=" || name == "operator/=";
  if (receiver && writes) {
    Value written = result;
    written.place = facts_.value(receiver).place;
    write(receiver, written);
  }
  return result;
}

// In-place operators change what their variable holds, through views and elements too.
void Flow::write(const Expr *target, const Value &value) {
  target = strip(target);
  while (target && !path(target)) {
    const Expr *object = receiverOf(target);
    if (!object)
      return;
    target = strip(object);
  }
  if (!target)
    return;
  Path named = *path(target);
  Value merged = load(named);
  // What is written is copied: the variable stays where it is, and is no factory's now.
  Value written = value;
  merged.addAll(written.drop(Origin::Kind::kFactory));
  merged.no_grad = merged.no_grad && value.no_grad;
  state_.values[named] = merged;
}

} // namespace devsan::analyzer
