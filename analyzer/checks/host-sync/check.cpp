#include "analyzer/check_registry.h"
#include "analyzer/support/device_check.h"

#include <llvm/ADT/StringSet.h>

namespace devsan::analyzer {

namespace {

using namespace clang;

class HostSyncCheck : public DeviceCheck {
public:
  using DeviceCheck::DeviceCheck;

protected:
  void examine(const FunctionFacts &facts) override {
    for (const Operation &operation : facts.operations) {
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
                                          "local_scalar_dense",
                                          "_local_scalar_dense"};
    return kReads.contains(name);
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
    bool mask = isMask(operation);
    // where(condition) alone is nonzero under another name.
    bool where = operation.name == "where" && operation.operands.size() == 1;
    if (!mask && !where && !reads(operation.name))
      return;
    const Operand &read = operation.operands.front();
    if (onHost(read.value))
      return;
    // A mask assigned with a number becomes masked_fill, which does not wait.
    if (mask && operation.name.starts_with("index_put") && operation.operands.size() < 3)
      return;
    report(
        facts, operation.expr, read.expr,
        mask
            ? "'%0' needs the number of true elements of the mask, so the host waits for the device"
        : operation.name == "item"
            ? "'%0' makes the host wait for the device"
            : "'%0' gives the host a result of the device, so the host waits");
  }

  void examineMove(const FunctionFacts &facts, const Operation &move) {
    const Operand &moved = move.operands.front();
    if (move.target.place.onHost()) {
      // A round trip is reported as one, where the data goes back.
      if (!onHost(moved.value) && !comesBack(facts, move))
        report(facts, move.expr, moved.expr,
               "'%0' copies from the device, so the host waits for it");
    } else if (moved.value.place.onHost() && moved.value.has(Origin::Kind::kHostScalar) &&
               moved.value.zero_dim) {
      report(facts, move.expr, moved.expr, "'%0' copies one host value to the device");
    }
  }

  // torch::tensor(v, x.device()) is a tensor on the host and a copy.
  void examineHostValues(const FunctionFacts &facts) {
    for (const Operation &operation : facts.operations) {
      bool copies = operation.kind == Operation::Kind::kFactory && operation.name == "tensor" &&
                    !operation.receiver && !operation.target.place.onHost() &&
                    !operation.target.place.is(Place::Kind::kNone);
      if (copies)
        report(facts, operation.expr, operation.expr, "'%0' copies a host value to the device");
    }
  }

  static bool onHost(const Value &value) { return value.place.onHost(); }

  static bool comesBack(const FunctionFacts &facts, const Operation &copy) {
    return llvm::any_of(facts.operations, [&](const Operation &back) {
      if (back.kind != Operation::Kind::kMove || back.operands.empty() ||
          back.target.place.onHost())
        return false;
      return llvm::is_contained(back.operands.front().value.origins,
                                Origin{Origin::Kind::kHostCopy, copy.expr});
    });
  }

  void report(const FunctionFacts &facts, const Expr *call, const Expr *read,
              llvm::StringRef message) {
    std::string when = model().everyStep(call, facts.function);
    if (when.empty() || model().syncAllowed(call) || readOncePerLoop(facts, call, read) ||
        !firstAt(call))
      return;
    diag(locationOf(call),
         (message +
          " on every step (%1); keep the value on the device, or read it once after the loop")
             .str())
        << spelling(call) << when << call->getSourceRange();
  }

  // The innermost loop holds another one that computes what is read: `for (epoch) { for (batch) …;
  // print(loss.item()); }` reads once for all batches.
  bool readOncePerLoop(const FunctionFacts &facts, const Expr *call, const Expr *read) {
    const Stmt *loop = model().loopAround(call);
    std::optional<Path> variable = facts.path(rootOf(facts, read));
    if (!loop || !variable)
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
             sources.isBeforeInTranslationUnit(loop->getBeginLoc(), inner->getBeginLoc());
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
};

} // namespace

} // namespace devsan::analyzer

DEVSAN_REGISTER_CHECK(HostSyncCheck, host_sync)
