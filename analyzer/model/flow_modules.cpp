#include "analyzer/model/flow_transfer.h"

#include "analyzer/ast/torch_api.h"
#include "analyzer/model/module_state.h"

namespace devsan::analyzer {

using namespace clang;

namespace {

// Whether the part that `value` describes is on the host for sure, so that it does not follow its
// module's device.
bool staysBehind(const Value &value) {
  return value.has(Origin::Kind::kLoaded) ||
         (value.has(Origin::Kind::kNewModule) && value.place.onHost());
}

const CallExpr *registerCall(const Expr *value) {
  const auto *call = dyn_cast_or_null<CallExpr>(strip(value));
  // Holder(register_module(…)) passes it on.
  if (const auto *construct = dyn_cast_or_null<CXXConstructExpr>(strip(value));
      construct && construct->getNumArgs() >= 1)
    return registerCall(construct->getArg(0));
  llvm::StringRef name = nameOf(calleeOf(call));
  return name == "register_module" || name == "replace_module" ? call : nullptr;
}

} // namespace

const FunctionDecl *forwardOf(const CXXRecordDecl *module, const FunctionDecl *called) {
  if (!isTorchDecl(called))
    return called;
  const FunctionDecl *forward = nullptr;
  for (const CXXMethodDecl *method : module->methods())
    if (nameOf(method) == "forward") {
      if (forward)
        return nullptr; // which of them, is not asked
      forward = method;
    }
  return forward;
}

namespace {

// One of LibTorch's, which move nothing; but those that hold others may hold any.
bool movesNothing(const CXXRecordDecl *module) {
  return isTorchDecl(module) && !isModuleContainer(module);
}

} // namespace

// A module that `expr` makes, on the host unless it is told where.
Value Flow::newModule(const Expr *expr, llvm::ArrayRef<const Expr *> arguments) {
  Value value;
  value.place = Place::defaultHost();
  if (std::optional<Value> device = deviceAmong(arguments))
    value.place = device->place;
  value.add(Origin::Kind::kNewModule, expr);
  for (const Expr *argument : arguments)
    if (isModule(argument->getType()))
      forgetLoaded(argument);
  return value;
}

// Calls on modules. True where the call is one and `result` is its value.
bool Flow::moduleCall(const CallExpr *call, llvm::StringRef name, const Expr *receiver,
                      Value &result) {
  const CXXRecordDecl *module = moduleClass(receiver->getType());
  const FunctionDecl *callee = call->getDirectCallee();
  if (!module || !callee)
    return false;
  std::optional<Path> self = path(receiver);
  llvm::SmallVector<const Expr *, 4> arguments = argumentsOf(call);
  bool torch_method = isTorchDecl(callee);
  if (name == "operator=") {
    if (self && !arguments.empty())
      assign(*self, arguments[0], call);
    result = arguments.empty() ? Value() : facts_.value(arguments[0]);
    return true;
  }
  if (name == "operator->" || name == "operator*" || name == "get" || name == "ptr") {
    result = facts_.value(receiver);
    return true;
  }
  if (torch_method && name == "to") {
    if (std::optional<Value> device = deviceAmong(arguments)) {
      if (self) {
        facts_.moved_loads.merge(forgetLoaded(receiver));
        moveModule(*self, device->place, call);
      }
      record({Operation::Kind::kMove, call, name, receiver, *device, {}, *device, {}});
    }
    return true;
  }
  if (torch_method && (name == "cuda" || name == "cpu"))
    return true;
  if (torch_method && (name == "register_buffer" || name == "register_parameter")) {
    result = arguments.size() < 2 ? Value() : facts_.value(arguments[1]);
    result.add(Origin::Kind::kRegistered, call);
    if (arguments.size() >= 2)
      if (std::optional<Path> buffer = path(arguments[1])) {
        state_.values[*buffer] = result;
      }
    record({Operation::Kind::kTensorOp,
            call,
            name,
            receiver,
            {},
            tensorOperands(nullptr, arguments),
            result,
            {}});
    return true;
  }
  static const llvm::StringRef kPuts[] = {"register_module", "replace_module", "push_back",
                                          "insert",          "extend",         "update"};
  if (torch_method && llvm::is_contained(kPuts, name) && !arguments.empty()) {
    const Expr *part = arguments.back();
    if (self)
      putPart(*self, *self, part, call);
    result = facts_.value(part);
    // It goes wherever its module goes from now on.
    forgetLoaded(part);
    return true;
  }
  std::vector<Operand> operands = tensorOperands(nullptr, arguments);
  // A module call: forward(x), or the holder's operator().
  bool calls = name == "forward" || name == "operator()";
  if (!torch_method) {
    callWithModules(call, receiver);
    if (!calls)
      forgetLoaded(receiver);
    for (const Expr *argument : arguments)
      if (isModule(argument->getType()))
        forgetLoaded(argument);
  }
  if (holdsTensor(call->getType())) {
    result = calls ? combine(valuesOf(operands)) : Value();
    result.origins.clear();
    // A module that was made here and never moved computes on the host; one without tensors of its
    // own, wherever those are that it is given. So does any that moves nothing itself: else its
    // parameters and what it is given would not meet.
    bool stays = calls && facts_.value(receiver).has(Origin::Kind::kNewModule) &&
                 facts_.value(receiver).place.onHost() && !result.place.maybeOffHost() &&
                 moduleState(module).tensors;
    const bool from_host = calls && result.place.onHost() && moduleState(module).tensors;
    const FunctionDecl *forward = from_host ? forwardOf(module, callee) : nullptr;
    const std::optional<Value> returned = returnedBy(forward, call, receiver);
    if (stays || (from_host && movesNothing(module)) || (returned && returned->place.onHost()))
      result.place = Place::host();
    else if (forward && !returned && !isLibraryDecl(forward))
      result.place = Place::returnedBy(forward->getCanonicalDecl(), call);
    else if (result.place.is(Place::Kind::kNone) || from_host)
      result.place = Place::unknown();
  } else if (calls && movesNothing(module) && together(arguments).place.onHost()) {
    result.place = Place::host(); // of a scripted module: IValues
  }
  if (calls)
    record({Operation::Kind::kModule, call, name, receiver, {}, operands, result, {}});
  return torch_method || calls;
}

void Flow::moveModule(const Path &module, const Place &place, const Expr *at) {
  for (auto it = state_.replaced.begin(); it != state_.replaced.end();) {
    bool reached = it->part.startsWith(module) || (it->source && it->source->startsWith(module)) ||
                   module.startsWith(it->part);
    if (reached)
      facts_.moved_later.insert(it->expr);
    it = reached ? state_.replaced.erase(it) : std::next(it);
  }
  Value value = load(module);
  value.place = place;
  value.drop(Origin::Kind::kNewModule).drop(Origin::Kind::kLoaded);
  state_.values[module] = value;
  if (place.onHost())
    state_.moved.erase(module);
  else
    state_.moved[module] = at;
}

void Flow::putPart(const Path &module, const Path &part, const Expr *part_value, const Expr *at) {
  if (!staysBehind(facts_.value(part_value)))
    return;
  for (const auto &[moved, to] : state_.moved)
    if (module.startsWith(moved)) {
      state_.replaced.insert({at, to, moved, part, path(part_value),
                              facts_.value(part_value).has(Origin::Kind::kLoaded)});
      return;
    }
}

// `model->fc = …`, also around register_module, which then names the part.
void Flow::replaceByAssignment(const Path &path, const Expr *value) {
  if (path.fields.empty() || !isModule(declOf(path.last())->getType()))
    return;
  const CallExpr *registered = registerCall(value);
  if (registered) {
    for (ReplacedPart part : state_.replaced)
      if (part.expr == registered) {
        state_.replaced.erase(part);
        part.part = path;
        state_.replaced.insert(part);
        return;
      }
    return;
  }
  Path module = path;
  module.fields.pop_back();
  putPart(module, path, value, value);
}

// What reads a checkpoint. True where the call is one and `result` is its value.
bool Flow::loadCall(const CallExpr *call, llvm::StringRef name, Value &result) {
  static const llvm::StringRef kLoads[] = {"load", "pickle_load", "import_ir_module",
                                           "load_jit_module_from_file",
                                           "load_jit_module_from_stream"};
  if (!llvm::is_contained(kLoads, name))
    return false;
  if (call->getType()->isVoidType()) {
    loadInto(call);
    return true;
  }
  result.place = Place::unknown();
  if (std::optional<Value> device = deviceAmong(argumentsOf(call)))
    result.place = device->place;
  else
    result.add(Origin::Kind::kLoaded, call);
  return true;
}

// torch::load(model->head, file) gives the parameters the device they were saved on.
void Flow::loadInto(const CallExpr *call) {
  llvm::SmallVector<const Expr *, 4> arguments = argumentsOf(call);
  bool module = !arguments.empty() && isModule(arguments[0]->getType());
  if (!module && (arguments.empty() || !holdsTensor(arguments[0]->getType())))
    return;
  std::optional<Path> target = path(arguments[0]);
  if (!target)
    return;
  std::optional<Value> device = deviceAmong(llvm::ArrayRef(arguments).drop_front());
  if (!module) {
    Value read;
    read.place = device ? device->place : Place::unknown();
    state_.values[*target] = device ? read : read.add(Origin::Kind::kLoaded, call);
    return;
  }
  if (device)
    return;
  for (const auto &[moved, to] : state_.moved)
    if (target->startsWith(moved))
      state_.replaced.insert({call, to, moved, *target, target, true});
  Value value = load(*target);
  state_.values[*target] = value.add(Origin::Kind::kLoaded, call);
}

// `expr` is moved, or in other hands now, which may move it; gives the loads that were in it.
// Copies of a module share its parameters, so they are forgotten too.
std::set<Code> Flow::forgetLoaded(const Expr *expr) {
  std::set<Code> loads;
  std::optional<Path> gone = path(expr);
  if (!gone)
    return loads;
  for (const auto &[where, value] : state_.values)
    if (where.startsWith(*gone))
      loads.insert(value.origin(Origin::Kind::kLoaded));
  loads.erase(nullptr);
  for (auto &[where, value] : state_.values)
    if (loads.contains(value.origin(Origin::Kind::kLoaded)))
      value.drop(Origin::Kind::kLoaded);
  return loads;
}

// A function of the program that replaces a part of the module it is called on, or given.
void Flow::callWithModules(const CallExpr *call, const Expr *receiver) {
  const FunctionDecl *callee = call->getDirectCallee();
  if (!callee || !options_.replaced_by_callee || state_.moved.empty() || isLibraryDecl(callee))
    return;
  auto ask = [&](const Expr *expr, std::optional<unsigned> index) {
    std::optional<Path> module = expr && isModule(expr->getType()) ? path(expr) : std::nullopt;
    if (!module)
      return;
    for (const auto &[moved, to] : state_.moved)
      if (module->startsWith(moved))
        if (const Expr *inner = options_.replaced_by_callee(callee, index)) {
          state_.replaced.insert({call, to, moved, *module, std::nullopt, false, inner});
          return;
        }
  };
  if (isa<CXXMemberCallExpr>(call))
    ask(receiver, std::nullopt);
  else if (!receiver)
    for (unsigned i = 0; i < call->getNumArgs() && i < callee->getNumParams(); ++i)
      ask(call->getArg(i), i);
}

} // namespace devsan::analyzer
