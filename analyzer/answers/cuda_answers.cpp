// What rules ask about streams, launches and the current device.
#include "analyzer/answers/edits.h"
#include "analyzer/answers/source_program.h"
#include "analyzer/ast/torch_api.h"
#include "analyzer/model/cuda/side_streams.h"
#include "analyzer/model/cuda/static_state.h"
#include "analyzer/model/host_copies.h"

namespace devsan::analyzer {

using namespace clang;

CudaProgram &SourceProgram::cuda() {
  if (!cuda_)
    cuda_ = CudaProgram::of(context());
  return *cuda_;
}

std::vector<Function> SourceProgram::functionsWithCuda() {
  std::vector<Function> functions;
  for (const CudaWork &work : cuda().functions())
    if (cuda().work(work.function) == &work)
      functions.push_back(work.function);
  return functions;
}

static bool isStreamType(QualType type) {
  const auto *alias = type->getAs<TypedefType>();
  return alias && (alias->getDecl()->getName() == "cudaStream_t" ||
                   alias->getDecl()->getName() == "hipStream_t" ||
                   alias->getDecl()->getName() == "CUstream");
}

bool SourceProgram::worksOnDevices(Function function) {
  const CudaWork &work = this->work(function);
  return work.touches_tensors || !work.launches.empty() || !work.current_streams.empty() ||
         llvm::any_of(work.function->parameters(), [](const ParmVarDecl *parameter) {
           return isStreamType(parameter->getType());
         });
}

bool SourceProgram::choosesZero(Function function) {
  const CudaWork &work = this->work(function);
  return llvm::any_of(work.sets, [&](const SetDevice &set) {
    return set.device && isZeroDevice(set.device, work);
  });
}

Variable SourceProgram::firstTensor(Function function) {
  const CudaWork &work = this->work(function);
  return work.tensors.empty() ? nullptr : work.tensors.front();
}

std::vector<SideUse> SourceProgram::sideUses(Function function) {
  const CudaWork &work = this->work(function);
  return work.touches_tensors ? unrecordedSideUses(work) : std::vector<SideUse>();
}

std::vector<CopyStep> SourceProgram::copySteps(Function function) {
  return analyzer::copySteps(work(function), model_->facts(functionOf(function)));
}

std::vector<PropertyQuery> SourceProgram::propertyQueries(Function function) {
  if (!queries_)
    queries_.emplace(cuda());
  return queries_->of(work(function));
}

std::vector<StaticState> SourceProgram::staticStates() {
  return staticDeviceState(cuda(), context());
}

bool SourceProgram::isSame(Code one, Code other) {
  return sameText(exprOf(one), exprOf(other), context());
}

bool SourceProgram::isSameStream(Code one, Code other, Function function) {
  return sameStream(exprOf(one), exprOf(other), work(function), context());
}

Edits SourceProgram::askCurrentDevice(Code query, Code device) {
  return editsOf(currentDeviceAsked(context(), exprOf(query), exprOf(device)));
}

} // namespace devsan::analyzer
