#include "analyzer/ast/operator_name.h"
#include "analyzer/check_registry.h"
#include "analyzer/model/device_check.h"
#include "analyzer/model/fix_scope.h"
#include "analyzer/model/host_reads.h"

#include <clang/AST/ParentMapContext.h>
#include <llvm/ADT/StringSet.h>

namespace devsan::analyzer {

namespace {

using namespace clang;

class MissingDeviceCheck : public DeviceCheck {
public:
  using DeviceCheck::DeviceCheck;

protected:
  void examine(const FunctionFacts &facts) override {
    if (model().programWithoutDevices())
      return;
    read_here_.clear();
    for (const HostRead &read : hostReads(facts.function))
      if (Place place = facts.value(read.pointer->getImplicitObjectArgument()).place;
          place.is(Place::Kind::kOf) && isTensorPath(place.of))
        read_here_.insert(place.of);
    for (const Operation &operation : facts.operations) {
      if (operation.kind == Operation::Kind::kTensorOp && takesIndices(operation.name))
        examineIndexing(facts, operation);
      else if (operation.kind == Operation::Kind::kTensorOp && !acceptsHostOperand(operation.name))
        examineMeeting(facts, operation);
      else if (operation.kind == Operation::Kind::kModule)
        examineModule(facts, operation);
      else if (operation.kind == Operation::Kind::kReturn)
        examineReturn(facts, operation);
      else if (operation.kind == Operation::Kind::kCall)
        examineCall(facts, operation);
      else if (operation.kind == Operation::Kind::kLaunch)
        examineLaunch(facts, operation);
    }
  }

private:
  static const Expr *factoryOf(const Value &value) {
    return value.place.is(Place::Kind::kDefaultHost) && !value.zero_dim
               ? value.origin(Origin::Kind::kFactory)
               : nullptr;
  }

  void examineMeeting(const FunctionFacts &facts, const Operation &operation) {
    meet(facts, operation, operation.operands);
    if (onEveryTurn(operation.expr))
      meet(facts, operation, operation.first_turn);
  }

  // Under a condition, it may be left out on the first turn.
  bool onEveryTurn(const Expr *expr) {
    const Stmt *loop = model().loopAround(expr);
    const Stmt *child = expr;
    while (loop && child != loop) {
      DynTypedNodeList parents = model().context().getParents(*child);
      const Stmt *parent = parents.empty() ? nullptr : parents[0].get<Stmt>();
      if (!parent && !parents.empty() && parents[0].get<VarDecl>()) {
        parents = model().context().getParents(parents[0]);
        parent = parents.empty() ? nullptr : parents[0].get<Stmt>();
      }
      if (!parent || isa<IfStmt, SwitchStmt, AbstractConditionalOperator>(parent))
        return false;
      child = parent;
    }
    return loop != nullptr;
  }

  void meet(const FunctionFacts &facts, const Operation &operation,
            const std::vector<Operand> &operands) {
    const Operand *device = deviceOperand(facts, operands);
    if (!device)
      return;
    for (const Operand &operand : operands)
      if (const Expr *factory = factoryOf(operand.value))
        report(facts, factory, *device, operation, "meets");
  }

  static bool takesIndices(llvm::StringRef name) {
    return name == "index" || name == "operator[]" || name == "index_put" || name == "index_put_" ||
           name == "_index_put_impl_";
  }

  // ATen moves indices, but not what they index, nor the values that are put there.
  void examineIndexing(const FunctionFacts &facts, const Operation &operation) {
    const Operand *device = deviceOperand(facts, operation.operands);
    const auto *call = dyn_cast<CallExpr>(operation.expr);
    if (!device || !call)
      return;
    llvm::SmallVector<const Expr *, 2> indexed;
    if (operation.receiver)
      indexed.push_back(strip(operation.receiver));
    if (!operation.receiver || operation.name != "operator[]")
      for (const Expr *argument : argumentsOf(call))
        if (isTensor(argument->getType()))
          indexed.push_back(strip(argument));
    for (const Operand &operand : operation.operands)
      if (const Expr *factory = factoryOf(operand.value);
          factory && llvm::is_contained(indexed, strip(operand.expr)))
        report(facts, factory, *device, operation, "meets");
  }

  // A module of LibTorch's own computes where its parameters are. One of the program's may move
  // what it is given.
  void examineModule(const FunctionFacts &facts, const Operation &call) {
    const CXXRecordDecl *module = moduleClass(call.receiver->getType());
    if (!module || !isTorchDecl(module) || isa<CXXConstructorDecl>(facts.function))
      return;
    const Expr *object = call.receiver;
    if (const auto *arrow = dyn_cast<CXXOperatorCallExpr>(strip(object));
        arrow && arrow->getOperator() == OO_Arrow)
      object = arrow->getArg(0);
    for (const std::vector<Operand> *operands : {&call.operands, &call.first_turn}) {
      if (operands == &call.first_turn && !onEveryTurn(call.expr))
        continue;
      meet(facts, call, *operands);
      Operand receiver{object, facts.value(call.receiver)};
      if (!wasMoved(facts, receiver.value.place))
        continue;
      for (const Operand &operand : *operands)
        if (const Expr *factory = factoryOf(operand.value))
          report(facts, factory, receiver, call, "meets");
    }
  }

  // To a device, here or together with the module that this is a method of.
  static bool wasMoved(const FunctionFacts &facts, const Place &place) {
    if (!place.is(Place::Kind::kOf))
      return place.isSpelledDevice();
    if (!place.of.root)
      return derivesFromModule(ownerOf(facts.function));
    const ValueDecl *decl = place.of.fields.empty() ? place.of.root : place.of.fields.back();
    return namesDevice(decl->getType()) || isTensor(decl->getType());
  }

  // Handed beside the inputs of an operator to the code that does its work. Numbers that were made
  // of host data are often wanted on the host there, and so is all in a file for the host.
  void examineCall(const FunctionFacts &facts, const Operation &call) {
    const Operand *device = deviceOperand(facts, call.operands);
    if (!device || model().hostOnly())
      return;
    for (const Operand &operand : call.operands) {
      const Expr *factory = factoryOf(operand.value);
      if (factory && !operand.value.has(Origin::Kind::kHostScalar) && anyDtype(facts, factory) &&
          !model().stepOf(facts.function).empty())
        report(facts, factory, *device, call, "is handed on beside");
    }
  }

  // The kernel would follow a pointer into the host's memory; ATen has no say there. A function
  // that launches may want some on the host: sizes, offsets, what was made of host data.
  void examineLaunch(const FunctionFacts &facts, const Operation &launch) {
    const Operand *device = deviceOperand(facts, launch.operands);
    const bool direct = isa<CUDAKernelCallExpr>(launch.expr);
    for (const Operand &operand : launch.operands) {
      const Expr *factory = factoryOf(operand.value);
      if (!device || !factory || makesEmptyTensor(factory))
        continue;
      const bool data = operand.expr->getType()->isPointerType() &&
                        !operand.value.has(Origin::Kind::kHostScalar) && anyDtype(facts, factory);
      if (direct || data)
        report(facts, factory, *device, launch, "goes to a kernel beside");
    }
  }

  // empty({0}), for a kernel's argument that is not there; its pointer is null.
  bool makesEmptyTensor(const Expr *factory) {
    const auto *call = dyn_cast<CallExpr>(strip(factory));
    static const llvm::StringSet<> kSizesFirst{"empty", "zeros", "ones", "full", "rand", "randn"};
    if (!call || call->getNumArgs() == 0 || !kSizesFirst.contains(nameOf(calleeOf(call))))
      return false;
    return hasZero(call->getArg(0));
  }

  // A literal 0 among the sizes themselves, not in what computes one of them: x.size(0).
  static bool hasZero(const Expr *sizes) {
    const Expr *inner = strip(sizes);
    if (const auto *literal = dyn_cast<IntegerLiteral>(inner))
      return literal->getValue() == 0;
    if (!isa<InitListExpr, CXXConstructExpr, CXXStdInitializerListExpr>(inner))
      return false;
    return llvm::any_of(inner->children(), [](const Stmt *part) {
      const auto *element = dyn_cast_or_null<Expr>(part);
      return element && hasZero(element);
    });
  }

  // Made with the default dtype, or with that of another tensor; not the integers of metadata.
  static bool anyDtype(const FunctionFacts &facts, const Expr *factory) {
    const Value &target = factoryCall(facts, factory).target;
    static const llvm::StringSet<> kFloats{"zeros", "ones", "empty", "rand", "randn"};
    return (target.dtype == Dtype::kFloating || target.has(Origin::Kind::kDtypeOf) ||
            target == Value()) &&
           kFloats.contains(nameOf(calleeOf(strip(factory))));
  }

  const Operand *deviceOperand(const FunctionFacts &facts,
                               const std::vector<Operand> &operands) const {
    for (const Operand &operand : operands)
      if (operand.value.place.maybeOffHost() && !isReadHere(operand.value.place) &&
          !operand.value.has(Origin::Kind::kFactory) && follows(facts, operand.value.place))
        return &operand;
    return nullptr;
  }

  // Whoever follows a pointer into a tensor's memory has it on the host.
  bool isReadHere(const Place &place) const {
    return place.is(Place::Kind::kOf) && read_here_.contains(place.of);
  }

  // A module's tensors go where the module goes; members of other classes may well be kept on the
  // host.
  static bool follows(const FunctionFacts &facts, const Place &place) {
    bool member = place.is(Place::Kind::kOf) && !place.of.root;
    return !member || derivesFromModule(ownerOf(facts.function));
  }

  void examineReturn(const FunctionFacts &facts, const Operation &result) {
    const Operand *device = deviceOperand(facts, result.operands);
    for (const Operand &operand : result.operands) {
      const Expr *factory = factoryOf(operand.value);
      if (!factory)
        continue;
      Operation made = factoryCall(facts, factory);
      // A dtype taken from a tensor whose device was left out.
      const Expr *dtype_from = made.target.origin(Origin::Kind::kDtypeOf);
      if (dtype_from && receiverOf(dtype_from)) {
        const Expr *tensor = receiverOf(dtype_from);
        if (facts.value(tensor).place.maybeOffHost())
          report(facts, factory, {tensor, facts.value(tensor)}, result,
                 "is returned without the device of");
        continue;
      }
      // Counts and offsets made from host values are often wanted on the host.
      bool host_data =
          operand.value.has(Origin::Kind::kHostScalar) || operand.value.dtype == Dtype::kIntegral;
      if (device && !host_data)
        report(facts, factory, *device, result, "is returned beside");
    }
  }

  static Operation factoryCall(const FunctionFacts &facts, const Expr *factory) {
    for (const Operation &operation : facts.operations)
      if (operation.expr == factory)
        return operation;
    return {Operation::Kind::kFactory, factory, "", nullptr, {}, {}, {}, {}};
  }

  void report(const FunctionFacts &facts, const Expr *factory, const Operand &other,
              const Operation &use, llvm::StringRef how) {
    if (!firstAt(factory))
      return;
    const Place &place = other.value.place;
    std::string other_name = spelling(other.expr);
    const FixScope scope(facts.function, factory);
    std::string device;
    if (place.is(Place::Kind::kOf) && isTensorPath(place.of))
      device = scope.device(place.of).value_or("");
    // `p->a` is on the device of 'p.a', which says nothing new.
    const bool is_itself = place.is(Place::Kind::kOf) && facts.path(other.expr) == place.of &&
                           isa<DeclRefExpr, MemberExpr>(strip(other.expr));
    const bool wraps = nameOf(calleeOf(strip(factory))) == "from_blob";
    Diagnosis finding{.place = locationOf(factory),
                      .message =
                          llvm::formatv("'{0}' makes a tensor on the CPU that {1} '{2}'{3}: {4}{5}",
                                        spelling(factory), how, other_name,
                                        is_itself ? "" : ", which is on " + place.text(),
                                        wraps ? "move it to the device" : "pass the device",
                                        device.empty() ? "" : " (" + device + ")")
                              .str(),
                      .range = factory->getSourceRange(),
                      .op = use.kind == Operation::Kind::kReturn ? "" : operatorName(use.expr),
                      .from = Place::host().device(),
                      .to = place.device(),
                      .holder = holderFor(facts, use.expr, place)};
    if (!device.empty()) {
      finding.fix = fix(factory, device, wraps);
      finding.remedy = wraps ? "copy it there: `.to(" + device + ")`"
                             : "pass the device: `.device(" + device + ")` on the options";
    }
    if (lineOf(use.expr) != lineOf(factory))
      finding.related.push_back(
          {locationOf(use.expr), "here they come together", use.expr->getSourceRange()});
    diagnose(std::move(finding));
  }

  static bool isTensorPath(const Path &path) {
    const ValueDecl *decl = path.fields.empty() ? path.root : path.fields.back();
    return decl && isTensor(decl->getType());
  }

  // Host memory that a tensor wraps is no device's: it is copied.
  llvm::SmallVector<FixItHint, 4> fix(const Expr *factory, const std::string &device, bool wraps) {
    if (!wraps)
      return passDevice(factory, device);
    const auto *call = dyn_cast<CallExpr>(strip(factory));
    if (!call || !editable(call) || !call->getRParenLoc().isFileID())
      return {};
    return {FixItHint::CreateInsertion(call->getRParenLoc().getLocWithOffset(1),
                                       ".to(" + device + ")")};
  }

  std::set<Path> read_here_; // tensors whose memory the function reads on the host
};

} // namespace

} // namespace devsan::analyzer

DEVSAN_REGISTER_CHECK(MissingDeviceCheck, missing_device)
