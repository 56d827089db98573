#include "analyzer/ast/operator_name.h"
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
    const bool several = state.thing == DeviceThing::kProperties;
    const bool at_load = !state.variable->isStaticLocal() && atLoad(state);
    Diagnosis finding{
        .place = location,
        .message =
            llvm::formatv("the {0} in '{1}' {2} of the device that is current {3}, and {4}",
                          wordFor(state.thing), state.variable->getName(), several ? "are" : "is",
                          at_load ? "when the program is loaded" : "at the first call",
                          several ? "are used for all devices" : "serves all devices")
                .str(),
        .op = operatorName(state.made)};
    const SourceLocation made = place(context, state.made);
    if (sources.getExpansionLineNumber(made) != sources.getExpansionLineNumber(location))
      finding.related.push_back({made, "made here"});
    diagnose(std::move(finding));
  }

  static llvm::StringRef wordFor(DeviceThing thing) {
    switch (thing) {
    case DeviceThing::kTensor:
      return "tensor";
    case DeviceThing::kStream:
      return "stream";
    case DeviceThing::kEvent:
      return "event";
    case DeviceThing::kHandle:
      return "handle";
    case DeviceThing::kMemory:
      return "device memory";
    case DeviceThing::kProperties:
      return "properties";
    }
    llvm_unreachable("all kinds are handled");
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
