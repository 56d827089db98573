#include "analyzer/ast/operator_name.h"
#include "analyzer/ast/torch_api.h"
#include "analyzer/check_registry.h"
#include "analyzer/model/cuda/cuda_check.h"

#include <clang/Index/USRGeneration.h>
#include <llvm/ADT/MapVector.h>

namespace devsan::analyzer {
namespace {

using namespace clang;

constexpr char kCurrentStream[] = "at::cuda::getCurrentCUDAStream";

class WrongStreamCheck : public CudaCheck {
public:
  using CudaCheck::CudaCheck;

protected:
  void examine(const CudaProgram &program, ASTContext &context) override {
    for (const CudaWork &work : program.functions()) {
      const bool serves = program.servesTensors(work);
      const ParmVarDecl *given = CudaProgram::givenStream(work);
      const bool may_serve = isInDevsanCheck() && program.mayServeOthers(work);
      if (!serves && !given && !may_serve)
        continue;
      for (const Launch &launch : work.launches) {
        if (!launch.stream_known)
          continue;
        if (!launch.stream || CudaProgram::isDefaultStream(launch.stream, work)) {
          const bool disobeys = !serves && given && isWork(launch);
          if (serves || disobeys || may_serve)
            noteDefault(context, {&work, &launch, disobeys ? given : nullptr, {}},
                        /*holds=*/serves || disobeys);
        } else if (const CurrentStream *stream = takenBeforeGuard(work, launch)) {
          reportTakenBeforeGuard(context, launch, *stream);
        }
      }
    }
    for (const auto &[macro, finding] : in_macros_)
      reportDefault(context, finding, macro);
    in_macros_.clear();
  }

private:
  struct OnDefault {
    const CudaWork *work;
    const Launch *launch;
    const ParmVarDecl *given; // the stream that the caller wants the work on, of no known tensors
    std::vector<std::string> servants; // USRs; none where it holds by itself
  };

  static bool isWork(const Launch &launch) {
    return launch.kind == Launch::Kind::kKernel || launch.kind == Launch::Kind::kAlgorithm;
  }

  // Unless it holds, whoever has the tensors is in another file, and calls the function around it.
  // Of a macro, the finding is one, and holds where one of its users' does.
  void noteDefault(ASTContext &context, OnDefault finding, bool holds) {
    if (!holds) {
      llvm::SmallString<128> usr;
      index::generateUSRForDecl(writtenFunction(finding.work->function), usr);
      finding.servants.push_back(std::string(usr));
    }
    const SourceLocation macro = launchInMacro(context, *finding.launch);
    if (macro.isInvalid())
      return reportDefault(context, finding, macro);
    const auto [known, is_new] = in_macros_.insert({macro, finding});
    if (is_new || known->second.servants.empty())
      return;
    if (holds)
      known->second = std::move(finding);
    else
      known->second.servants.push_back(std::move(finding.servants.front()));
  }

  void reportDefault(ASTContext &context, const OnDefault &found, SourceLocation in_macro) {
    const Launch &launch = *found.launch;
    const ParmVarDecl *given = found.given;
    const ValueDecl *tensor = CudaProgram::tensorOf(launch.expr, *found.work);
    const SourceLocation used = place(context, launch.expr);
    const std::string expected =
        given    ? "the caller gave '" + given->getNameAsString() + "'"
        : tensor ? "the work of '" + tensor->getNameAsString() + "' is on the current one"
                 : "the work of the caller's tensors is on the current one";
    Diagnosis finding{.place = in_macro.isValid() ? in_macro : used,
                      .message = whatIsOn(launch.kind) + " the default stream, while " + expected,
                      .op = operatorName(launch.expr),
                      .servants = found.servants};
    if (auto fix = given ? std::nullopt : useCurrentStream(context, launch))
      finding.fix.push_back(*fix);
    if (in_macro.isValid())
      finding.related.push_back({used, "the macro is used here"});
    diagnose(std::move(finding));
  }

  static std::string whatIsOn(Launch::Kind kind) {
    switch (kind) {
    case Launch::Kind::kKernel:
      return "the kernel is launched on";
    case Launch::Kind::kCopy:
      return "the copy or handle is put on";
    case Launch::Kind::kStreamArgument:
      return "the call is given";
    case Launch::Kind::kAlgorithm:
      return "the algorithm runs on";
    }
    llvm_unreachable("all kinds are handled");
  }

  // Where a macro of the project writes the launch: once there instead of at each of its uses.
  static SourceLocation launchInMacro(ASTContext &context, const Launch &launch) {
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

  std::optional<FixItHint> useCurrentStream(ASTContext &context, const Launch &launch) {
    if (!sees(context, kCurrentStream))
      return std::nullopt;
    const std::string current = std::string(kCurrentStream) + "()";
    if (launch.stream) {
      const Expr *written = launch.stream->IgnoreParenImpCasts();
      const SourceRange range = written->getSourceRange();
      // A variable has other uses, and a default argument has no text here.
      if (isa<DeclRefExpr>(written) || !isWritten(launch, range))
        return std::nullopt;
      return FixItHint::CreateReplacement(range, current);
    }
    const auto *kernel = dyn_cast<CUDAKernelCallExpr>(launch.expr);
    const CallExpr *config = kernel ? kernel->getConfig() : nullptr;
    if (!config)
      return std::nullopt;
    unsigned given = 0;
    while (given < config->getNumArgs() && !isa<CXXDefaultArgExpr>(config->getArg(given)))
      ++given;
    if (given < 2 || given > 3 || !isWritten(launch, config->getArg(given - 1)->getSourceRange()))
      return std::nullopt;
    const SourceLocation end =
        Lexer::getLocForEndOfToken(config->getArg(given - 1)->getEndLoc(), 0,
                                   context.getSourceManager(), context.getLangOpts());
    return FixItHint::CreateInsertion(end, (given == 2 ? ", 0, " : ", ") + current);
  }

  // In the launch itself and not made by a macro.
  static bool isWritten(const Launch &launch, SourceRange range) {
    return range.getBegin().isFileID() && range.getEnd().isFileID() &&
           !(range.getBegin() < launch.expr->getBeginLoc()) &&
           !(launch.expr->getEndLoc() < range.getEnd());
  }

  // `stream = getCurrentCUDAStream(); CUDAGuard guard(x.device()); kernel<<<…, stream>>>`: the
  // stream is of the device that was current before.
  static const CurrentStream *takenBeforeGuard(const CudaWork &work, const Launch &launch) {
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

  void reportTakenBeforeGuard(ASTContext &context, const Launch &launch,
                              const CurrentStream &stream) {
    diagnose({.place = place(context, launch.expr),
              .message = llvm::formatv("'{0}' is the stream of the device that was current before "
                                       "the guard, not of the tensor's device",
                                       stream.variable->getName())
                             .str(),
              .op = operatorName(launch.expr),
              .related = {{place(context, stream.expr),
                           "the stream is taken here, the guard is set later"}}});
  }

  llvm::MapVector<SourceLocation, OnDefault> in_macros_;
};

} // namespace
} // namespace devsan::analyzer

DEVSAN_REGISTER_CHECK(WrongStreamCheck, wrong_stream)
