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
        examineMove(operation);
  }

private:
  void examineMove(const Operation &move) {
    const Operand &moved = move.operands.front();
    const clang::Expr *there = moved.value.origin(Origin::Kind::kHostCopy);
    const Place &target = move.target.place;
    // What came from the host anyway, or goes to a place that may be the host, is no round trip for
    // sure.
    if (!there || !moved.value.place.onHost() || target.onHost() || target.is(Place::Kind::kNone) ||
        !firstAt(move.expr))
      return;
    diag(locationOf(move.expr),
         "'%0' goes back to %1 after the data was copied to the CPU%select{| on line %3}2: both "
         "copies make the host wait; compute on the device, or move once and stay")
        << spelling(move.receiver)
        << (target.is(Place::Kind::kUnknown) ? "a device" : target.text())
        << (lineOf(there) != lineOf(move.expr)) << lineOf(there) << move.expr->getSourceRange();
    diag(locationOf(there), "copied to the CPU here", clang::DiagnosticIDs::Note)
        << there->getSourceRange();
  }
};

} // namespace

} // namespace devsan::analyzer

DEVSAN_REGISTER_CHECK(CpuRoundTripCheck, cpu_round_trip)
