// What rules ask about streams, launches and the current device.
#include "analyzer/answers/edits.h"
#include "analyzer/answers/source_program.h"
#include "analyzer/ast/told_device.h"
#include "analyzer/ast/torch_api.h"
#include "analyzer/model/cuda/device_kinds.h"
#include "analyzer/model/cuda/device_sets.h"
#include "analyzer/model/cuda/given_stream.h"
#include "analyzer/model/cuda/served_streams.h"
#include "analyzer/model/cuda/side_streams.h"
#include "analyzer/model/cuda/static_state.h"
#include "analyzer/model/cuda/visible_names.h"
#include "analyzer/model/diagnosis.h"
#include "analyzer/model/fix_scope.h"
#include "analyzer/model/host_copies.h"

#include <clang/Index/USRGeneration.h>
#include <clang/Lex/Lexer.h>

namespace devsan::analyzer {

using namespace clang;

CudaProgram &SourceProgram::cuda() {
  if (!cuda_)
    cuda_ = CudaProgram::of(context());
  return *cuda_;
}

static bool isStreamType(QualType type) {
  const auto *alias = type->getAs<TypedefType>();
  return alias && (alias->getDecl()->getName() == "cudaStream_t" ||
                   alias->getDecl()->getName() == "hipStream_t" ||
                   alias->getDecl()->getName() == "CUstream");
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

std::vector<CudaFunction> SourceProgram::cudaFunctions() {
  if (cuda_functions_)
    return *cuda_functions_;
  cuda_functions_.emplace();
  for (const CudaWork &work : cuda().functions()) {
    if (cuda().work(work.function) != &work)
      continue;
    const bool works = !work.launches.empty() || !work.current_streams.empty();
    cuda_functions_->push_back(
        {.id = work.function,
         .is_main = work.function->isMain(),
         .touches_tensors = work.touches_tensors,
         .serves_tensors = cuda().servesTensors(work),
         .may_serve_others = isInDevsanCheck() && cuda().mayServeOthers(work),
         .works_on_devices = works || work.touches_tensors ||
                             llvm::any_of(work.function->parameters(),
                                          [](const ParmVarDecl *parameter) {
                                            return isStreamType(parameter->getType());
                                          }),
         .uses_cuda = works || !work.sets.empty() || work.function->hasAttr<CUDAGlobalAttr>(),
         .is_thread_entry = cuda().isThreadEntry(work),
         .guarded_by_dispatcher = isGuardedByDispatcher(work.function),
         .callers_guard = cuda().callersGuard(work),
         .chooses_zero = llvm::any_of(
             work.sets,
             [&](const SetDevice &set) { return set.device && isZeroDevice(set.device, work); }),
         .tensor = work.tensors.empty() ? nullptr : work.tensors.front(),
         .given_stream = givenStream(work)});
  }
  return *cuda_functions_;
}

bool SourceProgram::isInDevsanCheck() {
  return Diagnoses::current() != nullptr;
}

std::vector<std::string> SourceProgram::possibleSteps(Code code, Function function) {
  std::vector<std::string> usrs;
  if (isInDevsanCheck())
    for (const FunctionDecl *step : model_->possibleSteps(exprOf(code), functionOf(function)))
      usrs.push_back(usr(step));
  return usrs;
}

std::string SourceProgram::usr(Function function) {
  llvm::SmallString<128> usr;
  index::generateUSRForDecl(writtenFunction(functionOf(function)), usr);
  return std::string(usr);
}

namespace {

// Where a macro of the project writes the launch: once there instead of at each of its uses.
SourceLocation launchInMacro(ASTContext &context, const Launch &launch) {
  const auto *kernel = dyn_cast<CUDAKernelCallExpr>(launch.expr);
  const SourceLocation begin = kernel && kernel->getConfig() ? kernel->getConfig()->getBeginLoc()
                                                             : launch.expr->getBeginLoc();
  const SourceManager &sources = context.getSourceManager();
  if (!begin.isMacroID())
    return {};
  const SourceLocation written = sources.getSpellingLoc(begin);
  const CharSourceRange use =
      sources.getExpansionRange(launch.expr->getBeginLoc()); // with the macro's arguments
  const bool is_argument = sources.isPointWithin(written, use.getBegin(), use.getEnd());
  return is_argument || sources.isWrittenInScratchSpace(written) ||
                 sources.isWrittenInCommandLineFile(written) || sources.isInSystemHeader(written)
             ? SourceLocation()
             : written;
}

// `stream = getCurrentCUDAStream(); CUDAGuard guard(x.device()); kernel<<<…, stream>>>`: the
// stream is of the device that was current before.
const CurrentStream *takenBeforeGuard(const CudaWork &work, const Launch &launch) {
  if (!launch.own_guard)
    return nullptr;
  const Expr *stream = strip(launch.stream)->IgnoreParenCasts();
  while (const auto *member = dyn_cast<CXXMemberCallExpr>(stream))
    stream = strip(member->getImplicitObjectArgument())->IgnoreParenCasts();
  const auto *reference = dyn_cast<DeclRefExpr>(stream);
  if (!reference)
    return nullptr;
  for (const CurrentStream &current : work.current_streams)
    if (current.variable && current.variable == reference->getDecl() && !current.guarded &&
        work.initialisers.contains(current.variable))
      return &current;
  return nullptr;
}

} // namespace

std::vector<StreamWork> SourceProgram::streamWork(Function function) {
  const CudaWork &work = this->work(function);
  std::vector<StreamWork> all;
  for (const Launch &launch : work.launches) {
    if (!launch.stream_known)
      continue;
    StreamWork &one = all.emplace_back(StreamWork{launch.kind, launch.expr});
    one.on_default = !launch.stream || CudaProgram::isDefaultStream(launch.stream, work);
    if (one.on_default) {
      one.in_macro = launchInMacro(context(), launch).getRawEncoding();
    } else if (const CurrentStream *taken = takenBeforeGuard(work, launch)) {
      one.stream = taken->variable;
      one.taken_before_guard = taken->expr;
    }
  }
  return all;
}

std::vector<DeviceWork> SourceProgram::deviceWork(Function function) {
  const CudaWork &work = this->work(function);
  const SourceManager &sources = context().getSourceManager();
  std::vector<DeviceWork> all;
  const auto add = [&](DeviceWork::Kind kind, const auto &part) -> DeviceWork & {
    const SourceLocation place = sources.getFileLoc(part.expr->getBeginLoc());
    DeviceWork one{.kind = kind, .expr = part.expr, .guarded = part.guarded};
    one.line = {sources.getFileID(place).getHashValue(), sources.getSpellingLineNumber(place)};
    return all.emplace_back(std::move(one));
  };
  for (const Launch &launch : work.launches)
    if (isLaunch(launch.kind))
      add(DeviceWork::Kind::kLaunch, launch).in_new_thread = launch.in_new_thread;
  for (const WorkCall &call : work.calls) {
    DeviceWork &one = add(DeviceWork::Kind::kCall, call);
    one.in_new_thread = call.in_new_thread;
    if (const Expr *inner = cuda().bareLaunch(call.callee))
      one.inner = inner;
  }
  for (const HandedStream &handed : work.handed_streams)
    add(DeviceWork::Kind::kHanded, handed).in_new_thread = handed.in_new_thread;
  for (const CurrentStream &stream : work.current_streams)
    if (stream.variable)
      add(DeviceWork::Kind::kStream, stream).stream = stream.variable;
  return all;
}

std::vector<LateGuard> SourceProgram::lateGuards(Function function) {
  std::vector<LateGuard> late;
  for (const DeviceQuery &query : work(function).queries)
    if (!query.guarded && query.guard_device)
      late.push_back({query.expr, calledFunction(query.expr)->getName().str(), query.guard_device});
  return late;
}

// Its tensors were made where it runs: on the device that is current in this thread.
bool SourceProgram::fitsCurrentDevice(Code call, Function function) {
  const CudaWork &work = this->work(function);
  const auto fit = [&](const auto &tensors) {
    return !tensors.empty() && llvm::all_of(tensors, [&](const ValueDecl *tensor) {
      return isMadeOnCurrent(tensor, work);
    });
  };
  const auto given = CudaProgram::tensorsOf(exprOf(call), work);
  return given.empty() ? fit(work.tensors) : fit(given);
}

// A function of another file that is given memory of tensors, and none of them.
bool SourceProgram::mayLaunchElsewhere(const CudaWork &work, const WorkCall &call) {
  const auto *method = dyn_cast<CXXMethodDecl>(call.callee);
  return !cuda().work(call.callee) && call.callee->isExternallyVisible() &&
         !(method && method->isVirtual()) && !isOfToldObject(call.expr) &&
         !CudaProgram::tensorsOf(call.expr, work).empty() &&
         llvm::none_of(call.callee->parameters(), [](const ParmVarDecl *parameter) {
           return holdsTensor(parameter->getType());
         });
}

std::string SourceProgram::launcherElsewhere(Code expr, Function function) {
  const CudaWork &work = this->work(function);
  for (const WorkCall &call : work.calls)
    if (isInDevsanCheck() && expr == call.expr && mayLaunchElsewhere(work, call)) {
      llvm::SmallString<128> usr;
      if (!index::generateUSRForDecl(call.callee, usr))
        return std::string(usr);
    }
  return {};
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

} // namespace devsan::analyzer
