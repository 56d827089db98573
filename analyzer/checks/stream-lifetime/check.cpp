#include "analyzer/ast/operator_name.h"
#include "analyzer/check_registry.h"
#include "analyzer/model/cuda/cuda_check.h"
#include "analyzer/model/cuda/side_streams.h"

namespace devsan::analyzer {
namespace {

using namespace clang;

class StreamLifetimeCheck : public CudaCheck {
public:
  using CudaCheck::CudaCheck;

protected:
  void examine(const CudaProgram &program, ASTContext &context) override {
    for (const CudaWork &work : program.functions())
      if (work.touches_tensors)
        for (const SideUse &use : unrecordedSideUses(work))
          report(context, use);
  }

private:
  void report(ASTContext &context, const SideUse &use) {
    if (!reported_.insert(place(context, use.expr)).second)
      return;
    Diagnosis finding{.place = place(context, use.expr),
                      .message = llvm::formatv("'{0}' is used on '{1}' and released at the end of "
                                               "the function, which does not wait for that stream",
                                               use.tensor->getName(), use.stream->getName())
                                     .str(),
                      .op = operatorName(use.expr)};
    if (use.recorded)
      finding.related.push_back({place(context, use.recorded),
                                 "the stream recorded here is the one that it was made on"});
    diagnose(std::move(finding));
  }

  std::set<SourceLocation> reported_; // the lambdas of dispatch macros are repeated for each type
};

} // namespace
} // namespace devsan::analyzer

DEVSAN_REGISTER_CHECK(StreamLifetimeCheck, stream_lifetime)
