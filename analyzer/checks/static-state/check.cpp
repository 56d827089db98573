#include "analyzer/check_registry.h"
#include "analyzer/model/cuda/cuda_check.h"
#include "analyzer/model/cuda/static_state.h"

namespace devsan::analyzer {
namespace {

using namespace clang;

class StaticStateCheck : public CudaCheck {
public:
  using CudaCheck::CudaCheck;

protected:
  void examine(const CudaProgram &program, ASTContext &context) override {
    // A program knows its devices; a library is called with tensors of any.
    for (const CudaWork &work : program.functions())
      if (work.function->isMain())
        return;
    for (const StaticState &state : staticDeviceState(program, context))
      if (!state.one_per_device)
        report(context, state);
  }

private:
  void report(ASTContext &context, const StaticState &state) {
    const SourceManager &sources = context.getSourceManager();
    const SourceLocation location = sources.getFileLoc(state.variable->getLocation());
    diag(location, "%select{the tensor in '%1' is|the stream in '%1' is|the event in '%1' is|the "
                   "handle in '%1' is|the device memory in '%1' is|the properties in '%1' are}0 of "
                   "the device that is current %select{at the first call|when the program is "
                   "loaded}2, and %select{serves all devices|are used for all devices}3")
        << static_cast<int>(state.thing) << state.variable->getName()
        << (!state.variable->isStaticLocal() && atLoad(state))
        << (state.thing == DeviceThing::kProperties);
    const SourceLocation made = place(context, state.made);
    if (sources.getExpansionLineNumber(made) != sources.getExpansionLineNumber(location))
      diag(made, "made here", DiagnosticIDs::Note);
  }

  static bool atLoad(const StaticState &state) {
    const Expr *init = state.variable->getAnyInitializer();
    return init && !(state.made->getBeginLoc() < init->getBeginLoc()) &&
           !(init->getEndLoc() < state.made->getBeginLoc());
  }
};

} // namespace
} // namespace devsan::analyzer

DEVSAN_REGISTER_CHECK(StaticStateCheck, static_state)
