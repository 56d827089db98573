#include "analyzer/ast/operator_name.h"
#include "analyzer/check_registry.h"
#include "analyzer/model/cuda/cuda_check.h"
#include "analyzer/model/host_copies.h"
#include "analyzer/model/model.h"

namespace devsan::analyzer {
namespace {

using namespace clang;

class AsyncCopyRaceCheck : public CudaCheck {
public:
  using CudaCheck::CudaCheck;

protected:
  void examine(const CudaProgram &program, ASTContext &context) override {
    const std::shared_ptr<DeviceModel> model = DeviceModel::of(context);
    for (const CudaWork &work : program.functions()) {
      const std::vector<CopyStep> steps = copySteps(work, model->facts(work.function));
      for (std::size_t i = 0; i < steps.size(); ++i)
        if (steps[i].kind == CopyStep::Kind::kToHost && steps[i].memory)
          follow(context, work, llvm::ArrayRef(steps).drop_front(i));
    }
  }

private:
  // To the first step behind the copy that waits, or that needs what it brings.
  void follow(ASTContext &context, const CudaWork &work, llvm::ArrayRef<CopyStep> steps) {
    const CopyStep &copy = steps.front();
    bool ordered = false; // some stream waits for an event: it may be the one that reads
    for (const CopyStep &step : steps.drop_front()) {
      if (exclude(copy, step))
        continue;
      switch (step.kind) {
      case CopyStep::Kind::kWait:
        return;
      case CopyStep::Kind::kOrder:
        ordered = true;
        break;
      case CopyStep::Kind::kTouch:
        if (step.memory == copy.memory)
          return report(context, copy, step, false);
        break;
      case CopyStep::Kind::kToDevice:
        // Work of one stream runs in order.
        if (step.memory == copy.memory && copy.stream && step.stream && !ordered &&
            sameText(copy.pointer, step.pointer, context) &&
            !sameStream(copy.stream, step.stream, work, context))
          return report(context, copy, step, true);
        break;
      case CopyStep::Kind::kToHost:
        if (step.memory == copy.memory)
          return;
        break;
      }
    }
  }

  void report(ASTContext &context, const CopyStep &copy, const CopyStep &use, bool other_stream) {
    if (!reported_.insert(place(context, copy.expr)).second)
      return;
    diagnose(
        {.place = place(context, copy.expr),
         .message = llvm::formatv("{0} '{1}' {2} for this copy",
                                  other_stream ? "another stream reads" : "the host uses",
                                  copy.memory->getName(),
                                  other_stream ? "without having waited" : "before it has waited")
                        .str(),
         .op = operatorName(copy.expr),
         .to = Place::host().device(),
         .related = {{place(context, use.expr), "used here"}}});
  }

  std::set<SourceLocation> reported_; // the lambdas of dispatch macros are repeated for each type
};

} // namespace
} // namespace devsan::analyzer

DEVSAN_REGISTER_CHECK(AsyncCopyRaceCheck, async_copy_race)
