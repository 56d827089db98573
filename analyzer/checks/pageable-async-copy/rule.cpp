#include "analyzer/facts/rule.h"

namespace devsan::analyzer {
namespace {

class PageableAsyncCopy {
public:
  PageableAsyncCopy(const FunctionFacts &facts, Program &program)
      : facts_(facts), program_(program) {}

  Findings judge() {
    for (const Operation &operation : facts_.operations) {
      if (!operation.receiver || operation.operands.empty() ||
          program_.argument(operation.expr, "non_blocking") != Argument::kTrue)
        continue;
      const Value &own = operation.operands[0].value;
      if (operation.kind == Operation::Kind::kMove) {
        examine(operation, own, own, operation.target);
      } else if (operation.name == "copy_" && operation.operands.size() > 1) {
        const Value &other = operation.operands[1].value;
        examine(operation, own.place.maybeOffHost() ? other : own, other, own);
      }
    }
    return std::move(findings_);
  }

private:
  void examine(const Operation &copy, const Value &host, const Value &from, const Value &to) {
    const Code made = madePageable(host);
    // A function that knows of pinned memory is left alone: it may choose it at run time.
    if (!made || !(from.place.maybeOffHost() || to.place.maybeOffHost()) ||
        program_.knowsPinnedMemory(facts_.function))
      return;
    RuleFinding finding{.at = copy.expr,
                        .message =
                            "the copy blocks in spite of non_blocking: the host's side is in "
                            "pageable memory",
                        .op = program_.operatorName(copy.expr),
                        .from = from.place.device(),
                        .to = to.place.device(),
                        .needs = Needs::kDevice};
    if (program_.line(made) != program_.line(copy.expr))
      finding.related.push_back({.code = made, .message = "made here, not pinned"});
    findings_.push_back(std::move(finding));
  }

  // Where the host's side was made; null where it need not be pageable.
  Code madePageable(const Value &value) {
    if (!value.place.onHost())
      return nullptr;
    Code made = value.origin(Origin::Kind::kHostScalar);
    if (!made)
      made = value.origin(Origin::Kind::kFactory);
    const Operation *factory = made ? facts_.find(Operation::Kind::kFactory, made) : nullptr;
    // The program's own memory may be pinned, unless a container or a variable holds it.
    return factory && factory->name == "from_blob" && !program_.isOverOrdinaryMemory(made) ? nullptr
                                                                                           : made;
  }

  const FunctionFacts &facts_;
  Program &program_;
  Findings findings_;
};

Findings pageableAsyncCopy(const FunctionFacts &facts, Program &program) {
  return PageableAsyncCopy(facts, program).judge();
}

} // namespace
} // namespace devsan::analyzer

DEVSAN_RULE(pageable_async_copy, pageableAsyncCopy)
