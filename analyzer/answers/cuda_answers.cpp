// What rules ask about streams, launches and the current device.
#include "analyzer/answers/edits.h"
#include "analyzer/answers/source_program.h"
#include "analyzer/ast/torch_api.h"
#include "analyzer/model/cuda/device_kinds.h"
#include "analyzer/model/cuda/device_sets.h"
#include "analyzer/model/cuda/served_streams.h"
#include "analyzer/model/cuda/side_streams.h"
#include "analyzer/model/cuda/static_state.h"
#include "analyzer/model/cuda/visible_names.h"
#include "analyzer/model/fix_scope.h"
#include "analyzer/model/host_copies.h"

#include <clang/Lex/Lexer.h>

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

bool SourceProgram::usesCuda(Function function) {
  const CudaWork &work = this->work(function);
  return !work.launches.empty() || !work.sets.empty() || !work.current_streams.empty() ||
         work.function->hasAttr<CUDAGlobalAttr>();
}

bool SourceProgram::isGuardedByDispatcher(Function function) {
  return analyzer::isGuardedByDispatcher(functionOf(function));
}

std::vector<DeviceKind> SourceProgram::deviceKinds(Function function) {
  std::vector<DeviceKind> kinds = analyzer::deviceKinds(work(function));
  for (DeviceKind &kind : kinds) {
    const FunctionFacts *facts = kind.tensor ? model_->facts(functionOf(function)) : nullptr;
    kind.on_host = facts && facts->value(kind.tensor).place.onHost();
  }
  return kinds;
}

std::vector<ServedStream> SourceProgram::bareStreams(Function function) {
  return analyzer::bareStreams(work(function));
}

DeviceSets SourceProgram::deviceSets(Function function) {
  return analyzer::deviceSets(work(function), context());
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

Edits SourceProgram::replaceCall(Code call, const std::string &text) {
  const auto *method = dyn_cast<CXXMemberCallExpr>(exprOf(call));
  if (!method || !isEditable(method))
    return {};
  return editsOf(FixItHint::CreateReplacement(method->getSourceRange(), text));
}

namespace {

// `cudaSetDevice(x.get_device());` as a statement of its own in the body of the function: a guard
// lives as long there. Where the device changes again, one guard is not enough.
std::optional<FixItHint> guardFor(ASTContext &context, const CudaWork &work, const SetDevice &set) {
  const auto *index =
      set.device ? dyn_cast<CXXMemberCallExpr>(set.device->IgnoreParenCasts()) : nullptr;
  if (!index || set.statement != set.expr || !set.expr->getBeginLoc().isFileID() ||
      !set.expr->getEndLoc().isFileID() || !sees(context, "c10::cuda::CUDAGuard") ||
      nameOf(index->getMethodDecl()) != "get_device" || !isTensor(index->getObjectType()) ||
      isStableTensor(index->getObjectType()) || work.sets.size() > 1 || usesGoto(work.function) ||
      usesName(work.function, kGuardName))
    return std::nullopt;
  // Up to the method's name: `x.`, `p->`.
  const SourceManager &sources = context.getSourceManager();
  const auto *method = cast<MemberExpr>(index->getCallee()->IgnoreParens());
  const std::string tensor = Lexer::getSourceText(CharSourceRange::getCharRange(
                                                      index->getBeginLoc(), method->getMemberLoc()),
                                                  sources, context.getLangOpts())
                                 .str();
  if (tensor.empty())
    return std::nullopt;
  return FixItHint::CreateReplacement(set.expr->getSourceRange(), "const c10::cuda::CUDAGuard " +
                                                                      kGuardName.str() + "(" +
                                                                      tensor + "device())");
}

} // namespace

Edits SourceProgram::guardInstead(Code set, Function function) {
  const CudaWork &work = this->work(function);
  const auto found =
      llvm::find_if(work.sets, [&](const SetDevice &other) { return set == other.expr; });
  const std::optional<FixItHint> guard = guardFor(context(), work, *found);
  return guard ? editsOf(*guard) : Edits();
}

Edits SourceProgram::askCurrentDevice(Code query, Code device) {
  return editsOf(currentDeviceAsked(context(), exprOf(query), exprOf(device)));
}

} // namespace devsan::analyzer
