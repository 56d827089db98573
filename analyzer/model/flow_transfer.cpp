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

Value Flow::evaluate(const Expr *expr) {
  if (std::optional<Value> unresolved = evaluateUnresolved(expr))
    return *unresolved;
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
  if (const auto *absent = dyn_cast<CXXDefaultArgExpr>(expr))
    return evaluateDefault(absent);
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
    // `argc > 1 ? argv[1] : "cpu"` may name any.
    if (yes.place.is(Place::Kind::kNone) != no.place.is(Place::Kind::kNone) &&
        isText(choice->getType()))
      either.place = Place::chosen();
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
  if (const auto *binary = dyn_cast<BinaryOperator>(expr))
    return evaluateBinary(binary);
  return {};
}

// The graph of the caller has nothing of an argument that is left out. What it does is done in its
// declaration, and is no operation of the caller's.
Value Flow::evaluateDefault(const CXXDefaultArgExpr *absent) {
  if (isLibraryDecl(absent->getParam()))
    return {};
  const bool recording = std::exchange(recording_, false);
  const auto follow = [&](auto &&self, const Stmt *part) -> void {
    if (!isa<LambdaExpr>(part))
      for (const Stmt *child : part->children())
        if (child)
          self(self, child);
    transfer(part);
  };
  follow(follow, absent->getExpr());
  recording_ = recording;
  return facts_.value(absent->getExpr());
}

Value Flow::evaluateBinary(const BinaryOperator *binary) {
  if (binary->getOpcode() == BO_Comma)
    return facts_.value(binary->getRHS());
  if (binary->getOpcode() == BO_Add || binary->getOpcode() == BO_Sub) // p + n
    return binary->getType()->isPointerType() ? facts_.value(binary->getLHS()) : Value();
  if (binary->getOpcode() != BO_Assign) // of pointers and enumerators; classes have operators
    return {};
  const Expr *target = strip(binary->getLHS());
  if (std::optional<Path> named = path(target)) {
    if (isa<DeclRefExpr, MemberExpr>(target))
      assign(*named, binary->getRHS(), binary);
    else if (target->getType()->isPointerType()) // one of several
      insert(*named, facts_.value(binary->getRHS()));
  }
  return facts_.value(binary->getRHS());
}

// Device(kCUDA, index): a literal index is fixed, any other is somebody's choice.
void Flow::addIndex(Value &device, const Expr *index) const {
  index = strip(index); // device(kCUDA, 1) forwards a reference to its index
  const bool is_known = !index->isTypeDependent();
  if (!device.place.is(Place::Kind::kIndexless) || (is_known && !index->getType()->isIntegerType()))
    return;
  // The number that a variable keeps, and the current device, are nobody's choice.
  const Expr *number_of = is_known ? resolveVariable(index) : index;
  if (nameOf(calleeOf(strip(number_of))) == "current_device") {
    device.place = Place::chosen();
    return;
  }
  Expr::EvalResult result;
  if (is_known && !number_of->isValueDependent() && number_of->EvaluateAsInt(result, context_)) {
    const auto number = static_cast<int>(result.Val.getInt().getExtValue());
    device.place = Place::named(device.place.type, number);
  } else {
    device.place = Place::chosen();
    device.add(Origin::Kind::kDeviceIndex, index);
  }
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
      value.place = Place::chosen();
    if (arguments.size() >= 2)
      addIndex(value, arguments[1]);
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

} // namespace devsan::analyzer
