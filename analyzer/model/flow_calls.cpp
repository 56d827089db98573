#include "analyzer/model/flow_transfer.h"

#include "analyzer/ast/cuda_api.h"
#include "analyzer/ast/torch_api.h"
#include "analyzer/model/cuda/device_kinds.h"

namespace devsan::analyzer {

using namespace clang;

namespace {

using Kind = Operation::Kind;

// Backend::CPU, DeviceType::CPU
bool namesHost(const Expr *expr) {
  const auto *reference = dyn_cast<DeclRefExpr>(strip(expr));
  const auto *variable = reference ? dyn_cast<VarDecl>(reference->getDecl()) : nullptr;
  if (variable && variable->isConstexpr() && variable->getInit())
    return namesHost(variable->getInit());
  const auto *constant = reference ? dyn_cast<EnumConstantDecl>(reference->getDecl()) : nullptr;
  return constant && constant->getName() == "CPU" && isTorchDecl(constant);
}

// A function of the program's own that puts work on the stream it is given.
bool isLauncher(const FunctionDecl *callee) {
  const std::optional<unsigned> stream = callee ? declaredStreamParameter(callee) : std::nullopt;
  return stream && !streamParameter(callee) && putsWorkOnStream(callee, *stream);
}

} // namespace

// One more element for a container.
void Flow::insert(const Path &container, const Value &element) {
  Value held = join(load(container), element);
  held.own_slice |= !element.no_grad && !element.has(Origin::Kind::kGather);
  state_.values[container] = held;
}

void Flow::forgetPointers(const CallExpr *call, const FunctionDecl *callee) {
  const unsigned shift = isa<CXXOperatorCallExpr>(call) && ownerOf(callee) ? 1 : 0;
  for (unsigned i = 0; i < callee->getNumParams() && i + shift < call->getNumArgs(); ++i) {
    const Expr *pointer = call->getArg(i + shift)->IgnoreParenCasts();
    const QualType parameter = callee->getParamDecl(i)->getType();
    const auto *address = dyn_cast<UnaryOperator>(pointer);
    if (address && address->getOpcode() == UO_AddrOf)
      pointer = address->getSubExpr();
    else if (!parameter->isLValueReferenceType() || parameter->getPointeeType().isConstQualified())
      continue;
    if (std::optional<Path> named = path(pointer);
        named && (pointer->getType()->isPointerType() ||
                  (isText(pointer->getType()) && !load(*named).place.is(Place::Kind::kNone)))) {
      Value anything;
      anything.place = Place::unknown();
      state_.values[*named] = anything;
    }
  }
}

Value Flow::evaluateTorchFunction(const CallExpr *call, llvm::StringRef name) {
  llvm::SmallVector<const Expr *, 4> arguments = argumentsOf(call);
  if (namesDevice(call->getType())) { // device(d), dtype(t), device_of(x)
    Value named = together(arguments);
    bool device = isDevice(call->getType()) || isDeviceType(call->getType()) || name == "device" ||
                  name == "device_index";
    if (device && named.place.is(Place::Kind::kNone))
      named.place = Place::chosen();
    return named;
  }
  // CUDA(kFloat): its lost index is another rule's matter.
  if (isLegacyType(call->getType())) {
    Value type = together(arguments);
    type.place = name == "CPU" ? Place::host() : Place::chosen();
    return type;
  }
  // checkBackend("f", {x, y}, Backend::CPU)
  if ((name == "checkBackend" || name == "checkDeviceType") && !arguments.empty() &&
      namesHost(arguments.back()))
    for (const Operand &checked : tensorOperands(nullptr, arguments))
      refineToHost(state_, exprOf(checked.expr));
  if (isFactory(call->getDirectCallee()))
    return evaluateFactory(call, name, nullptr, arguments);
  if (Value loaded; loadCall(call, name, loaded))
    return loaded;
  if (name == "all_gather_into_tensor" || name == "all_gather_into_tensor_coalesced") {
    Value value = together(arguments);
    if (!value.no_grad)
      value.add(Origin::Kind::kGather, call);
    record({Kind::kGather, call, name, nullptr, {}, tensorOperands(nullptr, arguments), value, {}});
    return value;
  }
  return evaluateTensorOp(call, name, nullptr);
}

Value Flow::evaluateDeviceMethod(const CallExpr *call, llvm::StringRef name, const Expr *receiver) {
  Value self = facts_.value(receiver);
  llvm::SmallVector<const Expr *, 4> arguments = argumentsOf(call);
  if (name == "operator=") {
    if (std::optional<Path> target = path(receiver); target && !arguments.empty())
      assign(*target, arguments[0], call);
    return arguments.empty() ? self : facts_.value(arguments[0]);
  }
  if (isTensorOptions(receiver->getType()) && isTensorOptions(call->getType())) {
    for (const Expr *argument : arguments) {
      Value given = facts_.value(argument);
      // The index of device(type, index) says nothing by itself.
      if ((name == "device" && argument == arguments.front()) || name == "device_opt" ||
          name == "device_index" || name == "merge_in") {
        if (!given.place.is(Place::Kind::kNone))
          self.place = given.place;
        self.drop(Origin::Kind::kDeviceName).drop(Origin::Kind::kDeviceIndex);
      }
      if (given.dtype != Dtype::kUnknown || name == "dtype")
        self.dtype = given.dtype;
      self.addAll(given);
    }
    // device(kCUDA, 1), device(text)
    if (name == "device" && arguments.size() == 2)
      addIndex(self, arguments[1]);
    if (name == "device_index" || (name == "device" && namesUnknownDevice(arguments.front())))
      self.place = Place::unknown();
    // Pinned memory is on the host, and meant to be.
    if (bool pinned = true;
        name == "pinned_memory" && self.place.is(Place::Kind::kNone) &&
        !(arguments[0]->EvaluateAsBooleanCondition(pinned, context_) && !pinned))
      self.place = Place::host();
    return self;
  }
  // device(), device_opt(), value(), *optional and type() all speak of the same device. type()
  // loses the index, which is another rule's matter; for conditions it has to keep the place.
  if (namesDevice(call->getType())) {
    if (name == "type" && self.place.is(Place::Kind::kFixed))
      self.place = Place::named(self.place.type, -1);
    return self;
  }
  return {};
}

// `std::vector<std::vector<Tensor>> outputs{slices}` holds handles of the tensors in `slices`:
// filling one fills both.
std::vector<Path> Flow::sameTensors(const Path &container) const {
  std::vector<Path> same{container};
  const auto *variable = dyn_cast_or_null<VarDecl>(declOf(container.root));
  if (!variable || !variable->getInit() || !container.fields.empty())
    return same;
  auto collect = [&](auto &&self, const Stmt *statement) -> void {
    if (const auto *reference = dyn_cast_or_null<DeclRefExpr>(statement))
      if (std::optional<Path> named = path(reference);
          named && holdsTensor(reference->getType()) && !isTensor(reference->getType()))
        same.push_back(*named);
    for (const Stmt *child : statement->children())
      if (child)
        self(self, child);
  };
  collect(collect, variable->getInit());
  return same;
}

Value Flow::evaluateGather(const CallExpr *call) {
  llvm::StringRef name = nameOf(call->getDirectCallee());
  llvm::SmallVector<const Expr *, 4> arguments = argumentsOf(call);
  static const llvm::StringRef kGathers[] = {
      "allgather", "_allgather_base", "allgather_coalesced", "allgather_into_tensor_coalesced",
      "gather",    "all_gather"};
  if (!llvm::is_contained(kGathers, name) || arguments.size() < 2)
    return {};
  Value input = facts_.value(arguments[1]);
  if (!input.no_grad && input.dtype != Dtype::kIntegral && input.dtype != Dtype::kBool)
    if (std::optional<Path> output = path(arguments[0]))
      for (const Path &filled : sameTensors(*output)) {
        Value value = load(filled);
        value.own_slice = false;
        value.no_grad = false;
        state_.values[filled] = value.add(Origin::Kind::kGather, call);
      }
  record({Kind::kGather,
          call,
          name,
          receiverOf(call),
          {},
          {{arguments[0], facts_.value(arguments[0])}, {arguments[1], input}},
          {},
          {}});
  return {};
}

// A container, iterator, optional or smart pointer: what goes in comes out.
Value Flow::evaluateLibraryMethod(const CallExpr *call, llvm::StringRef name,
                                  const Expr *receiver) {
  const llvm::SmallVector<const Expr *, 4> arguments = argumentsOf(call);
  std::optional<Path> target = path(receiver);
  if (name == "operator=" && target && !arguments.empty()) {
    assign(*target, arguments[0], call);
    return facts_.value(arguments[0]);
  }
  // std::tie(h, c) = …
  if (const auto *tied = dyn_cast<CallExpr>(strip(receiver));
      name == "operator=" && tied && nameOf(calleeOf(tied)) == "tie" && !arguments.empty()) {
    for (const Expr *part : tied->arguments())
      if (std::optional<Path> variable = path(part))
        assign(*variable, arguments[0], call);
    return facts_.value(arguments[0]);
  }
  Value self = facts_.value(receiver);
  // Text that is added to may name another device.
  const auto *method = dyn_cast<CXXMethodDecl>(call->getDirectCallee());
  if (target && method && !method->isConst() && !self.place.is(Place::Kind::kNone) &&
      (name == "operator+=" || name == "append") && !holdsTensor(receiver->getType()))
    self.place = state_.values[*target].place = Place::unknown();
  static const llvm::StringRef kAdds[] = {"push_back",  "emplace_back", "insert", "emplace",
                                          "push_front", "assign",       "push"};
  if (target && llvm::is_contained(kAdds, name)) {
    Value added = together(arguments);
    insert(*target, added);
    if (!arguments.empty())
      record({Kind::kAssign, call, name, receiver, {}, {{arguments.back(), added}}, added, target});
    return {};
  }
  if (target && name == "clear") {
    state_.values[*target] = {};
    return {};
  }
  return self;
}

// A function of the program's own: what it takes by reference may change, and modules, which are
// handles, may come back moved.
void Flow::forgetArguments(const CallExpr *call, const Expr *receiver) {
  const FunctionDecl *callee = call->getDirectCallee();
  for (const Expr *argument : argumentsOf(call))
    if (isModule(argument->getType())) {
      forgetLoaded(argument);
      if (std::optional<Path> module = path(argument))
        if (auto known = state_.values.find(*module); known != state_.values.end())
          known->second.place = Place::unknown();
    }
  if (callee)
    for (unsigned i = 0; i < call->getNumArgs() && i < callee->getNumParams(); ++i) {
      QualType parameter = callee->getParamDecl(i)->getType();
      unsigned shift = isa<CXXOperatorCallExpr>(call) && receiver ? 1 : 0;
      if (i + shift >= call->getNumArgs())
        break;
      const Expr *argument = call->getArg(i + shift);
      bool by_reference =
          parameter->isLValueReferenceType() && !parameter->getPointeeType().isConstQualified();
      if (std::optional<Path> target = path(argument);
          target && by_reference && holdsTensor(parameter)) {
        Value changed;
        changed.place = Place::unknown();
        state_.values[*target] = changed;
      } else if (target && isTensor(parameter) && shift == 0 && options_.host_checked_by_callee &&
                 load(*target).place.is(Place::Kind::kOf) &&
                 options_.host_checked_by_callee(callee, i)) {
        relyOnHost(argument);
      }
    }
}

Value Flow::evaluateOther(const CallExpr *call, llvm::StringRef name, const Expr *receiver) {
  llvm::SmallVector<const Expr *, 4> arguments = argumentsOf(call);
  const FunctionDecl *callee = call->getDirectCallee();
  callWithModules(call, receiver);
  if (receiver && callee && isLibraryDecl(callee))
    return evaluateLibraryMethod(call, name, receiver);
  if (callee && callee->isInStdNamespace()) {
    bool makes = name == "make_shared" || name == "make_unique";
    if (makes && isModule(call->getType()))
      return newModule(call, arguments);
    Value all = together(arguments);
    // "cuda:" + std::to_string(rank)
    if (name == "operator+" && !all.place.is(Place::Kind::kNone))
      all.place = Place::unknown();
    return all;
  }
  forgetArguments(call, receiver);
  record({Kind::kCall, call, name, nullptr, {}, tensorOperands(nullptr, arguments), {}, {}});
  if (isLauncher(callee))
    record({Kind::kLaunch, call, name, nullptr, {}, argumentsWithPlace(call), {}, {}});
  Value result;
  if (holdsTensor(call->getType()) || namesDevice(call->getType()) || isModule(call->getType())) {
    if (std::optional<Value> returned = returnedBy(callee, call, receiver))
      return *returned;
    result.place = callee && (holdsTensor(call->getType()) || isDevice(call->getType()))
                       ? Place::returnedBy(callee->getCanonicalDecl(), call)
                       : Place::unknown();
    // What a lambda gives is not followed.
    const CXXRecordDecl *owner = callee ? ownerOf(callee) : nullptr;
    result.place.on_device = namesDevice(call->getType()) || (owner && owner->isLambda());
  }
  return result;
}

// What the callee says of its result, seen from here: its parameters are the arguments, and what
// was done to the data on the way was done by the call.
std::optional<Value> Flow::returnedBy(const FunctionDecl *callee, const CallExpr *call,
                                      const Expr *receiver) const {
  const Value *returned =
      callee && options_.returned_by_callee ? options_.returned_by_callee(callee) : nullptr;
  if (!returned)
    return std::nullopt;
  Value value = *returned;
  value.place.call = {}; // what it was given is not seen from here
  value.origins.clear();
  for (const Origin &origin : returned->origins)
    switch (origin.kind) {
    case Origin::Kind::kHostCopy:
    case Origin::Kind::kFactory:
    case Origin::Kind::kHostScalar:
    case Origin::Kind::kDtypeOf:
    case Origin::Kind::kNewModule:
      value.add(origin.kind, call);
      break;
    case Origin::Kind::kDeviceName:
    case Origin::Kind::kDeviceIndex:
    case Origin::Kind::kGather:
    case Origin::Kind::kLoaded:
    case Origin::Kind::kRegistered:
      break;
    }
  if (!value.place.is(Place::Kind::kOf))
    return value;
  const Path &of = value.place.of;
  if (!of.root) {
    // A member of the object that the method was called on.
    std::optional<Path> object = receiver ? path(receiver) : std::nullopt;
    if (!object)
      return std::nullopt;
    object->fields.insert(object->fields.end(), of.fields.begin(), of.fields.end());
    value.place = load(*object).place;
    return value;
  }
  const auto *parameter = dyn_cast<ParmVarDecl>(declOf(of.root));
  const llvm::SmallVector<const Expr *, 4> arguments = argumentsOf(call);
  if (!parameter || parameter->getDeclContext() != callee->getDefinition() ||
      parameter->getFunctionScopeIndex() >= arguments.size())
    return std::nullopt;
  const Expr *argument = arguments[parameter->getFunctionScopeIndex()];
  if (of.fields.empty()) {
    Value given = facts_.value(argument);
    value.place = given.place;
    value.addAll(given);
  } else if (std::optional<Path> inner = path(argument)) {
    inner->fields.insert(inner->fields.end(), of.fields.begin(), of.fields.end());
    value.place = load(*inner).place;
  } else {
    return std::nullopt;
  }
  return value;
}

void Flow::recordReturn(const Expr *result) {
  const Expr *inner = strip(result);
  if (result->containsErrors()) {
    facts_.operations.push_back({.kind = Kind::kReturn,
                                 .expr = result,
                                 .name = "return",
                                 .result = Value::unknown(),
                                 .in_lambda = in_lambda_});
    return;
  }
  std::vector<const Expr *> elements;
  auto split = [&](auto &&self, const Expr *expr) -> void {
    expr = strip(expr);
    if (const auto *standard = dyn_cast<CXXStdInitializerListExpr>(expr))
      return self(self, standard->getSubExpr());
    if (const auto *list = dyn_cast<InitListExpr>(expr)) {
      for (const Expr *element : list->inits())
        self(self, element);
      return;
    }
    llvm::StringRef callee = nameOf(calleeOf(expr));
    bool groups = (isa<CXXConstructExpr>(expr) && !isTensor(expr->getType())) ||
                  callee == "make_tuple" || callee == "make_pair" || callee == "tie";
    llvm::SmallVector<const Expr *, 4> parts = argumentsOf(expr);
    if (groups && !parts.empty()) {
      for (const Expr *part : parts)
        self(self, part);
      return;
    }
    if (holdsTensor(expr->getType()))
      elements.push_back(expr);
  };
  split(split, inner);
  Operation operation{Kind::kReturn, result, "return", nullptr, {}, {}, {}, {}};
  for (const Expr *element : elements)
    operation.operands.push_back({element, facts_.value(element)});
  operation.result = facts_.value(inner);
  operation.in_lambda = in_lambda_;
  facts_.operations.push_back(std::move(operation));
}

} // namespace devsan::analyzer
