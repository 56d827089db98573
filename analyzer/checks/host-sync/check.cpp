#include "analyzer/ast/operator_name.h"
#include "analyzer/check_registry.h"
#include "analyzer/model/device_check.h"

#include <llvm/ADT/StringSet.h>
#include <llvm/ADT/StringSwitch.h>

namespace devsan::analyzer {

namespace {

using namespace clang;

class HostSyncCheck : public DeviceCheck {
public:
  using DeviceCheck::DeviceCheck;

  void onEndOfTranslationUnit() override {
    seen_.clear();
    DeviceCheck::onEndOfTranslationUnit();
  }

protected:
  void examine(const FunctionFacts &facts) override {
    if (model().hostOnly() || model().programWithoutDevices())
      return;
    for (const Operation &operation : facts.operations) {
      if (operation.kind == Operation::Kind::kWait && !model().besideClock(operation.expr))
        report(facts, operation.expr, nullptr, {}, "makes the host wait for the device",
               waitRemedy(operation.name));
      if (operation.operands.empty())
        continue;
      if (operation.kind == Operation::Kind::kMove)
        examineMove(facts, operation);
      else if (operation.kind == Operation::Kind::kTensorOp)
        examineOperation(facts, operation);
    }
    examineHostValues(facts);
  }

private:
  // From where to where the data goes, as findings say it.
  struct Way {
    std::string from, to;
  };
  static Way toHost(const Value &value) { return {value.place.device(), Place::host().device()}; }
  static Way fromHost(const Place &target) { return {Place::host().device(), target.device()}; }

  static constexpr llvm::StringLiteral kMakeThere =
      "make it once, before the loop, or fill it on the device: `torch::full`";

  // Reads data of the device to tell the host something: a number, a truth, or how many elements a
  // result has.
  static bool reads(llvm::StringRef name) {
    static const llvm::StringSet<> kReads{"item",
                                          "nonzero",
                                          "nonzero_numpy",
                                          "argwhere",
                                          "masked_select",
                                          "is_nonzero",
                                          "equal",
                                          "allclose",
                                          "unique",
                                          "_unique",
                                          "_unique2",
                                          "unique_dim",
                                          "unique_consecutive",
                                          "unique_dim_consecutive",
                                          "bincount",
                                          "tolist",
                                          "clip_grad_norm_",
                                          "local_scalar_dense",
                                          "_local_scalar_dense",
                                          "operator<<"};
    return kReads.contains(name);
  }

  // Size their result by what is in the data, unless they are told the size.
  static bool readsSize(const Operation &operation) {
    llvm::StringRef wanted = operation.name == "repeat_interleave" ? "output_size"
                             : operation.name == "one_hot"         ? "num_classes"
                                                                   : "";
    const auto *call = dyn_cast<CallExpr>(operation.expr);
    const FunctionDecl *callee = call ? call->getDirectCallee() : nullptr;
    if (wanted.empty() || !callee)
      return false;
    // Repeats given as one number are no data.
    bool by_data = operation.name == "one_hot" || operation.operands.size() > 1 ||
                   (!operation.receiver && callee->getNumParams() < 4);
    for (unsigned i = 0; i < callee->getNumParams() && i < call->getNumArgs(); ++i)
      if (callee->getParamDecl(i)->getName() == wanted)
        return by_data && isa<CXXDefaultArgExpr>(call->getArg(i));
    return false;
  }

  // Compute a result and then read from the device whether that worked. Each has a twin that leaves
  // the look to the caller.
  static llvm::StringRef uncheckedTwin(llvm::StringRef name) {
    return llvm::StringSwitch<llvm::StringRef>(name)
        .Cases({"inverse", "linalg_inv"}, "linalg_inv_ex")
        .Cases({"cholesky", "linalg_cholesky"}, "linalg_cholesky_ex")
        .Case("linalg_solve", "linalg_solve_ex")
        .Case("linalg_lu_factor", "linalg_lu_factor_ex")
        .Case("linalg_ldl_factor", "linalg_ldl_factor_ex")
        .Default("");
  }

  static bool isMask(const Operation &operation) {
    bool indexes = operation.name == "index" || operation.name == "operator[]" ||
                   operation.name == "index_put_" || operation.name == "index_put";
    if (!indexes)
      return false;
    for (std::size_t i = 1; i < operation.operands.size(); ++i)
      if (operation.operands[i].value.dtype == Dtype::kBool)
        return true;
    return false;
  }

  void examineOperation(const FunctionFacts &facts, const Operation &operation) {
    llvm::StringRef twin = uncheckedTwin(operation.name);
    if (!twin.empty() && !onHost(operation.operands.front().value))
      report(facts, operation.expr, operation.operands.front().expr,
             toHost(operation.operands.front().value),
             "reads on the host whether it succeeded, so the host waits for the device",
             ("use `" + twin + "`, and look at its info once, if at all").str());
    examineCopy(facts, operation);
    bool mask = isMask(operation);
    // where(condition) alone is nonzero under another name.
    bool where = operation.name == "where" &&
                 argumentsOf(operation.expr).size() + (operation.receiver != nullptr) == 1;
    bool size = readsSize(operation);
    if (!mask && !where && !size && !reads(operation.name))
      return;
    // For repeat_interleave(x, repeats) the last tensor tells the size.
    const Operand &read = size ? operation.operands.back() : operation.operands.front();
    if (onHost(read.value))
      return;
    // A mask assigned with a number becomes masked_fill, which does not wait.
    if (mask && operation.name.starts_with("index_put") && operation.operands.size() < 3)
      return;
    report(facts, operation.expr, read.expr, toHost(read.value),
           mask ? "needs the number of true elements of the mask, so the host waits for the device"
           : size ? "needs the size of its result, so the host waits for the device"
           : operation.name == "item" ? "makes the host wait for the device"
                                      : "gives the host a result of the device, so the host waits",
           mask                          ? "keep the shape: `torch::where` or `masked_fill`"
           : operation.name == "one_hot" ? "pass `num_classes`"
           : operation.name == "clip_grad_norm_"
               ? "scale the gradients on the device, by `torch::clamp_max(max_norm / norm, 1)`"
           : size ? "pass `output_size`"
                  : "");
  }

  static llvm::StringRef waitRemedy(llvm::StringRef name) {
    return name.ends_with("Memcpy")
               ? "copy asynchronously, to pinned memory, and wait for an event where the data is "
                 "needed"
               : "order the work with streams and events, and wait once after the loop, if at all";
  }

  void examineMove(const FunctionFacts &facts, const Operation &move) {
    const Operand &moved = move.operands.front();
    // The copy goes to pinned memory, and nobody waits.
    if (nonBlocking(move.expr))
      return;
    if (move.target.place.onHost()) {
      // A round trip is reported as one, where the data goes back.
      if (!onHost(moved.value) && !returnsToDevice(facts, move))
        report(facts, move.expr, moved.expr, toHost(moved.value),
               "copies from the device, so the host waits for it");
    } else if (moved.value.place.onHost() && moved.value.has(Origin::Kind::kHostScalar) &&
               moved.value.zero_dim) {
      report(facts, move.expr, moved.expr, fromHost(move.target.place),
             "copies one host value to the device", kMakeThere);
    }
  }

  // torch::tensor({v}, x.device()) is a tensor on the host and a copy; one number fills a tensor.
  void examineHostValues(const FunctionFacts &facts) {
    for (const Operation &operation : facts.operations) {
      bool copies = operation.kind == Operation::Kind::kFactory && operation.name == "tensor" &&
                    !operation.receiver && !operation.result.zero_dim &&
                    !operation.target.place.onHost() &&
                    !operation.target.place.is(Place::Kind::kNone);
      if (copies)
        report(facts, operation.expr, operation.expr, fromHost(operation.target.place),
               "copies a host value to the device", kMakeThere);
    }
  }

  // host.copy_(x) for x on the device.
  void examineCopy(const FunctionFacts &facts, const Operation &copy) {
    if (copy.name != "copy_" || copy.operands.size() != 2 || nonBlocking(copy.expr) ||
        !copy.operands[0].value.place.onHost() || !copy.operands[1].value.place.maybeOffHost())
      return;
    report(facts, copy.expr, copy.operands[1].expr, toHost(copy.operands[1].value),
           "copies from the device, so the host waits for it");
  }

  // to(kCPU, /*non_blocking=*/true); a variable may be true.
  bool nonBlocking(const Expr *call) {
    const auto *plain = dyn_cast<CallExpr>(call);
    const FunctionDecl *callee = plain ? plain->getDirectCallee() : nullptr;
    for (unsigned i = 0; callee && i < callee->getNumParams() && i < plain->getNumArgs(); ++i)
      if (callee->getParamDecl(i)->getName() == "non_blocking") {
        bool value = true;
        const Expr *given = plain->getArg(i);
        return !isa<CXXDefaultArgExpr>(given) &&
               (given->isValueDependent() ||
                !given->EvaluateAsBooleanCondition(value, model().context()) || value);
      }
    return false;
  }

  // Where nothing in the file deals with devices, tensors that come from nowhere in particular are
  // the host's.
  bool onHost(const Value &value) {
    return value.place.onHost() || (!value.place.maybeOffHost() && !model().knowsDevices());
  }

  static bool returnsToDevice(const FunctionFacts &facts, const Operation &copy) {
    return llvm::any_of(facts.operations, [&](const Operation &back) {
      if (back.kind != Operation::Kind::kMove || back.operands.empty() ||
          back.target.place.onHost())
        return false;
      return llvm::is_contained(back.operands.front().value.origins,
                                Origin{Origin::Kind::kHostCopy, copy.expr});
    });
  }

  void report(const FunctionFacts &facts, const Expr *call, const Expr *read, Way way,
              llvm::StringRef what, llvm::StringRef remedy = "") {
    // What an operator got from elsewhere may well be the host's: sizes, offsets.
    const Place place = read ? facts.value(read).place : Place::host();
    if (!place.maybeOffHost() && !place.onHost() && model().isOperator(facts.function) &&
        !DeviceModel::isStep(facts.function) && !model().loopAround(call))
      return;
    std::string when = model().everyStep(call, facts.function);
    if (when.empty() || model().syncAllowed(call) || (read && readOncePerLoop(facts, call, read)) ||
        (read && !isFirstOfTensor(facts, call, read)) || !firstAt(call))
      return;
    diagnose({.place = locationOf(call),
              .message =
                  llvm::formatv("'{0}' {1} on every step ({2})", spelling(call), what, when).str(),
              .range = call->getSourceRange(),
              .op = operatorName(call),
              .from = std::move(way.from),
              .to = std::move(way.to),
              .remedy = remedy.str(),
              .holder = holderFor(facts, call, place)});
  }

  // `box[i][0].item()`, `box[i][1].item()`, or `loss.item()` twice: one wait would read them all.
  bool isFirstOfTensor(const FunctionFacts &facts, const Expr *call, const Expr *read) {
    const Expr *whole = strip(read);
    bool is_same_wait = nameOf(calleeOf(strip(call))) == "item";
    static const llvm::StringSet<> kElements{"index", "select", "narrow", "data", "at"};
    while (!facts.path(whole) || isElementAccess(whole)) {
      const auto *subscript = dyn_cast<CXXOperatorCallExpr>(whole);
      const Expr *receiver = receiverOf(whole);
      if (!receiver || !((subscript && subscript->getOperator() == OO_Subscript) ||
                         kElements.contains(nameOf(calleeOf(whole)))))
        return true;
      is_same_wait = true;
      whole = strip(receiver);
    }
    return !is_same_wait ||
           seen_.insert({facts.function, model().loopAround(call), *facts.path(whole)}).second;
  }
  // Of a list of tensors: its path is that of the list.
  static bool isElementAccess(const Expr *expr) {
    const auto *subscript = dyn_cast<CXXOperatorCallExpr>(expr);
    return subscript && subscript->getOperator() == OO_Subscript;
  }

  // The innermost loop holds another one that computes what is read: `for (epoch) { for (batch) …;
  // print(loss.item()); }` reads once for all batches. The outer one may be in a caller.
  bool readOncePerLoop(const FunctionFacts &facts, const Expr *call, const Expr *read) {
    const Stmt *loop = model().loopAround(call);
    std::optional<Path> variable = facts.path(rootOf(facts, read));
    if (!variable || (!loop && !model().isLoopBody(facts.function)))
      return false;
    const SourceManager &sources = model().context().getSourceManager();
    return llvm::any_of(facts.operations, [&](const Operation &operation) {
      bool writes = operation.kind == Operation::Kind::kAssign || isInPlace(operation.name) ||
                    operation.name == "operator+=" || operation.name == "operator=";
      if (!writes || operation.path != variable)
        return false;
      const Stmt *inner = model().loopAround(operation.expr);
      return inner && inner != loop &&
             sources.isBeforeInTranslationUnit(inner->getEndLoc(), call->getEndLoc()) &&
             (!loop ||
              sources.isBeforeInTranslationUnit(loop->getBeginLoc(), inner->getBeginLoc()));
    });
  }

  // The variable at the start of a chain of calls: `total` in total.sum().mean().
  static const Expr *rootOf(const FunctionFacts &facts, const Expr *expr) {
    expr = strip(expr);
    while (!facts.path(expr)) {
      const Expr *receiver = receiverOf(expr);
      if (!receiver) {
        llvm::SmallVector<const Expr *, 4> arguments = argumentsOf(expr);
        if (arguments.empty() || !holdsTensor(arguments[0]->getType()))
          return expr;
        receiver = arguments[0];
      }
      expr = strip(receiver);
    }
    return expr;
  }

  // What was reported: by function, loop and tensor.
  std::set<std::tuple<const FunctionDecl *, const Stmt *, Path>> seen_;
};

} // namespace

} // namespace devsan::analyzer

DEVSAN_REGISTER_CHECK(HostSyncCheck, host_sync)
