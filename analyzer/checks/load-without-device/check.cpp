#include "analyzer/ast/operator_name.h"
#include "analyzer/check_registry.h"
#include "analyzer/model/device_check.h"
#include "analyzer/model/fix_scope.h"

namespace devsan::analyzer {

namespace {

using namespace clang;

class LoadWithoutDeviceCheck : public DeviceCheck {
public:
  using DeviceCheck::DeviceCheck;

protected:
  void examine(const FunctionFacts &facts) override {
    if (!knowsDevice(facts))
      return;
    std::set<const Expr *> settled = settledLoads(facts);
    for (const Operation &operation : facts.operations)
      if (const Expr *load = usedLoad(facts, operation);
          load && !settled.contains(load) && !givesDevice(load) && firstAt(load))
        report(facts, load, operation);
  }

private:
  // The program puts something on a device here, or on one that only run time tells.
  static bool knowsDevice(const FunctionFacts &facts) {
    return llvm::any_of(facts.operations, [](const Operation &operation) {
      const Place &place = operation.target.place;
      bool puts =
          operation.kind == Operation::Kind::kMove || operation.kind == Operation::Kind::kFactory;
      if (place.isUnknown())
        return puts && llvm::any_of(argumentsOf(operation.expr),
                                    [](const Expr *a) { return namesDevice(a->getType()); });
      return puts && place.maybeOffHost();
    });
  }

  // Loads into a part of a moved module, which are device-module-replaced-after-to's, and those
  // that some path moves.
  static std::set<const Expr *> settledLoads(const FunctionFacts &facts) {
    std::set<const Expr *> settled = facts.moved_loads;
    auto add = [&](const Expr *expr) {
      settled.insert(strip(expr));
      for (const Origin &origin : facts.value(expr).origins)
        if (origin.kind == Origin::Kind::kLoaded)
          settled.insert(origin.expr);
    };
    for (const ReplacedPart &part : facts.exit.replaced)
      add(part.expr);
    for (const Expr *expr : facts.moved_later)
      add(expr);
    for (const Operation &operation : facts.operations)
      if (operation.kind == Operation::Kind::kMove && operation.receiver)
        add(operation.receiver);
    return settled;
  }

  static const Expr *usedLoad(const FunctionFacts &facts, const Operation &operation) {
    switch (operation.kind) {
    case Operation::Kind::kModule:
      return runsOnHost(facts, operation)
                 ? nullptr
                 : facts.value(operation.receiver).origin(Origin::Kind::kLoaded);
    case Operation::Kind::kTensorOp:
      return acceptsHostOperand(operation.name) ? nullptr : loadMeetingDevice(operation);
    case Operation::Kind::kReturn:
      return mayBeMoved(operation.expr->getType()) ? operation.result.origin(Origin::Kind::kLoaded)
                                                   : nullptr;
    case Operation::Kind::kMove:
    case Operation::Kind::kFactory:
    case Operation::Kind::kGather:
    case Operation::Kind::kCall:
    case Operation::Kind::kAssign:
    case Operation::Kind::kLaunch:
    case Operation::Kind::kWait:
      return nullptr;
    }
    llvm_unreachable("all kinds are handled");
  }

  static bool runsOnHost(const FunctionFacts &facts, const Operation &call) {
    llvm::SmallVector<const Expr *, 4> arguments = argumentsOf(call.expr);
    return !arguments.empty() && llvm::all_of(arguments, [&](const Expr *argument) {
      return facts.value(argument).place.onHost();
    });
  }

  // Loaded tensors may be worked on among themselves, and moved afterwards.
  static const Expr *loadMeetingDevice(const Operation &operation) {
    const Expr *load = nullptr;
    bool meets = false;
    for (const Operand &operand : operation.operands)
      if (const Expr *loaded = operand.value.origin(Origin::Kind::kLoaded))
        load = loaded;
      else
        meets |= operand.value.place.maybeOffHost();
    return meets ? load : nullptr;
  }

  // An object of another class that was given what was loaded may have moved it.
  static bool mayBeMoved(QualType type) {
    const CXXRecordDecl *record = type->getAsCXXRecordDecl();
    return isModule(type) || holdsTensor(type) ||
           (record && isTorchDecl(record) && record->getName() == "IValue");
  }

  // A device that the model cannot follow is one all the same; `std::nullopt` is none.
  static bool givesDevice(const Expr *load) {
    const auto *call = cast<CallExpr>(load);
    return llvm::any_of(argumentsOf(call), [](const Expr *argument) {
      QualType written = argument->IgnoreUnlessSpelledInSource()->getType();
      const CXXRecordDecl *record = written->getAsCXXRecordDecl();
      bool none = record && record->isInStdNamespace() && record->getName() == "nullopt_t";
      return namesDevice(argument->getType()) && !none;
    });
  }

  void report(const FunctionFacts &facts, const Expr *load, const Operation &use) {
    const auto *call = cast<CallExpr>(load);
    bool returned = use.kind == Operation::Kind::kReturn;
    bool appends = takesDeviceNext(call);
    const VarDecl *device = deviceFor(facts, call);
    std::string text = spelling(call);
    std::string callee = spelling(call->getCallee());
    std::string name = device ? device->getNameAsString() : "device";
    std::string remedy = "call .to(" + name + ") on it";
    // A long call is cut short in messages, and has no end to write the device before.
    if (appends && device && text.back() == ')')
      remedy =
          "pass the device, '" + text.substr(0, text.size() - 1) + ", " + name + ")', or " + remedy;
    else if (takesDevice(call))
      remedy = "pass the device to " + callee + "(), or " + remedy;
    Diagnosis finding{
        .place = locationOf(call),
        .message = llvm::formatv("what '{0}' reads keeps the device it was saved from and {1} "
                                 "without being moved: {2}",
                                 text, returned ? "is returned" : "is used", remedy)
                       .str(),
        .range = call->getSourceRange()};
    if (use.kind == Operation::Kind::kTensorOp) {
      finding.op = operatorName(use.expr);
      finding.to = placeMet(use).device();
    }
    if (appends && device && editable(call) && call->getRParenLoc().isFileID())
      finding.fix.push_back(FixItHint::CreateInsertion(call->getRParenLoc(), ", " + name));
    if (lineOf(use.expr) != lineOf(call))
      finding.related.push_back({locationOf(use.expr),
                                 returned ? "it is returned here" : "it is used here",
                                 use.expr->getSourceRange()});
    diagnose(std::move(finding));
  }

  // Of the others that a loaded tensor is used with.
  static Place placeMet(const Operation &use) {
    for (const Operand &operand : use.operands)
      if (!operand.value.has(Origin::Kind::kLoaded) && operand.value.place.maybeOffHost())
        return operand.value.place;
    return Place::unknown();
  }

  static bool takesDevice(const CallExpr *call) {
    const FunctionDecl *callee = call->getDirectCallee();
    // torch::load forwards what follows the value to a function whose last parameter is the device.
    return callee->getPrimaryTemplate() ||
           llvm::any_of(callee->parameters(),
                        [](const ParmVarDecl *p) { return namesDevice(p->getType()); });
  }

  static bool takesDeviceNext(const CallExpr *call) {
    const FunctionDecl *callee = call->getDirectCallee();
    unsigned given = argumentsOf(call).size();
    return callee->getPrimaryTemplate() ||
           (given < callee->getNumParams() && namesDevice(callee->getParamDecl(given)->getType()));
  }

  // The only variable that says where things go in this function, if the load can see it.
  const VarDecl *deviceFor(const FunctionFacts &facts, const CallExpr *load) {
    std::set<const VarDecl *> devices;
    auto collect = [&](auto &&self, const Stmt *statement) -> void {
      if (!statement)
        return;
      if (const auto *reference = dyn_cast<DeclRefExpr>(statement))
        if (const auto *variable = dyn_cast<VarDecl>(reference->getDecl());
            variable && isDevice(variable->getType()))
          devices.insert(variable);
      for (const Stmt *child : statement->children())
        self(self, child);
    };
    for (const Operation &operation : facts.operations)
      if (operation.kind == Operation::Kind::kMove || operation.kind == Operation::Kind::kFactory)
        for (const Expr *argument : argumentsOf(operation.expr))
          collect(collect, argument);
    return devices.size() == 1 && FixScope(facts.function, load).sees(*devices.begin())
               ? *devices.begin()
               : nullptr;
  }
};

} // namespace

} // namespace devsan::analyzer

DEVSAN_REGISTER_CHECK(LoadWithoutDeviceCheck, load_without_device)
