#include "analyzer/ast/operator_name.h"
#include "analyzer/check_registry.h"
#include "analyzer/model/device_check.h"

namespace devsan::analyzer {

namespace {

class CpuRoundTripCheck : public DeviceCheck {
public:
  using DeviceCheck::DeviceCheck;

protected:
  void examine(const FunctionFacts &facts) override {
    for (const Operation &operation : facts.operations)
      if (operation.kind == Operation::Kind::kMove && !operation.operands.empty())
        examineMove(facts, operation);
  }

private:
  void examineMove(const FunctionFacts &facts, const Operation &move) {
    const Operand &moved = move.operands.front();
    const clang::Expr *there = moved.value.origin(Origin::Kind::kHostCopy);
    const Place &target = move.target.place;
    // What came from the host anyway, or goes to a place that may be the host, is no round trip for
    // sure.
    if (!there || !moved.value.place.onHost() || target.onHost() || target.is(Place::Kind::kNone) ||
        !firstAt(move.expr))
      return;
    const std::string line = lineOf(there) != lineOf(move.expr)
                                 ? " on line " + std::to_string(lineOf(there))
                                 : std::string();
    const clang::Expr *original = receiverOf(there);
    diagnose(
        {.place = locationOf(move.expr),
         .message = llvm::formatv("'{0}' goes back to {1} after the data was copied to the CPU{2}: "
                                  "both copies make the host wait; compute on the device, or move "
                                  "once and stay",
                                  spelling(move.receiver),
                                  target.isUnknown() ? "a device" : target.text(), line)
                        .str(),
         .range = move.expr->getSourceRange(),
         .op = operatorName(move.expr),
         .from = original ? facts.value(original).place.device() : "",
         .to = target.device(),
         .related = {{locationOf(there), "copied to the CPU here", there->getSourceRange()}}});
  }
};

} // namespace

} // namespace devsan::analyzer

DEVSAN_REGISTER_CHECK(CpuRoundTripCheck, cpu_round_trip)
