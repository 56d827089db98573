#include "analyzer/facts/rule.h"
#include "analyzer/facts/text.h"

namespace devsan::analyzer {
namespace {

Findings streamLifetime(Program &program) {
  Findings findings;
  for (const CudaFunction &function : program.cudaFunctions())
    for (const SideUse &use : program.sideUses(function.id)) {
      RuleFinding finding{.at = use.expr,
                          .message = fill("'{}' is used on '{}' and released at the end of the "
                                          "function, which does not wait for that stream",
                                          {program.name(use.tensor), program.name(use.stream)}),
                          .op = program.operatorName(use.expr),
                          .needs = Needs::kOtherStream};
      if (use.recorded)
        finding.related.push_back(
            {.code = use.recorded,
             .message = "the stream recorded here is the one that it was made on"});
      findings.push_back(std::move(finding));
    }
  return findings;
}

} // namespace
} // namespace devsan::analyzer

DEVSAN_RULE(stream_lifetime, streamLifetime)
