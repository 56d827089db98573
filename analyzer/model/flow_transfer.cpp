#include "analyzer/model/flow_transfer.h"

#include "analyzer/ast/clang_compat.h"
#include "analyzer/ast/torch_api.h"
#include "analyzer/facts/operators.h"
#include "analyzer/model/cuda/device_kinds.h"

#include <clang/AST/ASTContext.h>
#include <clang/AST/StmtCXX.h>

namespace devsan::analyzer {

using namespace clang;

namespace {

using Kind = Operation::Kind;

// "CUDA" for the enumerator of c10::DeviceType with that value.
llvm::StringRef deviceTypeName(QualType type, const llvm::APSInt &value) {
  const auto *enumeration = type->getAs<EnumType>();
  if (!enumeration)
    return {};
  for (const EnumConstantDecl *constant : definitionOf(enumeration->getDecl())->enumerators())
    if (llvm::APSInt::isSameValue(constant->getInitVal(), value))
      return constant->getName();
  return {};
}

Dtype dtypeOf(llvm::StringRef scalar_type) {
  static const llvm::StringRef kIntegral[] = {"Byte", "Char",   "Short",  "Int",
                                              "Long", "UInt16", "UInt32", "UInt64"};
  if (scalar_type == "Bool")
    return Dtype::kBool;
  if (llvm::is_contained(kIntegral, scalar_type))
    return Dtype::kIntegral;
  return scalar_type.empty() ? Dtype::kUnknown : Dtype::kFloating;
}

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

// Whatever a constant expression of type DeviceType or ScalarType says: kCUDA, torch::kCUDA,
// DeviceType::MPS, or a project's own constant.
std::optional<Value> Flow::constantDevice(const Expr *expr) const {
  QualType type = expr->getType().getCanonicalType().getUnqualifiedType();
  if (!type->isEnumeralType() || (!isDeviceType(type) && !isScalarType(type)) ||
      expr->isValueDependent())
    return std::nullopt;
  Expr::EvalResult result;
  if (!expr->EvaluateAsInt(result, context_))
    return std::nullopt;
  llvm::StringRef name = deviceTypeName(type, result.Val.getInt());
  Value value;
  if (isScalarType(type)) {
    value.dtype = dtypeOf(name);
    return value;
  }
  value.place = Place::named(name, -1);
  value.add(Origin::Kind::kDeviceName, expr);
  return value;
}

Value Flow::together(llvm::ArrayRef<const Expr *> parts) const {
  Value all;
  for (const Expr *part : parts)
    all = join(all, facts_.value(part));
  return all;
}

std::optional<Value> Flow::deviceAmong(llvm::ArrayRef<const Expr *> arguments) const {
  for (const Expr *argument : arguments) {
    if (!namesDevice(argument->getType()) && !isTensor(argument->getType()))
      continue;
    Value value = facts_.value(argument);
    if (!value.place.is(Place::Kind::kNone))
      return value;
  }
  return std::nullopt;
}

void Flow::record(Operation operation) {
  bool met = operation.kind == Kind::kTensorOp || operation.kind == Kind::kModule;
  if (first_visit_ && met)
    first_turns_[operation.expr] = operation.operands;
  if (!recording_)
    return;
  if (auto first = first_turns_.find(operation.expr);
      met && first != first_turns_.end() && valuesOf(first->second) != valuesOf(operation.operands))
    operation.first_turn = std::move(first->second);
  if (operation.receiver && !operation.path)
    operation.path = path(exprOf(operation.receiver));
  facts_.operations.push_back(std::move(operation));
}

// What a kernel is given of the memory of tensors; a number that was read there is none of it.
std::vector<Operand> Flow::argumentsWithPlace(const CallExpr *launch) const {
  std::vector<Operand> operands;
  for (const Expr *argument : launch->arguments()) {
    const Value value = facts_.value(argument);
    if (!value.place.is(Place::Kind::kNone) && !namesDevice(argument->getType()) &&
        !argument->getType()->isArithmeticType())
      operands.push_back({argument, value});
  }
  return operands;
}

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

namespace {

// A device, or options; of a call that could not be resolved also the list that would become them.
bool givesDevice(const Expr *argument) {
  if (const auto *list = dyn_cast<InitListExpr>(argument); list && list->getNumInits() == 1)
    argument = list->getInit(0);
  return namesDevice(argument->getType());
}

// Which of LibTorch's factories is called although some of its arguments, such as the sizes, are
// not understood. Only where the device is: else one of those may give it.
const FunctionDecl *unresolvedFactory(const Expr *callee, llvm::ArrayRef<const Expr *> arguments) {
  const bool has_device = llvm::any_of(arguments, [](const Expr *argument) {
    return !argument->containsErrors() && givesDevice(argument);
  });
  if (!has_device)
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

Value Flow::evaluate(const Expr *expr) {
  if (const auto *unknown = dyn_cast<RecoveryExpr>(expr)) {
    // What is left of a call: the function, and the arguments that are understood.
    if (const llvm::ArrayRef<const Expr *> parts = unknown->subExpressions(); parts.size() > 1)
      if (const FunctionDecl *factory = unresolvedFactory(parts[0], parts.drop_front()))
        return evaluateFactory(unknown, nameOf(factory), nullptr, parts.drop_front());
    // A call of something that a missing header declares.
    recordUnknownCall(unknown);
    return Value::unknown();
  }
  if (const auto *call = dyn_cast<CallExpr>(expr);
      call && (call->containsErrors() || call->isTypeDependent())) {
    recordUnknownRead(call);
    const llvm::SmallVector<const Expr *, 4> arguments = argumentsOf(call);
    if (const FunctionDecl *factory = unresolvedFactory(call->getCallee(), arguments))
      return evaluateFactory(call, nameOf(factory), nullptr, arguments);
  }
  // Code with errors keeps expressions without a type; what they give may be anything, as
  // templates' open ends may.
  if (expr->getType().isNull() || expr->isTypeDependent() || expr->containsErrors())
    return Value::unknown();
  if (std::optional<Value> constant = constantDevice(expr))
    return *constant;
  if (const auto *literal = dyn_cast<StringLiteral>(expr)) {
    Value value;
    if (literal->isOrdinary())
      if (std::optional<Place> place = Place::parse(literal->getString())) {
        value.place = *place;
        value.add(Origin::Kind::kDeviceName, expr);
      }
    return value;
  }
  if (isa<DeclRefExpr, MemberExpr>(expr)) {
    if (std::optional<Path> named = path(expr))
      return load(*named);
    if (const auto *member = dyn_cast<MemberExpr>(expr))
      return facts_.value(member->getBase());
    return {};
  }
  if (const auto *construct = dyn_cast<CXXConstructExpr>(expr))
    return evaluateConstruct(construct);
  if (const auto *call = dyn_cast<CallExpr>(expr))
    return evaluateCall(call);
  if (const auto *list = dyn_cast<InitListExpr>(expr)) {
    if (isTensorOptions(list->getType()) || isDevice(list->getType()))
      return {};
    return together(llvm::SmallVector<const Expr *, 4>(list->inits().begin(), list->inits().end()));
  }
  if (const auto *standard = dyn_cast<CXXStdInitializerListExpr>(expr))
    return facts_.value(standard->getSubExpr());
  if (const auto *choice = dyn_cast<AbstractConditionalOperator>(expr)) {
    Value yes = facts_.value(choice->getTrueExpr()), no = facts_.value(choice->getFalseExpr());
    Value either = join(yes, no);
    // `r == rank ? own : gathered[r]` puts the own slice back.
    either.own_slice |= yes.has(Origin::Kind::kGather) != no.has(Origin::Kind::kGather);
    return either;
  }
  // A number lies nowhere, wherever it was read.
  if (const auto *unary = dyn_cast<UnaryOperator>(expr))
    return unary->getOpcode() == UO_AddrOf ||
                   (unary->getOpcode() == UO_Deref && !unary->getType()->isArithmeticType())
               ? facts_.value(unary->getSubExpr())
               : Value();
  if (const auto *subscript = dyn_cast<ArraySubscriptExpr>(expr))
    return subscript->getType()->isArithmeticType() ? Value() : facts_.value(subscript->getBase());
  if (const auto *created = dyn_cast<CXXNewExpr>(expr); created && created->getConstructExpr())
    return facts_.value(created->getConstructExpr());
  if (const auto *binary = dyn_cast<BinaryOperator>(expr)) {
    if (binary->getOpcode() == BO_Comma)
      return facts_.value(binary->getRHS());
    if (binary->getOpcode() == BO_Add || binary->getOpcode() == BO_Sub) // p + n
      return binary->getType()->isPointerType() ? facts_.value(binary->getLHS()) : Value();
    if (binary->getOpcode() == BO_Assign) { // of pointers and enumerators; classes have operators
      const Expr *target = strip(binary->getLHS());
      if (std::optional<Path> named = path(target)) {
        if (isa<DeclRefExpr, MemberExpr>(target))
          assign(*named, binary->getRHS(), binary);
        else if (target->getType()->isPointerType()) // one of several
          insert(*named, facts_.value(binary->getRHS()));
      }
      return facts_.value(binary->getRHS());
    }
  }
  return {};
}

// Device(kCUDA, index): a literal index is fixed, any other is somebody's choice.
Place Flow::withIndex(const Place &place, const Expr *index) const {
  index = strip(index); // device(kCUDA, 1) forwards a reference to its index
  if (!place.is(Place::Kind::kIndexless) || !index->getType()->isIntegerType())
    return place;
  Expr::EvalResult result;
  if (index->isValueDependent() || !index->EvaluateAsInt(result, context_))
    return Place::unknown();
  return Place::named(place.type, static_cast<int>(result.Val.getInt().getExtValue()));
}

// Text, a number or whatever else a device is made of that only run time tells.
bool Flow::namesUnknownDevice(llvm::ArrayRef<const Expr *> arguments) const {
  return llvm::any_of(arguments, [&](const Expr *argument) {
    QualType type = argument->getType();
    // An optional one may be empty.
    bool optional = namesDevice(type) && !isDevice(type) && !isDeviceType(type);
    return !namesNoDevice(type) && !optional && facts_.value(argument).place.is(Place::Kind::kNone);
  });
}

Value Flow::evaluateConstruct(const CXXConstructExpr *construct) {
  llvm::SmallVector<const Expr *, 4> arguments = argumentsOf(construct);
  QualType type = construct->getType();
  if (namesDevice(type)) {
    Value value;
    for (const Expr *argument : arguments) {
      Value given = facts_.value(argument);
      if (value.place.is(Place::Kind::kNone))
        value.place = given.place;
      if (given.dtype != Dtype::kUnknown)
        value.dtype = given.dtype;
      value.addAll(given);
    }
    if (value.place.is(Place::Kind::kNone) && namesUnknownDevice(arguments))
      value.place = Place::unknown();
    if (arguments.size() >= 2)
      value.place = withIndex(value.place, arguments[1]);
    return value;
  }
  if (const CXXRecordDecl *module = moduleClass(type)) {
    // Linear(shared_ptr) and the like pass a module on; anything else makes one, on the host.
    if (arguments.size() == 1 && isModule(arguments[0]->getType()) && !isModuleContainer(module))
      return facts_.value(arguments[0]);
    if (arguments.size() == 1 && arguments[0]->getType()->isNullPtrType())
      return {};
    // A smart pointer is empty, or has what it is given.
    if (!isTorchDecl(construct->getConstructor()) && isLibraryDecl(construct->getConstructor()))
      return arguments.empty() ? Value() : facts_.value(arguments[0]);
    return newModule(construct, arguments);
  }
  Value value = together(arguments);
  // A class of the program's own may move the modules that it is given.
  if (!isLibraryDecl(construct->getConstructor()) &&
      !construct->getConstructor()->isCopyOrMoveConstructor()) {
    for (const Expr *argument : arguments)
      if (isModule(argument->getType()))
        forgetLoaded(argument);
    value.drop(Origin::Kind::kLoaded);
  }
  return value;
}

Value Flow::evaluateCall(const CallExpr *call) {
  const FunctionDecl *callee = call->getDirectCallee();
  llvm::StringRef name = nameOf(callee);
  const Expr *receiver = receiverOf(call);
  if (const auto *op = dyn_cast<CXXOperatorCallExpr>(call))
    name = op->isAssignmentOp() && op->getOperator() == OO_Equal ? "operator=" : name;
  if (const auto *op = dyn_cast<CXXOperatorCallExpr>(call); op && name.empty()) {
    // Names of operators, for the tables that tell what an operation does.
    static llvm::StringMap<std::string> names;
    name = names
               .try_emplace(getOperatorSpelling(op->getOperator()),
                            std::string("operator") + getOperatorSpelling(op->getOperator()))
               .first->second;
  }
  // Dispatch macros call their lambda where it stands; parallel_for calls its before it returns.
  if (receiver && isa<CXXOperatorCallExpr>(call))
    if (const auto *lambda = dyn_cast<LambdaExpr>(strip(receiver)))
      relyOnHostIn(lambda->getBody());
  if (callee && name == "parallel_for" && isTorchDecl(callee))
    for (const Expr *argument : argumentsOf(call))
      if (const auto *lambda = dyn_cast<LambdaExpr>(strip(argument)))
        relyOnHostIn(lambda->getBody());
  if (callee)
    forgetPointers(call, callee);
  if (callee && waitsForDevice(callee, call)) {
    record({Kind::kWait, call, name, receiver, {}, {}, {}, {}});
    return {};
  }
  if (const auto *launch = dyn_cast<CUDAKernelCallExpr>(call))
    record({Kind::kLaunch, call, name, nullptr, {}, argumentsWithPlace(launch), {}, {}});
  Value result;
  if (receiver && moduleCall(call, name, receiver, result))
    return result;
  if (receiver && isTensor(receiver->getType()))
    return evaluateTensorMethod(call, name, receiver);
  if (receiver && namesDevice(receiver->getType()))
    return evaluateDeviceMethod(call, name, receiver);
  if (receiver && isLegacyType(receiver->getType())) {
    // Its conversions to options too. An index that is lost here is another rule's matter.
    Value value = facts_.value(receiver);
    if (name == "toScalarType")
      value.dtype = facts_.value(argumentsOf(call)[0]).dtype;
    else if (name == "toBackend")
      value.place = Place::unknown();
    return value;
  }
  if (receiver && isProcessGroup(receiver->getType()))
    return evaluateGather(call);
  if (callee && !ownerOf(callee) && isTorchDecl(callee))
    return evaluateTorchFunction(call, name);
  return evaluateOther(call, name, receiver);
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
  static const llvm::StringRef kMoves[] = {"to",    "cuda", "cpu", "hip",      "ve",     "vulkan",
                                           "metal", "xpu",  "mps", "_to_copy", "type_as"};
  if (llvm::is_contained(kMoves, name))
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
  // A pointer into a tensor's memory says where the blob is.
  const Value memory =
      name == "from_blob" && !arguments.empty() ? facts_.value(arguments[0]) : Value();
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
